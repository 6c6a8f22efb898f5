"""
Record linkage with weights and thresholds
==========================================

Which of 5000 persons are among 2500 others, in spite of typing errors and missing values? After Fellegi and Sunter
each field adds a weight to a pair, in bits: more where few people share a value. The heaviest pair of each record is
kept.

``mdhnp.prl`` compares all 12.5 million pairs in one kernel, so that no blocking has to leave some out. In NumPy an
array of all pairs is written for each field.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

import mdhnp
from mdhnp.demo.data import febrl4

new, copies, truth = febrl4()
FIELDS = ("given_name", "surname", "street_number", "suburb", "postcode", "state", "date_of_birth", "soc_sec_id")
new = {field: new[field] for field in FIELDS}
existing = {field: copies[field][truth[::2]] for field in FIELDS}  # faulty copies of every other record

# %%
# ``m`` is how often a field agrees in two records of one person; how often by chance follows from how frequent values
# are. Below the first threshold is no match, above the second a match, and between them somebody should look.

M, THRESHOLDS = 0.9, (10, 20)


def linked():
    return mdhnp.prl(new, existing, m=M, thresholds=THRESHOLDS)


first = timeit.timeit(linked, number=1)
again = min(timeit.repeat(linked, number=1, repeat=2))
links = linked()
person = np.arange(len(truth))
known, right = person % 2 == 0, links.index == person // 2
print(f"{len(truth)} × {len(truth) // 2} pairs of {len(FIELDS)} fields: {first:.2f} s, later {again:.2f} s")
for status, name in enumerate(("no match", "possible", "match")):
    these = links.status == status
    print(f"{name:9} {these.sum():5}: {(these & known & right).sum():5} right, {(these & ~known).sum():5} strangers")

# %%
# The same weights in NumPy, for the first hundred records.

n = len(truth) // 2
weight = np.zeros((100, n), np.float32)
for field in FIELDS:
    values, counts = np.unique(existing[field], return_counts=True)
    frequency = dict(zip(values, counts / n, strict=True))
    u = np.clip([frequency.get(value, 0) for value in new[field][:100]], 1 / (n + 1), n / (n + 1))[:, np.newaxis]
    agree = new[field][:100, np.newaxis] == existing[field]
    weight += np.where(agree, np.log2(M / u), np.log2((1 - M) / (1 - u))).astype(np.float32)
np.testing.assert_allclose(links.weight[:100], weight.max(axis=1), rtol=1e-4, atol=1e-3)

# %%
# Weights of each record's best partner. Those of strangers are light: the thresholds tell them apart.

figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
parts, names = [links.weight[known], links.weight[~known]], ["has a partner", "stranger"]
axes.hist(parts, bins=60, stacked=True, label=names, color=["C0", "C3"])
for threshold in THRESHOLDS:
    axes.axvline(threshold, color="0.3", linestyle="--")
axes.set(xlabel="weight of the best pair (bits); dashed: thresholds", ylabel="records")
axes.legend()
plt.show()
