"""Einsums are read back from MDHs, whoever wrote them, and nothing else is taken for one."""

from typing import Any

import numpy as np
import pytest

from mdhnp.mdh import cc, md_hom, ps, pw
from mdhnp.mdh.subscripts import subscripts

A, X = np.ones((3, 4)), np.ones(4)


@pytest.mark.parametrize(
    ("combine", "views", "extents"),
    [
        ({"i": cc}, "x[3-i] -> y[i]", {"i": 4}),
        ({"i": cc}, "x[2*i] -> y[i]", {"i": 2}),
        ({"i": cc}, "x[i+1] -> y[i]", {"i": 3}),
        ({"i": cc}, "x[i] -> y[i]", {"i": 3}),
        ({"i": cc}, "x[i] -> y[3-i]", {"i": 4}),
        ({"i": cc, "j": cc}, "x[i+j] -> y[i,j]", {"i": 2, "j": 3}),
        ({"i": cc, "j": pw("add")}, "x[i] -> y[i]", {"i": 4, "j": 2}),
        ({"i": pw("max")}, "x[i] -> y[]", {}),
        ({"i": ps("add")}, "x[i] -> y[i]", {}),
    ],
)
def test_what_is_no_einsum_is_not_taken_for_one(combine: Any, views: str, extents: Any) -> None:
    assert subscripts(md_hom(lambda a: a, combine, views).bind(X, **extents)) is None


def test_constant_indices_are_no_einsum() -> None:
    assert subscripts(md_hom(lambda a: a, {"i": cc}, "A[0,i] -> y[i]").bind(A)) is None
    assert subscripts(md_hom(lambda a: a, {"i": cc}, "x[i] -> y[i]").bind(X)) == "a->a"
