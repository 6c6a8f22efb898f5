"""The two evaluations that kernels are compared with give the same: the definition's, and the one for large cases."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import evaluate
from random_functions import Seeded
from strategies import case

from mdhnp.mdh import interpret


@pytest.mark.parametrize("seed", range(300))
def test_both_evaluations_agree(seed: int) -> None:
    drawn = case(Seeded(seed), 2000, in_ring=seed % 2 > 0)
    wanted = interpret(drawn.mdhom, *drawn.arrays)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for got, want in zip(evaluate(drawn.mdhom, drawn.arrays), wanted, strict=True):
        np.testing.assert_array_equal(got, want, strict=True)
