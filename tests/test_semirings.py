"""Products over semirings, beside what NumPy gives of all products at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pytest
from cases import EINSUM, LAYOUTS, operands
from hypothesis import given
from hypothesis import strategies as st

import mdhnp
from examples import share
from mdhnp import semiring
from mdhnp.calls.numpy_tier import numpy_function
from mdhnp.calls.operands import addressable
from mdhnp.frontend.contraction import extents, parse
from mdhnp.frontend.einsum import _describe
from mdhnp.frontend.semirings import Semiring, asked
from mdhnp.mdh import Graph, interpret
from mdhnp.runtime.devices import Device

Array = np.ndarray[Any, Any]


def log_sum(products: Array) -> Array:
    """NumPy's own, in float64: `logaddexp` in float32 loses more than what is tested."""
    return np.logaddexp.reduce(products, -1)


def at(find: Callable[..., Any], choose: Callable[..., Any]) -> Callable[[Array], tuple[Array, Array]]:
    return lambda products: (choose(products, -1), find(products, -1))


class Ring(NamedTuple):
    """What a call says, what NumPy does with two operands and with products along the last axis, types of operands."""

    said: dict[str, Any]
    multiply: Callable[[Any, Any], Any]
    add: Callable[[Array], Any]
    types: str


def top(products: Array) -> Any:
    """What a minimum of nothing is."""
    return np.inf if products.dtype.kind == "f" else products.dtype.kind == "b" or np.iinfo(products.dtype).max


def least(products: Array) -> Any:
    return np.min(products, -1, initial=top(products))


def most(products: Array) -> Any:
    return np.max(products, -1, initial=-top(products))


def total(products: Array) -> Any:
    return np.sum(products, -1, dtype=products.dtype)


def apart(x: Any, y: Any) -> Any:
    return np.where(x > y, x - y, y - x)


def counted(x: Any, y: Any) -> Any:
    return np.multiply(x, y, dtype=np.int64, casting="unsafe")


RINGS = {
    "min_plus": Ring({"semiring": semiring.min_plus}, np.add, least, "? i1 u2 i8 f2 f4 f8 i4,f4 f4,f8"),
    "max_plus": Ring({"multiply": "add", "add": "max"}, np.add, most, "f4 f8 f8,i1"),
    "max_times": Ring({"semiring": semiring.max_times}, np.multiply, most, "f4 f8"),
    "min_max": Ring({"semiring": semiring.min_max}, np.maximum, least, "? i1 u8 f4 f8 f2,i1"),
    "max_min": Ring({"semiring": semiring.max_min}, np.minimum, most, "f4 f8,f4"),
    "boolean": Ring({"semiring": semiring.boolean}, np.logical_and, lambda p: np.any(p, -1), "? i1 f4 c8 ?,f8"),
    "counting": Ring({"semiring": semiring.counting}, counted, lambda p: np.sum(p, -1, dtype="i8"), "? i1 u8 ?,i4"),
    "log": Ring({"semiring": semiring.log}, np.add, lambda p: np.logaddexp.reduce(p, -1), "f4 f8 f8,f4 i2,f4 f2 i4"),
    "argmin": Ring({"multiply": np.add, "add": "argmin"}, np.add, at(np.argmin, np.min), "? i1 i8 f4 f8,i1"),
    "argmax": Ring({"multiply": "maximum", "add": "argmax"}, np.maximum, at(np.argmax, np.max), "i1 f4 f8"),
    "distance": Ring({"multiply": apart}, apart, total, "i4 f4 f8"),
    "parity": Ring({"multiply": "bitwise_and", "add": mdhnp.pw(np.bitwise_xor, identity=0)}, np.bitwise_and,
                   lambda p: np.bitwise_xor.reduce(p, -1), "i1 u8"),
    "no identity": Ring({"multiply": "add", "add": np.fmin}, np.add, lambda p: np.fmin.reduce(p, -1), "f4 f8"),
    "either": Ring({"add": mdhnp.pw(lambda p, q: p + q + p * q, identity=0)}, np.multiply,
                   lambda p: np.prod(p + 1, -1, dtype=p.dtype) - 1, "i4 u8"),
}  # fmt: skip
EACH = pytest.mark.parametrize("ring", RINGS.values(), ids=list(RINGS))


