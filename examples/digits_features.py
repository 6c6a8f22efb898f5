"""Features of handwritten digits in a scikit-learn pipeline, from NumPy to mdhnp by changing one import.

The transformers below were written with NumPy. Run as a script, this file executes its own text once more with the
import as it was, and compares the features, the predictions and the times. It needs scikit-learn.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from mdhnp import einsum, inner, matmul


class Whitening(TransformerMixin, BaseEstimator):
    """Principal components, each scaled to variance 1."""

    def __init__(self, components: int) -> None:
        self.components = components

    def fit(self, x, y=None):
        self.mean_ = x.mean(axis=0)
        centred = x - self.mean_
        covariance = einsum("ni,nj->ij", centred, centred) / (len(x) - 1)
        variances, vectors = np.linalg.eigh(covariance)
        vectors = vectors[:, : -self.components - 1 : -1]
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), range(self.components)])
        self.vectors_ = vectors * signs / np.sqrt(variances[: -self.components - 1 : -1])
        return self

    def transform(self, x):
        return matmul(x - self.mean_, self.vectors_)


class Products(TransformerMixin, BaseEstimator):
    """All features and the products of any two."""

    def fit(self, x, y=None):
        self.rows_, self.columns_ = np.triu_indices(x.shape[1])
        return self

    def transform(self, x):
        pairs = einsum("ni,nj->nij", x, x)[:, self.rows_, self.columns_]
        return np.hstack([x, pairs])


class RadialKernel(TransformerMixin, BaseEstimator):
    """Similarity to every sample seen in training, ``exp(-gamma * distance ** 2)``."""

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma

    def fit(self, x, y=None):
        self.known_ = x
        return self

    def transform(self, x):
        squares = [einsum("ni,ni->n", s, s) for s in (x, self.known_)]
        distances = squares[0][:, np.newaxis] + squares[1] - 2 * inner(x, self.known_)
        return np.exp(-self.gamma * distances)


def run(x, y):
    """Give features and predictions of the digits not seen in training, and the seconds of a second run."""
    seen, unseen, labels, truth = train_test_split(x, y, random_state=0)
    for _ in range(2):  # the first run compiles kernels
        start = time.perf_counter()
        features = make_pipeline(Whitening(30), Products(), RadialKernel(1e-3))
        known, new = features.fit_transform(seen), features.transform(unseen)
        seconds = time.perf_counter() - start
    predicted = RidgeClassifier(alpha=0.01).fit(known, labels).predict(new)
    return new, predicted, (predicted == truth).mean(), seconds


if __name__ == "__main__":
    digits = load_digits(return_X_y=True)
    before: dict[str, Any] = {"__name__": "before"}
    exec(Path(__file__).read_text().replace("from mdhnp import", "from numpy import"), before)
    features, predicted, right, seconds = run(*digits)
    numpys_features, numpys_predicted, _, numpys_seconds = before["run"](*digits)
    np.testing.assert_allclose(features, numpys_features, rtol=1e-9)
    np.testing.assert_array_equal(predicted, numpys_predicted)
    print(f"{right:.1%} of the digits are recognized, by both alike")
    print(f"features took {numpys_seconds * 1e3:.0f} ms with NumPy, {seconds * 1e3:.0f} ms with mdhnp")
