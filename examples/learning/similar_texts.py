"""
Texts in similar words
======================

Which functions of NumPy are described alike? Word counts are weighted, rare words more and repeated ones less, and
all pairs of texts are compared by their cosine.

The function is NumPy code with a decorator. Most of its time is one product; what comes before it, six arrays as
large as the counts in NumPy, is computed a few rows at a time while they are in a cache.
"""

import inspect
import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from mdhnp import fuse, prepare


@fuse
def similarity(counts):
    """Give cosines between all texts, where rare words count for more, and repeated ones for less."""
    texts = (counts > 0).sum(axis=0)
    rareness = np.log((1 + len(counts)) / (1 + texts)) + 1
    weights = np.log1p(counts) * rareness.astype(np.float32)
    directions = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return directions @ directions.T


# %%
# How often each of the most frequent words is in each description.

texts = {inspect.getdoc(f): name for name, f in vars(np).items() if callable(f) and name.islower() and f.__doc__}
names = list(texts.values())
counts = CountVectorizer(stop_words="english", max_features=2000).fit_transform(texts).toarray().astype(np.float32)

by_numpy = similarity.function
prepare(similarity, counts)
found = similarity(counts)
np.testing.assert_allclose(found, by_numpy(counts), atol=1e-5)

for name, f in (("NumPy", by_numpy), ("mdhnp", similarity)):
    milliseconds = min(timeit.repeat(partial(f, counts), number=1, repeat=5)) * 1e3
    print(f"{name}: {milliseconds:.2f} ms for {len(names)} texts of {counts.shape[1]} words")

# %%
# The functions most like some of them.

figure, panels = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
for panel, name in zip(panels, ("cumsum", "matmul", "fliplr"), strict=True):
    likeness = found[names.index(name)]
    nearest = likeness.argsort()[-2:-8:-1]
    panel.barh([names[n] for n in nearest], likeness[nearest])
    panel.invert_yaxis()
    panel.set(title=f"described like {name}", xlabel="cosine", xlim=(0, 1))
plt.show()