def wanted(subscripts: str, arrays: list[Array], ring: Ring) -> Any:
    """All products, in the order of the output's labels and then of the others as they appear; then their sums."""
    terms, output = parse(subscripts, tuple([a.ndim for a in arrays]))
    found = extents(terms, [a.shape for a in arrays])
    sizes = {label: found[label] for label in (*output, *found)}
    grid = dict(zip(sizes, np.ogrid[tuple([slice(n) for n in sizes.values()])], strict=True))
    native = [a.astype(a.dtype.newbyteorder("=")) for a in arrays]
    read = [a[tuple([grid[c] if n != 1 else 0 for c, n in zip(term, a.shape, strict=True)])]
            for term, a in zip(terms, native, strict=True)]  # fmt: skip
    with np.errstate(all="ignore"):
        products = np.broadcast_to(reduce(ring.multiply, read), tuple(sizes.values()))
        return ring.add(
            products.reshape(*products.shape[: len(output)], int(np.prod([*sizes.values()][len(output) :])))
        )


def assert_close(found: Any, expected: Any) -> None:
    """Assert equal types and shapes; floats that are not extremes differ by roundings."""
    for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, expected)], strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        limit = 64 * float(np.finfo(one.dtype).eps) if one.dtype.kind == "f" else 0
        np.testing.assert_allclose(one, other, limit, limit)


def types(ring: Ring, n: int) -> list[str]:
    return ring.types.split()[n % len(ring.types.split())].split(",")


def interpreted(subscripts: str, arrays: list[Array], said: dict[str, Any], optimize: Any = "auto") -> Any:
    """What the MDHs of a call mean, each beside NumPy's function that computes it, if there is one."""
    ring = asked(*[said.get(key) for key in ("multiply", "add", "semiring")])
    assert ring is not None
    given = list(addressable(arrays))
    described = _describe(given, subscripts, optimize, ring=ring)
    assert isinstance(described.mdhom, Graph)
    for step in described.mdhom.steps:
        inputs = [given[p] for p in step.inputs]
        values = interpret(step.mdhom, *inputs)
        numpys = numpy_function(step.mdhom)
        if numpys is not None:
            assert_close(np.asarray(numpys.compute(*inputs)), values)
        given.append(values)
    results = values if isinstance(values, tuple) else (values,)
    return results[0] if described.give is None else described.give(results)


@EACH
def test_meaning(ring):
    """All subscripts, layouts and types by turns."""
    for n, (subscripts, shapes) in enumerate(EINSUM):
        arrays = operands(shapes, types(ring, n), n % len(LAYOUTS), 1)
        try:
            expected = wanted(subscripts, arrays, ring)
        except ValueError:  # of nothing
            with pytest.raises(ValueError, match="of nothing has no value"):
                interpreted(subscripts, arrays, ring.said)
            continue
        assert_close(interpreted(subscripts, arrays, ring.said), expected)


#: A product of matrices, a sum over two labels of one operand, and a product of three, by turns.
CASES = [("ij,jk->ik", ((5, 70), (70, 19))), ("bij->i", ((3, 5, 7),)), ("ij,jk,kl->li", ((5, 7), (7, 3), (3, 4)))]


KERNELS = ("min_plus", "boolean", "counting", "argmin", "log", "no identity", "distance", "parity", "argmax")


@pytest.mark.parametrize("name", KERNELS)
def test_value(device, name):
    subscripts, shapes = CASES[KERNELS.index(name) % len(CASES)]
    arrays = operands(shapes, types(RINGS[name], 0))
    assert_close(mdhnp.einsum(subscripts, *arrays, **RINGS[name].said), wanted(subscripts, arrays, RINGS[name]))


# Any numbers.

_ODD = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])
_NUMBERS = st.one_of(_ODD, st.floats(-1000, 1000, width=32))


@st.composite
def pairs(draw: Any) -> list[Array]:
    """Two matrices, with many equal elements or with few."""
    numbers = draw(st.sampled_from([_NUMBERS, _ODD]))
    return [np.array(draw(st.lists(numbers, min_size=n * m, max_size=n * m)), np.float32).reshape(n, m)
            for n, m in ((2, 5), (5, 3))]  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("name", ["log", "argmin"])
