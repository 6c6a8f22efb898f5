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
from sklearn import (
    decomposition,
    discriminant_analysis,
    kernel_approximation,
    linear_model,
    metrics,
    mixture,
    model_selection,
    naive_bayes,
    pipeline,
    preprocessing,
)  # fmt: skip
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


def test_scipys_functions_take_arrays(pytestconfig: pytest.Config) -> None:
    """By NumPy where that is faster; with `--long` by kernels."""
    script = Path(__file__).parent / "scipy_on_arrays.py"
    path = os.pathsep.join([str(Path(mdhnp.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    host = "never" if pytestconfig.getoption("--long") else "auto"
    environment = {**os.environ, "PYTHONPATH": path, "MDHNP_HOST": host}
    subprocess.run([sys.executable, str(script)], check=True, timeout=240, env=environment)


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


@pytest.mark.parametrize("number", range(len(EXTRA)), ids=[*EXTRA].__getitem__)
def test_array_api_extra(place: Device, only_here: None, number: int) -> None:
    call = [*EXTRA.values()][number]
    close(call(mdhnp.asarray(X), mdhnp), call(X.copy(), np), place, atol=1e-5)


def fitted(*steps: Any) -> Callable[..., Any]:
    return lambda x, y, v, w: pipeline.make_pipeline(*steps).fit_transform(x)


def classes(v: Any) -> Any:
    """Give labels of two classes, of numbers between 1 and 2."""
    return (v > 1.5).astype(np.int64)


def predicted(estimator: Any) -> Callable[..., Any]:
    return lambda x, y, v, w: estimator.fit(x, classes(v)).predict(x)


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
    "StandardScaler": fitted(preprocessing.StandardScaler()),
    "LabelBinarizer": lambda x, y, v, w: preprocessing.LabelBinarizer().fit_transform(classes(v)),
    "LabelEncoder": lambda x, y, v, w: preprocessing.LabelEncoder().fit_transform(classes(v)),
    "PCA": lambda x, y, v, w: abs(decomposition.PCA(2, svd_solver="full").fit_transform(x)),
    "PCA, by covariances": lambda x, y, v, w: abs(decomposition.PCA(2, svd_solver="covariance_eigh").fit_transform(x)),
    "Ridge": lambda x, y, v, w: linear_model.Ridge(solver="svd").fit(x, v).coef_,
    "RidgeCV": lambda x, y, v, w: linear_model.RidgeCV().fit(x, v).coef_,
    "RidgeClassifier": predicted(linear_model.RidgeClassifier(solver="svd")),
    "LogisticRegression": predicted(linear_model.LogisticRegression()),
    "LinearDiscriminantAnalysis": predicted(discriminant_analysis.LinearDiscriminantAnalysis()),
    "GaussianNB": predicted(naive_bayes.GaussianNB()),
    "GaussianMixture": lambda x, y, v, w: (
        mixture.GaussianMixture(2, random_state=0, init_params="random_from_data").fit(x).means_
    ),
    "Nystroem": lambda x, y, v, w: kernel_approximation.Nystroem(n_components=12, random_state=0).fit_transform(x),
    "train_test_split": lambda x, y, v, w: model_selection.train_test_split(x, random_state=0)[0],
    "cross_val_predict": lambda x, y, v, w: model_selection.cross_val_predict(
        linear_model.Ridge(solver="svd"), x, v, cv=3
    ),
    "log_loss": lambda x, y, v, w: metrics.log_loss(classes(v), x[:, :2] / x[:, :2].sum(1, keepdims=True)),
    "roc_curve": lambda x, y, v, w: metrics.roc_curve(classes(v), w)[0],
    "average_precision_score": lambda x, y, v, w: metrics.average_precision_score(classes(v), w),
    "brier_score_loss": lambda x, y, v, w: metrics.brier_score_loss(classes(v), w - 1),
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
    metrics.r2_score, metrics.explained_variance_score, metrics.median_absolute_error, metrics.d2_absolute_error_score,
    metrics.d2_pinball_score,
):  # fmt: skip
    SCIKIT_LEARN[function.__name__] = lambda x, y, v, w, f=function: f(v, w)
for function in (
    metrics.accuracy_score, metrics.balanced_accuracy_score, metrics.f1_score, metrics.precision_score,
    metrics.jaccard_score, metrics.hamming_loss, metrics.zero_one_loss, metrics.cohen_kappa_score,
    metrics.matthews_corrcoef, metrics.confusion_matrix,
):  # fmt: skip
    SCIKIT_LEARN[function.__name__] = lambda x, y, v, w, f=function: f(classes(v), classes(w))


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
