"""Stencils against scipy.ndimage.correlate and NumPy's slices, on every device."""

import gc
import sys
from typing import Any
from weakref import ref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from mdhnp.frontend.stencil import identity, stencil
from mdhnp.runtime.devices import Device
from mdhnp.runtime.devices import device as use

MODES = ["valid", "constant", "nearest", "reflect", "mirror", "wrap"]
DTYPES = ["?", "f2", "f4", "f8", "i4", "i8", "u1", "i2", "u4", "c8", "c16", ">f8", ">i4", ">c8"]
#: Shapes of array and weights.
SHAPES = [
    ((1,), (1,)), ((37,), (5,)), ((6,), (6,)), ((129,), (4,)), ((300,), (131,)),
    ((33, 47), (3, 3)), ((8, 5), (4, 2)), ((67, 35), (1, 7)), ((5, 64), (5, 1)), ((19, 23), (13, 11)),
    ((5, 7, 11), (3, 2, 3)), ((7, 6, 9), (5, 5, 6)), ((3, 4, 5, 6), (2, 1, 3, 2)),
]  # fmt: skip
LAYOUTS = {
    "fortran": np.asfortranarray,
    "reversed": lambda a: a[::-1, ::-1],
    "stepped": lambda a: np.repeat(a, 3, 1)[:, 1::3],
    "transposed": lambda a: a.T.copy().T,
    "window": lambda a: np.pad(a, 3)[3:-3, 3:-3],
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
    "field": lambda a: np.rec.fromarrays([np.zeros(a.shape, "i1"), a], dtype=f"i1,{a.dtype.str}")["f1"],
}
SCALE = 3.0


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 100, shape)
    return (a + 1j * rng.integers(0, 100, shape) if "c" in dtype else a).astype(dtype)


