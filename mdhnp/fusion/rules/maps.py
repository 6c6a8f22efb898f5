"""Maps: what combines nothing can be computed where its operands are made, where it is read, or tile by tile.

The first is an MDH's `finish`: what is done with each result, in the kernel that has it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from mdhnp.cost.work import slides
from mdhnp.fusion.compose import Composer, composed_with, is_map, is_short, written_out
from mdhnp.fusion.rule import (
    Match,
    Rule,
    first_is_map,
    first_is_only_read,
    first_is_short,
    known,
    last_is_map,
    only_read_by_last,
    pairs,
    read_in_order,
    written_plainly,
)
from mdhnp.mdh import Affine, Computation, Graph, Step, chain, unfused
from mdhnp.mdh.graph import expanded
from mdhnp.mdh.trace import Recorder
from mdhnp.mdh.views import Place, composed, in_place, numbered, unit

#: Maps of a chain, at most: of more, compiling takes longer than they win. And elements that a map loads for each one
#: that it gives, at most, where readers would compute these several times.
_MOST, _LOADS = 8, 16


def _each(graph: Graph) -> Iterator[Match]:
    yield from [(n,) for n in range(len(graph.steps))]


def _into_readers(graph: Graph, match: Match) -> Graph:
    (n,) = match
    inlined = dict.fromkeys(graph.values(n), graph.steps[n])
    return graph.edited({n: None} | {m: composed_with(graph, graph.steps[m], inlined) for m in graph.followers(n)})


def loads_few(graph: Graph, match: Match) -> bool:
    """The first step loads few elements for each that it gives, or no reader has more points than it has."""
    (n,) = match
    h, most = graph.mdhom(n), max([graph.steps[m].mdhom.points for m in graph.followers(n)], default=0)
    return len(h.accesses) <= _LOADS or most <= h.points


def gives_more_than_it_reads(graph: Graph, match: Match) -> bool:
    """The first step gives more elements than it reads, as of all pairs of rows."""
    h = graph.mdhom(match[0])
    read, written = (sum([prod(v.shape) for v in views]) for views in (h.inputs, h.outputs))
    return written > read


def few_maps(graph: Graph, match: Match) -> bool:
    """Both together are so few maps that they are compiled in a moment."""
    return sum([len(graph.steps[n].mdhom.mdhoms) for n in match]) <= _MOST


def is_a_chain(graph: Graph, match: Match) -> bool:
    """Both are maps, or chains of them, and read nothing of each other but what is near."""
    return _chained(graph, match) is not None


def _together(graph: Graph, match: Match) -> Graph:
    first, last = match
    step = _chained(graph, match)
    assert step is not None
    return graph.edited({first: None, last: step})


def _chained(graph: Graph, match: Match) -> Step | None:
    """Put two steps, and those of which they are made, into one; small convolutions as maps."""
    part, given = graph.subgraph(match)
    whole = expanded(part, lambda h: unfused(h).steps)
    small = [_is_small(s.mdhom) and written_plainly(whole, (n,)) for n, s in enumerate(whole.steps)]
    steps = [written_out(whole, n) if small[n] else s for n, s in enumerate(whole.steps)]
    fused = chain(replace(whole, steps=tuple(steps)))
    return None if fused is None else Step(fused, given)


def _is_small(h: Computation) -> bool:
    """Whether it is a convolution of few terms."""
    return slides(h.last) and is_short(h) and 0 not in h.extents and len(h.outputs) == 1


def point_by_point(graph: Graph, match: Match) -> bool:
    """The last step has a point for each result of the first one, and reads that one."""
    return _place(graph, match) is not None


def not_through_others(graph: Graph, match: Match) -> bool:
    """What else the last step reads does not depend on the first one."""
    first, last = match
    others = {graph.made_by[p][0] for p in graph.steps[last].inputs if p in graph.made_by} - {first}
    return not graph.reaches(first, *others)


def combines_or_stays(graph: Graph, match: Match) -> bool:
    """The first step is no map that the last one could compute itself, as nobody else wants its results."""
    first, last = match
    values = graph.values(first)
    stays = any([v in graph.results or graph.readers(v) != (last,) for v in values])
    return stays or not is_map(graph.mdhom(first))


def _place(graph: Graph, match: Match) -> Place | None:
    """The place of the last step in the first one; None where points and results are not one to one.

    So each axis of what the first one gives is a dimension of it, or has one element.
    """
    first, last = match
    h, f = graph.mdhom(last), graph.mdhom(first)
    place: list[Affine] = [unit(f.rank)] * h.rank
    seen: set[int] = set()
    for value in graph.values(first):
        result = graph.view(value)
        for view, access in graph.loads(last, value):
            if view.shape != result.shape or view.boundary is not None:
                return None
            for read, index in zip(access, result.accesses[0], strict=True):
                d, own = read.dim(), index.dim()
                if d is not None and own is not None and f.extents[own] > 1:
                    if h.extents[d] != f.extents[own] or place[d] not in (unit(f.rank), Affine.of(own, f.rank)):
                        return None
                    place[d] = Affine.of(own, f.rank)
                    seen.add(own)
                elif (read.dims() and not (d is not None and h.extents[d] == 1)) or (
                    own is not None and f.extents[own] > 1
                ):
                    return None
    kept = {d for d, c in enumerate(f.combine) if c.kind != "pw" and f.extents[d] > 1}
    moving = [d for d, n in enumerate(h.extents) if n > 1]
    placed = [index for d in moving for index in (place[d],) if index.dims()]
    return tuple(place) if seen == kept and len(placed) == len(moving) == len({*placed}) else None


def _finished(graph: Graph, match: Match) -> Graph:
    first, last = match
    place = _place(graph, match)
    assert place is not None
    step, after, values = graph.steps[first], graph.steps[last], graph.values(first)
    h, own = step.mdhom.last, in_place(step.mdhom.rank)
    kept = [o for o, v in enumerate(values) if v in graph.results or set(graph.readers(v)) - {last}]
    written = [replace(v, accesses=(composed(v.accesses[0], place, h.rank),)) for v in after.mdhom.outputs]
    composer, scalar, finish = Composer(graph, h.rank), Recorder(), Recorder()

    def results(recorder: Recorder, found: Sequence[int], before: int = 0) -> list[int]:
        composer.known = dict(zip(values, found, strict=True))
        return [*[found[o] for o in kept], *composer.mapped(recorder, after, place, before)]

    combined, contract, final = [*composer.combined(scalar, step, own)], h.scalar.contract, None
    if is_map(h):
        combined, contract = results(scalar, composer.finished(scalar, step, own, combined)), False
    else:
        types = h.scalar.dtypes
        found = composer.finished(finish, step, own, finish.parameters(types), len(types))
        final = finish, results(finish, found, len(types))
    outputs = numbered([*[h.outputs[o] for o in kept], *written], "O")
    new = composer.step(h, (scalar, combined), final, outputs=outputs, contract=contract)
    moved = {values[o]: (first, n) for n, o in enumerate(kept)}
    moved |= {v: (first, len(kept) + n) for n, v in enumerate(graph.values(last))}
    return graph.edited({first: new, last: None}, moved)


FINISH = Rule(
    "map(f) ∘ md_hom(g, ⊗) = md_hom(g, ⊗, finish=f)",
    "Rasch & Gorlatch, “Multi-dimensional homomorphisms and their implementation in OpenCL”, Section 2: "
    "what follows an md_hom",
    pairs,
    (known, last_is_map, combines_or_stays, point_by_point, not_through_others),
    _finished,
)
INTO_READERS = Rule(
    "F ∘ map(g) = F(g)",
    "Gorlatch & Steuwer, “Towards High-Level Programming for Systems with Many Cores”: map fusion",
    _each,
    (known, first_is_map, first_is_only_read, loads_few, written_plainly, read_in_order),
    _into_readers,
)
WRITTEN_OUT = Rule(
    "F ∘ reduce(⊗) = F(x₀ ⊗ … ⊗ xₙ)",
    "Charlier, Feydy, Glaunès, Collin & Durif, “Kernel Operations on the GPU, with Autodiff, without Memory Overflows”",
    _each,
    (known, first_is_short, gives_more_than_it_reads, first_is_only_read, written_plainly, read_in_order),
    _into_readers,
)
CHAIN = Rule(
    "map(f) ∘ map(g) = map(f) ∘ map(g), tile by tile",
    "Hagedorn, Stoltzfus, Steuwer, Gorlatch & Dubach, “High Performance Stencil Code Generation with Lift”: "
    "overlapped tiling",
    pairs,
    (only_read_by_last, few_maps, is_a_chain),
    _together,
)
