"""Loops: steps of a graph that share a dimension, computed part by part along it, so that temporaries are as small.

Where the steps that make a value, and the one that reads it, move along one of its axes, all of them may be cut along
that dimension (`cut.py`): a part of the values between them is all that is there at a time. The last of these steps
concatenates along the dimension, and parts of its result stand beside each other, or reduces it, and they are combined
to a running total. It must not know how much memory there is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from mdhnp.mdh.combine import CC
from mdhnp.mdh.function import Function, identity_function
from mdhnp.mdh.graph import Graph, Step
from mdhnp.mdh.mdhom import Computation, MdHom, dimension_names
from mdhnp.mdh.regions import Part, Region, part_of
from mdhnp.mdh.views import View, contiguous, packed, row_major


class Loop(NamedTuple):
    """Steps that are computed part by part, the last of which gives the only result."""

    #: Their numbers in the graph, in order.
    steps: tuple[int, ...]
    #: Of each, the dimension that is cut.
    dims: tuple[int, ...]
    #: Points of a part; the last part may have fewer.
    points: int
    #: Loops within a part, in which these steps are numbered from 0.
    inner: tuple["Loop", ...] = ()

    @property
    def last(self) -> int:
        """The step that gives the result."""
        return self.steps[-1]

    def extent(self, graph: Graph) -> int:
        return graph.steps[self.last].mdhom.extents[self.dims[-1]]

    def name(self, graph: Graph) -> str:
        """The dimension, as the last step has it."""
        return graph.mdhom(self.last).names[self.dims[-1]]

    def reduces(self, graph: Graph) -> bool:
        """Whether parts' results are combined, and not put beside each other."""
        return graph.mdhom(self.last).combine[self.dims[-1]].kind == "pw"

    def parts(self, graph: Graph) -> int:
        return -(-self.extent(graph) // self.points)

    def bounds(self, graph: Graph) -> Iterator[tuple[int, int]]:
        """Give of each part the first of its points, and the one after its last."""
        extent = self.extent(graph)
        for begin in range(0, extent, self.points):
            yield begin, min(begin + self.points, extent)


class Read(NamedTuple):
    """What parts read of a value that is made before: how it is seen, and the region of it."""

    value: int
    view: View
    #: Of each axis the first element, and the one after the last.
    bounds: tuple[tuple[int, int], ...]

    @property
    def region(self) -> Region:
        return tuple([slice(*ends) for ends in self.bounds])


class PartOfSteps(NamedTuple):
    """One part: its steps, what they are given, and which region of the result theirs is."""

    graph: Graph
    reads: tuple[Read, ...]
    region: Region


def loop_along(graph: Graph, last: int, dim: int) -> Loop | None:
    """Give the loop along a dimension of a step, over all steps before it whose results may be cut with it.

    None where the step, or all that it reads, cannot be cut along the dimension.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, md_hom, pw
    >>> a = np.ones((4, 4))
    >>> product = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]").bind(a, a)
    >>> total = md_hom(lambda x: x, {"i": cc, "j": pw("add")}, "A[i,j] -> B[i]").bind(a)
    >>> loop_along(Graph.ending(2, [Step(product, (0, 1)), Step(total, (2,))]), 1, 1)
    Loop(steps=(0, 1), dims=(1, 1), points=4, inner=())
    """
    if not _is_cut(graph.steps[last].mdhom, dim, reduced=True):
        return None
    dims, whole, pending = {last: dim}, set[int](), [last]
    while pending:
        n = pending.pop()
        for p, view in graph.steps[n].reads:
            if p not in graph.made_by or not view.depends_on(dims[n]):
                continue
            m, along = graph.made_by[p][0], _made_along(graph, p, view, dims[n])
            if along is None or dims.get(m, along) != along or not _is_cut(graph.steps[m].mdhom, along):
                whole.add(m)
            elif m not in dims:
                dims[m] = along
                pending.append(m)
    while others := [m for m in dims if m != last and (m in whole or not _is_inside(graph, m, dims))]:
        for m in others:
            del dims[m]
    if len(dims) < 2:
        return None
    steps = tuple(sorted(dims))
    return Loop(steps, tuple([dims[n] for n in steps]), graph.steps[last].mdhom.extents[dim])


def part_of_steps(graph: Graph, loop: Loop, begin: int, end: int) -> PartOfSteps:
    """Give the steps of a loop as they are from one of its points to before another."""
    parts = [part_of(graph.steps[n].mdhom, d, begin, end) for n, d in zip(loop.steps, loop.dims, strict=True)]
    numbers = {p: number for number, p in enumerate([p for n in loop.steps for p in graph.values(n)])}
    read = [
        [Read(p, view.array, tuple([(s.start, s.stop) for s in region]))
         for (p, view), region in zip(graph.steps[n].reads, part.inputs, strict=True)]
        for n, part in zip(loop.steps, parts, strict=True)
    ]  # fmt: skip
    given = tuple(dict.fromkeys([array for reads in read for array in reads if array.value not in numbers]))
    places = {array: number for number, array in enumerate(given)}
    steps = []
    for part, reads in zip(parts, read, strict=True):
        inputs = tuple([places[array] if array in places else len(given) + numbers[array.value] for array in reads])
        steps.append(Step(_alone(part, [p >= len(given) for p in inputs]), inputs))
    return PartOfSteps(Graph.ending(len(given), steps), given, parts[-1].outputs[0])


def placing(view: View, region: Region) -> MdHom:
    """Give the MDH that puts a part's result where it belongs: into a region of the whole, seen as an array."""
    shape = tuple([s.stop - s.start for s in region])
    part = contiguous("A", view.dtype, shape, tuple(range(len(shape))))
    there = replace(part, name="B", strides=row_major(view.shape))
    return _map(identity_function((view.dtype,)), shape, (part,), there)


def adding(h: MdHom, dim: int) -> MdHom:
    """Give the MDH that combines a total and the next part's result, along a dimension that `h` reduces."""
    (view,), operator = h.outputs, h.combine[dim].operator
    assert operator is not None
    total, part, result = (contiguous(c, view.dtype, view.shape, tuple(range(len(view.shape)))) for c in "ABC")
    return _map(operator.function, view.shape, (total, part), result)


def _map(function: Function, shape: tuple[int, ...], inputs: tuple[View, ...], output: View) -> MdHom:
    names = dimension_names(len(shape))
    return MdHom(shape, (CC,) * len(shape), function, inputs, (output,), None, names, checked=False)


def _alone(part: Part, made: Sequence[bool]) -> Computation:
    """A part's MDH where what other parts' are neighbours of, is an array of its own: results, and what is made."""
    h = part.mdhom.last
    inputs = [packed([v])[0] if own else v for v, own in zip(h.inputs, made, strict=True)]
    return replace(h, inputs=tuple(inputs), outputs=packed(h.outputs))


def _is_cut(h: Computation, dim: int, *, reduced: bool = False) -> bool:
    """Whether a step may be cut along a dimension: one along which results stand beside each other, or are reduced.

    They are reduced by a function of NumPy's, which takes totals one by one. No function asks for the index, no index
    lies outside of an array, or is an element of another one.
    """
    if not isinstance(h, MdHom) or dim not in h.divisible or h.extents[dim] < 2 or h.index_sources or 0 in h.extents:
        return False
    if any([dim in f.used_indices() for f in (h.scalar, h.finish) if f is not None]):
        return False
    if any([v.boundary is not None and v.depends_on(dim) for v in h.inputs]):
        return False
    if h.combine[dim].kind == "cc":
        return all([v.axis_along(dim) is not None for v in h.outputs])
    operator = h.combine[dim].operator
    plain = len(h.outputs) == 1 and h.finish is None and not h.nested and not h.dims("ps")
    return reduced and h.combine[dim].kind == "pw" and plain and operator is not None and operator.ufuncs[0] != ""


def _made_along(graph: Graph, value: int, view: View, dim: int) -> int | None:
    """The dimension along which the step that makes a value is cut if what reads it is cut along another."""
    made, axis = graph.view(value), view.axis_along(dim)
    if axis is None or view.shape != made.shape:
        return None
    (access,) = made.accesses
    along = access[axis].dim()
    return along if along is not None and made.axis_along(along) == axis else None


def _is_inside(graph: Graph, m: int, dims: dict[int, int]) -> bool:
    """Whether all that read a step's results are cut with it."""
    for value in graph.values(m):
        if value in graph.results:
            return False
        for n in graph.readers(value):
            if n not in dims:
                return False
            for p, view in graph.steps[n].reads:
                if p == value and (not view.depends_on(dims[n]) or _made_along(graph, p, view, dims[n]) != dims[m]):
                    return False
    return True
