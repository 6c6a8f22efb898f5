"""What one factor has alone is combined before the product: the laws, when they are used, and what it saves."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from cases import assert_same, magnitude, subscripts, values
from random_functions import Picker, Seeded
from strategies import shuffled

import mdhnp
from mdhnp.frontend.einsum import _describe
from mdhnp.fusion.least_work import LAUNCH, LAWS, Law, _meaning, least_work
from mdhnp.mdh import Graph, MdHom, Step, cc, index, interpret, md_hom, ps, pw
from mdhnp.runtime.devices import Device

Array = np.ndarray[Any, Any]

MODULE = import_module("mdhnp.fusion.least_work")  # whose name in its folder is the function's

PAIR = {"i": cc, "j": pw("add"), "k": pw("add")}
LOWEST = {"i": cc, "j": pw("min"), "k": pw("min")}
VIEWS = "X[i,k], Y[i,j] -> O[i]"


def split(h: MdHom) -> tuple[Step, ...]:
    return least_work(Graph.of(h)).steps


def run(steps: tuple[Step, ...], arrays: tuple[Array, ...]) -> Any:
    """Interpret steps one after the other."""
    found = list(arrays)
    for step in steps:
        found.append(interpret(step.mdhom, *(found[p] for p in step.inputs)))
    return found[-1]


def points(steps: tuple[Step, ...]) -> int:
    return sum(step.mdhom.points for step in steps)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches cost nothing, so that small MDHs are rewritten, too."""
    monkeypatch.setattr(MODULE, "LAUNCH", 0)


# Random programs.

#: By NumPy's function: the combine operator of a law.
TOTALS = {"add": "add", "minimum": "min", "maximum": "max", "logical_and": "and", "logical_or": "or",
          "logaddexp": np.logaddexp, "bitwise_or": np.bitwise_or, "bitwise_and": np.bitwise_and}  # fmt: skip
#: Types of the arrays in which each product is tried. Small integers are added as int64, which cannot wrap.
TYPES = {"multiply": "?bBhHiIlLdD", "add": "bBhHiIefd", "logical_and": "?", "logical_or": "?"}


def changes(dtype: np.dtype[Any], small: bool) -> list[Callable[[Any], Any]]:
    """What a factor may do to what it reads."""
    found: list[Callable[[Any], Any]] = [lambda x: x]
    if dtype.kind == "b":
        return [*found, np.logical_not]
    if small:
        return [lambda x: x.astype(np.int64), lambda x: np.maximum(x, 1).astype(np.int64)]
    return [*found, lambda x: x * x + 3, np.conjugate if dtype.kind == "c" else np.square]


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, exact: bool) -> Array:
    """Random values; floats that are to be multiplied and added exactly are small whole ones."""
    dtype = np.dtype(dtype)
    if not exact or dtype.kind not in "fc":
        return np.asarray(values(rng, shape, dtype))
    whole = rng.integers(-20, 21, (2, *shape))
    return (whole[0] + 1j * whole[1] if dtype.kind == "c" else whole[0]).astype(dtype)


