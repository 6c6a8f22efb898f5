"""Cut: an MDH in parts along one dimension, the tasks that this makes, and how the results of the parts recombine.

That a dimension may be cut, in any number of parts of any sizes, again and again, is what makes an MDH a homomorphism;
its combine operator says what becomes of the parts' results. Where they are concatenated, each part writes its regions
of the results. Where they are reduced, parts give partial results, which one more MDH combines: any run of neighbours
to one, so a tree of them, the last with `finish`. Where they are scanned, the totals of the parts are scanned, and each
part goes on from what those before it add up to. The tasks of all that are a partition, over regions of the inputs and
each other's results; an executor computes stage after stage: threads with a device each, or a graph of tasks for a
scheduler. It must not know executors.

Source: Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL", Definition 6.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.mdh.arithmetic import lower
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.regions import Part, Region, all_of, part_of, read_region, within
from mdhnp.mdh.stages import carrying, combination, finish_inputs, left_for_later, partial, prefixes

Array = npt.NDArray[Any]


class Window(NamedTuple):
    """A region of an input of the whole."""

    input: int
    region: Region


class Stack(NamedTuple):
    """The same result of several tasks, over one more axis, the first."""

    tasks: tuple[int, ...]
    output: int


class Prefix(NamedTuple):
    """A result of a task at one index of its first axis."""

    task: int
    output: int
    at: int


#: What a task reads; a number is an int64 without axes.
Read = Window | Stack | Prefix | int


class Task(NamedTuple):
    """An MDH, and where its inputs come from."""

    #: What is computed.
    mdhom: Computation
    #: Of each of its inputs.
    reads: tuple[Read, ...]
    #: Of each output of the whole, what it writes; none where it gives partial results.
    writes: tuple[Region, ...]
    #: The number of the part that it computes, or of the first one whose results it combines.
    part: int


@dataclass(frozen=True)
class Partition:
    """The tasks of an MDH; those of one stage read results of earlier ones only."""

    #: The whole.
    mdhom: Computation
    #: The dimensions that are cut; none: the whole is one task.
    dims: tuple[int, ...]
    #: Tasks are numbered in this order. Those of the last stage write the results.
    stages: tuple[tuple[Task, ...], ...]

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        return tuple([task for stage in self.stages for task in stage])

    def run(self, compute: Callable[..., Any], *arrays: Array) -> Any:
        """Compute all tasks, one after the other, by `compute`, which takes and gives what :func:`interpret` does."""
        found: list[tuple[Array, ...]] = []

        def read(one: Read) -> Array:
            match one:
                case Window(n, region):
                    return read_region(arrays[n], region)
                case Stack(tasks, n):
                    return np.stack([found[task][n] for task in tasks])
                case Prefix(task, n, at):
                    return np.asarray(found[task][n][at])
            return np.asarray(one, np.int64)

        for task in self.tasks:
            values = compute(task.mdhom, *map(read, task.reads))
            found.append(values if isinstance(values, tuple) else (values,))
        results = tuple([np.empty(v.shape, v.dtype) for v in self.mdhom.outputs])
        last = self.stages[-1]
        for task, values in zip(last, found[-len(last) :], strict=True):
            for result, region, value in zip(results, task.writes, values, strict=True):
                result[region] = value
        return results if len(results) > 1 else results[0]


#: Gives how an MDH is cut along a dimension, if it is.
Divide = Callable[[MdHom, int], "Cut | None"]


@dataclass(frozen=True)
class Cut:
    """The parts of an MDH, and how their results recombine."""

    #: The whole.
    mdhom: Computation
    #: The dimension that is cut.
    dim: int
    #: In order. "cc": they write disjoint regions. "pw": they give partial results, C-contiguous, one a result of the
    #: scalar function. "ps": they write disjoint regions, and all but the first take, after what they read, the
    #: combined totals of all parts before.
    parts: tuple[Part, ...]
    #: For "ps": what gives the totals of all parts but the last, which are partial results.
    totals: tuple[Part, ...] = ()

    @property
    def kind(self) -> str:
        """How the results of the parts recombine: "cc", "ps" or "pw"."""
        return self.mdhom.last.combine[self.dim].kind

    def joined(self, count: int) -> MdHom:
        """Give what combines partial results of neighbours, or totals, to one: from stacks of so many."""
        return combination(self.mdhom.last, self.dim, count, finish=False)

    def finished(self, count: int) -> MdHom:
        """Give what combines the last partial results: from stacks, then the inputs that `finish` reads, to results."""
        return combination(self.mdhom.last, self.dim, count)

    def prefixes(self, count: int) -> MdHom:
        """Give what scans stacks of totals; the n-th prefix is carried on by part n + 1."""
        return prefixes(self.mdhom.last, self.dim, count)

    def partition(self, arity: int = 2, divide: Divide = lambda h, dim: None) -> Partition:
        """Give the tasks that compute the whole; one task combines partial results of at most `arity` neighbours.

        `divide` gives how what computes partial results is cut along one more reduced dimension, if it is: the parts of
        all such dimensions are combined in one tree.
        """
        if self.kind == "pw":
            return Partition(self.mdhom, (self.dim,), _reduced(self, arity, divide))
        stages, totals = [], len(self.totals)
        carried: list[tuple[Prefix, ...]] = [()] * len(self.parts)
        if totals:
            results = range(len(self.totals[0].mdhom.outputs))
            stacks = tuple([Stack(tuple(range(totals)), n) for n in results])
            stages.append(tuple([Task(p.mdhom, _reads(p), (), n) for n, p in enumerate(self.totals)]))
            stages.append((Task(self.prefixes(totals), stacks, (), 0),))
            carried[1:] = [tuple([Prefix(totals, n, at) for n in results]) for at in range(totals)]
        each = enumerate(zip(self.parts, carried, strict=True))
        stages.append(tuple([Task(p.mdhom, (*_reads(p), *carry), p.outputs, n) for n, (p, carry) in each]))
        return Partition(self.mdhom, (self.dim,), tuple(stages))

    def run(self, compute: Callable[..., Any], *arrays: Array) -> Any:
        """Compute all parts and recombine them, as :meth:`Partition.run` does."""
        return self.partition().run(compute, *arrays)


def whole(h: Computation) -> Partition:
    reads = tuple([Window(n, all_of(v)) for n, v in enumerate(h.inputs)])
    return Partition(h, (), ((Task(h, reads, tuple(map(all_of, h.outputs)), 0),),))


def _reduced(parted: Cut, arity: int, divide: Divide) -> tuple[tuple[Task, ...], ...]:
    """Give the parts, then what combines results of neighbours until there are so few that one task gives the last."""
    h = parted.mdhom.last
    partials = [task for p in parted.parts for task in _partials(p, _reads(p), divide)]
    parts = [task._replace(part=n) for n, task in enumerate(partials)]
    stages, level, count = [tuple(parts)], [*enumerate(parts)], len(parts)
    while len(level) > arity:
        above, stage = [], list[Task]()
        for begin in range(0, len(level), arity):
            run = level[begin : begin + arity]
            if len(run) == 1:
                above += run
                continue
            task = Task(parted.joined(len(run)), _stacks(run), (), run[0][1].part)
            above.append((count + len(stage), task))
            stage.append(task)
        stages.append(tuple(stage))
        level, count = above, count + len(stage)
    last: Computation = parted.finished(len(level))
    reads = _stacks(level)
    others = finish_inputs(h)
    if others:  # of which only the regions that it reads are taken
        least = part_of(last, 0, 0, last.extents[0])
        pairs = zip(others, least.inputs[len(reads) :], strict=True)
        last, reads = least.mdhom, (*reads, *[Window(n, region) for n, region in pairs], *least.begin)
    return (*stages, (Task(last, reads, tuple(map(all_of, h.outputs)), 0),))


def _partials(part: Part, reads: tuple[Read, ...], divide: Divide) -> Iterator[Task]:
    """Give what computes a part's partial results, in order."""
    h = part.mdhom.last
    cuts = (divide(h, dim) for dim in h.dims("pw") if not left_for_later(h, dim))
    division = next((cut for cut in cuts if cut is not None), None)
    if division is None:
        yield Task(h, reads, (), 0)
        return
    for inner in division.parts:
        yield from _partials(inner, _within(reads, inner), divide)


