"""Other libraries' functions on Arrays, by the array API standard: what they give of ndarrays, on the device."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import array_api_compat
import array_api_extra as xpx
import numpy as np
import opt_einsum
import pytest
import sklearn
from arrays import close
from separate import alternating
from sklearn import metrics, pipeline, preprocessing
from sklearn.metrics import pairwise

import mdhnp
from mdhnp.runtime.devices import Device

RNG = np.random.default_rng(0)
X, Y = RNG.random((12, 5), np.float32), RNG.random((7, 5), np.float32) + 0.1
V, W = X[:, 0] + 1, X[:, 1] + 1
LABELS = np.array([0, 2, 1, 2], np.int64)


@pytest.fixture
def place(device: Device, number: int) -> Iterator[Device]:
    """Make a device the current one, or it as if it had memory of its own, where alone kernels have to compute."""
    with mdhnp.device(alternating(device, number)) as where, mdhnp.config(host="auto"):
        yield where


@pytest.fixture
def only_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it an error that a library copies an Array to the host."""

    def copied(*_: Any, **__: Any) -> Any:
        raise AssertionError("an Array was copied to the host")

    monkeypatch.setattr(mdhnp.Array, "__array__", copied)


EINSUM: dict[str, Callable[..., Any]] = {
    "two": lambda x, y: opt_einsum.contract("ij,kj->ik", x, y),
    "transposed": lambda x, y: opt_einsum.contract("ij,kj->ki", x, y),
    "three": lambda x, y: opt_einsum.contract("ij,kj,lj->ikl", x, y, y),
    "chain": lambda x, y: opt_einsum.contract("ij,kj,kl->il", x, y, y, optimize="dp"),
    "a number": lambda x, y: opt_einsum.contract("ij,ij", x, x),
    "expression": lambda x, y: opt_einsum.contract_expression("ij,kj->ik", x.shape, y.shape)(x, y),
    "with an ndarray": lambda x, y: opt_einsum.contract("ij,kj,lj->ikl", x, Y, y),
    "backend": lambda x, y: opt_einsum.contract("ij,kj,kl->il", x, y, y, backend="mdhnp"),
}


@pytest.mark.parametrize("number", range(len(EINSUM)), ids=[*EINSUM].__getitem__)
def test_opt_einsum(place: Device, only_here: None, number: int) -> None:
    call = [*EINSUM.values()][number]
    expected = opt_einsum.contract("ij,kj,kl->il", X, Y, Y) if "backend" in call.__code__.co_consts else call(X, Y)
    close(call(mdhnp.asarray(X), mdhnp.asarray(Y)), expected, place)


def test_array_api_compat_knows_arrays(where: Device, only_here: None) -> None:
    a = mdhnp.asarray(X)
    assert array_api_compat.array_namespace(a, a.T) is mdhnp
    assert array_api_compat.is_array_api_obj(a)
    assert array_api_compat.device(a) is where
    assert array_api_compat.size(a) == X.size
    assert array_api_compat.to_device(a, where) is a
    with pytest.raises(TypeError, match="ultiple namespaces"):
        array_api_compat.array_namespace(a, X)


def test_the_namespace_is_found_by_the_standards_entry_point() -> None:
    with open(Path(__file__).parents[1] / "pyproject.toml", "rb") as file:
        ((name, value),) = tomllib.load(file)["project"]["entry-points"]["array_api"].items()
    assert name == "mdhnp" and EntryPoint(name, value, "array_api").load() is mdhnp


