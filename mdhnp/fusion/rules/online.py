"""Reductions and scans after each other along the same dimensions: one operator on pairs does both in one pass."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan, prod
from typing import Any, NamedTuple

import numpy as np

from mdhnp.fusion.compose import Composer, Recorded
from mdhnp.fusion.least_work import law_holds
from mdhnp.fusion.rule import (
    Match,
    Rule,
    known,
    only_read_by_last,
    pairs_of_one_result,
    reads_its_own,
    ufunc,
    written_plainly,
)
from mdhnp.fusion.rules.maps import not_through_others
from mdhnp.mdh import Affine, Combine, Function, Graph, Instruction, MdHom, Operator, Step, trace
from mdhnp.mdh.canonical import select_dims
from mdhnp.mdh.combine import CC
from mdhnp.mdh.complex import where
from mdhnp.mdh.function import literal_value
from mdhnp.mdh.trace import Recorder, Symbol, inlined
from mdhnp.mdh.views import contiguous, in_place, numbered, unit

#: Factors of a product that are looked at: of a power by repeated squares there are very many.
_MOST = 64


# The result of a reduction, read by another one at all points of the first one.


def same_reduction(graph: Graph, match: Match) -> bool:
    """Both reduce the same dimensions, and the last one reads the first one's result of its own point."""
    f, s = (graph.mdhom(n) for n in match)
    alike = f.extents == s.extents and [c.kind for c in f.combine] == [c.kind for c in s.combine]
    if not alike or f.nested or s.nested or not f.dims("pw") or f.dims("ps"):
        return False
    return reads_its_own(graph, match)


class _Two(NamedTuple):
    """Two reductions, put down as one function: of what is read, and of the first one's result."""

    #: Of their inputs.
    composer: Composer
    #: Where the first one's result is read, it is parameter -1.
    body: list[Instruction]
    #: What is combined.
    first: int
    last: int

    def is_result(self, n: int) -> bool:
        return (self.body[n].op, self.body[n].position) == ("param", -1)

    def depending(self) -> set[int]:
        """Values that depend on the first one's result."""
        found: set[int] = set()
        for n, step in enumerate(self.body):  # of which each uses earlier ones
            if self.is_result(n) or not found.isdisjoint(step.args):
                found.add(n)
        return found


def _two(graph: Graph, match: Match) -> _Two:
    steps, recorder = [graph.steps[n] for n in match], Recorder()
    composer, h = Composer(graph, steps[0].mdhom.rank), steps[0].mdhom
    composer.known[graph.firsts[match[0]]] = Instruction("param", (), h.outputs[0].dtype, -1)
    first, last = [n for step in steps for n in composer.combined(recorder, step, in_place(h.rank))]
    return _Two(composer, recorder.body, first, last)


def _factors(two: _Two) -> list[int]:
    """The factors of the product of products that is combined last; none if they are more than `_MOST`."""
    found, pending = list[int](), [two.last]
    while pending and len(found) + len(pending) <= _MOST:
        n = pending.pop()
        if two.body[n].op == "multiply":
            pending += two.body[n].args[::-1]
        else:
            found.append(n)
    return [] if pending else found


# Σ exp(x - max x) · w


def largest_then_exponentials(graph: Graph, match: Match) -> bool:
    """The first one is the maximum of h, the last one adds exp(h - maximum), times what does not depend on that."""
    f, s = (graph.mdhom(n) for n in match)
    if f.finish is not None or f.scalar.dtypes[0] not in (np.float32, np.float64):
        return False
    if ufunc(f) != "maximum" or ufunc(s) != "add" or s.scalar.dtypes != f.scalar.dtypes:
        return False
    return _exponential(_two(graph, match)) is not None


def _exponential(two: _Two) -> list[int] | None:
    """The other factors beside exp(h - maximum); None where the function is none of that form."""
    factors, depending = _factors(two), two.depending()
    found = [n for n in factors if n in depending]
    if len(found) != 1 or two.body[found[0]].op != "exp":
        return None
    exponent = two.body[two.body[found[0]].args[0]]
    if exponent.op != "subtract" or exponent.args[0] != two.first or not two.is_result(exponent.args[1]):
        return None
    return [n for n in factors if n != found[0]]


