"""NumPy's functions for maps: scalar functions applied to elements that stand in the same place.

Takes MDHs that reduce nothing, gives functions of their inputs. It must not know devices, nor what anything costs.

Large results are computed block by block, so that what one ufunc gives is still in the caches when the next one reads
it, and into memory that is used again. Ufuncs on whole arrays would mostly wait for memory, and for the system that
clears it: three operations on 64 MB take twice as long.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from mdhnp.mdh import MdHom, View
from mdhnp.placement.axes import Seen, seen
from mdhnp.placement.elements import Ufuncs, ufuncs
from mdhnp.runtime.results import LARGE, maker

__all__ = ["numpy_map"]

#: Bytes of a block: a few of them fit a core's second cache, and calls on them take much longer than to begin them.
_BLOCK = 1 << 19
_ALL = slice(None)


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
    compute, whole = found.compute, np.broadcast_shapes((), *shapes) == out.shape
    if whole and not indices and out.nbytes >= LARGE:
        live = [h.scalar.body[n] for n in h.scalar.live()]
        several = sum([step.op not in ("param", "const") for step in live]) > 1
        most = _BLOCK // max([step.dtype.itemsize for step in live]) if several else out.elements()
        compute = _in_blocks(found.into, [s.shape for s in known], out, most)
    positions = [n for n, _ in accesses]
    if positions != list(range(len(h.inputs))) or any(s.view is not None for s in known):
        compute = _viewing(compute, list(zip(positions, known, strict=True)))
    if not whole:
        compute = _repeated(compute, out)
    return found._replace(compute=compute)


def _index(d: int, dims: tuple[int, ...], extents: tuple[int, ...]) -> Any:
    """Give a dimension's indices along its axis."""
    return np.arange(extents[d]).reshape([extents[d] if e == d else 1 for e in dims])


def _in_blocks(into: Callable[..., Any], shapes: Sequence[tuple[int, ...]], out: View, most: int) -> Callable[..., Any]:
    """Have a function compute block by block; operands have such shapes, which broadcast to the result's."""
    make = maker([(out.shape, out.dtype)])
    # Operands may lack axes in front, and have one element along others.
    moves = [[(d, n > 1) for d, n in enumerate(shape, len(out.shape) - len(shape))] for shape in shapes]

    @np.errstate(all="ignore")
    def in_blocks(*views: Any) -> Any:
        (result,) = make()
        for place in _places(out.shape, most):
            cut = [tuple([place[d] if along else _ALL for d, along in axes if d < len(place)]) for axes in moves]
            into(*[v[where] for v, where in zip(views, cut, strict=True)], out=result[place])
        return result

    return in_blocks


def _places(shape: tuple[int, ...], most: int) -> Iterator[tuple[slice, ...]]:
    """Cut an array into blocks of about so many elements at most, as they lie in memory.

    Examples
    --------
    >>> [[f"{s.start}:{s.stop}" for s in place] for place in _places((2, 3, 4), 10)]
    [['0:1', '0:2'], ['0:1', '2:3'], ['1:2', '0:2'], ['1:2', '2:3']]
    """
    axis = next(d for d in range(len(shape)) if prod(shape[d + 1 :]) <= most)
    size = shape[axis]
    count = -(-size // max(most // prod(shape[axis + 1 :]), 1))
    step = -(-size // count)
    for outer in product(*[range(n) for n in shape[:axis]]):
        before = tuple([slice(n, n + 1) for n in outer])
        for start in range(0, size, step):
            yield (*before, slice(start, min(start + step, size)))


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
