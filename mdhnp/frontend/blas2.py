"""BLAS's functions of matrices of which only a triangle counts, and outer products, each one MDH.

A symmetric or triangular matrix is a square one; which element counts is told by the indices. Takes array-likes, gives
new arrays. It must not know devices.
"""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.frontend.blas1 import factor
from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.frontend.map_reduce import operand, wide
from mdhnp.frontend.public import public
from mdhnp.mdh import cc, index, pw

__all__ = ["ger", "symv", "syrk", "trmv"]

_RAISES = {
    "ValueError": "If shapes do not match, or a factor is no scalar.",
    "TypeError": "If kernels do not compute with a type.",
}
_LOWER = "bool: Whether the triangle is that on and below the diagonal; else it is that on and above it."
_COMMON = "and the common type of all arguments"


@public(
    "Add the scaled outer product of two vectors to a matrix as BLAS's GER does: ``alpha * outer(x, y) + a``.",
    x="array_like: Of shape (n,). Complex ones are not conjugated (GERU).",
    y="array_like: Of shape (m,).",
    a="array_like, optional: Of shape (n, m); by default nothing is added.",
    returns=f"ndarray: Of shape (n, m) {_COMMON}; `a` stays what it is.",
    raises=_RAISES,
    example=">>> mdhnp.ger([1.0, 2.0], [3.0, 4.0], alpha=10)\narray([[30., 40.],\n       [60., 80.]])",
)
def ger(x: npt.ArrayLike, y: npt.ArrayLike, a: npt.ArrayLike | None = None, alpha: Any = 1) -> Any:
    given = [operand(v) for v in ((x, y) if a is None else (x, y, a))]
    return _ger(a is not None)(*given, factor(alpha, *given))


@public(
    "Multiply a symmetric matrix and a vector as BLAS's SYMV does: ``alpha * a @ x + beta * y``.",
    a="array_like: Of shape (n, n); the elements on one side of the diagonal are not used. Complex ones are symmetric, "
    "not Hermitian.",
    x="array_like: Of shape (n,).",
    y="array_like, optional: Of shape (n,); by default nothing is added.",
    lower=_LOWER,
    returns=f"ndarray: Of shape (n,) {_COMMON}.",
    raises=_RAISES,
    example=">>> mdhnp.symv(np.array([[1.0, 2.0], [np.nan, 3.0]]), [1.0, 10.0])\narray([21., 32.])",
)
def symv(
    a: npt.ArrayLike,
    x: npt.ArrayLike,
    y: npt.ArrayLike | None = None,
    alpha: Any = 1,
    beta: Any = 1,
    *,
    lower: bool = False,
) -> Any:
    given = [operand(v) for v in ((a, x) if y is None else (a, x, y))]
    _require_square(given[0])
    factors = [factor(v, *given) for v in ((alpha,) if y is None else (alpha, beta))]
    return _symv(bool(lower), y is not None)(*given, *factors)


@public(
    "Multiply a triangular matrix and a vector as BLAS's TRMV does: ``op(a) @ x``.",
    a="array_like: Of shape (n, n); the elements outside of its triangle are not used.",
    x="array_like: Of shape (n,).",
    lower=_LOWER,
    trans="bool: Whether ``op`` transposes `a`, of which `lower` says what it is before.",
    unit="bool: Whether the diagonal is 1, whatever is stored there.",
    returns=f"ndarray: Of shape (n,) {_COMMON}.",
    raises=_RAISES,
    example=">>> mdhnp.trmv(np.array([[1.0, 2.0], [np.nan, 3.0]]), [1.0, 10.0])\narray([21., 30.])",
)
def trmv(a: npt.ArrayLike, x: npt.ArrayLike, *, lower: bool = False, trans: bool = False, unit: bool = False) -> Any:
    a, x = operand(a), operand(x)
    _require_square(a)
    return _trmv(bool(lower), bool(trans), bool(unit))(a, x)


