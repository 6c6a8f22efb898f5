"""Handwritten digits recognized by scikit-learn, whose functions compute on Arrays where these are.

scikit-learn takes other libraries' arrays by the array API standard, if it is told to. What it computes here runs as
mdhnp's kernels: on a GPU nothing but the labels comes back. It needs scikit-learn, array-api-compat is part of that.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # which scikit-learn asks for

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

with sklearn.config_context(array_api_dispatch=True):
    known, new = mdhnp.asarray(known), mdhnp.asarray(new)
    found, similarity = recognize(known, labels, new)
    error = mean_absolute_error(mdhnp.asarray(similar), similarity)  # a number, from two Arrays
    likely = rbf_kernel(new, known, gamma=1e-3).sum(axis=1)

assert type(similarity) is type(likely) is mdhnp.Array
np.testing.assert_array_equal(found, expected)
print(f"{(found == truth).mean():.1%} of the digits are recognized on {similarity.device.name}, as by NumPy")
print(f"similarities differ by {error:.1g} in the mean")
