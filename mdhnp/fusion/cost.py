"""What a graph costs, to compare it with itself rewritten: seconds of one core of a usual CPU.

It must not know devices: on all of them bytes are dear and operations cheap, and what is decided by a small margin
matters little. Bytes and operations add up, since before there is a schedule nobody knows which of them hide behind
the others.
"""

from math import inf, prod

import numpy as np

from mdhnp.cost import ChainCost, Machine, bytes_read, operation_count, seconds, usual, weighed, weight, work
from mdhnp.cost.work import at_borders, loads, slides
from mdhnp.fusion.streamed import streamed
from mdhnp.mdh import Chain, Computation, Function, Graph, MdHom, Rows, trace

_MACHINE = usual("cpu", 1)
#: Seconds of a byte to or from memory, and of a simple operation.
_BYTE, _OPERATION = 1 / _MACHINE.memory, 1 / (2 * _MACHINE.float32)
#: Operations of a conversion.
_CONVERSION = weight(trace(lambda x: x.astype(np.float32), [np.float16]))
#: Operations of a vector at once, which takes none of OpenCL C text.
_LANES = 8
#: Bytes of a cache in which what a chain keeps of its maps lies: half of a core's second one.
_CACHED = 1 << 18
#: Planes that a chain advances by where its tiles follow each other, from how many bytes of arrays on it pays, and how
#: many times as long what it does in a cache takes then, while it waits for memory less: fitted to iterated stencils.
_PLANES, _FAR, _PASSING = 4, 1 << 25, 1.5
#: Rows that are enough for all cores, and how many are computed at a time; the same of the online form.
ENOUGH, _AT_ONCE, _BESIDE = 64, 8, 64
#: Elements of a row from which on vectors are full.
_WIDE = 16
#: Bytes of what all rows read that stay in a cache, and what part of one from memory a byte from there costs.
_SHARED, _AGAIN = 1 << 22, 0.05
#: Seconds in which an element is turned in registers: a cycle (`Core.copied`).
_TURNED = _MACHINE.core.copied[1] / _MACHINE.core.clock
#: How many times as long rows and chains take because they read memory and compute by turns: fitted to chains of
#: stencils; those of one and two dimensions to two stencils of 5 to 33 neighbours.
_APART, _TILED = 1.2, 1.1


def cost_of_step(h: Computation) -> float:
    """Return the estimated seconds of one step."""
    if isinstance(h, Chain):
        return _of_chain(h)
    if isinstance(h, Rows):
        return _of_rows(h)
    # Neighbours that a map reads are loaded once for several rows, those of a convolution in each of its rounds.
    beside = h.points * (loads(h.last) if slides(h.last) else at_borders(h.last))
    computing = _OPERATION * (_operations(h.last) + beside)
    return _MACHINE.launch + _BYTE * (bytes_of_step(h) + _across(h.last)) + computing


def cost_on_gpu(h: Computation, machine: Machine) -> float:
    """Return the estimated seconds of one step among others on a GPU: it is launched while earlier ones run."""
    return max(machine.unit.launch, seconds(work(h), machine))


def bytes_of(graph: Graph) -> int:
    return sum([bytes_of_step(s.mdhom) for s in graph.steps])


def bytes_of_step(h: Computation) -> int:
    return sum([bytes_read(h, v) for v in h.inputs]) + sum([v.element_bytes for v in h.outputs])