@public(
    "Multiply a matrix and its transpose as BLAS's SYRK does: a triangle of ``alpha * op(a) @ op(a).T + beta * c``.",
    a="array_like: Of shape (n, k), or (k, n) if `trans`.",
    c="array_like, optional: Of shape (n, n); by default nothing is added.",
    trans="bool: Whether ``op`` transposes `a`.",
    lower=_LOWER,
    returns=f"ndarray: Of shape (n, n) {_COMMON}; outside of the triangle it is `c`, or 0.",
    raises=_RAISES,
    notes="Both triangles are computed, and one is kept: where all of the product is wanted, :func:`mdhnp.gemm` gives "
    "it.",
    example=">>> mdhnp.syrk([[1.0, 2.0], [3.0, 4.0]])\narray([[ 5., 11.],\n       [ 0., 25.]])",
)
def syrk(
    a: npt.ArrayLike,
    c: npt.ArrayLike | None = None,
    alpha: Any = 1,
    beta: Any = 1,
    *,
    trans: bool = False,
    lower: bool = False,
) -> Any:
    given = [operand(v) for v in ((a,) if c is None else (a, c))]
    factors = [factor(v, *given) for v in ((alpha,) if c is None else (alpha, beta))]
    return _syrk(bool(trans), bool(lower), c is not None)(given[0], *given, *factors)


def _require_square(a: Any) -> None:
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"a of shape {a.shape}; a square matrix is needed")


def _added(total: Any, alpha: Any, *rest: Any) -> Any:
    """Scale a complete sum, and add what is to be added to it; the factors have the result's type."""
    common = alpha.dtype
    alpha, *pair = [wide(v, common) for v in (alpha, *rest)]
    product = alpha * total
    return (product + pair[0] * pair[1] if pair else product).astype(common)


def _in_triangle(lower: bool) -> Any:
    """Whether a point lies on the diagonal or on the side that counts."""
    return index(0) >= index(1) if lower else index(0) <= index(1)


@cache
def _ger(adds: bool) -> Computation:
    views = "x[i], y[j], a[i,j], alpha[] -> O[i,j]" if adds else "x[i], y[j], alpha[] -> O[i,j]"

    def product(x: Any, y: Any, *rest: Any) -> Any:
        alpha = rest[-1]
        return alpha * x * y + rest[0] if adds else alpha * x * y

    return md_hom(product, {"i": cc, "j": cc}, views)


@cache
def _symv(lower: bool, adds: bool) -> Computation:
    def product(*values: Any) -> Any:
        here, across, x = [wide(v, values[-1].dtype) for v in values[:3]]
        return np.where(_in_triangle(lower), here, across) * x

    def finish(total: Any, _here: Any, _across: Any, _x: Any, *rest: Any) -> Any:
        return _added(total, rest[1], rest[2], rest[0]) if adds else _added(total, rest[0])

    more = ", y[i], alpha[], beta[]" if adds else ", alpha[]"
    views = f"a[i,k], a[k,i], x[k]{more} -> O[i]"
    return md_hom(product, {"i": cc, "k": pw("add")}, views, finish=finish)


@cache
def _trmv(lower: bool, trans: bool, unit: bool) -> Computation:
    def product(a: Any, x: Any) -> Any:
        common = np.result_type(a.dtype, x.dtype)
        a, x = wide(a, common), wide(x, common)
        if unit:
            a = np.where(index(0) == index(1), a.dtype.type(1), a)
        return np.where(_in_triangle(lower != trans), a * x, a.dtype.type(0))

    def finish(total: Any, a: Any, x: Any) -> Any:
        return total.astype(np.result_type(a.dtype, x.dtype))

    views = f"a[{'k,i' if trans else 'i,k'}], x[k] -> O[i]"
    return md_hom(product, {"i": cc, "k": pw("add")}, views, finish=finish)


@cache
def _syrk(trans: bool, lower: bool, adds: bool) -> Computation:
    def product(*values: Any) -> Any:
        a, b = [wide(v, values[-1].dtype) for v in values[:2]]
        return a * b

    def finish(total: Any, _a: Any, _b: Any, *rest: Any) -> Any:
        if adds:
            c, alpha, beta = rest
            return np.where(_in_triangle(lower), _added(total, alpha, beta, c), c.astype(alpha.dtype))
        return np.where(_in_triangle(lower), _added(total, rest[0]), rest[0].dtype.type(0))

    more = ", c[i,j], alpha[], beta[]" if adds else ", alpha[]"
    views = f"{'a[k,i], b[k,j]' if trans else 'a[i,k], b[j,k]'}{more} -> O[i,j]"
    return md_hom(product, {"i": cc, "j": cc, "k": pw("add")}, views, finish=finish)
