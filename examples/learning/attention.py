"""
Softmax and attention in one pass
=================================

Attention, ``softmax(q @ k.T) @ v``, is written with NumPy as its formula says, and fused by a decorator. The matrix
of all queries by all keys is computed a few rows at a time, and those never leave the cache.

NumPy writes that matrix five times. ``rewriting`` tells which rules were applied, and how many bytes are left to
move.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

import mdhnp


@mdhnp.fuse
def attention(q, k, v):
    scores = q @ k.T / np.float32(np.sqrt(q.shape[1]))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)) @ v


by_numpy = attention.function
rng = np.random.default_rng(0)


def fastest(call, *arguments):
    """Give the milliseconds of the fastest of five calls."""
    return min(timeit.repeat(lambda: call(*arguments), number=1, repeat=5)) * 1e3


def operands(length):
    return (rng.standard_normal((length, 64), np.float32) for _ in range(3))


# %%
# Bytes and rules, for 1000 queries.

rewriting = attention.rewriting(*operands(1000))
print(*(applied.rule.name for applied in rewriting.applied), sep="\n")
print(str(rewriting).splitlines()[-1])

# %%
# Times for sequences of several lengths.

lengths, times = (500, 1000, 2000), []
for length in lengths:
    q, k, v = operands(length)
    mdhnp.prepare(attention, q, k, v)
    np.testing.assert_allclose(attention(q, k, v), by_numpy(q, k, v), rtol=1e-3, atol=1e-5)
    times.append([fastest(f, q, k, v) for f in (by_numpy, attention)])
    print(f"{length:5} queries and keys: NumPy {times[-1][0]:6.2f} ms, mdhnp {times[-1][1]:6.2f} ms")

figure, axes = plt.subplots(layout="constrained")
for label, row in zip(("NumPy", "mdhnp"), zip(*times, strict=True), strict=True):
    axes.loglog(lengths, row, "o-", label=label)
axes.set_xticks(lengths, [str(length) for length in lengths])
axes.minorticks_off()
axes.set(title="attention of 64 features", xlabel="length of the sequence", ylabel="time of a call (ms)")
axes.legend()
plt.show()
