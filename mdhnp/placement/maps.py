"""NumPy's functions for maps: scalar functions applied to elements that stand in the same place.

Takes MDHs that reduce nothing, gives functions of their inputs. It must not know devices, nor what anything costs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mdhnp.mdh import MdHom, View
from mdhnp.mdh.views import Access, Affine
from mdhnp.placement.elements import Ufuncs, ufuncs

__all__ = ["numpy_map"]


class _Seen(NamedTuple):
    """How a parameter's input is seen, so that NumPy broadcasts it to the result's shape; None for as it is."""

    position: int
    view: Callable[[Any], Any] | None
    shape: tuple[int, ...]


def numpy_map(h: MdHom) -> Ufuncs | None:
    """Give what computes an MDH that reduces nothing of its inputs; None where some index is no dimension.

    Examples
    --------
    >>> from mdhnp.mdh import cc, md_hom
    >>> a = np.ones((2, 3))
    >>> found = numpy_map(md_hom(np.add, {"i": cc, "j": cc}, "A[i,j], B[j] -> C[i,j]").bind(a, a[0]))
    >>> found.name, found.compute(a, a[0]).shape
    ('numpy.add', (2, 3))
    """
    if h.finish is not None or h.scalar.text is not None or len(h.outputs) != 1 or len(h.dims("cc")) < h.rank:
        return None
    (out,), used = h.outputs, sorted(h.scalar.used_parameters())
    order = [index.dim() for index in out.accesses[0]]
    if sorted([-1 if d is None else d for d in order]) != list(range(h.rank)):
        return None
    dims = tuple([d for d in order if d is not None])
    accesses = [h.accesses[p] for p in used]
    seen = [_seen(n, h.inputs[n], h.inputs[n].accesses[a], dims, h.extents) for n, a in accesses]
    known = [s for s in seen if s is not None]
    if len(known) < len(seen):
        return None
    indices = [_index(d, dims, h.extents) for d in range(h.rank)] if h.scalar.used_indices() else []
    found = ufuncs(h.scalar, indices)
    shapes = [s.shape for s in known] + [indices[d].shape for d in h.scalar.used_indices()]
    compute = found.compute
    if [s.position for s in known] != list(range(len(h.inputs))) or any(s.view is not None for s in known):
        compute = _viewing(compute, known)
    if np.broadcast_shapes((), *shapes) != out.shape:
        compute = _repeated(compute, out)
    return found._replace(compute=compute)


def _seen(position: int, view: View, access: Access, dims: tuple[int, ...], extents: tuple[int, ...]) -> _Seen | None:
    """Say how an access of an input is seen; None where an index is neither a number nor a dimension of its own."""
    if view.boundary is not None:
        return None
    last = dims[len(dims) - len(access) :] if len(access) <= len(dims) else ()
    if len(last) == len(access) and all([_is_along(*a, extents) for a in zip(access, last, view.shape, strict=True)]):
        return _Seen(position, None, view.shape)
    along = [index.dim() for index in access if index.dims()]
    moved = [d for d in along if d is not None]
    if len(moved) < len(along) or len({*moved}) < len(moved):
        return None
    places = (*[slice(extents[d]) if (d := index.dim()) is not None else index.constant for index in access], ...)
    axes = tuple(sorted(range(len(moved)), key=lambda n: dims.index(moved[n])))
    spread = tuple([slice(None) if d in moved else None for d in dims])
    shape = tuple([extents[d] if d in moved else 1 for d in dims])
    return _Seen(position, lambda a: a[places].transpose(axes)[spread], shape)


def _is_along(index: Affine, d: int, size: int, extents: tuple[int, ...]) -> bool:
    """Whether an axis is that of a dimension, or has one element, which NumPy repeats."""
    return (index.dim() == d and size == extents[d]) or (size == 1 and not index.dims())


def _index(d: int, dims: tuple[int, ...], extents: tuple[int, ...]) -> Any:
    """Give a dimension's indices along its axis."""
    return np.arange(extents[d]).reshape([extents[d] if e == d else 1 for e in dims])


def _viewing(compute: Callable[..., Any], seen: list[_Seen]) -> Callable[..., Any]:
    def viewing(*arrays: Any) -> Any:
        return compute(*[arrays[s.position] if s.view is None else s.view(arrays[s.position]) for s in seen])

    return viewing


def _repeated(compute: Callable[..., Any], out: View) -> Callable[..., Any]:
    """Repeat what is computed along dimensions that no operand moves with."""

    def repeated(*arrays: Any) -> Any:
        result = np.empty(out.shape, out.dtype)
        result[...] = compute(*arrays)
        return result

    return repeated
