"""Convolutions against loops in NumPy: all arguments through the interpreter, some on every device."""

from __future__ import annotations

from inspect import getsource
from itertools import product
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp.runtime.devices import Device

FUNCTIONS = {1: mdhnp.conv1d, 2: mdhnp.conv2d, 3: mdhnp.conv3d}
LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(computation: Any, *arrays: Any, **extents: int) -> Any:
        return mdhnp.interpret(computation.bind(*arrays, **extents), *arrays)

    monkeypatch.setattr(mdhnp.Computation, "__call__", call)


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def looped(x: np.ndarray, w: np.ndarray, stride: Any, zeros: Any, dilation: Any, groups: int) -> np.ndarray:
    """Place by place, of (n, c, …) and (k, c, …), after zeros are put around images."""
    rank = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0), *zeros])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    sizes = [(n - r) // s + 1 for n, r, s in zip(padded.shape[2:], reach, stride, strict=True)]
    common = np.result_type(x, w)
    found = np.zeros((len(x), len(w), *sizes), np.float32 if common == np.float16 else common)
    own = len(w) // groups
    for k, *place in product(range(len(w)), *map(range, sizes)):
        channels = slice(k // own * w.shape[1], (k // own + 1) * w.shape[1])
        window = tuple(slice(p * s, p * s + r, d) for p, s, r, d in zip(place, stride, reach, dilation, strict=True))
        found[(slice(None), k, *place)] = (padded[(slice(None), channels, *window)] * w[k]).sum(
            axis=tuple(range(1, rank + 2)), dtype=found.dtype
        )
    return found.astype(common)


#: Images' and filters' sizes, stride, padding as given and as zeros, dilation, groups.
CASES: list[tuple[Any, ...]] = [
    ((9,), (3,), 1, "valid", [(0, 0)], 1, 1),
    ((9,), (4,), 2, "same", [(1, 2)], 1, 2),
    ((8,), (4,), 1, "same", [(1, 2)], 1, 1),
    ((10,), (3,), 3, "same", [(2, 2)], 2, 1),
    ((10,), (1,), 3, "same", [(0, 0)], 1, 1),
    ((7,), (3,), 2, 2, [(2, 2)], 2, 4),
    ((6, 7), (3, 2), 1, "valid", [(0, 0), (0, 0)], 1, 1),
    ((6, 7), (3, 2), (2, 1), 1, [(1, 1), (1, 1)], 1, 2),
    ((6, 7), (3, 2), (1, 3), [2, 0], [(2, 2), (0, 0)], (2, 1), 1),
    ((5, 6), (2, 3), 2, [(0, 1), (3, 0)], [(0, 1), (3, 0)], (1, 2), 4),
    ((5, 6), (2, 3), (1, 2), "same", [(0, 1), (0, 1)], 1, 1),
    ((4,), (5,), 1, 2, [(2, 2)], 1, 1),
    ((2, 1), (3, 3), 1, "same", [(1, 1), (1, 1)], 1, 1),
    ((2, 3), (3, 5), 1, [(1, 1), (2, 3)], [(1, 1), (2, 3)], 1, 2),
    ((4, 3, 5), (2, 1, 3), 1, "same", [(0, 1), (0, 0), (1, 1)], 1, 2),
    ((4, 3, 5), (2, 2, 2), (2, 1, 2), 0, [(0, 0)] * 3, (1, 2, 3), 1),
]


def compared(case: tuple[Any, ...], last: bool, dtypes: str) -> None:
    places, taps, stride, padding, zeros, dilation, groups = case
    rank = len(places)
    left, right = dtypes.split()
    x = numbers((2, 4, *places), left, 0)
    w = numbers((8, 4 // groups, *taps), right, 1)
    strides, dilations = (v if isinstance(v, tuple) else (v,) * rank for v in (stride, dilation))
    wanted = looped(x, w, strides, zeros, dilations, groups)
    given = (np.moveaxis(x, 1, -1), np.moveaxis(w, (0, 1), (-1, -2))) if last else (x, w)
    found = FUNCTIONS[rank](
        *given, stride=stride, padding=padding, dilation=dilation, groups=groups, layout=LAYOUTS[rank][last]
    )
    np.testing.assert_array_equal(found, np.moveaxis(wanted, 1, -1) if last else wanted, strict=True)


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_arguments(interpreted: None, case: tuple[Any, ...], last: bool) -> None:
    compared(case, last, "f4 f4")


@pytest.mark.parametrize("dtypes", ["f2 f2", "i1 i1", "u1 i2", "f8 i4", "f4 f8", "c8 c8", "? ?"])
def test_types(interpreted: None, dtypes: str) -> None:
    compared(CASES[7], False, dtypes)


def test_arrays_stay_on_devices(device: Device) -> None:
    x, w = numbers((2, 4, 5, 6), "f4", 0), numbers((8, 2, 2, 3), "f4", 1)
    found = mdhnp.conv2d(mdhnp.asarray(x, device=device), w, stride=(2, 1), padding=[(0, 1), (3, 0)], groups=2)
    assert type(found) is mdhnp.Array
    np.testing.assert_array_equal(found.numpy(), looped(x, w, (2, 1), [(0, 1), (3, 0)], (1, 1), 2))


X, W = np.ones((2, 4, 5, 6)), np.ones((8, 4, 2, 3))


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("x has 3 axes, 4", {"x": X[0]}),
        ("w has 5 axes, 4", {"w": W[np.newaxis]}),
        ("0 groups", {"groups": 0}),
        ("3 groups of 4 channels", {"groups": 3}),
        ("filters see 4 channels, a group of x has 2", {"groups": 2}),
        ("stride: 0", {"stride": 0}),
        ("dilation: .*2 numbers", {"dilation": (1, 1, 1)}),
        ("padding: -1", {"padding": -1}),
        ("padding: 'full'", {"padding": "full"}),
        ("padding: 1 pairs for 2 axes", {"padding": [(0, 1)]}),
        ("layout: 'NCW' is neither 'NCHW'", {"layout": "NCW"}),
        (r"reach over \(6, 3\)", {"dilation": (5, 1)}),
        ("reach over", {"w": W[..., :0]}),
    ],
)
def test_errors_name_what_is_wrong(message: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=message):
        mdhnp.conv2d(**{"x": X, "w": W} | arguments)
    with pytest.raises(TypeError):
        mdhnp.conv2d(X, W, stride=1.5)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_type_checkers_know_the_layouts(rank: int) -> None:
    first, last = LAYOUTS[rank]
    assert f'layout: Literal["{first}", "{last}"]' in getsource(getattr(mdhnp, f"conv{rank}d"))