def eighths(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    """Weights whose sums are exact in float32, some zero."""
    return np.random.default_rng(seed).integers(-8, 9, shape) / 8


def expected(a: np.ndarray, weights: np.ndarray, mode: str, cval: float = 0.0) -> np.ndarray:
    if a.dtype == np.float16:  # which SciPy does not compute
        return expected(a.astype(np.float32), weights, mode, cval).astype(np.float16)
    if mode != "valid":
        return ndimage.correlate(a, weights, mode=mode, cval=cval)
    inside = tuple(slice(k // 2, k // 2 + n - k + 1) for n, k in zip(a.shape, weights.shape, strict=True))
    return ndimage.correlate(a, weights)[inside]


def same(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize(
    ("shape", "size", "mode"),
    # Every mode along one axis and along two; one mode, in turn, for the other shapes.
    [(*s, m) for n, s in enumerate(SHAPES) for m in (MODES if n in (1, 5) else ("valid", MODES[1 + n % 5]))],
    ids=str,
)
def test_shapes(device: Device, shape: tuple[int, ...], size: tuple[int, ...], mode: str) -> None:
    a, w = numbers(shape, "f4"), eighths(size)
    same(stencil(a, w, mode, 2.5), expected(a, w, mode, 2.5))


@pytest.mark.parametrize(("size", "mode"), [((3, 2), "constant"), ((12, 12), "mirror")], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(device: Device, dtype: str, size: tuple[int, ...], mode: str) -> None:
    a, w = numbers((17, 21), dtype), eighths(size)
    wanted = expected(a.astype(a.dtype.newbyteorder("=")), w, mode, 1)
    same(stencil(a, w, mode, 1), wanted)


@pytest.mark.parametrize(
    ("layout", "size"),
    [*((layout, (3, 3)) for layout in LAYOUTS), ("reversed", (13, 11)), ("stepped", (13, 11))],
    ids=str,
)
def test_layouts(device: Device, layout: str, size: tuple[int, int]) -> None:
    a, w = LAYOUTS[layout](numbers((31, 45), "f8")), eighths(size)
    same(stencil(a, w, "wrap"), expected(a, w, "wrap"))
    same(stencil(a, w[::-1].T.copy().T[:, ::-1]), expected(a, w[::-1, ::-1], "valid"))


def test_repeat_calls_see_what_differs(device: Device) -> None:
    a, w = numbers((9, 21), "f4"), eighths((3, 3)).astype("f4")
    holes, odd = w.copy(), np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view("f4").reshape(a.shape)
    holes[1, 0] = 0
    calls = [
        (a, w, "constant", 1), (a, w, "constant", 2.5), (a, w, "constant", -0.0), (a, w, "mirror", 1),
        (a, w, "valid", 1), (a, holes, "constant", 1), (a + 1, -2 * w, "constant", 1), (a, w.T, "constant", 1),
        (odd, w, "constant", 1),
        (a.astype("f8"), w.astype("f8"), "constant", 1), (a.astype(">f4"), w.astype(">f4"), "constant", 1),
    ]  # fmt: skip
    for x, weights, mode, cval in calls * 2:
        wanted = expected(x.astype(x.dtype.newbyteorder("=")), weights, mode, cval)
        same(stencil(x, weights, mode, cval), wanted)


def test_a_boolean_outside_is_the_one_given(device: Device) -> None:
    same(stencil(np.array([True, False, False]), lambda n: n[-1], "constant", 1), np.array([True, True, False]))


@settings(max_examples=12)
@given(data=st.data())
def test_any(device: Device, data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(st.tuples(*[st.integers(1, 7)] * rank))
    size = data.draw(st.tuples(*[st.integers(1, 9 if rank == 1 else 4)] * rank))
    mode = data.draw(st.sampled_from(MODES[1:]))
    a = numbers(shape, data.draw(st.sampled_from(["f4", "f8", "i4", "i8"])), 2)
    w = eighths(size, data.draw(st.integers(0, 9)))
    with use(device):
        same(stencil(a, w, mode, -1), expected(a, w, mode, -1))


def test_complex_weights(device: Device) -> None:
    a, w = numbers((17, 21), "c8"), eighths((3, 4)) + 1j * eighths((3, 4), 2)
    same(stencil(a, w, "constant", 2 - 1j), expected(a, w, "constant", 2 - 1j))
    slopes = stencil(a, lambda n: (n[0, 1] - n[0, -1]) * 1j, "constant", 2 - 1j)
    wide = np.pad(a, 1, constant_values=2 - 1j)
    same(slopes, (wide[1:-1, 2:] - wide[1:-1, :-2]) * np.complex64(1j))


def test_float_accuracy(device: Device) -> None:
    a = np.random.default_rng(3).standard_normal((101, 67)).astype("f4")
    for size in [(5, 5), (13, 17)]:
        w = np.random.default_rng(4).standard_normal(size)
        wanted = expected(a.astype("f8"), w, "reflect")
        np.testing.assert_allclose(stencil(a, w, "reflect"), wanted, rtol=1e-5, atol=1e-5 * np.abs(w).sum())


def test_integers_truncate_and_take_any_cval(device: Device) -> None:
    a, w = np.array([1, -3, 5, 200]), np.array([0.5, 0.0, 0.25])
    for dtype in ("i4", "i8", "i2"):
        same(stencil(a.astype(dtype), w, "constant", 0.9), expected(a.astype(dtype), w, "constant", 0.9))
    unsigned, difference = np.array([1, 200, 5]), np.array([1.0, -2.0, 1.0])
    for dtype in ("u1", "u2", "u4", "u8"):
        same(
            stencil(unsigned.astype(dtype), difference, "nearest"),
            expected(unsigned.astype(dtype), difference, "nearest"),
        )


def test_zero_weights_do_not_count(device: Device) -> None:
    a = np.array([1.0, np.nan, np.inf, 2.0, 3.0, 4.0, 5.0])
    same(stencil(a, [1, 0, 0, 2]), np.array([5.0, np.nan, np.inf, 12.0]))
    same(stencil(a, np.zeros(3), "wrap"), np.zeros(7))
    far = np.ones(301)
    far[150] = 0
    lonely = np.where(np.arange(700) == 400, np.nan, 1.0)
    found = stencil(lonely, far, "reflect")
    assert found[400] == 300
    assert np.isnan(found[[300, 399, 401, 500]]).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -2.5])
def test_cval(device: Device, value: float) -> None:
    a = numbers((9,), "f4")
    same(stencil(a, [1, 1, 1], "constant", value), expected(a, np.ones(3), "constant", value))


@pytest.mark.parametrize(
    ("alias", "mode"), [("grid-mirror", "reflect"), ("grid-constant", "constant"), ("grid-wrap", "wrap")]
)
def test_aliases(device: Device, alias: str, mode: str) -> None:
    same(stencil(np.arange(5.0), [1, 2, 3], alias), stencil(np.arange(5.0), [1, 2, 3], mode))


@pytest.mark.parametrize(("dtype", "mode"), [*(("f4", m) for m in MODES), *((t, "mirror") for t in ("f8", "i4", "i8"))])
def test_function_of_neighbours(device: Device, mode: str, dtype: str) -> None:
    a = numbers((23, 39), dtype)
    found = stencil(a, lambda n: 0.25 * (n[-1, 0] + n[1, 0] + n[0, -1] + n[0, 1]), mode)
    assert found.dtype == (0.25 * a).dtype
    cross = np.array([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]])
    same(found, expected(a.astype(found.dtype), cross, mode))


def test_function_of_several_results(device: Device) -> None:
    a = numbers((14, 9, 5), "f8")
    down, across, sharp = stencil(
        a, lambda n: (n[1, 0, 0] - n[-1, 0, 0], n[0, 1, 0] - n[0, 0, 0], n[0, 0, 0] > 50), "wrap"
    )
    same(down, np.roll(a, -1, 0) - np.roll(a, 1, 0))
    same(across, np.roll(a, -1, 1) - a)
    same(sharp, a > 50)


def test_function_of_far_neighbours(device: Device) -> None:
    a = numbers((20,), "i4")
    same(stencil(a, lambda n: n[2] * n[5]), a[2:-3] * a[5:])
    same(stencil(a, lambda n: n[-3]), a[:-3])
    same(stencil(a, lambda n: np.maximum(n[-40], 0), "wrap"), a)
    same(stencil(a, lambda n: n[30] + n[0], "constant", 7), a + np.int32(7))
    same(stencil(a.astype("u1"), lambda n: n[0] - n[1]), a[:-1].astype("u1") - a[1:].astype("u1"))


def test_function_converts_as_numpy_does(device: Device) -> None:
    exact = [-1.5, -0.5, 0.0, 200.75, -3e9, 4e9, -(2.0**40)]
    for dtype, more in (("u1", []), ("i1", []), ("u2", []), ("u4", []), ("u8", [2.0**63, 1.5 * 2.0**63])):
        # What 32 bits cannot hold is only defined where the conversion goes through 64 bits.
        numbers = np.array([*(exact[:4] if dtype[1] in "12" else exact), *more] * 40)
        for a in (numbers, numbers.astype("f4")):
            below, above = a[a < 0].astype("i8").astype(dtype), a[a >= 0].astype("u8").astype(dtype)
            wanted = np.empty(a.shape, dtype)
            wanted[a < 0], wanted[a >= 0] = below, above
            same(stencil(a, lambda n: n[0].astype(dtype)), wanted)  # noqa: B023


def test_function_rounds_booleans_as_numpy_does(device: Device) -> None:
    a = np.arange(70) % 3 == 0
    for function in (np.floor, np.ceil, np.trunc):
        same(stencil(a, lambda n: function(n[0])), a)  # noqa: B023


def test_function_sees_the_values_of_today(device: Device) -> None:
    a, table = np.arange(4.0), {"factor": 2.0}

    def scaled(n: Any) -> Any:
        return n[0] * SCALE

    for factor in (2.0, 5.0, 2, np.float64(7)):
        table["factor"] = factor
        same(stencil(a, lambda n: n[0] * factor), a * factor)  # noqa: B023
        same(stencil(a, lambda n: n[0] * table["factor"]), a * factor)
        globals()["SCALE"] = factor
        same(stencil(a, scaled), a * factor)


@pytest.mark.parametrize(
    "pair",
    [
        (np.timedelta64(2, "s"), np.timedelta64(2, "ms")),
        (np.float32(0.0), np.float32(-0.0)),
        (np.float32(2), np.int32(1073741824)),  # the same bytes
        (1, True),
    ],
)
def test_numbers_that_only_look_alike_make_other_functions(pair) -> None:
    one, other = (_times(t) for t in pair)
    assert identity(one) != identity(other)


@pytest.mark.parametrize("number", [np.longdouble(2), np.float32("nan"), float("nan"), np.float64(2), 3])
def test_equal_numbers_make_the_same_function(number) -> None:
    assert len({identity(_times(type(number)(number))) for _ in range(5)}) == 1


def _times(number: Any) -> Any:
    return lambda n: n[0] * number


def test_lambdas_of_a_loop_share_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(sys.modules["mdhnp.frontend.stencil"], "call", lambda what, operands: calls.append(what))
    for factor in (2, 2, 3, 2.0):
        stencil(np.ones(3), lambda n: np.sqrt(n[0]) * factor)  # noqa: B023
    assert [calls.index(call) for call in calls] == [0, 0, 2, 3]


def test_a_function_is_called_once_a_call_and_what_changes_is_seen(device: Device) -> None:
    """A function that refers to more than numbers is traced at each call, and only then."""
    seen: list[float] = []

    class Growing:
        value = 0.0

        def next(self) -> float:
            self.value += 1
            seen.append(self.value)
            return self.value

    growing, x = Growing(), np.ones(3)
    for n in (1, 2, 3):
        before = len(seen)
        factor = len(seen) + 1.0
        result = stencil(x, lambda p: p[0] * growing.next())
        assert len(seen) - before <= 2  # the offsets, then the function of the values there
        assert result.tolist() in ([factor] * 3, [factor + 1] * 3), n
    Growing.value = 2.0
    for _ in range(2):
        same(stencil(x, lambda p: p[0] * Growing.value), 2 * x)


def test_entries_keep_no_function_nor_what_it_holds(device: Device) -> None:
    def compute() -> ref[np.ndarray]:
        held = np.ones(1000)
        same(stencil(np.arange(4.0), lambda n: n[0] * float(held.size)), 1000 * np.arange(4.0))
        return ref(held)

    alive = compute()
    gc.collect()
    assert alive() is None


def test_empty(device: Device) -> None:
    a = np.zeros((0, 3), "f4")
    same(stencil(a, np.ones((2, 2)), "reflect"), a)
    same(stencil(a, lambda n: n[0, 1] > 0, "wrap"), a > 0)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((np.ones(3), [1], "around"), ValueError, "mode: 'around'"),
        ((np.ones((3, 3)), [1]), ValueError, "weights: shape"),
        ((np.ones(3), []), ValueError, "weights: shape"),
        ((np.ones(3), np.ones(4)), ValueError, "smaller than the stencil"),
        ((np.ones(3), lambda n: n[-2] + n[1]), ValueError, "smaller than the stencil"),
        ((np.float64(1), [1]), ValueError, "a: has no axes"),
        ((np.array(1.0), np.array(2.0)), ValueError, "a: has no axes"),
        ((np.ones(3), lambda n: 1.0), ValueError, "uses no neighbour"),
        ((np.ones(3, int), lambda n: n[1], "constant", 0.5), ValueError, "cval: 0.5"),
        ((np.ones(3, "u1"), lambda n: n[1], "constant", 256), ValueError, "cval: 256"),
        ((np.ones((3, 3)), lambda n: n[1]), IndexError, "one offset an axis"),
        ((np.ones(3), lambda n: n[0.5]), TypeError, "float"),
        ((np.ones(3, "G"), [1]), TypeError, "a: dtype"),
        ((np.ones(3, object), [1]), TypeError, "a: dtype object"),
        ((np.ones(3), [1j]), TypeError, "weights: complex128"),
        ((np.ones(3), ["x"]), TypeError, "weights"),
        ((np.ones(3), lambda n: n[0] if n[0] > 0 else 0), TypeError, "np.where"),
        ((np.ones(3), lambda n: "x"), TypeError, "str"),
    ],
)
def test_errors(arguments: tuple[Any, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        stencil(*arguments)