def test_infinities_nan_and_ties(device: Device, name: str) -> None:
    ring = RINGS[name]

    @share(device, 100)
    @given(pairs())
    def check(arrays: list[Array]) -> None:
        expected = wanted("ij,jk->ik", [a.astype(float) for a in arrays], ring)
        found = mdhnp.matmul(*arrays, **ring.said)
        for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, expected)], strict=True):
            np.testing.assert_allclose(one, other, 1e-5, 1e-3)

    check()


def test_logarithms_neither_overflow_nor_vanish(device: Device) -> None:
    """Sums of far apart numbers, of none, and of what makes e ** x infinite or 0."""
    a = np.array([[1e4, 1e4 - 1], [-1e4, -2e4], [-np.inf, -np.inf], [3e38, -3e38]], np.float32)
    found = mdhnp.einsum("ij->i", a, semiring=semiring.log)
    np.testing.assert_array_equal(found, np.float32([1e4 + np.log1p(np.exp(-1)), -1e4, -np.inf, 3e38]))
    none = mdhnp.matmul(np.ones((2, 0)), np.ones((0, 3)), semiring=semiring.log)
    np.testing.assert_array_equal(none, np.full((2, 3), -np.inf))


def test_logarithms_in_float16_are_added_in_float32():
    found = interpreted("i->", [np.zeros(3000, np.float16)], {"semiring": semiring.log})
    assert found == np.float16(np.log(3000))


def test_laws_are_tried_on_values_that_are_added():
    """Numbers of one sign, where that is an operand's that stays the same."""
    said = {"multiply": lambda x, y: x * abs(y), "add": lambda p, q: np.sign(p + q) * np.hypot(p, q)}
    x, y = operands(((3,), (3, 4)), ["f8"])
    assert_close(interpreted("i,ij->i", [x, y], said), x * np.linalg.norm(y, axis=1))
    with pytest.raises(ValueError, match="is not associative"):
        interpreted("ij,ij->i", [y, y], said)


# The distributive law.


def steps(ring: Semiring, *dtypes: str, optimize: Any = "auto") -> int:
    arrays = [np.ones(shape, t) for shape, t in zip(((4, 5), (5, 6), (6, 7)), dtypes, strict=True)]
    found = _describe(arrays, "ij,jk,kl->il", optimize, ring=ring).mdhom
    assert isinstance(found, Graph)
    return len(found.steps)


@pytest.mark.parametrize(("ring", "dtypes", "expected"), [
    (semiring.min_plus, "f4 f4 f4", 2), (semiring.log, "f8 f8 f8", 4), (semiring.log, "i4 i4 i4", 1),
    (semiring.boolean, "f4 ? u1", 2), (semiring.counting, "? i4 i8", 2), (semiring.min_max, "i1 i1 i1", 2),
    (semiring.max_min, "f2 f2 f2", 2), (Semiring("add", "min", "i8"), "i4 u2 ?", 2),
    # Where integers may wrap around, or products are rounded before others are added.
    (semiring.min_plus, "i1 i1 i1", 1), (semiring.min_plus, "i8 i8 i8", 1), (semiring.min_plus, "f4 f4 f8", 1),
    (semiring.log, "f2 f2 f2", 1), (Semiring(), "f2 f2 f2", 1),
    # Where it depends on signs, or is known of nothing.
    (semiring.max_times, "f4 f4 f4", 1), (Semiring("add", "argmin"), "f4 f4 f4", 1),
    (Semiring(apart), "f4 f4 f4", 1), (Semiring("add", np.hypot), "f8 f8 f8", 1),
    # No product of all operands that may be multiplied in any order.
    (Semiring(lambda x, y: 2 * x + y, "min"), "f4 f4 f4", 1), (Semiring("subtract", "min"), "f4 f4 f4", 1),
    (Semiring(lambda x, y: x + y + 1, "min"), "f4 f4 f4", 1), (Semiring(lambda x, y: x, "min"), "f4 f4 f4", 1),
])  # fmt: skip
def test_a_path_is_used_where_products_distribute(ring, dtypes, expected):
    once = 2 if ring.add is np.logaddexp else 1
    assert steps(ring, *dtypes.split(), optimize=False) == once
    assert steps(ring, *dtypes.split()) == max(expected, once)


