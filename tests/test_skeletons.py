"""Skeletons against NumPy: by Python functions and names through the interpreter, by OpenCL C text on every device.

What differs between their kernels and those of other MDHs is text; so devices compute one case of each skeleton.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from skeleton_values import DOT, DTYPES, interpreted, numbers, same

import mdhnp
from mdhnp import skeletons
from mdhnp.calls.observe import observe
from mdhnp.runtime.devices import Device
from mdhnp.skeletons import repetition

SHAPES = [(), (1,), (37,), (0,), (5, 7), (3, 1, 4), (2, 3, 4, 5)]
ADD = "float f(float a, float b) { return a + b; }"


@pytest.mark.parametrize(("n", "shape"), list(enumerate(SHAPES)), ids=str)
def test_map(n: int, shape: tuple[int, ...]) -> None:
    x = numbers(shape, DTYPES[n % 9])
    same(interpreted(skeletons.map(lambda v: v + v * v), x), np.asarray(x + x * x))
    same(interpreted(skeletons.map(lambda v: (-v, v > 1)), x.astype("i4"))[1], np.asarray(x.astype("i4") > 1))


@pytest.mark.parametrize(
    ("shapes", "dtypes"),
    [
        ([(5,), (5,)], "f4 f8"),
        ([(4, 1), (3,)], "i1 u2"),
        ([(2, 1, 3), (4, 1), ()], "f4 i2 f2"),
        ([(1,), (1, 1)], "i4 ?"),
    ],
)
def test_zip_broadcasts(shapes: list[tuple[int, ...]], dtypes: str) -> None:
    arrays = [numbers(s, t, n) for n, (s, t) in enumerate(zip(shapes, dtypes.split(), strict=True))]
    twice = skeletons.zip(lambda *values: values[0] * values[1] + values[-1])
    same(interpreted(twice, *arrays), arrays[0] * arrays[1] + arrays[-1])


@pytest.mark.parametrize(("dtype", "number"), [("i1", 3), ("f4", 2.5), ("i4", 2.5), ("f2", 2), ("f4", 1j)])
def test_a_number_gives_way_to_arrays(dtype: str, number: complex) -> None:
    x = numbers((6,), dtype)
    same(interpreted(skeletons.zip(np.multiply), x, number), x * number)


def test_text_of_one_name_twice(device: Device) -> None:
    """As in SkelCL's listings, where each customising function is called `func`."""
    a, b = numbers((6, 5), "f4"), numbers((5, 4), "f4", 1)
    mult = skeletons.zip("float f(float x, float y) { return x * y; }")
    product_of = skeletons.allpairs(skeletons.reduce(ADD, identity=0), mult)
    same(product_of(a, b), a @ b)


@pytest.mark.parametrize(
    ("text", "results", "types"),
    [
        ("uchar f(float x) { return x > 2; }", None, ["u1"]),
        ("typedef long number; number f(float x) { return 3 * (int)x; }", "i8", ["i8"]),
        ("void f(float x, int *a, float *b) { *a = 3 * x; *b = -x; }", ("i4", "f4"), ["i4", "f4"]),
    ],
)
def test_types_that_text_gives(device: Device, text: str, results: Any, types: list[str]) -> None:
    x = numbers((4, 9), "f4")
    found = skeletons.map(text, results)(x)
    values = [3 * x, -x] if len(types) > 1 else [x > 2 if types == ["u1"] else 3 * x]
    for f, v, t in zip(found if len(types) > 1 else [found], values, types, strict=True):
        same(f, v.astype(t))


@pytest.mark.parametrize("mode", ["valid", "constant"])
def test_stencil(device: Device, mode: str) -> None:
    a = numbers((9, 11), "f4")
    python = skeletons.stencil(lambda n: n[-1, 0] - 2 * n[0, 0] + n[0, 2], mode, 3.0)
    text = "float f(float above, float here, float right) { return above - 2 * here + right; }"
    wanted = mdhnp.stencil(a, [[0, 0, 1, 0, 0], [0, 0, -2, 0, 1], [0] * 5], mode, 3.0)
    if mode == "valid":  # weights count those that are 0, too
        wanted = a[:-1, :-2] - 2 * a[1:, :-2] + a[1:, 2:]
    same(python(a), wanted)
    same(skeletons.stencil(text, mode, 3.0, offsets=[(-1, 0), (0, 0), (0, 2)])(a), wanted)