def program(p: Picker, function: str, total: str) -> tuple[MdHom, tuple[Array, ...]]:
    """A product of two to four factors of one or two accesses each; some arrays are read through two accesses."""
    rounded = total == "logaddexp"
    types = "fd" if rounded else TYPES.get(function, "bBhHiIlL" if "bitwise" in function else "bHiLfd")
    dtype = np.dtype(p.choice(types))
    names = "abcdef"[: p.integer(2, 5)]
    combine = {n: cc if p.integer(0, 2) == 0 else pw(TOTALS[total]) for n in names}
    extents = {n: p.choice((1, 2, 3, 4)) for n in names}
    rng = np.random.default_rng(p.integer(0, 2**20))
    reads: list[str] = []
    arrays = []
    for n in range(p.integer(1, 4)):
        rank = p.integer(0, 3)
        for _ in range(1 if n else 2):
            axes = [p.choice(names) if p.integer(0, 4) else f"{p.choice(names)}+{p.choice(names)}" for _ in range(rank)]
            reads.append(f"X{n}[{','.join(axes)}]")
        array = numbers(rng, (7,) * rank, dtype, function in ("multiply", "add"))
        arrays.append(np.flip(array) if n % 2 else array)
    small = function == "add" and dtype.kind in "iu"
    factors = [(q, p.choice(changes(dtype, small))) for q in shuffled(p, [*range(len(reads)), 0][: p.integer(2, 4)])]
    pairs = p.integer(0, 2) == 0 and dtype.kind != "c" and not small

    def scalar(*x: Any) -> Any:
        parts = [change(np.minimum(x[q], x[-1]) if pairs and not n else x[q]) for n, (q, change) in enumerate(factors)]
        result = parts[0]
        for other in parts[1:]:
            result = getattr(np, function)(result, other)
        return result

    ends = p.integer(0, 2) == 0 and not rounded
    kept = ",".join(shuffled(p, [n for n in names if combine[n] is cc]))
    steady = [q for q, read in enumerate(reads) if not any(n in read and combine[n] is not cc for n in names)]
    asked = p.choice(steady) if steady else None

    def finish(result: Any, *x: Any) -> Any:
        return np.equal(result, x[asked]) if asked is not None else np.equal(result, 3)

    h = md_hom(scalar, combine, f"{', '.join(reads)} -> O[{kept}]", finish=finish if ends else None)
    return h.bind(*arrays, **extents), tuple(arrays)


@pytest.mark.usefixtures("free")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_law_keeps_every_value_and_saves_points(law):
    used = 0
    for seed in range(400):
        h, arrays = program(Seeded(seed), law.product, law.total)
        steps = split(h)
        if len(steps) > 1:
            used += 1
            assert 2 * points(steps) <= h.points
            found, expected = run(steps, arrays), interpret(h, *arrays)
            tolerance = 1e-5 if law.total == "logaddexp" else 0
            np.testing.assert_allclose(found, expected, tolerance, tolerance, err_msg=str(h), strict=True)
            assert split(steps[-1].mdhom)[:-1] == () or points(split(steps[-1].mdhom)) < steps[-1].mdhom.points
    assert used > 20


#: Functions of two values that a product or a combine operator could be.
FUNCTIONS = (np.add, np.multiply, np.minimum, np.maximum, np.fmin, np.fmax, np.hypot, np.logical_and, np.logical_or,
             np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.arctan2, np.subtract)  # fmt: skip


@pytest.mark.usefixtures("free")
@pytest.mark.parametrize("dtype", "?bBlLefdD")
def test_equations_that_a_sample_refutes_are_not_used(monkeypatch, dtype):
    """Whatever is product and combine operator: of whole ranges of integers, and of whole floats and NaN."""
    rng = np.random.default_rng(0)
    x, y = (numbers(rng, (60, 4), dtype, exact=dtype != "e") for _ in range(2))
    if x.dtype.kind in "fc":
        x[rng.random(x.shape) < 0.2] = np.nan
    refuted, used = set(), set()
    for outer, inner in product(FUNCTIONS, repeat=2):
        combine = {"i": cc} | dict.fromkeys("jk", pw(inner, check=False, commutative=True))
        try:
            h = md_hom(outer, combine, VIEWS).bind(x, y)
        except (TypeError, ValueError):  # not of this type
            continue
        names = outer.__name__, inner.__name__
        if len(split(h)) > 1:
            used.add(names)
        with monkeypatch.context() as patch:
            claims = [names, tuple(_meaning(name, x.dtype) for name in names)]
            patch.setattr(MODULE, "LAWS", [Law("claimed", *claim, lambda scalar, factors: True) for claim in claims])
            patch.setattr(MODULE, "_leaves", MODULE._leaves.__wrapped__)  # what is cached goes by the true laws
            claimed = run(split(h), (x, y))
        if not np.array_equal(claimed, interpret(h, x, y), equal_nan=x.dtype.kind in "fc"):
            refuted.add(names)
    assert not refuted & used
    assert ("multiply", "add") in (refuted if dtype == "e" else used)
    false = {"?": ("logical_or", "logical_xor"), "D": ("multiply", "multiply"), "b": ("add", "minimum")}
    assert false.get(dtype, ("multiply", "maximum")) in refuted
    assert dtype not in "efd" or {("fmin", "fmax"), ("add", "add"), ("subtract", "add")} <= refuted