def test_a_path_gives_what_all_operands_give():
    arrays = operands(((3, 4), (4, 5), (5, 6), (6, 2)), ["f8"])
    for name in ("min_plus", "log", "min_max", "max_times"):
        for optimize in ("auto", False, ((0, 3), (0, 1), (0, 1)), ((1, 2), (0, 1, 2))):
            found = interpreted("ij,jk,kl,lm->mi", arrays, RINGS[name].said, optimize)
            assert_close(found, wanted("ij,jk,kl,lm->mi", arrays, RINGS[name]))


def test_logarithms_that_one_operand_has_alone_are_added_first():
    a, b = operands(((4, 600), (4, 600)), ["f8"])
    ring = semiring.log
    found = _describe([a, b], "ij,ik->i", "auto", ring=ring).mdhom
    assert isinstance(found, Graph)
    assert [step.mdhom.points for step in found.steps] == [2400] * 4  # not 1440000, twice
    expected = np.logaddexp.reduce(a, 1) + np.logaddexp.reduce(b, 1)
    assert_close(interpreted("ij,ik->i", [a, b], {"semiring": ring}), expected)


# Calls.

A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)[::-1]


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"multiply": "plus"}, ValueError, "multiply: 'plus' is no function of two values"),
    ({"add": np.exp}, ValueError, "add: 'exp' is no function of two values"),
    ({"add": "gcd"}, ValueError, "add: 'gcd' is no function of two values"),
    ({"add": np.frompyfunc(max, 2, 1)}, ValueError, "is no function of two values that kernels compute"),
    ({"add": 3}, TypeError, "add must be a function of two values, or its name, not 3"),
    ({"add": mdhnp.cc}, ValueError, r"add must combine by pw\(...\)"),
    ({"add": mdhnp.ps("add")}, ValueError, r"add must combine by pw\(...\)"),
    ({"add": mdhnp.pw(("add", "max"))}, TypeError, "add must be a function of two values"),
    ({"add": lambda x, y: (x, y)}, ValueError, "add gives 2 values, one is needed"),
    ({"multiply": lambda x, y: (x, y)}, ValueError, "multiply gives 2 values, one is needed"),
    ({"multiply": lambda x, y: x if x > y else y}, TypeError, "a traced value has no truth"),
    ({"add": np.subtract}, ValueError, "subtract is not associative"),
    ({"add": mdhnp.pw(lambda x, y: x + y, identity=1)}, ValueError, "does not have this identity"),
    ({"semiring": "min_plus"}, TypeError, "semiring must be a Semiring"),
    ({"semiring": semiring.log, "add": "min"}, TypeError, "give these, or semiring"),
    ({"semiring": semiring.counting}, TypeError, "counting operand 0 from float64 to int64"),
    ({"semiring": semiring.min_plus, "dtype": "i4"}, TypeError, "min_plus operand 0 from float64 to int32"),
    ({"semiring": semiring.min_plus, "out": np.zeros((2, 4), int)}, TypeError, "output from float64 to int64 of out"),
    ({"add": "argmin", "out": np.zeros((2, 4))}, TypeError, "argmin gives two results"),
])  # fmt: skip
def test_errors(given, error, message):
    for call in (mdhnp.matmul, lambda a, b, **said: mdhnp.einsum("ij,jk->ik", a, b, **said)):
        with pytest.raises(error, match=message):
            call(A, B, **({"casting": "safe"} | given))


def test_numpy_is_asked_for_no_semiring():
    for a in (A.astype(object), np.ma.masked_array(A), A.astype("g")):
        with pytest.raises(TypeError, match="which OpenCL kernels do not compute; convert it"):
            mdhnp.matmul(a, B, semiring=semiring.min_plus)
    with pytest.raises(TypeError, match="signature cannot be given beside a semiring"):
        mdhnp.matmul(A, B, semiring=semiring.min_plus, signature="dd->d")


def test_a_semiring_s_name_and_equality():
    assert str(semiring.log) == "log"
    assert str(Semiring("add", mdhnp.pw("min"))) == "(add, min)"
    assert semiring.tropical is semiring.min_plus
    assert Semiring("add", "min", "f4") == Semiring("add", "min", np.float32) != Semiring("add", "min")


