"""Laws of combine operators: what obeys them is taken, a counterexample to one that is broken is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mdhnp.mdh import Operator, cc, index, interpret, md_hom, ps, pw


def better(p: Any, q: Any) -> Any:
    take = (q[0] > p[0]) | ((q[0] == p[0]) & (q[1] < p[1]))
    return np.where(take, q[0], p[0]), np.where(take, q[1], p[1])


def left_on_ties(p: Any, q: Any) -> Any:
    return tuple(np.where(q[0] > p[0], b, a) for a, b in zip(p, q, strict=True))


def moments(p: Any, q: Any) -> Any:
    """Number, mean and squared distances from it (Chan, Golub & LeVeque)."""
    n, distance = np.maximum(p[0] + q[0], 1), q[1] - p[1]
    return p[0] + q[0], p[1] + distance * q[0] / n, p[2] + q[2] + distance * distance * p[0] * q[0] / n


def softmax(p: Any, q: Any) -> Any:
    most = np.maximum(p[0], q[0])
    return most, p[1] * np.exp(p[0] - most) + q[1] * np.exp(q[0] - most)


def segments(p: Any, q: Any) -> Any:
    return p[0] | q[0], np.where(q[0], q[1], p[1] + q[1])


def matrix(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]


def log_add(p: Any, q: Any) -> Any:
    return np.maximum(p, q) + np.log1p(np.exp(-np.abs(p - q)))


def operator(scalar: Callable[..., Any], dtype: str, function: Any, make: Any = pw, **options: Any) -> Operator:
    """The operator on what a scalar function gives."""
    count = scalar.__code__.co_argcount
    inputs, arrays = ", ".join(f"x{n}[i]" for n in range(count)), [np.ones(3, dtype)] * count
    values = scalar(*arrays) if "index" not in scalar.__code__.co_names else (0, 0)
    results = len(values) if isinstance(values, tuple) else 1
    at = "i" if make is ps else ""
    outputs = ", ".join(f"y{n}[{at}]" for n in range(results))
    found = md_hom(scalar, {"i": make(function, **options)}, f"{inputs} -> {outputs}").bind(*arrays).operator
    assert found is not None
    return found


def same(x: Any) -> Any:
    return x


#: Scalar function, types, operator, whether it commutes, its identity.
LAWFUL: dict[str, tuple[Callable[..., Any], str, Any, bool, Any]] = {
    "larger": (same, "f4 f2 i1 u8 ?", np.maximum, True, None),
    "by name": (same, "f4 f2 i1 u8 ?", "max", True, None),
    "by name, with its identity": (same, "f4 f8 i1 u1 c8 ?", "add", True, 0),
    "sum": (same, "f4 f8 f2 i1 u1 c8 ?", lambda a, b: b + a, True, 0),
    "hypotenuse": (same, "f4 f8", np.hypot, True, 0),
    "fmax": (same, "f4 i4", np.fmax, True, None),
    "complex product": (same, "c8", lambda a, b: a * b, True, 1),
    "exclusive or": (lambda x: x > 0, "f4", np.logical_xor, True, False),
    "circle": (same, "f4 i4 i1", lambda a, b: a + b + a * b, True, 0),
    "harmonic": (same, "f4", lambda a, b: a * b / (a + b), True, None),
    "first that is not 0": (same, "f4 i4", lambda a, b: np.where(a != 0, a, b), False, 0),
    "remainders": (lambda x: x % 7, "i4 u1", lambda a, b: a * b % 7, True, 1),
    "log-sum-exp": (same, "f4 f8", log_add, True, -np.inf),
    "argmax": (lambda x: (x, index(0)), "f4 i4", better, True, None),
    "argmax, left on ties": (lambda x: (x, index(0)), "f4 i4 ?", left_on_ties, False, None),
    "moments": (lambda x: (x * 0 + 1, x, x * 0), "f4 f8", moments, True, (0, 0, 0)),
    "softmax": (lambda x: (x, x * 0 + 1), "f4 f8", softmax, True, (-np.inf, 0)),
    "segmented sum": (lambda x, y: (y > 0, x), "f4 i4", segments, False, (False, 0)),
    "matrix product": (lambda a, b, c, d: (a, b, c, d), "f4 i4 i1", matrix, False, (1, 0, 0, 1)),
    "carried modulus": (
        lambda x: (x, x * 0 + 5), "i4", lambda a, b: ((a[0] + b[0]) % a[1], a[1]), True, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWFUL)
def test_what_obeys_the_laws_is_taken(name: str) -> None:
    scalar, dtypes, function, commutes, identity = LAWFUL[name]
    for dtype in dtypes.split():
        assert operator(scalar, dtype, function, identity=identity).commutative == commutes
        assert operator(scalar, dtype, function, make=ps).commutative == commutes
        if not commutes:
            with pytest.raises(ValueError, match=r"is not commutative: .* = .*, .* = "):
                operator(scalar, dtype, function, commutative=True)
        assert not operator(scalar, dtype, function, commutative=False).commutative


#: Types, operator, its options, what the error says.
BROKEN: dict[str, tuple[str, Any, dict[str, Any], str]] = {
    "difference": ("f4 i4 u1", np.subtract, {}, r"subtract is not associative: \(.* ∘ .*\) ∘ .* = .*, .* ∘ \("),
    "mean": ("f4 f8 i4", lambda a, b: (a + b) / 2, {"name": "mean"}, "mean is not associative"),
    "squares": ("f4 i4", lambda a, b: a + b * b, {}, "not associative"),
    "absolute values": ("f4 i4", lambda a, b: a + np.abs(b), {}, "not associative"),
    "not below 0": ("f4 i4", lambda a, b: np.maximum(a + b, 0), {}, "not associative"),
    "identity of a sum": ("f4 i4", np.add, {"identity": 1}, "add does not have this identity: 1.* ∘ "),
    "identity of a maximum": ("f4 i4", np.maximum, {"identity": 0, "name": "+"}, r"\+ does not have this identity"),
    "identity of a name": ("f4 i4", "max", {"identity": 0}, "max does not have this identity: 0.* ∘ -"),
    "identity on one side": ("i4", lambda a, b: a, {"identity": 0}, "does not have this identity"),
    "no number": ("f4", np.maximum, {"identity": float("nan")}, "does not have this identity"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_counterexamples_are_shown(name: str) -> None:
    dtypes, function, options, message = BROKEN[name]
    for dtype in dtypes.split():
        with pytest.raises(ValueError, match=message):
            operator(same, dtype, function, **options)
        operator(same, dtype, function, check=False, **options)


#: Types, operators that do not distribute over others, and these; what the error says.
UNDISTRIBUTED: dict[str, tuple[str, Any, Any, str]] = {
    "products over maxima": ("f4 i4", "mul", "max", r"\* does not distribute over max: -.* ⊗ \(.* ⊕ .*\) = .*, "),
    "sums over products": ("f4 i4", "add", "mul", r"\+ does not distribute over \*"),
    "one of two": ("f4", lambda a, b: a + b, ["max", pw("add")], r"<lambda> does not distribute over \+"),
    "from the right only": ("i4", lambda a, b: a, pw("add"), r"over \+"),
}  # fmt: skip


@pytest.mark.parametrize("make", [pw, ps])
@pytest.mark.parametrize("name", UNDISTRIBUTED)
def test_operators_distribute_as_they_are_said_to(name: str, make: Any) -> None:
    dtypes, function, over, message = UNDISTRIBUTED[name]
    for dtype in dtypes.split():
        with pytest.raises(ValueError, match=message):
            operator(same, dtype, function, make=make, distributes_over=over)
        operator(same, dtype, function, make=make, distributes_over=over, check=False)
        joined = operator(same, dtype, lambda a, b: a + b + 1, make=make, distributes_over=["max", "min"])
        assert len(joined.distributes_over) == 2
    with pytest.raises(TypeError, match=r"distributes_over: .* is no operator that reduces"):
        make(function, distributes_over=cc)


def test_operators_are_tried_on_what_they_meet() -> None:
    """Values that the scalar function cannot give, and what is alike for all values combined, break no law."""
    x, n = np.arange(12).reshape(3, 4), np.array([5, 6, 7])
    shared = lambda p, q: ((p[0] + q[0]) % p[1], p[1])  # noqa: E731
    rows = md_hom(lambda v, m: (v, m), {"i": cc, "j": pw(shared)}, "A[i,j], n[i] -> s[i], m[i]").bind(x, n)
    assert interpret(rows, x, n)[0].tolist() == [6 % 5, 22 % 6, 38 % 7]
    with pytest.raises(ValueError, match="not associative"):
        md_hom(lambda v, m: (v, m), {"i": cc, "j": pw(shared)}, "A[i,j], n[j] -> s[i], m[i]").bind(x, np.arange(4))
    # What another operator makes of the scalar function's values is met, too.
    outer, inner = pw(lambda p, q: p + np.abs(q)), pw(lambda p, q: p + q - 50)
    md_hom(np.abs, {"i": cc, "j": outer}, "A[i,j] -> s[i]").bind(x)
    with pytest.raises(ValueError, match="not associative"):
        md_hom(np.abs, {"i": outer, "j": inner}, "A[i,j] -> s[]", nested=True).bind(x)


def test_text_gives_any_values() -> None:
    text = "float f(float a) { return a; }"
    computation = md_hom(text, {"i": pw(np.subtract)}, "x[i] -> y[]", results=np.float32)
    with pytest.raises(ValueError, match="not associative"):
        computation.bind(np.ones(3, np.float32))


@pytest.mark.parametrize(
    ("identity", "message"),
    [((1, 2), "2 numbers for 1 results"), (0.5, "0.5 is no int8"), (300, "300 is no int8"), ("a", "'a' is no int8")],
)
def test_identities_have_the_results_types(identity: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"identity: {message}"):
        operator(same, "i1", np.maximum, identity=identity)


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "\x00", "a\u2028b", "tab\t"])
@pytest.mark.parametrize("make", [pw, ps])
def test_names_are_one_line(make: Any, name: str) -> None:
    with pytest.raises(ValueError, match="one line of printable characters"):
        make(np.maximum, name=name)


def test_functions_that_numpy_names_have_their_identity() -> None:
    assert operator(same, "f4", lambda a, b: a + b) == operator(same, "f4", "add")
    assert operator(lambda x: (x, x), "i1", lambda a, b: (np.minimum(a[0], b[0]), a[1] * b[1])).identity == ("127", "1")
    assert operator(same, "f4", lambda a, b: a + b + 0 * a).identity is None