# Near misses: what is one change away from a computation that is rewritten.

SQUARE = np.ones((9, 9))
PLAIN = (SQUARE, SQUARE)


def case(
    f: Any = np.multiply, combine: Any = PAIR, views: str = VIEWS, arrays: Any = PLAIN, n: Any = (), **o: Any
) -> MdHom:
    """One that is rewritten, but for what is given; `n` are extents."""
    return md_hom(f, combine, views, **o).bind(*arrays, **dict(n))


def ones(*dtypes: str) -> tuple[Array, ...]:
    return tuple(SQUARE.astype(t) for t in dtypes)


def spread(q: int) -> MdHom:
    """A factor of two dimensions of 20 and q points that lie in different arrays."""
    arrays = (np.ones((20, 20)), np.ones(q), np.ones((20, 3)), np.ones((q, 3)))
    views = "A[p,k], B[q], X[p,r], Y[q,r] -> O[]"
    return case(lambda a, b, x, y: (a - b) * x * y, dict.fromkeys("pqrk", pw("add")), views, arrays)


def ordered(commutative: bool) -> MdHom:
    both = dict.fromkeys("jk", pw(np.add, commutative=commutative))
    return case(np.multiply, both, "X[k], Y[j] -> O[]", (SQUARE[0], SQUARE[0]))


ALIKE = case()
#: What is not rewritten, and what is.
MISSES = {
    "no law": (case(np.multiply, LOWEST), case(np.add, LOWEST)),
    "sums wrap": (
        case(np.add, LOWEST, arrays=ones("i4", "i4")),
        case(lambda x, y: x.astype("i8") + y.astype("i8"), LOWEST, arrays=ones("i4", "i4")),
    ),
    "converted ones wrap": (
        case(lambda x, y: x.astype("i4") + y.astype("i4"), LOWEST, arrays=ones("u2", "u4")),
        case(lambda x, y: x.astype("i4") + y.astype("i4"), LOWEST, arrays=ones("u2", "i2")),
    ),
    "too many small ones wrap": (
        case(lambda x, y: np.add(x.astype("i2") + x.astype("i2"), y.astype("i2")), LOWEST, arrays=ones("u1", "i2")),
        case(lambda x, y: np.add(x.astype("i2") + x.astype("i2"), y.astype("i2")), LOWEST, arrays=ones("u1", "i1")),
    ),
    "float16": (
        case(arrays=ones("f2", "f2")),
        case(lambda x, y: x.astype("f4") * y, arrays=ones("f2", "f2")),
    ),
    "a scan": (case(combine=PAIR | {"i": ps("add")}), ALIKE),
    "nested": (case(nested=True), ALIKE),
    "in order": (ordered(False), ordered(True)),
    "a boundary": (case(boundary={"X": "wrap"}), ALIKE),
    "in both factors": (case(views="X[i,j,k], Y[j,k] -> O[i]", arrays=(np.ones((9, 9, 9)), SQUARE)), ALIKE),
    "in a sum of indices": (
        case(views="X[i,k], Y[i,j+k] -> O[i]", arrays=(SQUARE, np.ones((9, 17)))),
        case(views="X[i,k], Y[i,j+i] -> O[i]", arrays=(SQUARE, np.ones((9, 17)))),
    ),
    "an index": (
        case(lambda x, y: x * y * (index(1) + index(2))),
        case(lambda x, y: x * y * (index(0) + index(2))),
    ),
    "nothing to read": (
        case(lambda x: x * index(1) * index(2), views="X[i] -> O[i]", arrays=SQUARE[:1], n={"j": 9, "k": 9}),
        case(lambda x, y: x * index(1) * y, views="X[i], Y[i,k] -> O[i]", arrays=(SQUARE[0], SQUARE), n={"j": 9}),
    ),
    "two results": (case(lambda x, y: (x * y, x * y), views=f"{VIEWS}, P[i]"), ALIKE),
    "a sum last": (case(lambda x, y: x * y + 1), case(lambda x, y: x * (y + 1))),
    "converted last": (
        case(lambda x, y: (x * y).astype("f4")),
        case(lambda x, y: x.astype("f4") * y.astype("f4")),
    ),
    "in a factor beside": (case(lambda x, y: x * (x + y)), case(lambda x, y: x * x * y)),
    "no points": (case(arrays=(np.ones((9, 0)), SQUARE)), ALIKE),
    "text": (case("double f(double x, double y) { return x * y; }", results="f8"), ALIKE),
    "less than half is saved": (
        case(arrays=(np.ones((9, 3)), np.ones((9, 5)))),
        case(arrays=(np.ones((9, 4)), np.ones((9, 4)))),
    ),
    "a large temporary": (spread(21), spread(20)),
}