def test_arguments_of_matmul_and_einsum(device: Device) -> None:
    """Orders, axes, types and `out` say what they say of NumPy's product, also of two results."""
    a, b = operands(((3, 4, 5), (5, 4)), ["f4"])
    value, place = wanted("aij,jk->aik", [a, b], RINGS["argmin"])

    def check(found: Any, axes: tuple[int, ...] = (0, 1, 2)) -> None:
        for one, other in zip(found, (value, place), strict=True):
            np.testing.assert_array_equal(one, other.transpose(axes))

    said: dict[str, Any] = {"multiply": np.add, "add": "argmin"}
    check(mdhnp.matmul(a, b, order="F", **said))
    check(mdhnp.matmul(a.T, b.T, axes=[(1, 0), (1, 0), (2, 0)], **said), (2, 0, 1))
    check(mdhnp.einsum("aij,jk->kai", a, b, order="F", **said), (2, 0, 1))
    check(mdhnp.einsum("aij,jk->kai", a, b, dtype="f4", **said), (2, 0, 1))
    wide = mdhnp.matmul(a, b, dtype="f8", semiring=semiring.min_plus)
    assert_close(wide, wanted("aij,jk->aik", [a.astype("f8"), b], RINGS["min_plus"]))
    out = np.zeros((3, 4, 4))
    assert mdhnp.matmul(a, b, out=out, semiring=semiring.min_plus) is out
    np.testing.assert_array_equal(out, value)


def test_arrays(where: Device) -> None:
    """One result in two steps, two results, and one into memory that is there, where Arrays are."""
    a, b = operands(((4, 5), (5, 3)), ["f4"])
    arrays = [mdhnp.asarray(x, device=where) for x in (a, b)]
    assert_close(mdhnp.matmul(*arrays, semiring=semiring.log).numpy(), wanted("ij,jk->ik", [a, b], RINGS["log"]))
    found = mdhnp.matmul(*arrays, **RINGS["argmin"].said)
    assert_close(tuple([x.numpy() for x in found]), wanted("ij,jk->ik", [a, b], RINGS["argmin"]))
    out = mdhnp.empty((4, 3), device=where)
    assert mdhnp.einsum("ij,jk->ik", *arrays, out=out, semiring=semiring.min_plus) is out
    np.testing.assert_array_equal(out.numpy(), found[0].numpy())


def test_places_are_numbered_in_row_major_order_of_the_labels_added_over(device: Device) -> None:
    (a,) = operands(((5, 3, 4),), ["i4"])
    value, place = mdhnp.einsum("cab->a", a, add="argmax")
    np.testing.assert_array_equal(place, a.transpose(1, 0, 2).reshape(3, -1).argmax(1))
    np.testing.assert_array_equal(value, a.max((0, 2)))


@pytest.mark.parametrize("add", ["argmin", "argmax"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "i8"])
@pytest.mark.parametrize(
    ("subscripts", "shapes"), [("ij,jk->ik", ((23, 97), (97, 39))), ("ija,ajk->ki", ((20, 30, 17), (17, 30, 21)))]
)
def test_first_places_of_extremes(where: Device, subscripts: str, shapes: Any, dtype: str, add: str) -> None:
    """Values that come again and again, and, of floats, rows with infinities of both signs and with NaN."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(1, 12, shape).astype(dtype) for shape in shapes)
    if a.dtype.kind == "f":
        a[3, 5], a[4, 7], b[9], b[2, 11] = np.nan, np.inf, -np.inf, np.nan
    choose = at(*((np.argmin, np.min) if add == "argmin" else (np.argmax, np.max)))
    arrays = [mdhnp.asarray(x, device=where) for x in (a, b)]
    for specialise in ("auto", "always"):
        with mdhnp.config(specialise=specialise):
            found = mdhnp.einsum(subscripts, *arrays, multiply=np.add, add=add)
        for one, other in zip(found, wanted(subscripts, [a, b], Ring({}, np.add, choose, dtype)), strict=True):
            np.testing.assert_array_equal(one.numpy(), other, strict=True)


def test_every_semiring_is_offered_by_one_name():
    rings = {name: ring for name, ring in vars(semiring).items() if isinstance(ring, Semiring)}
    assert {*rings, "Semiring"} == {*semiring.__all__}
    assert {name for name, ring in rings.items() if ring.name != name} == {"tropical"}