def seconds_in_cache(h: MdHom) -> float:
    """Return the seconds of a step if all of its arrays lie in a cache, where each load and store is an operation."""
    moved = sum([bytes_read(h, v) // v.dtype.itemsize for v in h.inputs]) + sum([prod(v.shape) for v in h.outputs])
    return _OPERATION * (_operations(h) + _over(h) + moved)


def _operations(h: MdHom) -> float:
    """Operations without conversions of float16 to float32, as which it is loaded; one at a time with OpenCL C text.

    What is combined in order has no vectors without text either.
    """
    ordered = bool(h.dims("ps")) or (h.operator is not None and not h.operator.commutative)
    return (operation_count(h) - h.points * _conversions(h.scalar)) * (_LANES if h.calls_text and not ordered else 1)


def _conversions(f: Function) -> float:
    steps = [f.body[n] for n in f.live()]
    return _CONVERSION * sum(
        [s.op == "cast" and s.dtype.char == "f" and f.body[s.args[0]].dtype.char == "e" for s in steps]
    )


def _over(h: MdHom) -> float:
    """Operations of what vectors leave over of reduced rows, one after the other instead of a vector's at a time."""
    neighbours = {
        d for v in h.inputs for a in v.accesses if a for d, n in enumerate(v.linear(a).coefficients) if abs(n) == 1
    }
    left = max([h.extents[d] % _WIDE / h.extents[d] for d in h.dims("pw") if d in neighbours], default=0.0)
    return left * (_WIDE - 1) * h.points * (weight(h.scalar) - _conversions(h.scalar))


def _of_rows(h: Rows) -> float:
    """Return the seconds of rows: what all of them read is read again for each few of them."""
    given = h.graph.given
    kept = [v for link in h.mdhoms[:-1] for v in link.outputs]
    count = prod([h.extents[d] for d in h.shared[-1]])
    row = sum([v.element_bytes for v in kept]) // count
    longest = max([prod(v.shape) for link in h.mdhoms for v in (*link.inputs, *link.outputs)]) // count
    if count < ENOUGH or longest < _WIDE:
        return inf
    # Of the online form rows may be of any length, and products are computed as those alone are.
    online = streamed(h) is not None
    at_once, apart = (_BESIDE, 1.0) if online else (_AT_ONCE, _APART)
    if not online and row * _AT_ONCE // 2 > _CACHED:
        return inf
    moved = float(sum([v.element_bytes for v in (*h.inputs, *h.outputs)]))
    for step, along in zip(h.graph.steps, h.shared, strict=True):
        for p, view in step.reads:
            again = prod([step.mdhom.extents[d] for d in along if not view.depends_on(d)]) // at_once
            if p < given and again:
                size = view.element_bytes
                # In the online form reading hides: an element is multiplied for all rows that are computed at a time.
                moved += size * again * (_AGAIN if online or size <= _SHARED else 1)
    computing = sum([seconds_in_cache(s.mdhom.last) for s in h.graph.steps]) + (_TURNED * _turned(h) if online else 0)
    return _MACHINE.launch + apart * (_BYTE * moved + computing)


def _turned(h: Rows) -> int:
    """Return the elements that are turned as rows, which lie in vectors in the online form, are no neighbours."""
    steps = [*zip(h.graph.steps, h.shared, strict=True)]
    views = [(v, along[-1]) for step, along in steps for p, v in step.reads if p < h.graph.given]
    views += [(v, h.shared[-1][-1]) for v in h.outputs]
    return sum(
        [prod(v.shape) for v, row in views if v.shape and v.linear(v.accesses[0]).coefficients[row] not in (0, 1)]
    )


def _of_chain(h: Chain) -> float:
    """Return the seconds of a chain by tiles that fit in a cache: each reads and computes what others do, too."""
    whole, streamed = ChainCost(h), ChainCost(h, 0, lambda link: _PASSING * weighed(link))
    outer = [1 << n for n in range(1, 12)]
    tiles = [
        (whole, (*[min(k, n) for n in h.extents[:-1]], min(inner, h.extents[-1])))
        for inner in (128, 512, 1 << 14) for k in outer
    ]  # fmt: skip
    if h.rank > 2 and bytes_of_step(h) >= _FAR:  # in two dimensions tiles have less border
        along = min(_PLANES, h.extents[0])
        tiles += [(streamed, (along, *[min(k, n) for n in h.extents[1:-1]], h.extents[-1])) for k in outer]
    accesses = [a for link in h.mdhoms for v in link.inputs for a in v.accesses]
    beside = {d for access in accesses for i in access for d in i.dims() if i.constant}
    apart = (_TILED if len(beside) < 3 else _APART) * max(_LANES / h.extents[-1], 1)
    times = [cost(tile) * (apart if cost is whole else 1) for cost, tile in tiles if cost.memory(tile) <= _CACHED]
    return _MACHINE.launch + _BYTE * min(times, default=inf)


def _across(h: MdHom) -> int:
    """Return the bytes that columns cost more where the result's elements are too narrow to keep their totals.

    Such totals are in registers: so many columns at a time, whose elements are far apart.
    """
    wide = max([t.itemsize for t in h.scalar.dtypes]) > min([v.dtype.itemsize for v in h.outputs])
    reduced = h.dims("pw")
    along = [abs(v.linear(a).coefficients[d]) for v in h.inputs for a in v.accesses if a for d in reduced]
    return bytes_of_step(h) if wide and h.finish is not None and reduced and 1 not in along else 0
