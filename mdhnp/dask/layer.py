"""The executor of graphs: an MDH on arrays in blocks is cut along these, and each part is a task of a scheduler.

All of it are partitions (`mdh/cut.py`), again and again: along concatenated dimensions first, then scanned, then
reduced ones. What parts have in common is made once: the number of cuts does not grow with that of the blocks of a grid
but with those along its axes. Tasks are numbered; it must not know arrays of dask's, nor how keys are named.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
from dask._task_spec import TaskRef

from mdhnp.dask.blocks import TASK, BlockedArray, Ends, Piece, Section, chosen, concatenated, shared_ends, stacked
from mdhnp.dask.task import Assembly, BlockTask, PartComputation, assembled, sliced
from mdhnp.mdh import Computation, Cut, MdHom, Partition, Prefix, Rows, Stack, Task, Window, contiguous, cut
from mdhnp.mdh.cut import Read

#: Partial results of how many neighbours one task combines: the least, and the most where they are small, for then a
#: task costs more than what it combines.
_LEAST, _MOST = 4, 32
#: Elements that a slice must leave of its block to be taken by a task of its own, which others may read, and which
#: travels in place of the block.
_LEFT = 1 << 14
_ORDER = {"cc": 0, "ps": 1, "pw": 2}

#: What a part reads: a region of blocks, or a number.
Source = Section | int


class Node(NamedTuple):
    """A task without a name."""

    kind: str  # which its name tells
    function: Callable[..., Any]
    #: References to the numbers of other tasks, or to keys of inputs' blocks, among others.
    args: tuple[Any, ...]


class Layer:
    """The tasks that compute one MDH, known by their numbers; `cuts` is how often one was cut."""

    def __init__(self) -> None:
        self.tasks: list[Node] = []
        self.cuts = 0
        self._same: dict[Computation, Computation] = {}
        self._cuts: dict[tuple[int, int, tuple[int, ...]], Cut | None] = {}
        self._calls: dict[tuple[int, tuple[Assembly, ...]], BlockTask] = {}
        self._work: dict[int, PartComputation] = {}
        self._read_again: dict[tuple[Any, Any], int] = {}  # tasks for slices of blocks, and for regions of arrays

    def compute(self, h: Computation, inputs: Sequence[BlockedArray], largest: int) -> tuple[BlockedArray, ...] | None:
        """Have something computed by parts that read at most `largest` bytes of an input, where that can be.

        None for what is fused, unless it is rows of which blocks hold whole ones: one task computes a part of these.
        """
        sections = [b.whole for b in inputs]
        blocks = [[w.ends(axis) for axis in range(len(w.region))] for w in sections]
        match h:
            case MdHom():
                one = self._one(contiguous(h))
                if 0 in h.extents:
                    return self._leaf(one, sections)
                ends = chosen(h, blocks, largest)
                sources = [
                    replace(w, shared=any([each and not v.depends_on(d) for d, each in enumerate(ends)]))
                    for v, w in zip(h.inputs, sections, strict=True)
                ]
                return self._parts(one, sources, _sizes(h, ends))
            case Rows() if (shared := shared_ends(h, blocks)) is not None:
                one, sizes = self._one(h), _sizes(h, shared)
                cuts = [d for d, each in enumerate(sizes) if len(each) > 1]
                if len(cuts) < 2 and all([self._cut(one, d, sizes[d]) is not None for d in cuts]):
                    return self._parts(one, sections, sizes)
        return None

    def _parts(
        self, h: Computation, sources: Sequence[Source], sizes: Sequence[tuple[int, ...]]
    ) -> tuple[BlockedArray, ...]:
        """Cut along the first dimension that is to be cut, and the parts along the others."""
        for dim in sorted(range(h.rank), key=lambda d: _ORDER[h.last.combine[d].kind]):
            made = self._cut(h, dim, sizes[dim])
            if made is not None:
                size = sum([prod(v.shape) * v.dtype.itemsize for v in made.parts[0].mdhom.outputs])
                arity = min(max(TASK // size, _LEAST), _MOST)  # partial results that one task combines
                tasks = made.partition(arity, lambda part, d: self._cut(part, d, sizes[d]))
                return self._partitioned(tasks, sources, sizes)
        return self._leaf(h, sources)

    def _partitioned(
        self, partition: Partition, sources: Sequence[Source], sizes: Sequence[tuple[int, ...]]
    ) -> tuple[BlockedArray, ...]:
        """Compute the tasks of a partition, each of which may be cut again."""
        found: list[tuple[BlockedArray, ...]] = []

        def source(read: Read) -> Source:
            match read:
                case Window(n, region):
                    given = sources[n]
                    return given if isinstance(given, int) else given.part(region)
                case Stack(tasks, n):
                    return stacked([found[task][n] for task in tasks]).whole
                case Prefix(task, n, at):
                    return self._row(found[task][n], at).whole
            return read

        for task in partition.tasks:
            h, cuts, reads = task.mdhom, sizes, [source(read) for read in task.reads]
            if any([isinstance(read, Stack) for read in task.reads]):
                h = self._one(contiguous(h))
                cuts = _sizes(h, _ends(h, task, reads))
            found.append(self._parts(h, reads, cuts))
        last = partition.stages[-1]
        return found[-1] if len(last) == 1 else _beside(partition, last, found[-len(last) :])

    # What parts have in common.

    def _one(self, h: Computation) -> Computation:
        """Give the one object of all that are equal, to be known by its identity."""
        return self._same.setdefault(h, h)

    def _cut(self, h: Computation, dim: int, sizes: tuple[int, ...]) -> Cut | None:
        """Cut an MDH; None where it cannot be, is not to be, or is cut already."""
        if len(sizes) < 2 or sum(sizes) != h.extents[dim]:
            return None
        key = id(h), dim, sizes
        if key not in self._cuts:
            self.cuts += 1
            try:
                made = cut(h, dim, sizes)
            except ValueError:
                self._cuts[key] = None
            else:
                parts, totals = (
                    tuple([p._replace(mdhom=self._one(contiguous(p.mdhom))) for p in parts])
                    for parts in (made.parts, made.totals)
                )
                self._cuts[key] = replace(made, parts=parts, totals=totals)
        return self._cuts[key]

    # Tasks.

    def _leaf(self, h: Computation, sources: Sequence[Source]) -> tuple[BlockedArray, ...]:
        """Have one part computed by one task."""
        reads, given = [], list[Any]()
        for v, source in zip(h.inputs, sources, strict=True):
            if isinstance(source, int):
                reads.append(Assembly(()))
                given.append(source)
            else:
                read, keys = self._read(source, v.dtype)
                reads.append(read)
                given += [TaskRef(key) for key in keys]
        if id(h) not in self._work:
            self._work[id(h)] = PartComputation.of(h)
        known = id(h), tuple(reads)
        if known not in self._calls:
            self._calls[known] = BlockTask(self._work[id(h)], tuple(reads))
        key = self._add("", self._calls[known], *given)
        keys = [key]
        if len(h.outputs) > 1:
            keys = [self._add("-result", getitem, TaskRef(key), n) for n in range(len(h.outputs))]
        grids = [np.full((1,) * len(v.shape), key, object) for key, v in zip(keys, h.outputs, strict=True)]
        ends = [tuple([(0, n) for n in v.shape]) for v in h.outputs]
        return tuple(map(BlockedArray, grids, ends))

    def _read(self, section: Section, dtype: np.dtype[Any]) -> tuple[Assembly, list[Any]]:
        """Say how a region is put together, and of which blocks."""
        pieces = section.pieces()
        if len(pieces) > 1 and section.shared:
            known = section.blocks, tuple([(s.start, s.stop) for s in section.region])
            if known not in self._read_again:
                read, keys = self._taken(section.shape, pieces)
                self._read_again[known] = self._add("-region", assembled, read, dtype, *map(TaskRef, keys))
            return Assembly(section.shape), [self._read_again[known]]
        return self._taken(section.shape, pieces)

    def _taken(self, shape: tuple[int, ...], pieces: Sequence[tuple[Piece, int]]) -> tuple[Assembly, list[Any]]:
        keys, spans = [], []
        for found, size in pieces:
            taken = prod([end - begin for begin, end in found.here])
            if len(pieces) == 1 and taken == size and len(found.here) == len(shape):
                return Assembly(shape), [found.key]
            key, here = found.key, found.here
            if 2 * taken < size and size - taken >= _LEFT:
                if (known := (key, here)) not in self._read_again:
                    self._read_again[known] = self._add("-slice", sliced, TaskRef(key), here)
                key, here = self._read_again[known], tuple([(0, end - begin) for begin, end in here])
            keys.append(key)
            spans.append((here, found.there))
        return Assembly(shape, tuple(spans)), keys

    def _row(self, blocks: BlockedArray, at: int) -> BlockedArray:
        """Give an array at one index of its first axis, along which it is in one block."""
        keys = np.empty(blocks.keys.shape[1:], object)
        for index in np.ndindex(keys.shape):
            keys[index] = self._add("-slice", getitem, TaskRef(blocks.keys[0, *index]), at)
        return BlockedArray(keys, blocks.ends[1:])

    def _add(self, kind: str, function: Callable[..., Any], *args: Any) -> int:
        self.tasks.append(Node(kind, function, args))
        return len(self.tasks) - 1


def _sizes(h: Computation, ends: Sequence[Ends]) -> list[tuple[int, ...]]:
    return [tuple(np.diff([0, *each, n]).tolist()) for each, n in zip(ends, h.extents, strict=True)]


def _ends(h: Computation, task: Task, reads: Sequence[Source]) -> list[Ends]:
    """Give where what combines stacks is cut: where the blocks of these end."""
    found: dict[int, Ends] = {}
    for v, read, source in zip(h.inputs, task.reads, reads, strict=True):
        if isinstance(read, Stack) and isinstance(source, Section):
            for axis, index in enumerate(v.accesses[0][1:], 1):
                if (dim := index.dim()) is not None:
                    found[dim] = source.ends(axis)
    return [found.get(d, ()) for d in range(h.rank)]


def _beside(
    partition: Partition, tasks: Sequence[Task], found: Sequence[tuple[BlockedArray, ...]]
) -> tuple[BlockedArray, ...]:
    """Put what tasks write beside each other."""
    (dim,), results = partition.dims, []
    for o, view in enumerate(partition.mdhom.outputs):
        axis = next(a for a, index in enumerate(view.accesses[0]) if index.coefficients[dim])
        order = sorted(range(len(tasks)), key=lambda n: tasks[n].writes[o][axis].start)
        results.append(concatenated([found[n][o] for n in order], axis))
    return tuple(results)
