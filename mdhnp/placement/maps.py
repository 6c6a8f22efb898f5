"""NumPy's functions for maps: scalar functions applied to elements that stand in the same place.

Takes MDHs that reduce nothing, gives functions of their inputs. It must not know devices, nor what anything costs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mdhnp.mdh import MdHom, View
from mdhnp.placement.axes import Seen, seen
from mdhnp.placement.elements import Ufuncs, ufuncs

__all__ = ["numpy_map"]


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
    views = [seen(h.inputs[n], h.inputs[n].accesses[a], dims, h.extents, fewer=True) for n, a in accesses]
    known = [v for v in views if v is not None]
    if len(known) < len(views):
        return None
    indices = [_index(d, dims, h.extents) for d in range(h.rank)] if h.scalar.used_indices() else []
    found = ufuncs(h.scalar, indices)
    shapes = [s.shape for s in known] + [indices[d].shape for d in h.scalar.used_indices()]
    compute = found.compute
    positions = [n for n, _ in accesses]
    if positions != list(range(len(h.inputs))) or any(s.view is not None for s in known):
        compute = _viewing(compute, list(zip(positions, known, strict=True)))
    if np.broadcast_shapes((), *shapes) != out.shape:
        compute = _repeated(compute, out)
    return found._replace(compute=compute)


def _index(d: int, dims: tuple[int, ...], extents: tuple[int, ...]) -> Any:
    """Give a dimension's indices along its axis."""
    return np.arange(extents[d]).reshape([extents[d] if e == d else 1 for e in dims])


def _viewing(compute: Callable[..., Any], views: list[tuple[int, Seen]]) -> Callable[..., Any]:
    def viewing(*arrays: Any) -> Any:
        return compute(*[view.of(arrays[n]) for n, view in views])

    return viewing


def _repeated(compute: Callable[..., Any], out: View) -> Callable[..., Any]:
    """Repeat what is computed along dimensions that no operand moves with."""

    def repeated(*arrays: Any) -> Any:
        result = np.empty(out.shape, out.dtype)
        result[...] = compute(*arrays)
        return result

    return repeated