@pytest.mark.usefixtures("free")
@pytest.mark.parametrize("name", MISSES)
def test_near_misses_stay_what_they_are(name):
    miss, hit = MISSES[name]
    assert len(split(hit)) > 1
    assert split(miss) == (Step(miss, tuple(range(len(miss.inputs)))),)


@pytest.mark.parametrize(("n", "steps"), [(513, 1), (514, 2)])
def test_a_launch_must_pay(n: int, steps: int):
    h = md_hom(np.multiply, {"i": pw("add"), "j": pw("add")}, "X[i], Y[j] -> O[]").bind(np.ones(n), np.ones(n))
    assert (n * n - 2 * n > LAUNCH) == (steps == 2)
    assert len(split(h)) == steps


def test_products_of_products_stay_cheap_to_read():
    """Forty squarings are 2**40 factors if each is written out, and a long product is deeper than Python recurses."""

    def power(x, y):
        for _ in range(40):
            x = x * x
        for _ in range(2000):
            y = y * 2
        return x * y

    x = np.ones(1000)
    assert len(split(md_hom(power, {"i": pw("add"), "j": pw("add")}, "X[i], Y[j] -> O[]").bind(x, x))) == 2


def steps_of(text: str, arrays: list[Array]) -> tuple[Step, ...]:
    """What a call computes."""
    described = _describe(arrays, text, "auto").mdhom
    return least_work(described if isinstance(described, Graph) else Graph.of(described)).steps


def numpys_points(text: str, arrays: list[Array]) -> int:
    """Multiplications and additions of ``np.einsum(optimize=True)``: each operand's own sums, then a product."""
    left, output = text.split("->")
    terms = left.split(",")
    sizes = {c: n for t, a in zip(terms, arrays, strict=True) for c, n in zip(t, a.shape, strict=True)}
    total = 0
    for positions in np.einsum_path(text, *arrays, optimize=True)[0][1:]:
        now = [terms.pop(p) for p in sorted(positions, reverse=True)]
        kept = set(output).union(*terms)
        needed = set()
        for n, term in enumerate(now):
            others = kept.union(*now[:n], *now[n + 1 :])
            total += prod(sizes[c] for c in set(term)) if not others.issuperset(term) else 0
            needed |= others.intersection(term)
        total += prod(sizes[c] for c in needed) * max(len(now) - 1, 1)
        terms.append("".join(needed & kept))
    return total


