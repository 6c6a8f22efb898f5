"""What a graph costs, to compare it with itself rewritten: bytes moved, and work that is done more than once.

The unit is a byte to or from memory. It must not know devices: on all of them bytes are dear and operations cheap,
and what is decided by a small margin matters little.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf, prod

from mdhnp.mdh import Chain, Function, Graph, MdHom, Rows, Tiles

__all__ = ["ENOUGH", "bytes_of", "bytes_of_step", "cost", "cost_of_step", "near"]

#: Bytes that a processor moves in the time of a simple operation, and of a call of kernels.
_OPERATION, _CALL = 0.2, 1 << 16
#: Bytes of a cache in which what a chain keeps of its maps lies.
_CACHED = 1 << 18
#: Planes that a chain advances by where its tiles follow each other, from how many bytes of arrays on it pays, and how
#: much longer what it does in a cache takes then, while it waits for memory less.
_PLANES, _FAR, _PASSING = 4, 1 << 25, 1.5
#: Rows that are enough for all cores, and how many are computed at a time.
ENOUGH, _AT_ONCE = 64, 8
#: Elements of a row from which on vectors are full.
_WIDE = 16
#: Bytes of what all rows read that stay in a cache, and what a byte from there costs.
_SHARED, _AGAIN = 1 << 22, 0.05
#: How much longer a chain takes because it reads memory and computes by turns.
_APART = 1.2
#: How many simple operations others take.
_SIMPLE = """
    add subtract multiply negative absolute sign square floor ceil trunc rint maximum minimum fmax fmin copysign
    signbit isnan isinf isfinite equal not_equal less less_equal greater greater_equal logical_and logical_or
    logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert left_shift right_shift conjugate real imag
    where"""
_WEIGHTS = {
    **dict.fromkeys(("param", "const", "cast", "index", "positive"), 0),
    **dict.fromkeys(_SIMPLE.split(), 1),
    **dict.fromkeys(("divide", "sqrt", "reciprocal", "exp", "exp2", "log", "log2", "cbrt", "hypot"), 4),
}
_HARD = 15


def cost(graph: Graph) -> float:
    """Give what a graph costs.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, md_hom
    >>> doubled = md_hom(lambda x: x + x, {"i": cc}, "x[i] -> y[i]").bind(np.ones(1 << 20, np.float32))
    >>> bytes_of(Graph.of(doubled)) / 2**20
    8.0
    """
    return sum([cost_of_step(s.mdhom) for s in graph.steps])


def cost_of_step(h: MdHom) -> float:
    """Give what one step costs."""
    if isinstance(h, Rows):
        return _CALL + _in_rows(h)
    if isinstance(h, Chain):
        return _CALL + _chained(h)
    return _CALL + bytes_of_step(h) + _across(h) + _OPERATION * _operations(h)


def bytes_of(graph: Graph) -> int:
    """Give the bytes that a graph reads and writes, each array once a step."""
    return sum([bytes_of_step(s.mdhom) for s in graph.steps])


def bytes_of_step(h: MdHom) -> int:
    """Give the bytes that an MDH reads and writes."""
    read = sum([min(prod(v.shape), h.points * len(v.accesses)) * v.dtype.itemsize for v in h.inputs])
    return read + sum([prod(v.shape) * v.dtype.itemsize for v in h.outputs])


def near(h: MdHom) -> float:
    """Give what a step costs besides the bytes of its arrays, if all of them lie in a cache."""
    loads = sum([min(prod(v.shape), h.points * len(v.accesses)) for v in h.inputs])
    return _OPERATION * (_operations(h) + _over(h) + loads + sum([prod(v.shape) for v in h.outputs]))


def _over(h: MdHom) -> float:
    """Operations of what vectors leave over of reduced rows, one after the other instead of a vector's at a time."""
    near = {d for v in h.inputs for a in v.accesses if a for d, n in enumerate(v.linear(a).coefficients) if abs(n) == 1}
    left = max([h.extents[d] % _WIDE / h.extents[d] for d in h.dims("pw") if d in near], default=0.0)
    return left * (_WIDE - 1) * h.points * weight(h.scalar)


