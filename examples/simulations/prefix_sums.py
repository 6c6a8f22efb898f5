"""
Scans: moving averages and drawdowns
====================================

A scan combines all elements up to each one, by any associative operator. The exponential moving average is one, too:
its operator puts two affine maps one after the other. So is the highest price so far.

NumPy has a scan of sums and of ufuncs such as ``maximum``, and SciPy's ``lfilter`` computes averages. Both go through
an array element by element, in one thread; a scan may be cut anywhere, and its parts are scanned side by side.
"""

import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter

import mdhnp
from mdhnp import ps, skeletons

DECAY = np.float32(0.98)
rng = np.random.default_rng(5)
steps = rng.normal(0, 0.01, (50, 40_000)).astype(np.float32)  # fifty markets
prices = np.exp(np.cumsum(steps, axis=1))

# %%
# **Average.** ``y[t] = DECAY * y[t - 1] + (1 - DECAY) * x[t]`` is the map ``y -> s * y + o``. Two of them are one more.


def then(first, second):
    return first[0] * second[0], first[1] * second[0] + second[1]


moving = mdhnp.md_hom(
    lambda x: (x * 0 + DECAY, x * (1 - DECAY)), {"m": mdhnp.cc, "t": ps(then)}, "x[m,t] -> s[m,t], y[m,t]"
)


def by_mdhnp(prices):
    return moving(prices)


def by_scipy(prices):
    return lfilter([1 - DECAY], [1, -DECAY], prices)


mdhnp.prepare(by_mdhnp, prices)
weight_of_start, average = by_mdhnp(prices)
np.testing.assert_allclose(average, by_scipy(prices), rtol=1e-3)
for name, f in (("SciPy", by_scipy), ("mdhnp", by_mdhnp)):
    print(f"moving average: {name} {min(timeit.repeat(partial(f, prices), number=1, repeat=3)) * 1e3:6.2f} ms")

# %%
# **Drawdown.** How far below the highest price so far.

average /= 1 - weight_of_start  # else it would begin at 0
highest = skeletons.scan("max")
top = np.stack([highest(row) for row in prices[:1]])
np.testing.assert_array_equal(top, np.maximum.accumulate(prices[:1], axis=1))

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 5), layout="constrained", height_ratios=(2, 1))
above.plot(prices[0, :1500], "0.7", label="price")
above.plot(average[0, :1500], label="exponential moving average")
above.plot(top[0, :1500], "--", label="highest so far")
above.set_ylabel("price")
above.legend()
below.fill_between(range(1500), 100 * (prices / top - 1)[0, :1500], color="C3")
below.set(xlabel="day", ylabel="drawdown (%)")
plt.show()
