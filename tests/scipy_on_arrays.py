"""SciPy's functions on Arrays, by the array API standard: run in a process of its own, since SciPy is told at import.

Each gives what it gives of ndarrays. Those of `ON_DEVICE` copy no Array to the host.
"""

import os
import warnings
from collections.abc import Callable
from typing import Any

os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
from scipy import cluster, fft, integrate, ndimage, signal, spatial, special, stats

import mdhnp

X = np.random.default_rng(0).random((20, 30)) / 2 + 0.2

ON_DEVICE: tuple[Callable[[Any], Any], ...] = (
    special.logsumexp, special.softmax, special.log_softmax, lambda x: special.xlogy(x, x),
    stats.zscore, lambda x: stats.zmap(x, x), stats.skew, stats.kurtosis, stats.gmean, stats.hmean,
    lambda x: stats.pmean(x, 2), stats.variation, stats.sem, stats.moment, lambda x: stats.describe(x).variance,
    stats.circmean, lambda x: stats.boxcox_llf(0.5, x),
    integrate.trapezoid, integrate.cumulative_trapezoid, cluster.vq.whiten,
    stats.iqr, lambda x: stats.trim_mean(x, 0.1), lambda x: stats.quantile(x, 0.3), stats.rankdata,
    stats.median_abs_deviation, lambda x: stats.mode(x).mode, stats.gstd, stats.kstat,
    lambda x: stats.false_discovery_control(x[0]),
)  # fmt: skip
ON_HOST: tuple[Callable[[Any], Any], ...] = (
    lambda x: ndimage.correlate(x, x[:3, :3]), lambda x: ndimage.convolve(x, x[:3, :3]),
    lambda x: ndimage.gaussian_filter(x, 2), ndimage.uniform_filter, ndimage.sobel, ndimage.mean,
    lambda x: ndimage.median_filter(x, 3), lambda x: ndimage.label(x > 0.5)[0],
    fft.fft, fft.dct,
    lambda x: signal.convolve(x, x[:3, :3]), lambda x: signal.fftconvolve(x, x[:3, :3]),
    lambda x: signal.correlate2d(x, x[:3, :3]), signal.detrend, signal.hilbert,
    special.expit, special.logit, special.erf, special.gammaln, special.i0, special.ndtr, special.entr, stats.entropy,
    lambda x: stats.pearsonr(x[0], x[1]).statistic, lambda x: stats.spearmanrho(x[0], x[1]).statistic,
    lambda x: stats.ttest_ind(x[0], x[1]).statistic, lambda x: stats.mannwhitneyu(x[0], x[1]).statistic,
    lambda x: spatial.transform.Rotation.from_rotvec(x[:, :3]).as_matrix(),
)  # fmt: skip


def main() -> None:
    copies: list[mdhnp.Array] = []
    to_host = mdhnp.Array.__array__

    def noted(self: mdhnp.Array, *args: Any, **keywords: Any) -> Any:
        copies.append(self)
        return to_host(self, *args, **keywords)

    mdhnp.Array.__array__ = noted  # type: ignore[method-assign]
    x = mdhnp.asarray(X, device="cpu")
    for number, function in enumerate((*ON_DEVICE, *ON_HOST)):
        wanted = function(X)
        copies.clear()
        found = function(x)
        on_device = not copies
        assert type(found) is mdhnp.Array, (number, function)
        assert on_device or number >= len(ON_DEVICE), (number, function)
        np.testing.assert_allclose(to_host(found), wanted, rtol=1e-10, atol=1e-12, err_msg=str((number, function)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # SciPy's support is experimental, as it says
    main()