def test_no_einsum_computes_more_than_twice_as_much_as_numpy():
    rng = np.random.default_rng(0)
    saved = 0
    for _ in range(400):
        text, shapes = subscripts(rng, 200)
        arrays = [np.broadcast_to(np.float32(1), s) for s in shapes]  # large ones, without their memory
        steps = steps_of(text, arrays)
        saved += len(steps) > max(len(arrays) - 1, 1)
        assert points(steps) <= 2 * (numpys_points(text, arrays) + LAUNCH * len(steps)), text
    assert saved > 40


@pytest.mark.usefixtures("free")
def test_einsums_in_steps_have_numpys_values():
    rng = np.random.default_rng(1)
    for _ in range(300):
        text, shapes = subscripts(rng, 5)
        arrays = [values(rng, s, np.int64) for s in shapes]
        result = run(steps_of(text, arrays), tuple(arrays))
        np.testing.assert_array_equal(result, np.einsum(text, *arrays), text)


@pytest.mark.parametrize("dtype", ["f4", "f2", "c8", "f8", "i2", "?"])
@pytest.mark.parametrize(
    ("text", "shapes", "launches"),
    [
        ("ab,ecb->a", ((41, 37), (29, 31, 37)), 2),
        ("eab,ed->a", ((23, 41, 43), (23, 47)), 2),
        ("d,cab->", ((101,), (17, 19, 23)), 2),
        ("ab,cd->", ((41, 37), (29, 31)), 2),
        ("iij,ik->i", ((103, 103, 97), (103, 89)), 2),
        ("ab,bc,dc->a", ((101, 103), (103, 97), (99, 97)), 3),
    ],
)
def test_einsum(device: Device, text: str, shapes: Any, launches: int, dtype: str):
    rng = np.random.default_rng(0)
    arrays = [values(rng, s, dtype) if dtype != "f2" else (rng.random(s) / 64).astype(dtype) for s in shapes]
    expected = np.einsum(text, *arrays, optimize=True) if dtype != "f2" else np.einsum(
        text, *(a.astype("f8") for a in arrays), optimize=True).astype(dtype)  # fmt: skip
    found = mdhnp.einsum(text, *arrays)
    size = np.einsum(text, *map(magnitude, arrays), optimize=True)
    assert_same(found, np.asarray(expected)[()] if not found.shape else expected, size, 100)
    assert len(mdhnp.explain(mdhnp.einsum, text, *arrays).launches) >= launches


def test_computations_of_users(device: Device):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 80)), rng.standard_normal((60, 90))
    weighted = mdhnp.md_hom(
        lambda p, q: np.exp(p) * q,
        PAIR,
        "X[i,k], Y[i,j] -> O[i], P[i]",
        finish=lambda t, p, q: (t + mdhnp.index(0), -t),
    )
    total = np.exp(x).sum(axis=1) * y.sum(axis=1)
    found = weighted(x, y)
    np.testing.assert_allclose(found[0], total + np.arange(60), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found[1], -total, rtol=1e-12, atol=1e-9)
    twice = mdhnp.md_hom(np.multiply, PAIR, "X[i,k], X[i,j] -> O[i]")
    np.testing.assert_allclose(twice(x), x.sum(axis=1) ** 2, rtol=1e-12, atol=1e-9)
    lightest = mdhnp.md_hom(np.add, LOWEST, VIEWS)
    np.testing.assert_array_equal(lightest(x, y), x.min(axis=1) + y.min(axis=1))


def test_explain_shows_every_step(device: Device):
    a, b = np.ones((100, 50), np.float32), np.ones((20, 30, 50), np.float32)
    shown = mdhnp.explain(mdhnp.einsum, "ab,ecb->a", a, b)
    assert [str(plan.mdhom) for plan in shown.launches] == [
        "md_hom(id, (++, +, +)) ∘ (B[e,c,b]) -> T0[b]",
        "md_hom(*, (++, +)) ∘ (A[a,b], T0[b]) -> C[a]",
    ]
    assert all(f"mdh       {plan.mdhom}" in shown.summary for plan in shown.launches)