def _rescaled(dtype: np.dtype[Any]) -> Operator:
    """Add exponentials below a maximum of their own each: those of the smaller one count for less."""

    def combine(a: Any, b: Any) -> Any:
        one, left = dtype.type(1), a[0] >= b[0]
        factor = np.where(a[0] == b[0], one, np.exp(-np.abs(a[0] - b[0])))
        total = a[1] * np.where(left, one, factor) + b[1] * np.where(left, factor, one)
        return np.maximum(a[0], b[0]), total

    function = trace(combine, [dtype] * 4, [dtype] * 2, group=2)
    return Operator("rescaled +", function, (repr(-inf), "0.0"), True)


def _with_largest(graph: Graph, match: Match) -> Graph:
    """The operator on pairs, of the maximum and of the sum of exponentials below it."""
    two = _two(graph, match)
    others = _exponential(two)
    assert others is not None
    recorder = Recorder(two.body)
    dtype = graph.mdhom(match[0]).scalar.dtypes[0]
    factors: list[Any] = [Symbol(recorder, n) for n in others] or [recorder.constant(1, dtype)]
    weight = prod(factors[1:], start=factors[0])

    def results(_: Composer, top: Any, total: Any) -> tuple[Any, Any]:
        # Where the maximum is infinite or NaN, h - maximum is NaN somewhere, and so is the sum.
        strange: Any = np.isnan(top - top)
        return top, where(strange, dtype.type(nan), total)

    combined = recorder, [two.first, weight.number]
    return _one_pass(graph, match, two.composer, combined, _rescaled(dtype), results)


# Σ (x - mean x)²


def mean_then_squares(graph: Graph, match: Match) -> bool:
    """The first one is the mean of h, the last one adds (h - mean)²; both in float32."""
    f, s = (graph.mdhom(n) for n in match)
    if f.scalar.dtypes[0] != np.float32 or s.scalar.dtypes[0] != np.float32 or f.finish is None:
        return False
    if ufunc(f) != "add" or ufunc(s) != "add" or not _divides(f):
        return False
    two = _two(graph, match)
    last = two.body[two.last]
    square = (
        last.op == "square"
        or (last.op == "multiply" and last.args[0] == last.args[1])
        or (last.op == "power" and two.body[last.args[1]].literal in ("2", "2.0"))
    )
    distance = two.body[last.args[0]] if square else last
    return square and distance.op == "subtract" and distance.args[0] == two.first and two.is_result(distance.args[1])


def _divides(h: MdHom) -> bool:
    """Whether each sum is divided by the number of its terms, a constant."""
    assert h.finish is not None
    step = h.finish.body[h.finish.results[0]]
    if step.op != "divide" or len(h.finish.results) != 1:
        return False
    total, count = (h.finish.body[a] for a in step.args)
    return (total.op, total.position, count.op) == ("param", 0, "const") and literal_value(
        count.literal, count.dtype
    ) == _terms(h)


def few_terms(graph: Graph, match: Match) -> bool:
    """What is added are at most 2**20 terms."""
    return _terms(graph.mdhom(match[0])) <= 1 << 20


def _terms(h: MdHom) -> int:
    return prod([n for n, c in zip(h.extents, h.combine, strict=True) if c.kind == "pw"])