@pytest.mark.parametrize("steps", [7, 8, 21])
def test_many_steps_are_several_at_once(device: Device, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = numbers((40, 30), "f4")
    mean = skeletons.stencil(lambda n: (n[-1, 0] + n[1, 0] + n[0, -1] + n[0, 1]) / 4, "nearest")
    swapped = skeletons.zip(lambda a, b: (b, a + 1))
    calls = {mean: (x,), swapped: (x, x + 1), mdhnp.fuse(lambda a: a * 2 - 1): (x / 100,)}
    wanted = {step: skeletons.iterate(step, steps)(*given) for step, given in calls.items()}
    monkeypatch.setattr(repetition, "_LONG", 0)
    for step, given in calls.items():
        with observe() as seen:
            found = skeletons.iterate(step, steps)(*given)
        assert len(seen) == steps // 8 + steps % 8
        for f, w in zip(found, wanted[step], strict=True):
            np.testing.assert_allclose(f, w, rtol=1e-6)


def test_other_functions_are_called_for_each_step(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repetition, "_LONG", 0)
    seen: list[Any] = []

    def step(x: Any) -> Any:
        seen.append(x)
        return x + 1

    assert skeletons.iterate(step, 20)(np.zeros(3)).tolist() == [20] * 3
    assert [int(x[0]) for x in seen] == [*range(20)]


def test_iterate(device: Device) -> None:
    step = skeletons.stencil([0.25, 0.5, 0.25], "nearest")
    x = wanted = numbers((40,), "f8")
    for _ in range(5):
        wanted = mdhnp.stencil(wanted, [0.25, 0.5, 0.25], "nearest")
    same(skeletons.iterate(step, 5)(x), wanted)
    assert skeletons.iterate(step, 0)(x) is x
    seen: list[int] = []

    def close(new: Any, old: Any) -> bool:
        seen.append(len(new))
        return bool(abs(new - old).max() < 0.1)

    found = skeletons.iterate(step, until=close)(x)
    assert len(seen) > 2
    same(found, skeletons.iterate(step, len(seen))(x))
    assert abs(step(found) - found).max() < 0.1 < abs(step(x) - x).max()
    fibonacci = skeletons.iterate(skeletons.zip(lambda a, b: (b, a + b)), 10, lambda new, _: new[1] > 1000)
    assert [int(v) for v in fibonacci(np.array(0), np.array(1))] == [55, 89]


def test_objects_are_made_once() -> None:
    double = skeletons.zip(lambda a, b: a * b)
    x = numbers((6,), "f4")
    first = double.computation(x, x)
    assert double.computation(x[:3], x[:3]) is first
    assert double.computation(x, x[:1]) is not first
    assert double.computation(x, x.astype("f8")) is not first
    assert str(double.bind(x, 2.0)) == "md_hom(*, (++,)) ∘ (A0[i], A1[]) -> O0[i]"


#: One of each, and what it computes with.
EACH = {
    "map(<ufunc 'absolute'>)": (skeletons.map(np.abs), 1),
    "zip(<ufunc 'add'>)": (skeletons.zip(np.add), 2),
    "reduce('add', zip=<ufunc 'multiply'>, axis=0)": (skeletons.reduce("add", np.multiply, axis=0), 2),
    "scan('max', axis=1, exclusive=True)": (skeletons.scan("max", axis=1, exclusive=True), 1),
    "allpairs('add', zip=<ufunc 'multiply'>)": (skeletons.allpairs("add", np.multiply), 2),
    "allpairs(zip(<ufunc 'hypot'>))": (skeletons.allpairs(skeletons.zip(np.hypot)), 2),
    "iterate(map(<ufunc 'square'>), steps=3, until=None)": (skeletons.iterate(skeletons.map(np.square), 3), 1),
}


@pytest.mark.parametrize("printed", EACH)
def test_they_are_printed_and_pickled_as_they_were_made(printed: str) -> None:
    skeleton, count = EACH[printed]
    arrays = [numbers((5, 5), "f4")] * count
    wanted = skeleton(*arrays)  # with what it has made meanwhile
    again = pickle.loads(pickle.dumps(skeleton))
    assert repr(skeleton) == repr(again) == printed
    same(again(*arrays), wanted)


def test_those_of_functions_without_a_name_are_pickled_by_value() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    doubled = cloudpickle.loads(cloudpickle.dumps(skeletons.map(lambda x: x * 2)))
    same(doubled(np.arange(3)), np.arange(3) * 2)


def test_arrays_stay_where_they_are(device: Device) -> None:
    x = numbers((5, 6), "f4")
    a = mdhnp.asarray(x, device=device)
    found = skeletons.reduce("add", np.multiply, axis=1)(a, x)
    assert type(found) is mdhnp.Array
    assert found.device is a.device
    same(found.numpy(), (x * x).sum(1))


def test_skeletons_fuse() -> None:
    square, plus, total = skeletons.map(np.square), skeletons.zip(np.add), skeletons.reduce("add", axis=1)

    @mdhnp.fuse
    def fused(x: Any) -> Any:
        return total(plus(square(x), 2.0))

    x = numbers((6, 7), "f4")
    (launch,) = mdhnp.explain(fused, x).launches
    assert str(launch.mdhom).startswith("md_hom((square(x0) + 2.0), (++, +)) ∘ (A[i,j])")
    same(fused(x), (x * x + 2).sum(1))


X = np.ones((3, 4), np.float32)


@pytest.mark.parametrize(
    ("error", "message", "bad"),
    [
        (TypeError, "map: 3 is neither", lambda: skeletons.map(3)),
        (TypeError, "map: takes one array, 2", lambda: skeletons.map(np.abs)(X, X)),
        (ValueError, "broadcast", lambda: skeletons.zip(np.add)(X, X.T)),
        (ValueError, "unknown operator 'sum'", lambda: skeletons.reduce("sum")(X)),
        (np.exceptions.AxisError, "axis 2", lambda: skeletons.reduce("add", axis=2)(X)),
        (ValueError, "no identity", lambda: skeletons.reduce(lambda a, b: np.where(a > b, a, b))(X[:0])),
        (ValueError, "is not associative", lambda: skeletons.reduce(np.subtract)(X)),
        (ValueError, "f takes 2 parameters, there are 4 values to combine",
         lambda: skeletons.reduce(ADD, lambda x: (x, x))(X)),
        (ValueError, "scan: arrays of 2 axes", lambda: skeletons.scan("add")(X)),
        (ValueError, "pass it by identity", lambda: skeletons.scan(np.hypot, exclusive=True)(X[0])),
        (TypeError, "alone is no function", lambda: skeletons.allpairs("add")),
        (TypeError, "results are those of", lambda: skeletons.allpairs("add", np.add, results="f4")),
        (ValueError, "func takes 6 parameters", lambda: skeletons.allpairs(np.add, DOT)(X, X.T)),
        (ValueError, "f takes 2 parameters, there are 2 .* slices", lambda: skeletons.allpairs(ADD)(X, X.T)),
        (TypeError, "a slice is of const global int32", lambda: skeletons.allpairs(DOT)(X.astype("i4"), X.T)),
        (ValueError, "rows of 4 elements", lambda: skeletons.allpairs(DOT)(X, X)),
        (TypeError, "not a zip", lambda: skeletons.allpairs(skeletons.zip(np.add), np.add)),
        (TypeError, "has a zip already", lambda: skeletons.allpairs(skeletons.reduce("add", np.abs), np.add)),
        (TypeError, "takes two arrays", lambda: skeletons.allpairs("add", np.add)(X)),
        (ValueError, "both need rows", lambda: skeletons.allpairs("add", np.add)(X, X[0])),
        (ValueError, "rows of 4 elements", lambda: skeletons.allpairs("add", np.add)(X, X)),
        (TypeError, "second call", lambda: skeletons.allpairs(lambda r, c, d: np.sum(r - np.sum(r)))(X, X.T)),
        (TypeError, "value 0", lambda: skeletons.allpairs(lambda r, c, d: r - c)(X, X.T)),
        (TypeError, "no truth", lambda: skeletons.allpairs(lambda r, c, d: 1 if r > c else 0)(X, X.T)),
        (TypeError, "of rows", lambda: skeletons.allpairs(lambda r, c, d: np.add.accumulate(r))(X, X.T)),
        (ValueError, "neither the row", lambda: skeletons.allpairs(lambda r, c, d: d)(X, X.T)),
        (IndexError, "element 4 of a row of 4", lambda: skeletons.allpairs(lambda r, c, d: r[d])(X, X.T)),
        (ValueError, "reads 200 elements", lambda: skeletons.allpairs(lambda r, c, d: sum(r) + sum(c))(
            np.ones((2, 100)), np.ones((100, 2)))),
        (ValueError, "takes offsets", lambda: skeletons.stencil("float f(float x) { return x; }")),
        (ValueError, "takes offsets", lambda: skeletons.stencil(lambda n: n[0], offsets=[0])),
        (IndexError, "one number an axis", lambda: skeletons.stencil(
            "float f(float x) { return x; }", offsets=[0])(X)),
        (ValueError, "results", lambda: skeletons.stencil("void f(float x, float *y) { *y = x; }", offsets=[0])),
        (TypeError, "iterate: 3 is no function", lambda: skeletons.iterate(3, 1)),
        (ValueError, "steps, until", lambda: skeletons.iterate(abs)),
        (ValueError, "negative", lambda: skeletons.iterate(abs, -1)),
    ],
)  # fmt: skip
def test_errors_name_what_is_wrong(error: type[Exception], message: str, bad: Any) -> None:
    with pytest.raises(error, match=message):
        bad()


def test_the_page_counts_its_lines() -> None:
    """Of each program: NumPy's after ours, then PyOpenCL's kernel; data may come first."""
    page = (Path(__file__).parents[1] / "docs" / "skeletons.md").read_text()
    host = re.search(r"# begins here\n(.*?)# ends here", page, re.S)
    assert host is not None
    lines = {"host": host[1].count("\n") + 2}
    rows = re.findall(r"^\| (\w[^|]*?) \| (\d+) \| (\d+) \| *(\d*) *\|", page, re.M)
    assert len(rows) == 8
    for title, *given in rows:
        section = re.search(rf"^### {title}\n(.*?)^##", page, re.M | re.S)
        assert section is not None, title
        blocks = [
            [line for line in block.splitlines() if line]
            for block in re.findall(r"^```python\n(.*?)^```", section[1], re.M | re.S)
        ]
        first = next(n for n, block in enumerate(blocks) if any("skeletons." in line for line in block))
        kernel = blocks[first + 2]
        counts = [len(blocks[first]), len(blocks[first + 1])]
        counts += [lines["host"] + len(kernel) - 3] if kernel[0] == 'source = """' else []
        assert counts == [int(n) for n in given if n], title