def _reads(part: Part) -> tuple[Read, ...]:
    return (*[Window(n, region) for n, region in enumerate(part.inputs)], *part.begin)


def _within(reads: Sequence[Read], part: Part) -> tuple[Read, ...]:
    regions = [
        Window(read.input, within(read.region, region)) if isinstance(read, Window) else read
        for read, region in zip(reads, part.inputs, strict=True)
    ]
    return (*regions, *part.begin)


def _stacks(level: Sequence[tuple[int, Task]]) -> tuple[Read, ...]:
    numbers = tuple([number for number, _ in level])
    return tuple([Stack(numbers, n) for n in range(len(level[0][1].mdhom.outputs))])


def cut(h: Computation, dim: int, parts: int | Sequence[int]) -> Cut:
    """Cut a computation in parts along one dimension: as equal as can be, or of these sizes, those of 0 left out.

    That is any concatenated or reduced dimension, of nested MDHs as well: where dimensions before it are combined later
    and by operators that do not change places with its own, they are left for the recombination, and partial results
    are larger by their extents. Of scanned ones, those that no such dimension stands before. Of rows, those that all
    MDHs have. Partial results of float16 are float32, unless there are complex numbers, too.

    Raises IndexError if there is no such dimension; ValueError if there is an extent of 0, parts are not those of the
    extent, or the dimension cannot be cut: one that is none of `h.divisible` (cut the `mdhoms`), or along which parts
    of rows are none; one whose results are not a slice along an axis of each output, or a scanned one before which
    others are left.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, interpret, md_hom, pw
    >>> a = np.arange(12.0).reshape(3, 4)
    >>> sums = md_hom(lambda x: x, {"i": cc, "j": pw("add")}, "A[i,j] -> s[i]").bind(a)
    >>> halves = cut(sums, 1, 2)
    >>> [str(p.mdhom) for p in halves.parts], str(halves.finished(2))
    (['md_hom(id, (++, +)) ∘ (A[i,j]) -> P0[i]', 'md_hom(id, (++, +)) ∘ (A[i,j]) -> P0[i]'], \
'md_hom(id, (+, ++)) ∘ (P0[i,j]) -> s[j]')
    >>> halves.run(interpret, a)
    array([ 6., 22., 38.])
    >>> [p.outputs for p in cut(sums, 0, (1, 2)).parts]
    [((slice(0, 1, None),),), ((slice(1, 3, None),),)]
    """
    _require_cuttable(h, dim)
    kind = h.last.combine[dim].kind
    if kind != "cc" and np.float16 in h.last.scalar.dtypes and not any([t.kind == "c" for t in h.dtypes]):
        h = lower(h.last).mdhom
    ends = [*accumulate(sizes_of(h, dim, parts), initial=0)]
    pieces = [part_of(h, dim, begin, end) for begin, end in pairwise(ends)]
    if kind == "cc":
        return Cut(h, dim, tuple(pieces))
    given = pieces if kind == "pw" else pieces[:-1]
    partials = tuple([p._replace(mdhom=partial(p.mdhom.last, dim), outputs=()) for p in given])
    if kind == "pw":
        return Cut(h, dim, partials)
    later = [p._replace(mdhom=carrying(p.mdhom.last, dim)) for p in pieces[1:]]
    return Cut(h, dim, (pieces[0], *later), partials)


