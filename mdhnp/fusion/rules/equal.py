"""What is computed twice is computed once."""

from collections.abc import Iterator
from dataclasses import replace

from mdhnp.fusion.rule import Match, Rule, read_as_written, written_plainly
from mdhnp.mdh import Graph, MdHom, Step, View
from mdhnp.mdh.views import Access, unit

__all__ = ["RULES"]


def _pairs(graph: Graph) -> Iterator[Match]:
    """Two steps of the same inputs, the later one first: it is the one that goes."""
    known: dict[tuple[int, ...], list[int]] = {}
    for last, step in enumerate(graph.steps):
        for first in known.setdefault(step.inputs, []):
            yield last, first
        known[step.inputs].append(last)


def same_computation(graph: Graph, match: Match) -> bool:
    """Both compute the same, though one may write it with axes of one element that the other has not."""
    f, s = (graph.steps[n].mdhom for n in match)
    return len(f.mdhoms) == len(s.mdhoms) == 1 and _meaning(f.last) == _meaning(s.last)


def _meaning(h: MdHom) -> object:
    inputs = tuple([replace(v, name="") for v in h.inputs])
    return h.extents, h.combine, h.scalar, h.finish, inputs, h.nested, h.precision, [v.dtype for v in h.outputs]


def no_result_in_another_shape(graph: Graph, match: Match) -> bool:
    """What goes is none of the results, unless what stays has its shape."""
    pairs = zip(graph.values(match[0]), graph.values(match[1]), strict=True)
    return all([v not in graph.results or graph.view(v) == graph.view(w) for v, w in pairs])


def _once(graph: Graph, match: Match) -> Graph:
    last, first = match
    gone, stays = graph.values(last), graph.values(first)
    views = {v: (graph.view(v), graph.view(w)) for v, w in zip(gone, stays, strict=True)}
    new: dict[int, Step | None] = {last: None}
    for n in graph.followers(last):
        step = graph.steps[n]
        seen = [_seen_of(v, *views[p], step.mdhom.rank) if p in views else v for p, v in step.reads]
        new[n] = Step(step.mdhom.relaid(seen), step.inputs)
    return graph.edited(new, {v: graph.made_by[w] for v, w in zip(gone, stays, strict=True)})


def _seen_of(read: View, gone: View, stays: View, rank: int) -> View:
    """A view of what stays that reads what one of what goes did, in an MDH of that rank."""

    def access_of(access: Access) -> Access:
        along = {d: i for i, own in zip(access, gone.accesses[0], strict=True) for d in own.dims()}
        return tuple([along[own.dims()[0]] if own.dims() else unit(rank) for own in stays.accesses[0]])

    accesses = tuple([access_of(a) for a in read.accesses])
    return View(read.name, stays.dtype, stays.shape, stays.strides, stays.offset, accesses)


RULES = (
    Rule(
        "(f, f) = f",
        "Aho, Sethi & Ullman, “Compilers”, Section 9.2: common subexpressions",
        _pairs,
        (written_plainly, read_as_written, same_computation, no_result_in_another_shape),
        _once,
    ),
)
