"""`fuse`: what it gives, keeps and refuses."""

import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from adapted import CALLS, CONVERTED, matrix
from programs import PROGRAMS
from separate import separate
from test_fusion import equal, operands

import mdhnp
from mdhnp.runtime.handle import Device

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
ON_DEVICES = [
    "softmax", "weighted softmax", "mean and variance", "extremes", "a map that stays", "normalised", "kernel matrix",
    "largest prefix", "sums of products", "scan of a product", "places", "slices of a map", "same sums, both wanted",
]  # fmt: skip


def several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", ON_DEVICES)
def test_kernels_give_what_numpy_gives(name: str, device: Device) -> None:
    program = PROGRAMS[name]
    # So few that no product of a row overflows, which would depend on the order of the factors.
    arrays = operands(program, (33, 19), np.float32)
    with np.errstate(all="ignore"):
        wanted = [np.asarray(w) for w in several(program.function(*arrays))]
    fused = mdhnp.fuse(program.function)
    with mdhnp.device(device), mdhnp.config(host="never"):
        equal(several(fused(*arrays)), wanted)
    own = separate(device)
    with mdhnp.config(host="never"):
        for _ in range(2):
            on_device = several(fused(*[mdhnp.asarray(a, device=own) for a in arrays]))
    assert all(type(r) is mdhnp.Array and r.device is own for r in on_device)
    equal([r.numpy() for r in on_device], wanted)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.complex64, np.int32, np.bool_])
def test_kernels_of_other_types(dtype: Any, device: Device) -> None:
    arrays = operands(PROGRAMS["kernel matrix"], (9, 8), dtype)
    function = lambda x, y: (x + y).sum(axis=1) * 2 + x[:, 0]  # noqa: E731
    with mdhnp.device(device), mdhnp.config(host="never"):
        equal([mdhnp.fuse(function)(*arrays)], [function(*arrays)])


def test_calls_in_tiers_agree() -> None:
    """By default NumPy may compute steps."""
    program = PROGRAMS["standardised"]
    (x,) = operands(program, (20, 30), np.float32)
    fused = mdhnp.fuse(program.function)
    for _ in range(3):
        equal([fused(x)], [program.function(x)])


VIEWS = {
    "whole": X, "steps": X[::-1, ::2], "backwards": X[::-1, ::-1],
    "turned": X.T, "Fortran": np.asfortranarray(X), "row": X[1:2],
    "repeated": np.broadcast_to(X[0], (3, 4)), "empty": X[:, :0], "no axes": X[0, 0, ...],
}  # fmt: skip

Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_arguments_and_results_may_be_views(view: Any) -> None:
    results = {
        "turned": lambda x: (x + 1).T,
        "part": lambda x: (x + 1)[..., :1] if x.ndim else x + 1,
        "turned parts": lambda x: x[..., ::-1] * 2 - x[:1] if x.ndim else x + 1,
        "argument": lambda x: x,
        "part of an argument": lambda x: x[..., ::-1] if x.ndim else x,
        "turned back": lambda x: (x * 2)[::-1] if x.ndim else x,
        "both": lambda x: (x * 2, (x * 2).T),
    }
    for name, function in results.items():
        found, wanted = mdhnp.fuse(function)(view), function(view)
        for f, w in zip(several(found), several(wanted), strict=True):
            np.testing.assert_array_equal(f, w, err_msg=name)
            assert not np.shares_memory(f, view)


RESHAPED = {
    "map": lambda x: x.reshape(2, 6) * 2,
    "rows": lambda x: x.reshape(6, 2).sum(axis=1),
    "cells": lambda x: x.reshape(3, 2, 2).sum(axis=(0, 2)),
    "whole": lambda x: x.ravel().max(),
    "with a constant": lambda x: x.reshape(2, 6) * np.arange(12, dtype=np.float32).reshape(2, 6),
    "two shapes": lambda x: x.reshape(-1) * x.T.ravel(),
}


@pytest.mark.parametrize("host", ["auto", "never"])
@pytest.mark.parametrize("name", RESHAPED)
def test_arguments_may_be_read_in_another_shape(name: str, host: Any) -> None:
    with mdhnp.config(host=host):
        found = mdhnp.fuse(RESHAPED[name])(X)
    wanted = RESHAPED[name](X)
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("host", ["auto", "never"])
def test_arguments_in_another_order_may_be_read_in_another_shape(host: Any) -> None:
    x = np.asfortranarray(X)
    calls = [
        lambda xp, x: xp.reshape(x, (4, 3), order="F") * 2,
        lambda xp, x: xp.reshape(x, (2, 6), order="A").sum(axis=0),
        lambda xp, x: xp.reshape(x[:, 1:], (9,), order="F")[::-2] - x.sum(),
        lambda xp, x: xp.reshape(x, (4, 3), order="F") @ x,
    ]
    for call in calls:
        with mdhnp.config(host=host):
            found = mdhnp.fuse(lambda x, call=call: call(mdhnp, x))(x)
        np.testing.assert_array_equal(found, call(np, x), strict=True)
    with pytest.raises(mdhnp.TracingError, match=r"split or joined in line .* its strides do not allow"):
        mdhnp.fuse(lambda x: x.reshape(-1) * 2)(np.repeat(X, 2, axis=1)[:, ::2])


