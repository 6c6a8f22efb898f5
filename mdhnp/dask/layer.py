"""The tasks of an MDH on arrays in blocks: it is cut along the blocks, and its parts' results recombine.

All of it is `mdh.cut`, again and again: along concatenated dimensions first, then scanned, then reduced ones. Results
of reduced ones are combined in a tree, neighbours in order. What parts have in common is made once: the number of cuts
does not grow with that of the blocks of a grid but with those along its axes. Tasks are numbered; it must not know
arrays of dask's, nor how keys are named.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from math import prod
from typing import Any, NamedTuple

import numpy as np
from dask._task_spec import TaskRef

from mdhnp.dask.blocks import Blocks, Piece, Window, concatenated, stacked
from mdhnp.dask.rows import shared_ends
from mdhnp.dask.sizes import TASK, Ends, chosen
from mdhnp.dask.task import Call, Read, Work, assembled, sliced
from mdhnp.mdh import Computation, Cut, MdHom, Part, Rows, View, cut, finish_inputs
from mdhnp.mdh.mdhom import row_major
from mdhnp.mdh.recombine import left_for_later
from mdhnp.mdh.regions import part_of

__all__ = ["Layer", "Made"]

#: Partial results of how many neighbours one task combines: the least, and the most where they are small, for then a
#: task costs more than what it combines.
_RUN, _LONGEST = 4, 32
#: Elements that a slice must leave of its block to be taken by a task of its own, which others may read, and which
#: travels in place of the block.
_LEFT = 1 << 14
_ORDER = {"cc": 0, "ps": 1, "pw": 2}

#: What a part reads: a region of blocks, or a number.
Source = Window | int


class Made(NamedTuple):
    """A task without a name.

    Attributes
    ----------
    kind : str
        What its name says of it.
    function : callable
        What it calls.
    args : tuple
        With what; references to the numbers of other tasks, or to keys of inputs' blocks.
    """

    kind: str
    function: Callable[..., Any]
    args: tuple[Any, ...]


class Layer:
    """The tasks that compute one MDH.

    Attributes
    ----------
    tasks : list of Made
        Each is known by its number.
    cuts : int
        How often an MDH was cut.
    """

    def __init__(self) -> None:
        self.tasks: list[Made] = []
        self.cuts = 0
        self._same: dict[Computation, Computation] = {}
        self._cuts: dict[tuple[int, int, tuple[int, ...]], Cut | None] = {}
        self._calls: dict[tuple[int, tuple[Read, ...]], Call] = {}
        self._work: dict[int, Work] = {}
        self._slices: dict[tuple[Any, Any], Any] = {}
        self._regions: dict[tuple[int, Any, int | None], Any] = {}

    def compute(self, h: MdHom, inputs: Sequence[Blocks], largest: int) -> tuple[Blocks, ...]:
        """Have an MDH computed.

        Parameters
        ----------
        h : MdHom
            No chain.
        inputs : sequence of Blocks
            Its inputs.
        largest : int
            Bytes of one input that a part should not exceed.

        Returns
        -------
        tuple of Blocks
            One an output.
        """
        one = self._one(_plain(h))
        windows = [b.whole for b in inputs]
        if 0 in h.extents:
            return self._leaf(one, windows)
        ends = chosen(h, [[w.ends(axis) for axis in range(len(w.region))] for w in windows], largest)
        sources = [
            replace(w, shared=any([each and not v.depends_on(d) for d, each in enumerate(ends)]))
            for v, w in zip(h.inputs, windows, strict=True)
        ]
        return self._parts(one, sources, _sizes(h, ends))

    def rows(self, h: Rows, inputs: Sequence[Blocks]) -> tuple[Blocks, ...] | None:
        """Have rows computed, each part by one task; None where blocks do not hold whole rows."""
        windows = [b.whole for b in inputs]
        ends = shared_ends(h, [[w.ends(axis) for axis in range(len(w.region))] for w in windows])
        if ends is None:
            return None
        cuts = [(d, sizes) for d, sizes in enumerate(_sizes(h, ends)) if len(sizes) > 1]
        if not cuts:
            return self._leaf(self._one(h), windows)
        made = self._cut(self._one(h), *cuts[0]) if len(cuts) == 1 else None
        if made is None:
            return None
        found = [self._leaf(p.mdhom, _read(windows, p)) for p in made.parts]
        return _beside(h, made.dim, made.parts, found)

    def _parts(self, h: Computation, sources: Sequence[Source], sizes: Sequence[tuple[int, ...]]) -> tuple[Blocks, ...]:
        """Cut along the first dimension that is to be cut, and the parts along the others."""
        for dim in sorted(range(h.rank), key=lambda d: _ORDER[h.last.combine[d].kind]):
            made = self._cut(h, dim, sizes[dim]) if len(sizes[dim]) > 1 else None
            if made is not None:
                return self._cut_parts(made, sources, [() if d == dim else each for d, each in enumerate(sizes)])
        return self._leaf(h, sources)

    def _cut_parts(self, made: Cut, sources: Sequence[Source], sizes: Sequence[tuple[int, ...]]) -> tuple[Blocks, ...]:
        """Compute the parts of a cut, and recombine their results."""

        def compute(part: Part, carry: Sequence[Source] = ()) -> tuple[Blocks, ...]:
            return self._parts(part.mdhom, [*_read(sources, part), *carry], sizes)

        if made.kind == "pw":
            level = [found for part in made.parts for found in self._partials(part, sources, sizes)]
            return self._reduced(made, level, sources)
        carries = self._carried(made, [compute(part) for part in made.totals])
        results = [compute(part, carry) for part, carry in zip(made.parts, carries, strict=True)]
        return _beside(made.mdhom, made.dim, made.parts, results)

    def _partials(
        self, part: Part, sources: Sequence[Source], sizes: Sequence[tuple[int, ...]]
    ) -> list[tuple[Blocks, ...]]:
        """Compute a part's partial results: several, in order, where it is to be cut along more reduced dimensions."""
        h, read = part.mdhom.last, _read(sources, part)
        for dim in h.dims("pw"):
            made = self._cut(h, dim, sizes[dim]) if len(sizes[dim]) > 1 and not left_for_later(h, dim) else None
            if made is not None:
                rest = [() if d == dim else each for d, each in enumerate(sizes)]
                return [found for inner in made.parts for found in self._partials(inner, read, rest)]
        return [self._parts(h, read, sizes)]

    def _reduced(self, made: Cut, level: list[tuple[Blocks, ...]], sources: Sequence[Source]) -> tuple[Blocks, ...]:
        """Combine partial results, neighbours first."""
        run = _run(made)
        while len(level) > run:
            runs = [level[n : n + run] for n in range(0, len(level), run)]
            level = [self._combined(made.joined(len(each)), each) if len(each) > 1 else each[0] for each in runs]
        return self._combined(made.finished(len(level)), level, [sources[n] for n in finish_inputs(made.mdhom.last)])

    def _carried(self, made: Cut, totals: Sequence[tuple[Blocks, ...]]) -> list[list[Window]]:
        """Give what each part of a scan goes on from."""
        carries: list[list[Window]] = [[] for _ in made.parts]
        if totals:
            scanned = self._combined(made.prefixes(len(totals)), totals)
            for n, carry in enumerate(carries[1:]):
                carry += [Window(b, b.whole.region[1:], n) for b in scanned]
        return carries

    def _combined(
        self, h: MdHom, level: Sequence[tuple[Blocks, ...]], others: Sequence[Source] = ()
    ) -> tuple[Blocks, ...]:
        """Compute an MDH on stacks of partial results, and on others of which only what it reads is taken."""
        stacks = [stacked(each) for each in zip(*level, strict=True)]
        ends: dict[int, Ends] = {}
        for v, blocks in zip(h.inputs, stacks, strict=False):
            for axis, index in enumerate(v.accesses[0][1:], 1):
                if (dim := index.dim()) is not None:
                    ends[dim] = blocks.whole.ends(axis)
        sources: list[Source] = [*[b.whole for b in stacks], *others]
        if others:
            least = part_of(h, 0, 0, h.extents[0])
            h, sources = least.mdhom.last, _read(sources, least)
        return self._parts(self._one(_plain(h)), sources, _sizes(h, [ends.get(d, ()) for d in range(h.rank)]))

    # What parts have in common.

    def _one(self, h: Computation) -> Computation:
        """Give the one object of all that are equal, to be known by its identity."""
        return self._same.setdefault(h, h)

    def _cut(self, h: Computation, dim: int, sizes: tuple[int, ...]) -> Cut | None:
        """Cut an MDH; None where it cannot be."""
        key = id(h), dim, sizes
        if key not in self._cuts:
            self.cuts += 1
            try:
                made = cut(h, dim, sizes)
            except ValueError:
                self._cuts[key] = None
            else:
                parts, totals = (
                    tuple([p._replace(mdhom=self._one(_plain(p.mdhom))) for p in parts])
                    for parts in (made.parts, made.totals)
                )
                self._cuts[key] = replace(made, parts=parts, totals=totals)
        return self._cuts[key]

    def _works(self, h: Computation) -> Work:
        if id(h) not in self._work:
            self._work[id(h)] = Work.of(self._one(h))
        return self._work[id(h)]

    # Tasks.

    def _leaf(self, h: Computation, sources: Sequence[Source]) -> tuple[Blocks, ...]:
        """Have one part computed by one task."""
        reads, given = [], list[Any]()
        for v, source in zip(h.inputs, sources, strict=True):
            if isinstance(source, int):
                reads.append(Read(()))
                given.append(source)
            else:
                read, keys = self._read(source, v.dtype)
                reads.append(read)
                given += [TaskRef(key) for key in keys]
        known = id(h), tuple(reads)
        if known not in self._calls:
            self._calls[known] = Call(self._works(h), tuple(reads))
        key = self._add("", self._calls[known], *given)
        keys = [key]
        if len(h.outputs) > 1:
            keys = [self._add("-result", _result, TaskRef(key), n) for n in range(len(h.outputs))]
        return tuple([_block(key, v.shape) for key, v in zip(keys, h.outputs, strict=True)])

    def _read(self, window: Window, dtype: np.dtype[Any]) -> tuple[Read, list[Any]]:
        """Say how a region is put together, and of which blocks."""
        pieces = window.pieces()
        if len(pieces) > 1 and window.shared:
            known = id(window.blocks), tuple([(s.start, s.stop) for s in window.region]), window.number
            if known not in self._regions:
                read, keys = self._taken(window.shape, pieces)
                self._regions[known] = window, self._add("-region", _region, read, dtype, *map(TaskRef, keys))
            return Read(window.shape), [self._regions[known][1]]
        return self._taken(window.shape, pieces)

    def _taken(self, shape: tuple[int, ...], pieces: Sequence[tuple[Piece, int]]) -> tuple[Read, list[Any]]:
        keys, spans = [], []
        for found, size in pieces:
            taken = prod([s[1] - s[0] for s in found.here if isinstance(s, tuple)])
            if len(pieces) == 1 and taken == size and len(found.here) == len(found.there) == len(shape):
                return Read(shape), [found.key]
            key, here = found.key, found.here
            numbered = any([isinstance(s, int) for s in here])
            if numbered or (2 * taken < size and size - taken >= _LEFT):
                key = self._slice(key, here)
                here = tuple([(0, s[1] - s[0]) for s in here if isinstance(s, tuple)])
            keys.append(key)
            spans.append((here, found.there))
        return Read(shape, tuple(spans)), keys

    def _slice(self, key: Any, here: Any) -> Any:
        if (key, here) not in self._slices:
            self._slices[key, here] = self._add("-slice", sliced, TaskRef(key), here)
        return self._slices[key, here]

    def _add(self, kind: str, function: Callable[..., Any], *args: Any) -> int:
        self.tasks.append(Made(kind, function, args))
        return len(self.tasks) - 1


