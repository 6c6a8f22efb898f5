"""Steps alike: steps that differ only in what they read become one, whose first dimension counts them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mdhnp.fusion.compose import Reads, is_known
from mdhnp.fusion.rule import Match, Rule, known
from mdhnp.mdh import Affine, Graph, Instruction, MdHom, Step, View
from mdhnp.mdh.combine import CC
from mdhnp.mdh.complex import where
from mdhnp.mdh.function import Function
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.mdh.trace import Recorder, Symbol
from mdhnp.mdh.views import Access, in_place, row_major, shifted, unit

#: Steps that become one at most: a kernel that copies an operand of each takes a pointer and an offset of each, in 1024
#: bytes of arguments, which every device has room for.
_MOST = 60


def _alike(graph: Graph) -> Iterator[Match]:
    """Matches: steps that compute the same of what they read, and do not need each other; first those that share some.

    `before` is how many steps, one after the other, have to come before each at most: it differs for two of which one
    needs the other.
    """
    groups: dict[object, list[int]] = {}
    before = list[int]()
    for n, step in enumerate(graph.steps):
        before.append(max([before[graph.made_by[p][0]] + 1 for p in step.inputs if p in graph.made_by], default=0))
        if isinstance(step.mdhom, MdHom):
            groups.setdefault((before[n], _signature(step.mdhom)), []).append(n)
    for group in groups.values():
        sharing: dict[object, list[int]] = {}
        for n in group:
            for k, (p, v) in enumerate(graph.steps[n].reads):
                sharing.setdefault((k, p, v.array, v.accesses), []).append(n)
        subsets = sorted([steps for steps in sharing.values() if len(steps) < len(group)], key=len, reverse=True)
        for steps in (*subsets, group):
            size = -(-len(steps) // -(-len(steps) // _MOST))
            matches = [tuple(steps[n : n + size]) for n in range(0, len(steps), size)]
            yield from [match for match in matches if len(match) > 1]


def _signature(h: MdHom) -> object:
    """All of a step but where in arrays the boxes begin that it reads: equal for steps that are alike."""
    inputs = [(v.dtype, v.boundary, v.fill, shape, from_low) for v in h.inputs for _, shape, from_low in (_box(h, v),)]
    outputs = [(v.dtype, v.shape, v.accesses) for v in h.outputs]
    return h.extents, h.combine, h.scalar, h.finish, h.nested, h.precision, (*inputs,), (*outputs,)


def _box(h: MdHom, view: View) -> tuple[tuple[int, ...], tuple[int, ...], tuple[Access, ...]]:
    """Give the smallest box that holds all that is read of an array: its first indices, shape, and accesses to it.

    Of an array with a boundary it is all of the array.
    """
    if view.boundary is not None:
        return (0,) * len(view.shape), view.shape, view.accesses
    ends = [[*zip(*[i.span(h.extents) for i in axis], strict=True)] for axis in zip(*view.accesses, strict=True)]
    low, shape = tuple([min(a) for a, _ in ends]), tuple([max(b) - min(a) + 1 for a, b in ends])
    return low, shape, tuple([shifted(access, [-n for n in low]) for access in view.accesses])


def read_by_single_steps(graph: Graph, match: Match) -> bool:
    """What reads their results is not fused."""
    return all([is_known(graph.steps[m].mdhom) for n in match for m in graph.followers(n)])


def makes_fewer(graph: Graph, match: Match) -> bool:
    """Fewer steps are left, those that copy operands among them."""
    operands = [_read(graph, match, k) for k in range(len(graph.mdhom(match[0]).inputs))]
    return len({reads for reads in operands if _distances(reads) is None}) + 1 < len(match)


class _Read(NamedTuple):
    """What a step reads: the number of a value, how its array lies in memory, the box's first indices and its shape."""

    value: int
    array: View
    low: tuple[int, ...]
    shape: tuple[int, ...]


def _read(graph: Graph, match: Match, k: int) -> tuple[_Read, ...]:
    """What each step reads as one of its inputs."""
    reads = [(graph.mdhom(n), *graph.steps[n].reads[k]) for n in match]
    return tuple([_Read(value, view.array, *_box(h, view)[:2]) for h, value, view in reads])


def _distances(reads: Sequence[_Read]) -> list[int] | None:
    """Elements along each axis from one box to the next, where all are of one array at equal distances; else None."""
    low = reads[0].low
    steps = [b - a for a, b in zip(low, reads[1].low, strict=True)]
    by_turns = [
        reads[0]._replace(low=tuple([a + m * s for a, s in zip(low, steps, strict=True)])) for m in range(len(reads))
    ]
    return steps if [*reads] == by_turns else None


