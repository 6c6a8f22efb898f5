"""Rules: each fires where it must and not where a condition fails, and never changes what is computed."""

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from near_misses import FIRES, MISSES, Made
from programs import PROGRAMS, ROWS, Program, power, twice

import mdhnp
from mdhnp.fusion.cost import cost_of_step
from mdhnp.fusion.rewrite import ALL, Rewriting, rewriting, rewriting_of, rewritings
from mdhnp.fusion.rule import Match, Rule
from mdhnp.fusion.rules import RULES
from mdhnp.fusion.rules.rows import WITHOUT_PRODUCTS
from mdhnp.mdh import Graph, MdHom, Step, cc, md_hom, pw
from mdhnp.runtime.devices import Device

SIZES = st.integers(1, 5)
DTYPES = [np.float32, np.float64, np.int32, np.float16, np.complex64, np.bool_]
WHOLE = [np.int64, np.int32, np.uint8]


def long(h: MdHom) -> float:
    """The price of a step as if all its axes were long."""
    most = sum([n > 1 for n in h.extents])
    return 1 + sum([100.0 ** min(sum([n > 1 for n in v.shape]), most) for v in (*h.inputs, *h.outputs)])


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are made of few, too: what is interpreted is small."""
    monkeypatch.setattr("mdhnp.fusion.rules.rows.ENOUGH", 2)


def operands(program: Program, shape: tuple[int, int], dtype: Any, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    values = rng.permutation(np.arange(program.operands * shape[0] * shape[1])) + 1
    whole = np.dtype(dtype).kind in "iub"
    return [*np.asarray(values if whole else values / 7 - 3, dtype).reshape(program.operands, *shape)]


def rewritten(program: Program, arrays: list[Any], rules: Any = RULES) -> Rewriting:
    graph = mdhnp.fuse(program.function).rewriting(*arrays).before
    return rewriting(graph, rules, long)


def ways(program: Program, arrays: list[Any]) -> list[Rewriting]:
    """By all rules, and without the one that takes away what others are about."""
    return [rewritten(program, arrays, rules) for rules in (RULES, [rule for rule in RULES if rule.name != ROWS])]


def equal(found: Any, wanted: Any) -> None:
    """Equal up to rounding in another order; NaN where NaN is."""
    for f, w in zip(found, wanted, strict=True):
        assert (f.shape, f.dtype) == (w.shape, w.dtype)
        if w.dtype.kind in "iub":
            np.testing.assert_array_equal(f, w)
        else:
            tolerance = {2: 2e-2, 4: 1e-4, 8: 1e-10 if w.dtype.kind == "f" else 1e-4}.get(w.dtype.itemsize, 1e-10)
            largest = np.max(np.abs(w[np.isfinite(w)]), initial=1)
            np.testing.assert_allclose(f, w, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.parametrize("name", PROGRAMS)
def test_rules_fire_where_they_must_and_nowhere_else(name: str) -> None:
    program = PROGRAMS[name]
    fired = {a.rule.name for found in ways(program, operands(program, (6, 5), program.dtype)) for a in found.applied}
    assert set(program.fires) <= fired
    assert not set(program.never) & fired


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_each_rule_has_programs(rule: Rule) -> None:
    assert any(rule.name in p.fires for p in PROGRAMS.values())
    assert any(rule.name in p.never for p in PROGRAMS.values())
    assert rule.source
    page = (Path(__file__).parents[1] / "docs" / "fusion.md").read_text(encoding="utf-8")
    assert f"| `{rule.name}` |" in page


def traced(made: Made) -> Graph:
    arrays = np.zeros((made.operands, *made.shape), made.dtype)
    return mdhnp.fuse(made.function).rewriting(*arrays).before


def failing(rule: Rule, graph: Graph, match: Match) -> list[str]:
    """Names of the conditions that do not hold, but of those that presuppose one of them."""
    found = []
    for holds in rule.conditions:
        try:
            found += [] if holds(graph, match) else [holds.__name__]
        except AssertionError:
            assert found
    return found


EACH = [(rule, c.__name__) for rule in RULES for c in rule.conditions]
EACH.append((WITHOUT_PRODUCTS, "no_products"))


@pytest.mark.parametrize(("rule", "condition"), EACH, ids=str)
def test_each_condition_alone_keeps_a_rule_from_firing(rule: Rule, condition: str) -> None:
    graph = traced(MISSES[rule.name, condition])
    missed: list[Match] = []
    while not missed:  # where there are too many steps, some are one before
        missed = [m for m in rule.matches(graph) if failing(rule, graph, m) == [condition]]
        fired = [*rule.found(graph)]
        assert missed or fired
        graph = graph if missed else rule.rewrite(graph, fired[0])
    assert not any([{*some} <= {*match} for some in missed for match in fired])


def test_near_misses_are_of_conditions_that_there_are() -> None:
    assert {*MISSES} == {(rule.name, condition) for rule, condition in EACH}
    assert {*FIRES} == {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=6)
@given(shape=st.tuples(SIZES, SIZES), data=st.data())
def test_each_rule_fires_and_keeps_what_is_computed(rule: Rule, shape: tuple[int, int], data: Any) -> None:
    made = FIRES[rule.name]
    assert [*rule.found(traced(made))]
    made = made._replace(dtype=data.draw(st.sampled_from([made.dtype, np.float64, np.int64])))
    for size in (made.shape, shape):
        graph = traced(made._replace(shape=size))
        x = np.random.default_rng(shape).integers(-3, 4, size).astype(made.dtype)
        for match in rule.found(graph):
            equal(rule.rewrite(graph, match).interpret(x), graph.interpret(x))


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=6)
@given(shape=st.tuples(SIZES, SIZES), dtype=st.sampled_from(DTYPES), data=st.data())
def test_each_rewriting_computes_the_same(name: str, shape: tuple[int, int], dtype: Any, data: Any) -> None:
    program = PROGRAMS[name]
    arrays = operands(program, shape, dtype, data.draw(st.integers(0, 9)))
    try:
        with np.errstate(all="ignore"):
            program.function(*arrays)
    except TypeError:  # NumPy has no such function of that type either
        return
    try:
        found = ways(program, arrays)
    except TypeError:  # OpenCL kernels do not compute it
        return
    with np.errstate(all="ignore"):
        for applied in [a for way in found for a in way.applied]:
            equal(applied.after.interpret(*arrays), applied.before.interpret(*arrays))


@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.int8])
@pytest.mark.parametrize("name", PROGRAMS)
def test_rewritings_agree_bit_for_bit_in_integers_that_wrap(name: str, dtype: Any) -> None:
    """Of programs that stay in that ring."""
    program, ends, rng = PROGRAMS[name], np.iinfo(dtype), np.random.default_rng(0)
    arrays = [*rng.integers(ends.min, ends.max, (program.operands, 6, 5), dtype, endpoint=True)]
    try:
        found = ways(program, arrays)
    except TypeError:  # OpenCL kernels do not compute it
        return
    with np.errstate(all="ignore"):
        wanted = found[0].before.interpret(*arrays)
        if all(w.dtype.kind in "iu" for w in wanted):
            for way in found:
                equal(way.after.interpret(*arrays), wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 1e30], ids=str)
@pytest.mark.parametrize("name", ["softmax", "log-sum-exp", "weighted softmax", "mean and variance"])
def test_special_values_are_kept(name: str, special: float, dtype: Any) -> None:
    program = PROGRAMS[name]
    arrays = operands(program, (5, 4), dtype)
    arrays[0][1, 2] = arrays[0][3, :] = special
    with np.errstate(all="ignore"):
        for found in ways(program, arrays):
            equal(found.after.interpret(*arrays), found.before.interpret(*arrays))


@pytest.mark.parametrize("offset", [0, 1e3, 3e6])
def test_variances_are_exact_far_from_zero(offset: float) -> None:
    x = (np.random.default_rng(0).normal(size=(4, 1000)) + offset).astype(np.float32)
    written = mdhnp.fuse(lambda x: x.var(axis=1)).rewriting(x).before
    found = rewriting(written, [rule for rule in RULES if rule.name != ROWS], long)
    assert any(a.rule.name.startswith("(m = mean(h)") for a in found.applied)
    exact = x.astype(np.float64).var(axis=1)
    error = np.abs(found.after.interpret(x)[0] - exact)
    assert np.all(error <= 2 * np.abs(x.var(axis=1) - exact) + 1e-7 * exact)


@pytest.mark.parametrize("name", ["softmax", "standardised", "means of a map's", "nothing to do"])
def test_a_graph_is_rewritten_in_several_ways_that_compute_the_same(name: str) -> None:
    program = PROGRAMS[name]
    x = np.random.default_rng(0).normal(size=(200, 300)).astype(np.float32)
    written = mdhnp.fuse(program.function).rewriting(x).before
    found = rewritings(written)
    rules = {a.rule.name for a in rewriting(written).applied}
    assert [*found][:1] == [ALL]
    assert {*found} <= {ALL, "as written", *(f"without {rule}" for rule in rules)}
    assert len({r.after for r in found.values()}) == len(found) > len(rules) > 0 or (len(found), len(rules)) == (1, 0)
    for key, way in found.items():
        assert way.name == key and rewriting_of(written, key).after == way.after
        assert key != f"without {[a.rule.name for a in way.applied][-1:]}"
        equal(way.after.interpret(x), written.interpret(x))
    assert rewriting_of(written, "without a rule of former times").name == ALL


def test_rewriting_ends_with_the_cheapest_and_says_what_moved() -> None:
    x = np.ones((1000, 1000), np.float32)
    found = mdhnp.fuse(PROGRAMS["softmax"].function).rewriting(x)
    costs = [sum([cost_of_step(s.mdhom) for s in graph.steps]) for graph in (found.before, found.after)]
    assert costs[1] < costs[0]
    assert len(found.after.steps) == 1
    text = str(found)
    assert text.index("before") < text.index(f"rule    {ROWS}") < text.index("after")
    assert text.endswith(" bytes before, 8000000 after")


def test_twins_that_cannot_be_one_are_told_apart() -> None:
    x, weights = np.arange(12, dtype=np.float32).reshape(4, 3), np.ones(3, np.float32)
    before = mdhnp.fuse(twice).rewriting(x).before
    equal(rewriting(before, RULES, long).after.interpret(x, weights), before.interpret(x, weights))


def test_what_is_written_backwards_is_read_so() -> None:
    x = np.arange(12.0).reshape(4, 3)
    s = x.sum(axis=1)
    sums, backwards = (
        md_hom(lambda v: v, {"i": cc, "k": pw("add")}, f"x[i,k] -> s[{i}]").bind(x) for i in ("i", "3-i")
    )
    doubled = md_hom(lambda v: 2 * v, {"i": cc}, "s[i] -> y[3-i]").bind(s)
    difference = md_hom(np.subtract, {"i": cc}, "s[i], t[i] -> y[i]").bind(s, s)
    for graph, want in (
        (Graph.ending(1, [Step(sums, (0,)), Step(doubled, (1,))]), 2 * s[::-1]),
        (Graph.ending(1, [Step(backwards, (0,)), Step(sums, (0,)), Step(difference, (1, 2))]), s[::-1] - s),
    ):
        made = rewriting(graph).after
        assert len(made.steps) < len(graph.steps)
        np.testing.assert_array_equal(made.interpret(x), [want])


def test_powers_by_squares_take_no_time() -> None:
    def function(x: Any) -> Any:
        h = power(x, 40) + x
        return (np.exp(h - h.max(axis=1, keepdims=True)) * power(x, 60)).sum(axis=1)

    begin = time.perf_counter()
    mdhnp.fuse(function).rewriting(np.ones((4, 3), np.float32))
    assert time.perf_counter() - begin < 60


def test_work_is_not_repeated_where_that_costs_more() -> None:
    """A map in front of a product of matrices would be computed again for each column of the other one."""
    x = np.ones((512, 512), np.float32)
    found = mdhnp.fuse(lambda x: np.exp(x) @ x).rewriting(x)
    assert [len(found.before.steps), len(found.after.steps)] == [2, 2]


def test_a_rule_that_changes_a_result_is_named() -> None:
    def wrong(graph: Graph, match: Any) -> Graph:
        step = graph.steps[0]
        view = replace(step.mdhom.outputs[0], dtype=np.dtype(np.float64))
        return replace(graph, steps=(Step(replace_outputs(step.mdhom, view), step.inputs),))

    rule = Rule("f = g", "nowhere", lambda _: iter([(0,)]), (), wrong)
    graph = mdhnp.fuse(lambda x: x + 1).rewriting(np.ones(3, np.float32)).before
    with pytest.raises(AssertionError, match="f = g"):
        rewriting(graph, [rule])


def replace_outputs(h: Any, view: Any) -> Any:
    made = object.__new__(type(h))
    made.__dict__.update(h.__dict__ | {"outputs": (view,)})
    return made


def test_a_false_equation_is_not_provable() -> None:
    """Σ exp(h - max h) is not one pass of +: no rule makes it a reduction with that operator."""
    x = operands(PROGRAMS["softmax"], (6, 5), np.float32)
    found = rewritten(PROGRAMS["softmax"], x)
    for step in found.after.steps:
        assert step.mdhom.last.operator is None or step.mdhom.last.operator.name == "rescaled +"


OPERATIONS = st.sampled_from([
    lambda a, b: a + b, lambda a, b: a * b, np.maximum, lambda a, b: a - b,
    lambda a, b: np.where(a > b, a, b),
])  # fmt: skip
UNARY = st.sampled_from([
    np.negative, np.square, np.abs, lambda a: a.T.copy().T if isinstance(a, np.ndarray) else a.T.T, lambda a: a[::-1],
    lambda a: a + 2, lambda a: a - a.max(axis=-1, keepdims=True), lambda a: a.sum(axis=0, keepdims=True) + a,
    lambda a: a[:, ::-1], lambda a: np.cumsum(a, axis=1), lambda a: a[:1] * a, lambda a: a @ a.T @ a,
    lambda a: a.reshape(-1).reshape(a.shape), lambda a: a.min(axis=1)[:, None] + a,
])  # fmt: skip


@st.composite
def functions(draw: Any) -> Any:
    """A function of two matrices of a shape: each step is made of values before it."""
    plan = draw(st.lists(st.tuples(st.booleans(), UNARY, OPERATIONS, st.integers(0, 9), st.integers(0, 9)),
                         min_size=1, max_size=7))  # fmt: skip
    kept = draw(st.integers(1, 3))

    def function(x: Any, y: Any) -> Any:
        values = [x, y]
        for single, one, two, a, b in plan:
            first, second = values[a % len(values)], values[b % len(values)]
            values.append(one(first) if single else two(first, second))
        return tuple(values[-kept:])

    return function


@settings(max_examples=60)
@given(function=functions(), shape=st.tuples(SIZES, SIZES), dtype=st.sampled_from(WHOLE))
def test_random_functions_are_what_numpy_computes(function: Any, shape: tuple[int, int], dtype: Any) -> None:
    """Whole numbers, which wrap around alike in any order."""
    arrays = operands(Program(function, operands=2), shape, dtype)
    found = mdhnp.fuse(function).rewriting(*arrays)
    with np.errstate(all="ignore"):
        wanted = [np.asarray(w) for w in function(*arrays)]
    for rewriting_ in (found, rewriting(found.before, RULES, long)):
        results = dict(zip(rewriting_.after.results, rewriting_.after.interpret(*arrays), strict=True))
        assert len(results) <= len(wanted)
    fused = [np.asarray(r) for r in interpreted(function, arrays)]
    for f, w in zip(fused, wanted, strict=True):
        assert f.dtype == w.dtype
        np.testing.assert_array_equal(f, w)


def interpreted(function: Any, arrays: list[Any]) -> list[Any]:
    """What a fused function gives, its graph rewritten as far as it goes, and interpreted."""
    from mdhnp.frontend.fuse import _told_apart, _view

    form, plain, _ = _told_apart("function", tuple(arrays), {})
    found, constants, _, seen, *_ = mdhnp.fuse(function).traced(plain, form)
    results = rewriting(found.before, RULES, long).after.interpret(*arrays, *constants)
    return [_view(np.ascontiguousarray(results[s.value]).reshape(np.shape(results[s.value])), s) for s in seen]


@settings(max_examples=60)
@given(data=st.data())
def test_random_reshapes_are_what_numpy_computes(data: Any) -> None:
    """Of maps, before slices, before another map or a sum: whatever can be fused, and the rest is left as it is."""
    axes = data.draw(st.lists(SIZES, min_size=1, max_size=3), "axes")
    count = int(np.prod(axes))
    first = data.draw(st.sampled_from([n for n in range(1, count + 1) if count % n == 0]), "first axis")
    shape = data.draw(st.sampled_from([(first, -1), (-1, first), (first, 1, -1), (-1,)]), "shape")
    step = data.draw(st.sampled_from([1, 1, 2, 3, -1]), "step")
    summed = data.draw(st.booleans(), "summed")

    def function(x: Any) -> Any:
        seen = np.square(x).reshape(shape)[..., ::step].T
        return seen.sum(axis=0) if summed else seen + 1

    x = np.arange(count, dtype=np.int64).reshape(axes)
    found = rewriting(mdhnp.fuse(function).rewriting(x).before, RULES, long)
    equal(found.after.interpret(x), found.before.interpret(x))
    np.testing.assert_array_equal(np.sort(found.after.interpret(x)[0], axis=None), np.sort(function(x), axis=None))


def test_rules_are_few_and_their_names_differ() -> None:
    assert Counter(r.name for r in RULES).most_common(1)[0][1] == 1


@pytest.mark.parametrize("host", ["auto", "never"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(1, 3, 4), (3, 1, 4), (1, 1, 4)])
def test_axes_of_one_element_that_operands_lack(shape: tuple[int, ...], axis: int, host: Any, device: Device) -> None:
    a, b = np.arange(4.0), np.arange(float(np.prod(shape))).reshape(shape)
    functions = [
        lambda a, b: (b[0] + a)[None].cumsum(axis=1),
        lambda a, b: ((a[None, None] - b[:1]) ** 2).max(axis=axis),
    ]
    for f in (*functions, lambda a, b: (np.exp(a)[None, None] + 1).sum(axis=axis)):
        with mdhnp.device(device), mdhnp.config(host=host):
            np.testing.assert_allclose(mdhnp.fuse(f)(a, b), f(a, b), rtol=1e-12)