def test_an_argument_in_another_order_is_turned_once_for_all_that_read_it_in_another_shape() -> None:
    @mdhnp.fuse
    def fused(x: Any) -> Any:
        again = mdhnp.reshape(x, (80, 75), order="F")
        return (again + 1).sum(0) + again.max(0) * again.min(0)

    after = fused.rewriting(np.asfortranarray(np.ones((60, 100), np.float32))).after
    assert [len(step.mdhom.extents) - len(step.mdhom.dims("cc")) for step in after.steps] == [0, 1, 1, 1]


def test_results_may_be_nested_and_hold_other_things() -> None:
    fused = mdhnp.fuse(lambda x, n: {"a": [x + n, n], "pair": Pair(x.sum(), None)})
    found = fused(X, 2)
    np.testing.assert_array_equal(found["a"][0], X + 2)
    assert found["a"][1] == 2
    assert isinstance(found["pair"], Pair)
    assert type(found["pair"].first) is np.float32
    assert found["pair"].second is None


def test_arrays_from_outside_are_constants() -> None:
    weights, few = np.arange(4, dtype=np.float32), mdhnp.asarray(np.ones(4, np.float32))
    fused = mdhnp.fuse(lambda x: (x * weights + few).sum(axis=1))
    for _ in range(2):
        np.testing.assert_array_equal(fused(X), (X * np.arange(4) + 1).sum(axis=1))
        weights[:] = 7  # a copy was taken when it was traced


def test_fused_functions_call_each_other_and_md_homs() -> None:
    double = mdhnp.fuse(lambda x: x * 2)
    scaled = mdhnp.md_hom(lambda x: x + mdhnp.index(0), {"i": mdhnp.cc, "j": mdhnp.cc}, "x[i,j] -> y[i,j]")
    whole = mdhnp.fuse(lambda x: scaled(double(x)).sum(axis=1))
    wanted = X * 2 + np.arange(3)[:, None]
    np.testing.assert_array_equal(whole(X), wanted.sum(axis=1))
    assert len(whole.rewriting(X).after.steps) == 1
    np.testing.assert_array_equal((scaled @ double)(X), wanted)
    np.testing.assert_array_equal((double @ scaled)(X), (X + np.arange(3)[:, None]) * 2)
    both = mdhnp.fuse(lambda x: (x, x + 1))
    np.testing.assert_array_equal((np.subtract @ both)(X), X - (X + 1))


def test_methods() -> None:
    class Model:
        @mdhnp.fuse
        def predict(self, x: Any) -> Any:
            return x + 1

    np.testing.assert_array_equal(Model().predict(X), X + 1)


def test_operations_of_the_package_and_of_numpy_mean_the_same(device: Device) -> None:
    kernel = np.ones((3, 3), np.float32)

    def function(x: Any) -> Any:
        blurred = mdhnp.stencil(np.pad(x, 1) if isinstance(x, np.ndarray) else x, kernel, mode="nearest")
        return blurred * 2

    fused = mdhnp.fuse(function)
    for where in (None, separate(device), "cpu/2"):  # where the kernel's elements must be, too
        x = mdhnp.asarray(X, device=where)
        np.testing.assert_allclose(fused(x).numpy(), function(x).numpy(), rtol=1e-6)
    complexes = X + 1j * X.T[:3, :1]
    parts = mdhnp.fuse(lambda z: z.real + z.imag)
    np.testing.assert_array_equal(parts(complexes), complexes.real + complexes.imag)
    np.testing.assert_array_equal(parts(complexes[:, ::2]), (complexes.real + complexes.imag)[:, ::2])


JOINED = {
    "concat": lambda x, y: np.concatenate([x, y + 1, x[:1]]),
    "along the last axis": lambda x, y: np.concatenate([x[:, 1:], y], axis=1) * 2,
    "stack": lambda x, y: np.stack([x, y, x * y], axis=1),
    "hstack": lambda x, y: np.hstack([x.sum(axis=1), y[0]]),
    "roll": lambda x, y: np.roll(x, 1, axis=0) + np.roll(y, -2, axis=1) + np.roll(x, (1, 1), axis=(0, 1)),
    "roll of all": lambda x, y: np.roll(x, 5),
    "tile": lambda x, y: np.tile(x, (2, 1)) - np.tile(y, (2, 1)),
    "repeat": lambda x, y: np.repeat(x, 3, axis=1),
    "nothing": lambda x, y: np.concatenate([x[:0], y[:0]]),
    "with nothing": lambda x, y: np.concatenate([x[:0], y]),
    "other types": lambda x, y: np.concatenate([x.astype(np.float64), y > 0]),
}


