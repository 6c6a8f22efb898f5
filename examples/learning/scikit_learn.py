"""
scikit-learn on Arrays
======================

scikit-learn takes other libraries' arrays by the array API standard, if it is told to. Given mdhnp's Arrays, what it
computes runs as kernels where the Arrays are: with a GPU nothing but the labels comes back.

Nothing in the pipeline below knows of this package. Times are printed, and on a CPU, where NumPy's copies cost
nothing, they are no argument; memory that a GPU has is.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # which scikit-learn asks for

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.metrics import mean_absolute_error
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer

import mdhnp


def recognize(known, labels, new):
    """Give the labels of the known digits that new ones are most similar to, and how similar they are."""
    features = make_pipeline(MinMaxScaler(), Normalizer())
    similarity = cosine_similarity(features.fit_transform(known), features.transform(new))
    return labels[np.asarray(similarity.argmax(axis=0))], similarity.max(axis=0)


pixels, digits = load_digits(return_X_y=True)
known, new, labels, truth = train_test_split(pixels.astype(np.float32), digits, random_state=0)
expected, similar = recognize(known, labels, new)

# %%
# The same functions on Arrays.

with sklearn.config_context(array_api_dispatch=True):
    on_device = mdhnp.asarray(known), mdhnp.asarray(new)
    found, similarity = recognize(on_device[0], labels, on_device[1])
    error = mean_absolute_error(mdhnp.asarray(similar), similarity)  # a number, from two Arrays
    likely = rbf_kernel(on_device[1], on_device[0], gamma=1e-3).sum(axis=1)

assert type(similarity) is type(likely) is mdhnp.Array
np.testing.assert_array_equal(found, expected)
print(f"{(found == truth).mean():.1%} of the digits are recognized on {similarity.device.name}, as by NumPy")
print(f"similarities differ by {error:.1g} in the mean")

# %%
# The digits that are least like any that is known.

figure, panels = plt.subplots(1, 8, figsize=(11, 2), layout="constrained")
for panel, n in zip(panels, np.argsort(similarity.numpy()), strict=False):
    panel.imshow(new[n].reshape(8, 8), cmap="gray_r")
    panel.set(title=f"{truth[n]}, taken for {found[n]}", xticks=[], yticks=[])
    panel.title.set_fontsize(9)
plt.show()