def _with_mean(graph: Graph, match: Match) -> Graph:
    """Sums of distances from the first element, and of their squares, in float64.

    Of n elements none is farther than √n spreads from the mean: squares of distances from it lose no more than a factor
    n of float64's digits, which for `few_terms` leaves those of float32.
    """
    two, step = _two(graph, match), graph.steps[match[0]]
    h, terms = step.mdhom.last, float(_terms(step.mdhom.last))
    wide, narrow = np.dtype(np.float64), np.dtype(np.float32)
    begin = tuple([unit(h.rank) if c.kind == "pw" else Affine.of(d, h.rank) for d, c in enumerate(h.combine)])

    def first(composer: Composer, recorder: Recorder) -> Any:
        (found,) = composer.combined(recorder, step, begin)
        element: Any = recorder.cast(Symbol(recorder, found), wide)
        return where(np.isfinite(element), element, 0.0)  # else means would be NaN where they are infinite

    recorder = Recorder(two.body)
    distance: Any = recorder.cast(Symbol(recorder, two.first), wide) - first(two.composer, recorder)

    def results(composer: Composer, total: Any, squares: Any) -> tuple[Any, Any]:
        final, mean = total.recorder, total / terms
        spread: Any = np.maximum(squares - total * mean, 0.0)
        return final.cast(first(composer, final) + mean, narrow), final.cast(spread, narrow)

    add = Operator("+", trace(lambda a, b: (a[0] + b[0], a[1] + b[1]), [wide] * 4, group=2), ("0.0", "0.0"), True)
    combined = recorder, [distance.number, (distance * distance).number]
    return _one_pass(graph, match, two.composer, combined, add, results)


# Both in one pass.


def _one_pass(
    graph: Graph, match: Match, composer: Composer, scalar: Recorded, operator: Operator,
    results: Callable[[Composer, Any, Any], tuple[Any, Any]],
) -> Graph:  # fmt: skip
    """Make one reduction of two, and a map of what it gives, which is done with each result where that is cheaper.

    `scalar` is what was recorded, and which values are combined; `results` gives, from what is combined, what the first
    one's result is, and what the last one has combined.
    """
    first, last = match
    f, s = (graph.mdhom(n) for n in match)
    recorder, numbers = scalar
    # Without the parameter that nothing needs any more.
    recorder.body = [
        replace(step, op="const", position=0, literal="0.0") if (step.op, step.position) == ("param", -1) else step
        for step in recorder.body
    ]
    kept = [d for d, c in enumerate(f.combine) if c.kind == "cc"]
    types = [recorder.body[n].dtype for n in numbers]
    totals = tuple([contiguous(f"T{n}", t, f.extents, tuple(kept)) for n, t in enumerate(types)])
    combine = tuple([Combine(c.kind, None if c.operator is None else operator) for c in f.combine])
    reduction = composer.step(f, scalar, combine=combine, outputs=totals)

    after, final, place = Composer(graph, f.rank), Recorder(), in_place(f.rank)
    combined = [after.reads.read(final, -1 - n, v, v.accesses[0], place) for n, v in enumerate(totals)]
    value, total = results(after, *combined)
    after.known[graph.firsts[first]] = value.number
    stored = [value.number, *after.finished(final, graph.steps[last], place, [total.number])]
    outputs = numbered((*f.outputs, *s.outputs), "O")
    points = tuple([n if d in kept else 1 for d, n in enumerate(f.extents)])
    mapped = after.step(f, (final, stored), extents=points, combine=(CC,) * f.rank, outputs=outputs)
    moved = {-1 - n: (first, n) for n in range(len(totals))}
    moved |= {graph.firsts[first]: (last, 0)} | {v: (last, 1 + n) for n, v in enumerate(graph.values(last))}
    new = {first: reduction, last: Step(select_dims(mapped.mdhom.last, kept), mapped.inputs)}
    return graph.edited(new, moved)


# Scans whose prefixes are combined, where a law says so.


def reduces(graph: Graph, match: Match) -> bool:
    """The last one reduces."""
    return bool(graph.mdhom(match[1]).dims("pw"))


def scans(graph: Graph, match: Match) -> bool:
    """The last one scans."""
    return bool(graph.mdhom(match[1]).dims("ps"))


def combines_a_scan(graph: Graph, match: Match) -> bool:
    """The first one is a scan, whose every result the last one combines along the same dimension, as it is."""
    f, s = (graph.mdhom(n) for n in match)
    scanned = f.dims("ps")
    return (
        len(scanned) == 1
        and f.finish is None
        and f.extents == s.extents
        and len(s.inputs) == 1
        and s.combined == scanned
        and reads_its_own(graph, match)
        and s.scalar.body[s.scalar.results[0]].op == "param"
        and not f.dims("pw")
    )