def shares(extent: int, weights: Sequence[float]) -> tuple[int, ...]:
    """Give sizes in proportion to weights, each within one point; they may be 0."""
    if not weights or min(weights) < 0 or not sum(weights) > 0:
        raise ValueError(f"weights: {weights} are no shares; at least one must be positive, and none negative")
    ends = [round(extent * sum_ / sum(weights)) for sum_ in accumulate(weights)]
    return tuple([end - begin for begin, end in pairwise([0, *ends[:-1], extent])])


def _require_cuttable(whole: Computation, dim: int) -> None:
    if not 0 <= dim < whole.rank:
        raise IndexError(f"dim: {dim} is none of {whole.rank} dimensions, numbered from 0")
    if 0 in whole.extents:
        raise ValueError(f"h: {whole} has an extent of 0, and so no parts")
    h = whole.loops
    combine, name = h.combine[dim], h.names[dim]
    if not whole.divisible:
        raise ValueError("h: a chain cannot be cut; cut what it is made of, its `mdhoms`")
    if dim not in whole.divisible:
        raise ValueError(f"dim: not all of the rows have {name}; cut their `mdhoms`")
    if combine.kind == "ps" and (left := left_for_later(h, dim)):
        shown = ", ".join([h.names[d] for d in left])
        raise ValueError(f"dim: {name} is scanned before {shown} may be combined; cut that, or one of its `stages`")
    for view in h.outputs:
        for index, n in zip(view.accesses[0], view.shape, strict=True):
            step = abs(index.coefficients[dim])
            if step and h.extents[dim] > 1 and step * h.extents[dim] != n:
                shown = view.show(h.names)
                raise ValueError(f"dim: results along {name} are no slice of {shown}; cut what is outermost in an axis")


def sizes_of(h: Computation, dim: int, parts: int | Sequence[int]) -> tuple[int, ...]:
    """Give the sizes of parts of a dimension: as equal as can be, or these, those of 0 left out."""
    extent, name = h.extents[dim], h.loops.names[dim]
    if isinstance(parts, int | np.integer):
        if parts < 1:
            raise ValueError(f"parts: {parts} is no number of parts")
        least, more = divmod(extent, min(parts, extent))
        return (least + 1,) * more + (least,) * (min(parts, extent) - more)
    if min(parts, default=0) < 0 or sum(parts) != extent:
        raise ValueError(f"parts: {tuple(parts)} are no sizes that make the {extent} points of {name}")
    return tuple([n for n in parts if n])