def _in_rows(h: Rows) -> float:
    """Give what rows cost: what all of them read is read again for each few of them."""
    given = h.graph.given
    kept = [v for one in h.links[:-1] for v in one.outputs]
    count = prod([h.extents[d] for d in h.along[-1]])
    row = sum([prod(v.shape) * v.dtype.itemsize for v in kept]) // count
    longest = max([prod(v.shape) for one in h.links for v in (*one.inputs, *one.outputs)]) // count
    if count < ENOUGH or longest < _WIDE or row * _AT_ONCE // 2 > _CACHED:
        return inf
    total = float(sum([prod(v.shape) * v.dtype.itemsize for v in h.outputs]))
    for step, along in zip(h.graph.steps, h.along, strict=True):
        total += near(step.mdhom)
        for p, view in zip(step.inputs, step.mdhom.inputs, strict=True):
            again = prod([step.mdhom.extents[d] for d in along if not view.depends_on(d)]) // _AT_ONCE
            if p < given and again:
                size = prod(view.shape) * view.dtype.itemsize
                total += size * again * (_AGAIN if size <= _SHARED else 1)
    return _APART * (total + sum([prod(v.shape) * v.dtype.itemsize for v in h.inputs]))


def _chained(h: Chain) -> float:
    """Give what a chain costs by tiles that fit in a cache: each reads and computes what others do, too."""
    tiles, streams = Tiles(h), Tiles(h, 0)
    # What lies in a cache costs an operation for each load and store.
    points = [_operations(one) / one.points + len(one.accesses) + len(one.outputs) for one in h.links]

    def cost(tiles: Tiles, tile: Sequence[int], inside: float) -> float:
        work = sum([prod(sizes) * each for sizes, each in zip(tiles.sizes(tile), points, strict=True)])
        return prod(h.extents) / prod(tile) * (tiles.moved(tile) + inside * _OPERATION * work)

    whole = min([cost(tiles, tile, 1) for tile in _whole(h, tiles)], default=inf)
    streamed = min([cost(streams, tile, _PASSING) for tile in _streams(h, streams)], default=inf)
    return min(_APART * whole, streamed)


def _whole(h: Chain, tiles: Tiles) -> Iterator[tuple[int, ...]]:
    """Give tiles that fit."""
    for inner in {min(n, h.extents[-1]) for n in (128, 512, 1 << 14)}:
        for outer in (1 << n for n in range(1, 12)):
            tile = (*[min(outer, n) for n in h.extents[:-1]], inner)
            if tiles.kept(tile) <= _CACHED:
                yield tile


def _streams(h: Chain, tiles: Tiles) -> Iterator[tuple[int, ...]]:
    """Give what work-groups go through along the first dimension, of whole rows, where what they keep fits.

    None in two dimensions, where tiles have less border, nor of arrays that stay in a cache.
    """
    if len(h.extents) < 3 or bytes_of_step(h) < _FAR:
        return
    for outer in (1 << n for n in range(1, 12)):
        across = (*[min(outer, n) for n in h.extents[1:-1]], h.extents[-1])
        if tiles.kept((min(_PLANES, h.extents[0]), *across)) <= _CACHED:
            yield (h.extents[0], *across)


def _across(h: MdHom) -> int:
    """Bytes that columns cost more where their totals cannot be kept in the result, which has narrower elements.

    Such totals are in registers: so many columns at a time, whose elements are far apart.
    """
    wide = max([t.itemsize for t in h.scalar.dtypes]) > min([v.dtype.itemsize for v in h.outputs])
    reduced = h.dims("pw")
    along = [abs(v.linear(a).coefficients[d]) for v in h.inputs for a in v.accesses if a for d in reduced]
    return bytes_of_step(h) if wide and h.finish is not None and reduced and 1 not in along else 0


def _operations(h: MdHom) -> int:
    kept = prod([n for n, c in zip(h.extents, h.combine, strict=True) if c.kind != "pw"])
    combined = 0 if h.operator is None else weight(h.operator.function)
    return h.points * (weight(h.scalar) + combined) + kept * (0 if h.finish is None else weight(h.finish))


@lru_cache(maxsize=1024)
def weight(f: Function) -> int:
    """Count a function's operations."""
    return sum([_WEIGHTS.get(f.body[n].op, _HARD) for n in f.live()])