def test_scipys_functions_take_arrays() -> None:
    script = Path(__file__).parent / "scipy_on_arrays.py"
    path = os.pathsep.join([str(Path(mdhnp.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, str(script)], check=True, timeout=240, env={**os.environ, "PYTHONPATH": path})


EXTRA: dict[str, Callable[..., Any]] = {
    "atleast_nd": lambda x, xp: xpx.atleast_nd(x, ndim=3),
    "cov": lambda x, xp: xpx.cov(x),
    "create_diagonal": lambda x, xp: xpx.create_diagonal(x[0]),
    "kron": lambda x, xp: xpx.kron(x[:3], x[:2]),
    "pad": lambda x, xp: xpx.pad(x, 2, constant_values=0.5),
    "sinc": lambda x, xp: xpx.sinc(x),
    "isclose": lambda x, xp: xpx.isclose(x, x + 1e-9),
    "one_hot": lambda x, xp: xpx.one_hot(xp.asarray(LABELS), 3),
    "nan_to_num": lambda x, xp: xpx.nan_to_num(x, fill_value=0.0),
    "at, set": lambda x, xp: xpx.at(x)[:, 1].set(9.0, copy=True),
    "at, add": lambda x, xp: xpx.at(x)[1:, ::2].add(9.0, copy=True),
    "apply_where": lambda x, xp: xpx.apply_where(x > 0.5, x, lambda y: 2 * y, fill_value=0.0),
    "isin": lambda x, xp: xpx.isin(x, x[0]),
}


@pytest.mark.turns
@pytest.mark.parametrize("number", range(len(EXTRA)), ids=[*EXTRA].__getitem__)
def test_array_api_extra(place: Device, only_here: None, number: int) -> None:
    call = [*EXTRA.values()][number]
    close(call(mdhnp.asarray(X), mdhnp), call(X.copy(), np), place, atol=1e-5)


def fitted(*steps: Any) -> Callable[..., Any]:
    return lambda x, y, v, w: pipeline.make_pipeline(*steps).fit_transform(x)


#: Calls of functions and estimators, from matrices and vectors.
SCIKIT_LEARN: dict[str, Callable[..., Any]] = {
    "MinMaxScaler": fitted(preprocessing.MinMaxScaler()),
    "StandardScaler, means only": fitted(preprocessing.StandardScaler(with_std=False)),
    "PolynomialFeatures": fitted(preprocessing.PolynomialFeatures()),
    "MaxAbsScaler": fitted(preprocessing.MaxAbsScaler()),
    "Normalizer": fitted(preprocessing.Normalizer()),
    "Normalizer, l1": fitted(preprocessing.Normalizer("l1")),
    "Binarizer": fitted(preprocessing.Binarizer(threshold=0.5)),
    "KernelCenterer": lambda x, y, v, w: preprocessing.KernelCenterer().fit_transform(x @ x.T),
    "pipeline": fitted(preprocessing.MaxAbsScaler(), preprocessing.Normalizer()),
    "paired_cosine_distances": lambda x, y, v, w: pairwise.paired_cosine_distances(x, x[::-1, :]),
}
for function in (
    pairwise.euclidean_distances, pairwise.cosine_similarity, pairwise.linear_kernel, pairwise.polynomial_kernel,
    pairwise.rbf_kernel, pairwise.sigmoid_kernel, pairwise.additive_chi2_kernel,
):  # fmt: skip
    SCIKIT_LEARN[function.__name__] = lambda x, y, v, w, f=function: f(x, y)
for function in (
    metrics.mean_squared_error, metrics.mean_absolute_error, metrics.root_mean_squared_error,
    metrics.mean_absolute_percentage_error, metrics.mean_squared_log_error, metrics.max_error,
    metrics.mean_poisson_deviance, metrics.mean_gamma_deviance, metrics.mean_pinball_loss, metrics.d2_tweedie_score,
):  # fmt: skip
    SCIKIT_LEARN[function.__name__] = lambda x, y, v, w, f=function: f(v, w)


@pytest.mark.turns
@pytest.mark.parametrize("number", range(len(SCIKIT_LEARN)), ids=[*SCIKIT_LEARN].__getitem__)
def test_scikit_learn(place: Device, only_here: None, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # which scikit-learn asks for
    call = [*SCIKIT_LEARN.values()][number]
    expected = call(X, Y, V, W)
    with sklearn.config_context(array_api_dispatch=True):
        found = call(*map(mdhnp.asarray, (X, Y, V, W)))
    if isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=1e-4, strict=True)
    else:
        close(found, expected, place, rtol=1e-4, atol=1e-4)


#: Calls that read by masks, which name a few elements of rows and columns.
MASKED: dict[str, Callable[..., Any]] = {
    "StandardScaler": fitted(preprocessing.StandardScaler()),
    "r2_score": lambda x, y, v, w: metrics.r2_score(v, w),
}


@pytest.mark.parametrize("number", range(len(MASKED)), ids=[*MASKED].__getitem__)
def test_scikit_learn_with_numpys_indices(place: Device, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    call, before = [*MASKED.values()][number], mdhnp.fallback_counts()
    expected = call(X, Y, V, W)
    with sklearn.config_context(array_api_dispatch=True), mdhnp.config(fallback="numpy"):
        found = call(*map(mdhnp.asarray, (X, Y, V, W)))
    if isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=1e-4, strict=True)
    else:
        close(found, expected, place, rtol=1e-4, atol=1e-4)
    counted = {name for name, count in mdhnp.fallback_counts().items() if count != before.get(name, 0)}
    assert counted <= ({"setitem"} if place.own_memory else set())
