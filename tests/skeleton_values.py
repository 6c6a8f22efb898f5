"""What tests of skeletons share."""

from __future__ import annotations

from typing import Any

import numpy as np

import mdhnp
from mdhnp.skeletons.skeleton import operands

__all__ = ["DOT", "DTYPES", "interpreted", "numbers", "same"]

DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8"]

#: Listing 1.2, whose helper functions are the pointer and the distance of its elements.
DOT = """
float func(const global float *ar, int length, int to_next, const global float *bc, int same, int below) {
    float c = 0.0f;
    for (int i = 0; i < length; ++i) {
        c += ar[i * to_next] * bc[i * below];
    }
    return c;
}
"""


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Small whole numbers, so that sums and products are exact."""
    return np.random.default_rng(seed).integers(0, 5, shape).astype(dtype)


def interpreted(skeleton: Any, *arrays: Any) -> Any:
    """What a skeleton's MDH means."""
    return mdhnp.interpret(skeleton.bind(*arrays), *operands(arrays))


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_array_equal(found, wanted, strict=True)
