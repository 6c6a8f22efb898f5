"""
Speed up NumPy code that you do not change
==========================================

Features of handwritten digits, by transformers written with NumPy. In a block of ``mdhnp.patch()`` the same code runs
here: ``np.einsum``, ``np.matmul``, ``np.inner`` and NumPy's other products are routed to this package.

Who computes is decided call by call: kernels where they were measured to be faster, else NumPy.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import mdhnp

# %%
# Principal components, products of any two of them, and similarities to all digits that were seen.


class Whitening(TransformerMixin, BaseEstimator):
    """Twenty principal components, each scaled to variance 1."""

    def fit(self, x, y=None):
        self.mean_ = x.mean(axis=0)
        centred = x - self.mean_
        variances, vectors = np.linalg.eigh(np.einsum("ni,nj->ij", centred, centred) / (len(x) - 1))
        self.vectors_ = vectors[:, -20:] / np.sqrt(variances[-20:])
        return self

    def transform(self, x):
        return np.matmul(x - self.mean_, self.vectors_)


class Products(TransformerMixin, BaseEstimator):
    """All features and the products of any two."""

    def fit(self, x, y=None):
        self.rows_, self.columns_ = np.triu_indices(x.shape[1])
        return self

    def transform(self, x):
        return np.hstack([x, np.einsum("ni,nj->nij", x, x)[:, self.rows_, self.columns_]])


class RadialKernel(TransformerMixin, BaseEstimator):
    """Similarity to every sample seen in training, ``exp(-distance ** 2 / 1000)``."""

    def fit(self, x, y=None):
        self.known_ = x
        return self

    def transform(self, x):
        squares = [np.einsum("ni,ni->n", s, s) for s in (x, self.known_)]
        return np.exp((2 * np.inner(x, self.known_) - squares[0][:, np.newaxis] - squares[1]) / 1000)


pixels, digits = (part[:1796] for part in load_digits(return_X_y=True))  # halves of one size share kernels
seen, unseen, labels, truth = train_test_split(pixels.astype(np.float32), digits, test_size=0.5, random_state=0)


def features():
    pipeline = make_pipeline(Whitening(), Products(), RadialKernel())
    return pipeline.fit_transform(seen), pipeline.transform(unseen)


# %%
# ``prepare`` compiles kernels for all products that the function makes, and measures them beside NumPy.

expected = features()
numpys = min(timeit.repeat(features, number=1, repeat=3))
with mdhnp.patch():
    for ready in mdhnp.prepare(features):
        print(ready)
    known, new = features()
    ours = min(timeit.repeat(features, number=1, repeat=3))
np.testing.assert_allclose(new, expected[1], rtol=1e-3, atol=1e-6)
print(f"all features: {numpys * 1e3:.0f} ms, in a block of patch {ours * 1e3:.0f} ms")

predicted = RidgeClassifier(alpha=0.01).fit(known, labels).predict(new)
shown = ConfusionMatrixDisplay.from_predictions(truth, predicted, cmap="Blues", colorbar=False)
shown.ax_.set_title(f"{(predicted == truth).mean():.1%} of the digits are recognized")
plt.show()