def _run(made: Cut) -> int:
    """Partial results that one task combines."""
    size = sum([prod(v.shape) * v.dtype.itemsize for v in made.parts[0].mdhom.outputs])
    return min(max(TASK // size, _RUN), _LONGEST)


def _result(results: Sequence[Any], n: int) -> Any:
    return results[n]


def _region(read: Read, dtype: np.dtype[Any], *blocks: Any) -> Any:
    return assembled(read, blocks, dtype)


@singledispatch
def _plain(h: Computation) -> Computation:
    """Give a computation on arrays that are C-contiguous, as blocks and what is put together of them are."""
    return h.relaid(_contiguous(h.inputs))


@_plain.register
def _(h: MdHom) -> Computation:
    return replace(h, inputs=_contiguous(h.inputs), outputs=_contiguous(h.outputs))


def _contiguous(views: Sequence[View]) -> tuple[View, ...]:
    return tuple([replace(v, strides=row_major(v.shape), offset=0) for v in views])


def _sizes(h: Computation, ends: Sequence[Ends]) -> list[tuple[int, ...]]:
    return [tuple(np.diff([0, *each, n]).tolist()) for each, n in zip(ends, h.extents, strict=True)]


def _read(sources: Sequence[Source], part: Part) -> list[Source]:
    """What a part reads of what the whole reads, but for what it carries on."""
    pairs = zip(sources, part.inputs, strict=True)
    return [*[s if isinstance(s, int) else s.part(region) for s, region in pairs], *part.begin]


def _block(key: Any, shape: tuple[int, ...]) -> Blocks:
    keys = np.empty((1,) * len(shape), object)
    keys[(0,) * len(shape)] = key
    return Blocks(keys, tuple([(0, n) for n in shape]))


def _beside(h: Computation, dim: int, parts: Sequence[Part], found: Sequence[tuple[Blocks, ...]]) -> tuple[Blocks, ...]:
    """Put parts' results beside each other."""
    results = []
    for o, view in enumerate(h.outputs):
        axis = next(a for a, index in enumerate(view.accesses[0]) if index.coefficients[dim])
        order = sorted(range(len(parts)), key=lambda n: parts[n].outputs[o][axis].start)
        results.append(concatenated([found[n][o] for n in order], axis))
    return tuple(results)
