"""Elementwise functions and operators on Arrays: NumPy's values, shapes, types and errors."""

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from separate import separate

import mdhnp
from mdhnp.frontend import binary, elementwise
from mdhnp.runtime.devices import Device

ONE = sorted({*elementwise.__all__} - {"clip", "imag", "real", "where"})
TWO = sorted(binary.__all__)
KINDS = {"b": "?", "i": ["i1", "i4", "i8"], "u": ["u1", "u8"], "f": ["f4", "f8", "f2"], "c": ["c8", "c16"]}

#: Elements that are seldom drawn.
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 127.0, 1e-3, -7.0]


@pytest.fixture(params=["shared", "separate"])
def where(request: pytest.FixtureRequest, device: Device) -> Device:
    """Give a device, and it again as if it had memory of its own."""
    return device if request.param == "shared" else separate(device)


def elements(dtype: Any, seed: int = 0, size: int = 40) -> np.ndarray:
    """Give ordinary elements, and special ones."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        drawn = rng.integers(max(-9, info.min), 10, size)
        drawn[:4] = [0, 1, info.max if dtype.itemsize < 8 else 100, max(info.min, -100)]
        return drawn.astype(dtype)
    if dtype.kind == "b":
        return rng.random(size) < 0.5
    numbers = rng.standard_normal(size) * 3
    if dtype.kind == "c":
        return (numbers + 1j * rng.standard_normal(size)).astype(dtype)
    numbers[: len(SPECIAL)] = rng.permutation(SPECIAL)
    return numbers.astype(dtype)


def agree(ours: Any, expected: Any, what: str) -> None:
    assert type(ours) is mdhnp.Array
    expected = np.asarray(expected)
    assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype), what
    found = ours.numpy()
    if expected.dtype.kind in "fc":
        digits = {"e": 2e-3, "f": 2e-6, "d": 1e-13, "F": 5e-6, "D": 1e-13}[expected.dtype.char]
        np.testing.assert_allclose(found, expected, rtol=digits, atol=digits, err_msg=what)
        if expected.dtype.kind == "f":
            zero = (expected == 0) & (found == 0)
            np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]), what)
    else:
        np.testing.assert_array_equal(found, expected, what)


def takes(function: Any) -> list[str]:
    """Give the kinds of types that a function is documented to take."""
    words = {"booleans": "b", "integers": "iu", "floats": "f", "complex numbers": "c"}
    lines = [line for line in function.__doc__.splitlines() if line.strip().startswith("Of ")]
    return [kind for word, kinds in words.items() if word in lines[0] for kind in kinds]


def types_of(name: str, number: int) -> list[str]:
    """Choose types for a function: float32 where it takes floats, and one of the others in turn."""
    kinds = takes(getattr(mdhnp, name))
    others = [t for kind in kinds for t in KINDS[kind] if t != "f4"]
    return [*(["f4"] if "f" in kinds else []), others[number % len(others)], others[(number * 7 + 3) % len(others)]]


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_operand(device: Device, name: str) -> None:
    number = ONE.index(name)
    where = device if number % 2 else separate(device)
    for dtype in types_of(name, number):
        x = elements(dtype, number)
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x)
            agree(getattr(mdhnp, name)(mdhnp.asarray(x, device=where)), expected, f"{name} of {dtype}")


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_operands(device: Device, name: str) -> None:
    number = TWO.index(name)
    where = device if number % 2 else separate(device)
    for dtype in types_of(name, number):
        x, y = elements(dtype, number), elements(dtype, number + 1)[::-1].copy()
        if np.dtype(dtype).kind in "iu" and "shift" in name:
            x, y = abs(x // 3), y.clip(0, 6).astype(dtype)
        if np.dtype(dtype).kind == "i" and name in ("pow", "power"):
            x, y = x.clip(-3, 3), y.clip(0, 4).astype(dtype)
        if np.dtype(dtype).kind == "c":
            y[y == 0] = 1
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x, y)
        a, b = mdhnp.asarray(x, device=where), mdhnp.asarray(y, device=where)
        agree(getattr(mdhnp, name)(a, b), expected, f"{name} of {dtype}")


OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
WHOLE = {"&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift}


@pytest.mark.parametrize("sign", [*OPERATORS, *WHOLE])
def test_operators(where: Device, sign: str) -> None:
    apply = (OPERATORS | WHOLE)[sign]
    x = np.array([[1, 2, 3], [4, 5, 6]], np.int32 if sign in WHOLE else np.float32)
    y = np.array([3, 1, 2], x.dtype)
    a, b = mdhnp.asarray(x.copy(), device=where), mdhnp.asarray(y, device=where)
    agree(apply(a, b), apply(x, y), sign)
    agree(apply(a, y), apply(x, y), f"{sign} ndarray")
    agree(apply(y, a), apply(y, x), f"ndarray {sign}")
    for number in (2, 3) if sign in WHOLE else (2, 2.5):
        agree(apply(a, number), apply(x, number), f"{sign} {number}")
        agree(apply(number, a), apply(number, x), f"{number} {sign}")
    agree(apply(a, np.float64(2.0) if sign in OPERATORS else np.int64(2)), apply(x, np.float64(2) if sign in OPERATORS
          else np.int64(2)), f"{sign} of NumPy's numbers")  # fmt: skip
    if hasattr(operator, f"i{apply.__name__.strip('_')}"):
        change = getattr(operator, f"i{apply.__name__.strip('_')}")
        same, expected = change(a, b), change(x.copy(), y)
        assert same is a
        agree(a, expected, f"{sign}=")


def test_in_place_operators_keep_type_and_shape(where: Device) -> None:
    a = mdhnp.asarray(np.ones((2, 3), np.int32), device=where)
    view = a[:, 1:]
    view += 5
    np.testing.assert_array_equal(a.numpy(), [[1, 6, 6], [1, 6, 6]])
    with pytest.raises(TypeError, match="float64 cannot be put into an array of int32"):
        a /= 2
    with pytest.raises(ValueError, match=r"shape \(2, 3\) cannot be put into one of \(3,\)"):
        a[0] += a
    with pytest.raises(TypeError):
        a += "text"  # type: ignore[arg-type]


@settings(max_examples=25)
@given(st.data())
def test_shapes_strides_and_promotion(device: Device, data: st.DataObject) -> None:
    where = data.draw(st.sampled_from([device, separate(device)]))
    shapes = data.draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4)).input_shapes
    dtypes = data.draw(st.sampled_from([("f4", "f4"), ("i2", "f4"), ("?", "i4"), ("u1", "i1"), ("f8", "c8")]))
    given_, plain = [], []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        x = elements(dtype, len(plain), 64)[: int(np.prod(shape))].reshape(shape)
        way = data.draw(st.sampled_from(["plain", "transposed", "reversed"]))
        turn = {
            "plain": lambda v: v,
            "transposed": lambda v: v.T,
            "reversed": lambda v: v[(..., *[slice(None, None, -1)] * v.ndim)],
        }[way]
        given_.append(turn(mdhnp.asarray(turn(x).copy(), device=where)))
        plain.append(x)
    with np.errstate(all="ignore"):
        agree(given_[0] + given_[1], plain[0] + plain[1], f"{dtypes} {shapes}")


def test_results_have_the_operands_order(where: Device) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    a = mdhnp.asarray(x, device=where).transpose(2, 0, 1)
    assert (a + a).strides == (x.transpose(2, 0, 1) * 2).strides
    agree(a + a, x.transpose(2, 0, 1) * 2, "transposed")


def test_choosing_and_bounding(where: Device) -> None:
    x = elements("f4").reshape(5, 8)
    a = mdhnp.asarray(x, device=where)
    agree(mdhnp.where(a > 0, a, -1), np.where(x > 0, x, np.float32(-1)), "where")
    agree(mdhnp.where(a[:, :1] > 0, 1, 2), np.where(x[:, :1] > 0, 1, 2), "where of numbers")
    agree(mdhnp.where(a > 0, a, np.arange(8)), np.where(x > 0, x, np.arange(8)), "where, promoted")
    agree(mdhnp.clip(a, -1, 2), np.clip(x, -1, 2), "clip")
    agree(mdhnp.clip(a, min=a.T[0][:5, None]), np.clip(x, x.T[0][:5, None], None), "clip from below")
    agree(mdhnp.clip(a, max=1.5), np.clip(x, None, 1.5), "clip from above")
    agree(mdhnp.clip(a), x, "clip without bounds")
    z = mdhnp.asarray(elements("c8"), device=where)
    agree(mdhnp.real(z), z.numpy().real, "real")
    agree(mdhnp.imag(z), z.numpy().imag, "imag")
    agree(mdhnp.imag(a), np.zeros_like(x), "imag of real numbers")


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda a: mdhnp.add(1, 2), TypeError, "add: no operand is an Array"),
        (lambda a: mdhnp.exp(np.ones(3)), TypeError, "exp: no operand is an Array"),
        (lambda a: mdhnp.add(a, "x"), TypeError, "add: operand 1 is of type str"),
        (lambda a: a + "text", TypeError, "unsupported operand"),
        (lambda a: mdhnp.add(a, mdhnp.zeros(4, device=a.device)), ValueError, "cannot be broadcast"),
        (lambda a: mdhnp.astype(a, "i1") + 300, OverflowError, "300"),
        (lambda a: mdhnp.bitwise_and(a, a), TypeError, "bitwise_and: takes booleans or integers, not float32"),
        (lambda a: mdhnp.astype(a, "i4") ** -1, ValueError, "pow: integers to negative powers"),
        (lambda a: mdhnp.cbrt(mdhnp.astype(a, "c8")), TypeError, "cbrt: takes .* not complex64"),
        (lambda a: mdhnp.astype(a, "c8") < 1, TypeError, "less: takes"),
        (lambda a: a @ mdhnp.zeros(4, dtype="f4", device=a.device), ValueError, ""),
        (lambda a: a + np.ones(3, object), TypeError, "object"),
    ],
)
def test_errors(where: Device, call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match or None):
        call(mdhnp.asarray(np.ones(3, np.float32), device=where))


def test_numbers_are_no_constants_of_kernels(device: Device) -> None:
    from mdhnp.runtime.programs import compiled

    where = separate(device)
    a = mdhnp.asarray(np.ones(7, np.float32), device=where)
    assert (a * 0.5 + 1).numpy().tolist() == [1.5] * 7
    before = compiled()
    for n in range(20):
        assert (a * (n / 4) + n).numpy().tolist() == [n / 4 + n] * 7
    assert compiled() == before


STANDARD = """
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
    bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
    greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and
    logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real
    reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc where arange asarray empty
    empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like astype
    broadcast_arrays broadcast_to can_cast finfo iinfo isdtype result_type matmul matrix_transpose tensordot vecdot e
    inf nan newaxis pi
"""


def test_the_standards_functions_are_there() -> None:
    """Those of version 2024.12: offered, or named with a reason."""
    missing = [name for name in STANDARD.split() if not hasattr(mdhnp, name)]
    assert not missing