def _copied(reads: Sequence[_Read]) -> Step:
    """Give the step that copies boxes of one shape, one after the other along a first axis."""
    shape = (len(reads), *reads[0].shape)
    rank, recorder = len(shape), Recorder()
    all_reads, boxes = Reads(rank), list[Symbol]()
    for value, array, low, _ in reads:
        access = tuple([Affine.of(a, rank, n) for a, n in enumerate(low, 1)])
        inside = replace(array, boundary=None, fill="0")
        boxes.append(all_reads.read(recorder, value, inside, access, in_place(rank)))
    which = recorder.add(Instruction("index", (), np.dtype(np.int64), 0))
    return all_reads.map(recorder, shape, _one_of(boxes, which).number)


def _one_of(values: Sequence[Symbol], which: Any, begin: int = 0) -> Any:
    """Record the one of some values whose number, from `begin` on, is the value `which`: by a tree of comparisons."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    left, right = _one_of(values[:half], which, begin), _one_of(values[half:], which, begin + half)
    return where(which < begin + half, left, right)


def _as_one(graph: Graph, match: Match) -> Graph:
    """Give the graph in which the first of the steps computes all; in place of others stand copies of operands."""
    first, count, h = match[0], len(match), graph.mdhom(match[0])
    rank, inputs, values = h.rank + 1, list[View](), list[int]()
    new: dict[int, Step | None] = dict.fromkeys(match)
    copied: dict[tuple[_Read, ...], int] = {}
    for k, (value, view) in enumerate(graph.steps[first].reads):
        reads, (_, shape, in_box) = _read(graph, match, k), _box(h, view)
        steps = _distances(reads)
        if steps is not None:
            accesses = [_with_first(access, steps) for access in view.accesses]
        else:
            n = copied.setdefault(reads, match[1 + len(copied)])  # a step that goes: its number is free
            new[n], value = _copied(reads), graph.firsts[n]
            accesses = [(Affine.of(0, rank), *_with_first(access, [0] * len(shape))) for access in in_box]
            view = _stacked(replace(view, shape=shape), count, ())
        inputs.append(replace(view, accesses=tuple(accesses)))
        values.append(value)
    outputs = [
        _stacked(v, count, [(Affine.of(0, rank), *_with_first(a, [0] * len(a))) for a in v.accesses]) for v in h.outputs
    ]
    new[first] = Step(
        replace(
            h, extents=(count, *h.extents), combine=(CC, *h.combine), scalar=_shifted(h.scalar), inputs=tuple(inputs),
            outputs=tuple(outputs), finish=None if h.finish is None else _shifted(h.finish),
            names=dimension_names(rank),
        ),
        tuple(values),
    )  # fmt: skip
    place = {
        v: (own, m) for m, n in enumerate(match) for v, own in zip(graph.values(n), graph.values(first), strict=True)
    }

    def seen(step: Step, value: int, view: View) -> View:
        """Give a reader's view of what was one step's result, in the results of all."""
        which = replace(unit(step.mdhom.rank), constant=place[value][1])
        return _stacked(view, count, [(which, *access) for access in view.accesses])

    for n in {reader for one in match for reader in graph.followers(one)}:
        step = graph.steps[n]
        views = [seen(step, p, v) if p in place else v for p, v in step.reads]
        new[n] = Step(step.mdhom.relaid(views), tuple([place[p][0] if p in place else p for p in step.inputs]))
    results, parts = zip(
        *[(place[r][0], (place[r][1], *part)) if r in place else (r, part) for r, part in graph.wanted], strict=True
    )
    return replace(graph, results=results, parts=parts if any(parts) else ()).edited(new)


def _stacked(view: View, count: int, accesses: Sequence[Access]) -> View:
    """Give a C-contiguous view of `count` arrays along a new first axis, in place of the view of one of them."""
    shape = (count, *view.shape)
    return replace(view, shape=shape, strides=row_major(shape), offset=0, accesses=tuple(accesses))


def _with_first(access: Access, steps: Sequence[int]) -> Access:
    """Give an access of a new first dimension, which moves it by so many elements (`steps`) along each axis."""
    return tuple([replace(i, coefficients=(n, *i.coefficients)) for i, n in zip(access, steps, strict=True)])


def _shifted(f: Function) -> Function:
    """Give a function whose indices are of dimensions behind a new first one."""
    return f.substituted(index=lambda s: replace(s, position=s.position + 1))


ALIKE = Rule(
    "(F(x₀), …, F(xₙ)) = map(F)(x₀, …, xₙ)",
    "Li et al., “Automatic Horizontal Fusion for GPU Kernels”; PyTorch's `vmap`, JAX's batching",
    _alike,
    (known, read_by_single_steps, makes_fewer),
    _as_one,
)
