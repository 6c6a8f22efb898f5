"""What measured times teach about those of other schedules: a ridge regression on what a model misses."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["corrected"]

Floats = npt.NDArray[np.float64]


def corrected(times: Sequence[float], model: Floats, features: Floats) -> Floats:
    """Logarithms of the expected times of schedules that were not measured.

    Parameters
    ----------
    times : sequence of float
        Of the first schedules, in seconds; the others are asked for.
    model : ndarray of shape (n,)
        Logarithm of the time that a model expects of each.
    features : ndarray of shape (n, m)
        What tells them apart.

    Examples
    --------
    A model that knows nothing, and a time that doubles with the only feature:

    >>> corrected([1.0, 2.0, 4.0, 8.0], np.zeros(5), np.arange(5.0)[:, None]).round(1)
    array([2.4])
    """
    known = len(times)
    if not known:
        return model
    measured = features[:known]
    features = (features - measured.mean(axis=0)) / (measured.std(axis=0) + 1e-9)
    x, residual = features[:known], np.log(times) - model[:known]
    weights = np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ (residual - residual.mean()))
    predicted: Floats = model[known:] + residual.mean() + features[known:] @ weights
    return predicted
