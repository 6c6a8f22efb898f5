"""Plans of fused functions: one for each form of a call and for equal constants, and gone with what they are for."""

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from programs import PROGRAMS
from test_fuse import X, several
from test_fusion import operands

import mdhnp
from mdhnp.calls import loading
from mdhnp.calls.store import store
from mdhnp.runtime.devices import Device


def test_it_is_traced_once_for_each_form() -> None:
    loading.load()  # before that other plans serve
    seen = []

    @mdhnp.fuse
    def scaled(x: Any, /, factor: Any = 1, *, axis: int | None = None) -> Any:
        """Scale and add."""
        seen.append((x.shape, x.dtype, factor if not isinstance(factor, mdhnp.Array) else "array", axis))
        return (x * factor).sum(axis=axis)

    assert (scaled.__name__, scaled.__doc__) == ("scaled", "Scale and add.")
    forms = [
        (X, 2),
        (X, 2.0),
        (X, 0.0),
        (X, -0.0),
        (X, float("nan")),
        (X, True),
        (X, 1),
        (X[:2], 2),
        (X.astype(float), 2),
    ]
    for _ in range(2):
        for x, factor in forms:
            np.testing.assert_array_equal(scaled(x, factor), np.sum(x * factor))
        np.testing.assert_array_equal(scaled(X, axis=0), X.sum(axis=0))
        np.testing.assert_array_equal(scaled(X, np.float32(3)), (X * 3).sum())
        np.testing.assert_array_equal(scaled(X, np.float32(4)), (X * 4).sum())  # an array of no axes
    assert len(seen) == len(forms) + 2


def test_the_call_that_loads_opencl_traces_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loading.load()
    monkeypatch.setattr(loading, "devices", lambda: ())  # as before that
    seen = []

    @mdhnp.fuse
    def doubled(x: Any) -> Any:
        seen.append(x.shape)
        return x * 2

    for _ in range(2):
        np.testing.assert_array_equal(doubled(X), X * 2)
    assert len(seen) == 1


@mdhnp.fuse
def increased(x: Any) -> Any:
    return x + 1


def test_it_is_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(increased)) is increased


def test_calls_keep_the_precision_that_they_say() -> None:
    fused = mdhnp.fuse(lambda x: mdhnp.matmul(x, x, precision="default") + mdhnp.matmul(x + 1, x))
    asked = [s.mdhom.precision for s in fused.rewriting(X[:, :3]).after.steps]
    assert sorted(asked) == ["default", "highest"]


def test_plans_die_with_the_function() -> None:
    function = lambda x: x + 1  # noqa: E731
    fused, alive = mdhnp.fuse(function), weakref.ref(function)
    fused(X)
    del fused, function
    gc.collect()
    assert alive() is None


def a_model() -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]:
    class Model:
        def __init__(self) -> None:
            self.bias = np.arange(4, dtype=np.float32)

        @mdhnp.fuse
        def predict(self, x: Any) -> Any:
            return x + self.bias

    return Model, lambda model, x: model.predict(x), lambda model, x: x + model.bias


def a_callback() -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]:
    fused = mdhnp.fuse(lambda x, *, f: f(x) + 1)
    return lambda: lambda x: x * 2, lambda f, x: fused(x, f=f), lambda f, x: f(x) + 1


def a_class() -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]:
    fused = mdhnp.fuse(lambda x, kind: x + kind.bias)
    return lambda: type("Kind", (), {"bias": 3.0}), lambda kind, x: fused(x, kind), lambda kind, x: x + kind.bias


@pytest.mark.parametrize("given", [a_model, a_callback, a_class])
def test_plans_die_with_objects_that_equal_only_themselves(given: Any) -> None:
    make, call, plain = given()
    kept = set(store.young)
    for _ in range(2):
        made = make()
        alive = [weakref.ref(made), weakref.ref(make)]
        for _ in range(2):
            np.testing.assert_array_equal(call(made, X), plain(made, X))
        del made
        gc.collect()
        assert alive[0]() is None
        assert store.young.keys() <= kept
    del make, call, plain
    gc.collect()
    assert alive[1]() is None


def test_a_plan_is_not_found_for_what_has_the_place_of_a_dead_object(monkeypatch: pytest.MonkeyPatch) -> None:
    class Number:
        def __init__(self, value: int) -> None:
            self.value = value

    monkeypatch.setattr(store.__class__, "drop", lambda *_: None)  # as if the garbage collector had not come by
    fused, places = mdhnp.fuse(lambda x, number: x + number.value), set()
    for n in range(20):
        number = Number(n)
        places.add(id(number))
        np.testing.assert_array_equal(fused(X, number), X + n)
        del number
    assert len(places) < 20


@dataclass(frozen=True)
class Level:
    value: int


CONSTANTS = {
    "strings": ("".join(["a", "b"]), "ab", "c"),
    "numbers": (int("1000"), 1000, 1001),
    "tuples": (tuple([1, Level(2)]), (1, Level(2)), (1, Level(3))),
    "none": (None, None, Ellipsis),
    "dtypes": (np.dtype("f4,f4"), np.dtype("f4,f4"), np.dtype("f4,f8")),
    "functions": (several, several, operands),
    "ufuncs": (np.add, np.add, np.multiply),
    "classes": (Level, Level, int),
    "dataclasses": (Level(1), Level(1), Level(2)),
    "references": (weakref.ref(several), weakref.ref(several), weakref.ref(operands)),
}


@pytest.mark.parametrize("kind", CONSTANTS)
def test_constants_that_are_equal_share_a_plan(kind: str) -> None:
    first, equal, other = CONSTANTS[kind]
    mdhnp.fuse(lambda x: x + 1)(X)  # loads OpenCL, after which a first call begins again
    traced = []

    @mdhnp.fuse
    def fused(x: Any, constant: Any) -> Any:
        traced.append(repr(constant))
        return x + 1

    for constant in (first, equal, other, first):
        fused(X, copy.copy(constant))  # which nobody keeps
    assert traced == [repr(first), repr(other)]


def test_threads_may_trace_at_once() -> None:
    fused, wrong = mdhnp.fuse(PROGRAMS["softmax"].function), []

    def run(seed: int) -> None:
        (x,) = operands(PROGRAMS["softmax"], (5 + seed % 3, 4), np.float32, seed)
        if not np.allclose(fused(x), PROGRAMS["softmax"].function(x)):
            wrong.append(seed)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("count", [3, 70])
def test_arrays_that_are_stacked_take_as_many_launches_however_many_they_are(count: int, device: Device) -> None:
    rng = np.random.default_rng(count)
    a, b = rng.random((2, count, 4, 5), np.float32)
    b = b.swapaxes(1, 2)
    products = mdhnp.fuse(lambda *m: mdhnp.matmul(mdhnp.stack(m[:count]), mdhnp.stack(m[count:])))
    with mdhnp.config(host="never"):
        np.testing.assert_allclose(products(*a, *b), a @ b, rtol=1e-5)
        assert len(mdhnp.explain(products, *a, *b).launches) <= 3
