"""Steps beside each other: what is computed twice is computed once, what reads the same is computed by one kernel."""

from collections.abc import Iterator
from dataclasses import replace

from mdhnp.cost import weight
from mdhnp.fusion.compose import Composer
from mdhnp.fusion.cost import bytes_of_step
from mdhnp.fusion.rule import Match, Rule, independent, known, read_as_written, written_plainly
from mdhnp.mdh import Combine, Graph, MdHom, Operator, Step, View
from mdhnp.mdh.trace import Recorder
from mdhnp.mdh.views import Access, composed, in_place, numbered, unit

#: Results of a step that is made of two, at most, complex ones counted twice: 16 products of complex64 matrices
#: by one are 1.2 MB of text that Intel's runtime compiles in 9 to 14 s, 8 of them in less than one.
_RESULTS = 16


def _same_inputs(graph: Graph) -> Iterator[Match]:
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
    new, rank = dict[int, Step | None]({last: None}), graph.steps[last].mdhom.rank
    for n in graph.followers(last):
        step = graph.steps[n]
        seen = [_seen_of(v, *views[p], rank, step.mdhom.rank) if p in views else v for p, v in step.reads]
        new[n] = Step(step.mdhom.relaid(seen), step.inputs)
    return graph.edited(new, {v: graph.made_by[w] for v, w in zip(gone, stays, strict=True)})


def _seen_of(read: View, gone: View, stays: View, made: int, rank: int) -> View:
    """A view of what stays that reads what one of what goes did: made in an MDH of one rank, read in one of another."""

    def access_of(access: Access) -> Access:
        along = {d: i for i, own in zip(access, gone.accesses[0], strict=True) for d in own.dims()}
        return composed(stays.accesses[0], tuple([along.get(d, unit(rank)) for d in range(made)]), rank)

    accesses = tuple([access_of(a) for a in read.accesses])
    return View(read.name, stays.dtype, stays.shape, stays.strides, stays.offset, accesses)


def _pairs(graph: Graph) -> Iterator[Match]:
    """Two steps that read a value, in order."""
    for last, step in enumerate(graph.steps):
        yield from dict.fromkeys([(first, last) for p in step.inputs for first in graph.readers(p) if first < last])


def same_points(graph: Graph, match: Match) -> bool:
    """Both have the same extents, and combine along the same dimensions in the same way."""
    f, s = (graph.mdhom(n) for n in match)
    return (
        f.extents == s.extents
        and [c.kind for c in f.combine] == [c.kind for c in s.combine]
        and (f.nested, f.precision) == (s.nested, s.precision) == (False, s.precision)
    )


def same_read(graph: Graph, match: Match) -> bool:
    """Both read the same elements of some value at each point."""
    f, s = (graph.steps[n] for n in match)
    read = [{(p, v.array, a) for p, v in x.reads for a in v.accesses if any([i.dims() for i in a])} for x in (f, s)]
    return bool(read[0] & read[1])


def few_results(graph: Graph, match: Match) -> bool:
    """Both together give so few results that they are compiled in a moment."""
    steps = [graph.steps[n].mdhom for n in match]
    hard = [2 if "c" in {t.kind for t in h.last.scalar.dtypes} else 1 for h in steps]
    return sum([len(h.outputs) * each for h, each in zip(steps, hard, strict=True)]) <= _RESULTS


def reads_once_or_shares(graph: Graph, match: Match) -> bool:
    """Neither computes more for what it reads than a pass over memory takes, as products do, or most is the same."""
    f, s = (graph.mdhom(n) for n in match)
    if all([h.points <= bytes_of_step(h) for h in (f, s)]):
        return True
    recorder, composer = Recorder(), Composer(graph, f.rank)
    results = _combined(graph, match, composer, recorder)
    apart, together = weight(f.scalar) + weight(s.scalar), weight(composer.reads.function(recorder, results))
    return apart - together > min(weight(f.scalar), weight(s.scalar)) / 2


def _combined(graph: Graph, match: Match, composer: Composer, recorder: Recorder) -> list[int]:
    """Record what both steps combine."""
    place = in_place(composer.reads.rank)
    return [found for n in match for found in composer.combined(recorder, graph.steps[n], place)]


def _both(graph: Graph, match: Match) -> Graph:
    first, last = match
    steps = [graph.steps[n] for n in match]
    f, s = (step.mdhom.last for step in steps)
    composer, place, scalar, finish = Composer(graph, f.rank), in_place(f.rank), Recorder(), Recorder()
    results = _combined(graph, match, composer, scalar)
    types, final = (*f.scalar.dtypes, *s.scalar.dtypes), list[int]()
    combined, count = finish.parameters(types), len(f.scalar.dtypes)
    for step, own in zip(steps, (combined[:count], combined[count:]), strict=True):
        final += composer.finished(finish, step, place, own, len(types))
    both = None if f.operator is None or s.operator is None else pair(f.operator, s.operator)
    new = composer.step(
        f, (scalar, results), None if f.finish is None and s.finish is None else (finish, final),
        combine=tuple([Combine(c.kind, None if c.operator is None else both) for c in f.combine]),
        contract=f.scalar.contract and s.scalar.contract,
        outputs=numbered((*f.outputs, *s.outputs), "O"),
    )  # fmt: skip
    moved = {v: (first, len(f.outputs) + n) for n, v in enumerate(graph.values(last))}
    return graph.edited({first: new, last: None}, moved)


def pair(f: Operator, s: Operator) -> Operator:
    """Give the operator that combines results of one operator, and those of another one."""
    recorder = Recorder()
    sides = [f.function.dtypes, s.function.dtypes]
    count, ends = len(sides[0]), len(sides[0]) + len(sides[1])
    given = recorder.parameters((*sides[0], *sides[1]) * 2)
    left, right = given[:ends], given[ends:]
    results = (
        *recorder.paste(f.function, [*left[:count], *right[:count]]),
        *recorder.paste(s.function, [*left[count:], *right[count:]]),
    )
    function = replace(f.function, parameters=(*sides[0], *sides[1]) * 2, body=tuple(recorder.body), results=results)
    identity = None if f.identity is None or s.identity is None else (*f.identity, *s.identity)
    return Operator(f"({f.name}, {s.name})", function, identity, f.commutative and s.commutative)


ONCE = Rule(
    "(f, f) = f",
    "Aho, Sethi & Ullman, “Compilers”, Section 9.2: common subexpressions",
    _same_inputs,
    (written_plainly, read_as_written, same_computation, no_result_in_another_shape),
    _once,
)
BOTH = Rule(
    "(md_hom(f, ⊗), md_hom(g, ⊕)) = md_hom((f, g), (⊗, ⊕))",
    "Rasch & Gorlatch, “Multi-dimensional homomorphisms and their implementation in OpenCL”, Section 2: "
    "operators on tuples",
    _pairs,
    (known, same_points, few_results, same_read, reads_once_or_shares, independent),
    _both,
)