@pytest.mark.parametrize(
    "view",
    [
        lambda m, x: m.broadcast_to(x, (2, 0, 3)), lambda m, x: x.T, lambda m, x: x.reshape(-1),
        lambda m, x: x[..., ::-1], lambda m, x: (x, x[None]),
    ],
    ids=["broadcast", "transposed", "reshaped", "backwards", "both"],
)  # fmt: skip
def test_views_of_results_without_elements(view: Any, device: Device) -> None:
    x = np.ones((0, 3), np.float32)
    for where in (device, separate(device)):
        for _ in range(2):
            found = several(mdhnp.fuse(lambda x: view(mdhnp, np.tanh(x) + 1))(mdhnp.asarray(x, device=where)))
            equal([f.numpy() for f in found], list(several(view(np, x))))


@pytest.mark.parametrize("name", JOINED)
def test_parts_are_put_together(name: str) -> None:
    function = JOINED[name]
    wanted = function(X, X - 7)
    found = mdhnp.fuse(function)(X, X - 7)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


#: What is traced of complex numbers, too: each takes a build.
COMPLEX = (
    "equal",
    "not_equal",
    "less",
    "greater",
    "select",
    "convolve, same",
    "correlate",
    "nansum",
    "cross",
    "asarray",
)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64], ids=["float32", "complex64"])
@pytest.mark.parametrize("name", CALLS | CONVERTED)
def test_functions_of_a_few_lines_are_traced(name: str, dtype: Any) -> None:
    a, function = matrix(np.dtype(dtype)), (CALLS | CONVERTED)[name]
    if dtype == np.complex64 and not name.startswith(COMPLEX):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of special values and means of nothing
        wanted = function(a)
    with mdhnp.config(host="never"):
        found = mdhnp.fuse(function)(a)
    for f, w in zip(several(found), several(wanted), strict=True):
        assert (np.shape(f), f.dtype) == (np.shape(w), w.dtype)
        np.testing.assert_allclose(f, w, rtol=1e-5, atol=1e-5)


def test_parts_of_complex_results() -> None:
    z = X + np.complex64(1j) * X
    for function in (lambda z: (z * 2).real, lambda z: (z * 2).imag.T, lambda z: ((z * 2).real[0], z.imag)):
        for found, wanted in zip(several(mdhnp.fuse(function)(z)), several(function(z)), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


def test_what_the_function_has_keeps_its_names_to_itself() -> None:
    def plain(x: Any) -> Any:
        return x + 1

    plain.function = np.negative  # type: ignore[attr-defined]
    np.testing.assert_array_equal(mdhnp.fuse(plain)(X), X + 1)


def test_fused_functions_with_constants_call_each_other() -> None:
    weights = np.arange(4, dtype=np.float32)
    inner = mdhnp.fuse(lambda x: x * weights)
    np.testing.assert_array_equal(mdhnp.fuse(lambda x: inner(x) + 1)(X), X * weights + 1)


def test_arrays_that_are_not_computed() -> None:
    fused = mdhnp.fuse(lambda x: (x + 1, np.arange(3)))
    fused(X)[1][:] = 9
    np.testing.assert_array_equal(fused(X)[1], np.arange(3))
    with pytest.raises(mdhnp.TracingError, match="gives no array that it computes, but None"):
        mdhnp.fuse(lambda x: None)(X)
    assert mdhnp.fuse(lambda: 5)() == 5


@pytest.mark.parametrize(
    "gather", [lambda x: x[[1, 0]], lambda x: np.take(x, [1, 0], axis=0), lambda x: x.take([1, 7])]
)
def test_indices_that_are_known_name_elements(gather: Any) -> None:
    np.testing.assert_array_equal(mdhnp.fuse(lambda x: gather(x * 2) + 1)(X), gather(X * 2) + 1)


def test_explain_shows_the_rewriting() -> None:
    with mdhnp.config(host="never"):
        text = mdhnp.explain(mdhnp.fuse(PROGRAMS["softmax"].function), X).summary
    assert "rule    F ∘ map(g) = F(g)" in text
    assert "bytes before" in text
    assert "kernels" in text


@pytest.mark.parametrize("host", ["auto", "never"])
def test_single_elements_are_copied(host: str) -> None:
    with mdhnp.config(host=host):
        found = mdhnp.fuse(lambda a: a[0, 1].astype(np.float64))(np.array([[1, 2], [3, 4]], np.float32))
    assert (found, found.dtype) == (2, np.float64)
