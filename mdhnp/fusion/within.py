"""Within memory: which steps of a graph are computed part by part, so that its temporaries take no more than a limit.

A temporary is held from the step that makes it to the last one that reads it. Where all that are held at a time are too
large, steps are put in a loop along a dimension that they share (`mdhnp/mdh/loop.py`): of all such loops that keep
within the limit the cheapest one by `cost_of_step` is taken, in as few parts as do. Where no single one does, that
which needs least, with loops inside of its parts, and others beside it. It must not know devices.
"""

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from mdhnp.cost import usual
from mdhnp.fusion.cost import cost_of_step
from mdhnp.mdh import Graph, MdHom
from mdhnp.mdh.loop import Loop, loop_along, part_of_steps

#: Seconds of a byte to or from memory.
_BYTE = 1 / usual("cpu", 1).memory
#: Points of a part are a multiple of these, where there are so many: vectors, and tiles of products, are full then.
_EVEN = (64, 16, 4)


class Limited(NamedTuple):
    """Loops that make temporaries small, and the bytes of these that are held at a time, at the most."""

    loops: tuple[Loop, ...]
    nbytes: int


class _Held(NamedTuple):
    """The temporaries that are held while a step, or a loop by the number of its last step, is computed."""

    values: frozenset[int]
    #: Their bytes, and those of what is there within a part.
    outside: int
    inside: int

    @property
    def nbytes(self) -> int:
        return self.outside + self.inside


def limited(graph: Graph, limit: float) -> Limited:
    """Choose loops by which the temporaries of a graph take at most so many bytes, or as few as can be if those do not.

    Results are no temporaries, but the parts of a loop's result are, until they are where they belong.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import Step, cc, md_hom, pw
    >>> a = np.ones((64, 64))
    >>> product = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]").bind(a, a)
    >>> total = md_hom(lambda x: x, {"i": cc, "j": pw("add")}, "A[i,j] -> B[i]").bind(a)
    >>> graph = Graph.ending(2, [Step(product, (0, 1)), Step(total, (2,))])
    >>> limited(graph, 1 << 20), limited(graph, 1 << 14)
    (Limited(loops=(), nbytes=32768), Limited(loops=(Loop(steps=(0, 1), dims=(0, 0), points=24, inner=()),), \
nbytes=12480))
    """
    return _limited(graph, limit, holds_results=False)


def cost(graph: Graph, loops: Sequence[Loop]) -> float:
    """Return the estimated seconds of a graph some of whose steps are computed part by part."""
    inside = {n for loop in loops for n in loop.steps}
    alone = [cost_of_step(s.mdhom) for n, s in enumerate(graph.steps) if n not in inside]
    return sum(alone) + sum([_cost_of_loop(graph, loop) for loop in loops])


def _limited(graph: Graph, limit: float, *, holds_results: bool) -> Limited:
    loops: tuple[Loop, ...] = ()
    while (worst := _worst(graph, loops, holds_results=holds_results)).nbytes > limit:
        found = [
            _fitted(graph, loops, loop, limit, holds_results=holds_results)
            for loop in _candidates(graph, loops, {graph.made_by[p][0] for p in worst.values})
        ]
        fitting = [one for one in found if one.nbytes <= limit]
        if fitting:
            return min(fitting, key=lambda one: cost(graph, one.loops))
        least = min(found, key=lambda one: (one.nbytes, cost(graph, one.loops)), default=None)
        if least is None or least.nbytes >= worst.nbytes:
            break
        loops = least.loops
    return Limited(loops, worst.nbytes)


def _candidates(graph: Graph, loops: Sequence[Loop], wanted: Set[int]) -> Iterator[Loop]:
    """All loops of steps that are in none, one of the wanted ones at least."""
    taken = {n for loop in loops for n in loop.steps}
    for n, step in enumerate(graph.steps):
        if n in taken or not isinstance(step.mdhom, MdHom):
            continue
        for dim in range(step.mdhom.rank):
            loop = loop_along(graph, n, dim)
            if loop is not None and taken.isdisjoint(loop.steps) and not wanted.isdisjoint(loop.steps):
                yield loop


def _fitted(graph: Graph, loops: tuple[Loop, ...], loop: Loop, limit: float, *, holds_results: bool) -> Limited:
    """Add a loop, in parts as large as the limit allows; if one point is too much, with loops inside of it."""
    whole = _held(graph, (*loops, loop), holds_results=holds_results)[loop.last]
    extent = loop.extent(graph)
    # All that is made inside moves along the dimension, but for a part of a result that is reduced.
    fixed = _result_bytes(graph, loop) if loop.reduces(graph) else 0
    points = int((limit - whole.outside - fixed) * extent // max(whole.inside - fixed, 1))
    made = loop._replace(points=_even(min(max(points, 1), extent), extent))
    if points < 1:
        part = part_of_steps(graph, made, 0, 1).graph
        made = made._replace(inner=_limited(part, limit - whole.outside, holds_results=True).loops)
    return Limited((*loops, made), _worst(graph, (*loops, made), holds_results=holds_results).nbytes)


def _even(points: int, extent: int) -> int:
    """Give as many points for all parts, or fewer: a round number, where that takes few more parts."""
    parts = -(-extent // points)
    least = -(-extent // parts)
    rounded = [n for e in _EVEN if (n := -(-least // e) * e) <= points]
    return rounded[0] if rounded else least


def _worst(graph: Graph, loops: Sequence[Loop], *, holds_results: bool) -> _Held:
    return max(_held(graph, loops, holds_results=holds_results).values(), key=lambda held: held.nbytes)


def _held(graph: Graph, loops: Sequence[Loop], *, holds_results: bool) -> dict[int, _Held]:
    """Say of each step, and each loop, which temporaries are held meanwhile."""
    by_last = {loop.last: loop for loop in loops}
    place = {n: loop.last for loop in loops for n in loop.steps}
    size = {
        p: v.element_bytes
        for n, s in enumerate(graph.steps)
        for p, v in zip(graph.values(n), s.mdhom.outputs, strict=True)
    }
    ends = {p: max([place.get(n, n) for n in graph.readers(p)], default=-1) for p in size}
    now, found = set[int](), dict[int, _Held]()
    for n in range(len(graph.steps)):
        if place.get(n, n) != n:
            continue
        now.update(graph.values(n))
        held = frozenset([p for p in now if holds_results or p not in graph.results])
        inside = _inside(graph, by_last[n]) if n in by_last else 0
        found[n] = _Held(held, sum([size[p] for p in held]), inside)
        now -= {p for p in now if ends[p] <= n and p not in graph.results}
    return found


def _inside(graph: Graph, loop: Loop) -> int:
    """Bytes of what is there within a part, its result among them; a total and the next one may be there at a time."""
    part = part_of_steps(graph, loop, 0, loop.points).graph
    most = _worst(part, loop.inner, holds_results=True).nbytes
    return max(most, 2 * _result_bytes(graph, loop)) if loop.reduces(graph) else most


def _result_bytes(graph: Graph, loop: Loop) -> int:
    return graph.steps[loop.last].mdhom.outputs[0].element_bytes


def _cost_of_loop(graph: Graph, loop: Loop) -> float:
    part = part_of_steps(graph, loop, 0, loop.points).graph
    parts, moved = loop.parts(graph), _result_bytes(graph, loop)
    # A part's result is put into its place, or read and added to a total that is read and written.
    again = 3 * (parts - 1) * moved if loop.reduces(graph) else 2 * moved
    return parts * cost(part, loop.inner) + again * _BYTE
