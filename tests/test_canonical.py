"""Fingerprints of canonical forms: the same for one kernel however it is written, others for other kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from mdhnp.mdh import MdHom, canonical, cc, fingerprint, index, md_hom, ps, pw

Array = np.ndarray[Any, Any]
GEMM = {"i": cc, "j": cc, "k": pw("add")}
A, B, X = np.ones((4, 5)), np.ones((5, 3)), np.ones(4)


def _gemm(a: Array, b: Array, views: str = "A[i,k], B[k,j] -> C[i,j]", names: str = "ijk") -> MdHom:
    i, j, k = names
    return md_hom(np.multiply, {i: cc, j: cc, k: pw("add")}, views).bind(a, b)


SAME: dict[str, tuple[MdHom, MdHom]] = {
    "other names": (_gemm(A, B), _gemm(A, B, "P[x,z], Q[z,y] -> R[x,y]", "xyz")),
    "other order of dimensions": (
        _gemm(A, B),
        md_hom(np.multiply, {"k": pw("add"), "j": cc, "i": cc}, "A[i,k], B[k,j] -> C[i,j]").bind(A, B),
    ),
    "a dimension of extent 1": (
        _gemm(A, B),
        md_hom(np.multiply, {"b": cc, **GEMM}, "A[b,i,k], B[k,j] -> C[b,i,j]").bind(A[None], B),
    ),
    "two dimensions that are one": (
        md_hom(lambda x: x + x, {"i": cc, "j": cc}, "x[i,j] -> y[i,j]").bind(A),
        md_hom(lambda x: x + x, {"i": cc}, "x[i] -> y[i]").bind(A.ravel()),
    ),
    "contracted indices that are one": (
        _gemm(np.ones((4, 6)), np.ones((6, 3))),
        md_hom(np.multiply, {**GEMM, "l": pw("add")}, "A[i,k,l], B[k,l,j] -> C[i,j]").bind(
            np.ones((4, 2, 3)), np.ones((2, 3, 3))
        ),
    ),
    "a transposed whole": (
        md_hom(lambda x: x + x, {"i": cc, "j": cc}, "x[i,j] -> y[i,j]").bind(A),
        md_hom(lambda x: x + x, {"j": cc, "i": cc}, "x[i,j] -> y[i,j]").bind(A),
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_one_fingerprint_for_one_kernel(case: str) -> None:
    left, right = SAME[case]
    assert fingerprint(canonical(left)) == fingerprint(canonical(right))
    assert canonical(left) == canonical(right)


DIFFERENT: dict[str, MdHom] = {
    "gemm": _gemm(A, B),
    "extents": _gemm(np.ones((4, 6)), np.ones((6, 3))),
    "dtype": _gemm(A.astype("f4"), B.astype("f4")),
    "one dtype": _gemm(A, B.astype("f4")),
    "strides": _gemm(np.ones((4, 10))[:, ::2], B),
    "transposed": _gemm(np.asfortranarray(A), B),
    "reversed": _gemm(A[::-1], B),
    "broadcast": _gemm(np.broadcast_to(A[:1], A.shape), B),
    "operator": md_hom(np.multiply, {**GEMM, "k": pw("max")}, "A[i,k], B[k,j] -> C[i,j]").bind(A, B),
    "scalar function": md_hom(np.add, GEMM, "A[i,k], B[k,j] -> C[i,j]").bind(A, B),
    "order of operands": md_hom(lambda a, b: b - a, GEMM, "A[i,k], B[k,j] -> C[i,j]").bind(A, B),
    "constant": md_hom(lambda a, b: a * b + 0.0, GEMM, "A[i,k], B[k,j] -> C[i,j]").bind(A, B),
    "negative zero": md_hom(lambda a, b: a * b + -0.0, GEMM, "A[i,k], B[k,j] -> C[i,j]").bind(A, B),
    "output's layout": md_hom(np.multiply, GEMM, "A[i,k], B[k,j] -> C[j,i]").bind(A, B),
    "finish": md_hom(np.multiply, GEMM, "A[i,k], B[k,j] -> C[i,j]", finish=lambda t, a, b: t + t).bind(A, B),
    "index": md_hom(lambda a, b: a * index(0), GEMM, "A[i,k], B[k,j] -> C[i,j]").bind(A, B),
    "scan": md_hom(lambda x: x, {"i": ps("add")}, "x[i] -> y[i]").bind(X),
    "longer scan": md_hom(lambda x: x, {"i": ps("add")}, "x[i] -> y[i]").bind(A.ravel()),
    "scans of both dimensions": md_hom(lambda x: x, {"i": ps("add"), "j": ps("add")}, "x[i,j] -> y[i,j]").bind(A),
    "boundary": md_hom(lambda x: x, {"i": cc}, "x[i-1] -> y[i]", boundary={"x": "wrap"}).bind(X, i=4),
    "other boundary": md_hom(lambda x: x, {"i": cc}, "x[i-1] -> y[i]", boundary={"x": "mirror"}).bind(X, i=4),
}


def test_other_kernels_have_other_fingerprints() -> None:
    prints = {name: fingerprint(canonical(h)) for name, h in DIFFERENT.items()}
    assert len(set(prints.values())) == len(prints)


def test_fingerprint_is_the_same_in_every_process() -> None:
    code = (
        "import numpy as np; from mdhnp.mdh import *; A, B = np.ones((4, 5)), np.ones((5, 3));"
        "g = md_hom(np.multiply, {'i': cc, 'j': cc, 'k': pw('add')}, 'A[i,k], B[k,j] -> C[i,j]');"
        "print(fingerprint(canonical(g.bind(A, B))))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.strip() == fingerprint(canonical(_gemm(A, B)))
