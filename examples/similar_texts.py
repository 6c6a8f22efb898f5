"""Which functions of NumPy are described in similar words, from NumPy to mdhnp by a decorator.

Run as a script, this file executes its own text once more without the decorator, as it was written for NumPy, and
compares results and times. It needs scikit-learn, which counts words.
"""

import inspect
import timeit
from pathlib import Path

from mdhnp import fuse, prepare  # isort: skip (before NumPy, so that its threads rest between calls)
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer


@fuse
def similarity(counts):
    """Give cosines between all texts, where rare words count for more, and repeated ones for less."""
    texts = (counts > 0).sum(axis=0)
    rareness = np.log((1 + len(counts)) / (1 + texts)) + 1
    weights = np.log1p(counts) * rareness.astype(np.float32)
    directions = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return directions @ directions.T


def described(words):
    """Give names of NumPy's functions, and how often each of the most frequent words is in their descriptions."""
    texts = {inspect.getdoc(f): name for name, f in vars(np).items() if callable(f) and name.islower() and f.__doc__}
    counts = CountVectorizer(stop_words="english", max_features=words).fit_transform(texts)
    return list(texts.values()), counts.toarray().astype(np.float32)


def main(words=2000, copies=1):
    """Compare both on so many copies of the descriptions."""
    names, counts = described(words)
    counts = np.tile(counts, (copies, 1))
    before = {"__name__": "before"}
    exec(Path(__file__).read_text().replace("from mdhnp import fuse, prepare", "").replace("@fuse", ""), before)
    calls = [lambda f=f: f(counts) for f in (before["similarity"], similarity)]

    print(f"the first call takes {timeit.timeit(calls[1], number=1):.2f} s")
    prepare(similarity, counts)  # else NumPy computes until calls have cost as much as compiling
    expected, found = (call() for call in calls)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    numpys, ours = np.min([[timeit.timeit(call, number=1) for call in calls] for _ in range(10)], axis=0)
    print(f"later ones {ours * 1e3:.2f} ms, NumPy's {numpys * 1e3:.2f} ms")
    nearest = found[names.index("cumsum"), : len(names)].argsort()[-2::-1][:3]
    print("described like cumsum:", *[names[n] for n in nearest])


if __name__ == "__main__":
    main()