def scan_distributes(graph: Graph, match: Match) -> bool:
    """The scan's operator distributes over the other one, by a law that is known or was declared."""
    f, s = (graph.mdhom(n) for n in match)
    if f.operator is not None and s.operator is not None and s.operator.function in f.operator.distributes_over:
        return True
    # Products of floats overflow apart where those of prefixes do not; sums of integers wrap around, extremes do not.
    kinds = "iu" if ufunc(f) == "multiply" else "f"
    return f.scalar.dtypes[0].kind in kinds and law_holds(f.scalar, ufunc(f), ufunc(s))


def _on_pairs(graph: Graph, match: Match) -> Graph:
    """Combine pairs: what the prefixes give, and what the elements do."""
    first, last = match
    step, s = graph.steps[first], graph.mdhom(last)
    f = step.mdhom.last
    (dtype,) = f.scalar.dtypes
    times, plus = f.combiner.function, s.combiner.function

    def combine(a: Any, b: Any) -> Any:
        return *inlined(plus, (a[0], *inlined(times, (a[1], b[0])))), *inlined(times, (a[1], b[1]))

    function = trace(combine, [dtype] * 4, [dtype] * 2, group=2)
    operator = Operator(f"<{s.combiner.name}, {f.combiner.name}>", function, None, False)
    scalar = replace(f.scalar, results=f.scalar.results * 2)
    finish = Recorder()
    combined = finish.parameters((dtype, dtype))[0]
    types = tuple([v.dtype for v in f.inputs for _ in v.accesses])
    stored = finish.paste(s.finish, [combined, combined]) if s.finish is not None else (combined,)
    final = Function((dtype, dtype, *types), tuple(finish.body), stored)
    combine_ = tuple([Combine(c.kind, operator) if c.operator is not None else c for c in s.combine])
    new = MdHom(f.extents, combine_, scalar, f.inputs, s.outputs, final, f.names, checked=False)
    moved = {v: (first, n) for n, v in enumerate(graph.values(last))}
    return graph.edited({first: Step(new, step.inputs), last: None}, moved)


def finishes_alone(graph: Graph, match: Match) -> bool:
    """What the last one does with its results uses no index."""
    s = graph.mdhom(match[1])
    return s.finish is None or not s.finish.used_indices()


_SOURCE = "Gorlatch & Steuwer, “Towards High-Level Programming for Systems with Many Cores”, Section 4.2"

RULES = (
    Rule(
        "(m = max(h), Σ exp(h - m) · w) = reduce(rescaled +) ∘ map(h, w)",
        "Milakov & Gimelshein, “Online normalizer calculation for softmax”, Section 3",
        pairs_of_one_result,
        (known, written_plainly, same_reduction, not_through_others, largest_then_exponentials),
        _with_largest,
    ),
    Rule(
        "(m = mean(h), Σ (h - m)²) = (h₀ + Σd / n, Σd² - (Σd)² / n) where d = h - h₀",
        "Chan, Golub & LeVeque, “Algorithms for Computing the Sample Variance”: shifted data",
        pairs_of_one_result,
        (known, written_plainly, same_reduction, not_through_others, mean_then_squares, few_terms),
        _with_mean,
    ),
    Rule(
        "reduce(⊕) ∘ scan(⊗) = first ∘ reduce(⟨⊕, ⊗⟩) ∘ map(pair)",
        f"{_SOURCE}, (7)",
        pairs_of_one_result,
        (known, written_plainly, reduces, combines_a_scan, scan_distributes, only_read_by_last, finishes_alone),
        _on_pairs,
    ),
    Rule(
        "scan(⊕) ∘ scan(⊗) = map(first) ∘ scan(⟨⊕, ⊗⟩) ∘ map(pair)",
        f"{_SOURCE}, (11)",
        pairs_of_one_result,
        (known, written_plainly, scans, combines_a_scan, scan_distributes, only_read_by_last, finishes_alone),
        _on_pairs,
    ),
)
