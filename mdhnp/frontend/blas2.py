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
from mdhnp.frontend.reducing import operand, wide
from mdhnp.mdh import cc, index, pw

__all__ = ["ger", "symv", "syrk", "trmv"]


def ger(x: npt.ArrayLike, y: npt.ArrayLike, a: npt.ArrayLike | None = None, alpha: Any = 1) -> Any:
    """Add the scaled outer product of two vectors to a matrix as BLAS's GER does: ``alpha * outer(x, y) + a``.

    Parameters
    ----------
    x, y : array_like
        Of shapes (n,) and (m,). Complex ones are not conjugated (GERU).
    a : array_like, optional
        Of shape (n, m); by default nothing is added.
    alpha : number
        A value at run time: all share one kernel.

    Returns
    -------
    ndarray
        Of shape (n, m) and the common type of all arguments; `a` stays what it is.

    Raises
    ------
    ValueError
        If shapes do not match, or `alpha` is no scalar.
    TypeError
        If kernels do not compute with a type.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.ger([1.0, 2.0], [3.0, 4.0], alpha=10)
    array([[30., 40.],
           [60., 80.]])
    """
    given = [operand(v) for v in ((x, y) if a is None else (x, y, a))]
    return _ger(a is not None)(*given, factor("ger", alpha, *given))


def symv(
    a: npt.ArrayLike,
    x: npt.ArrayLike,
    y: npt.ArrayLike | None = None,
    alpha: Any = 1,
    beta: Any = 1,
    *,
    lower: bool = False,
) -> Any:
    """Multiply a symmetric matrix and a vector as BLAS's SYMV does: ``alpha * a @ x + beta * y``.

    Parameters
    ----------
    a : array_like
        Of shape (n, n); the elements on one side of the diagonal are not used. Complex ones are symmetric, not
        Hermitian.
    x, y : array_like
        Of shape (n,); without `y` nothing is added.
    alpha, beta : number
        Values at run time: all share one kernel.
    lower : bool
        Whether the elements on and below the diagonal count; else those on and above it.

    Returns
    -------
    ndarray
        Of shape (n,) and the common type of all arguments.

    Raises
    ------
    ValueError
        If shapes do not match, or a factor is no scalar.
    TypeError
        If kernels do not compute with a type.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> mdhnp.symv(np.array([[1.0, 2.0], [np.nan, 3.0]]), [1.0, 10.0])
    array([21., 32.])
    """
    given = [operand(v) for v in ((a, x) if y is None else (a, x, y))]
    _require_square("symv", given[0])
    factors = [factor("symv", v, *given) for v in ((alpha,) if y is None else (alpha, beta))]
    return _symv(bool(lower), y is not None)(*given, *factors)


def trmv(a: npt.ArrayLike, x: npt.ArrayLike, *, lower: bool = False, trans: bool = False, unit: bool = False) -> Any:
    """Multiply a triangular matrix and a vector as BLAS's TRMV does: ``op(a) @ x``.

    Parameters
    ----------
    a : array_like
        Of shape (n, n); the elements outside of its triangle are not used.
    x : array_like
        Of shape (n,).
    lower : bool
        Whether the triangle is that below the diagonal; else it is that above.
    trans : bool
        Whether ``op`` transposes `a`, of which `lower` says what it is before.
    unit : bool
        Whether the diagonal is 1, whatever is stored there.

    Returns
    -------
    ndarray
        Of shape (n,) and the common type of both arguments.

    Raises
    ------
    ValueError
        If shapes do not match.
    TypeError
        If kernels do not compute with a type.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> mdhnp.trmv(np.array([[1.0, 2.0], [np.nan, 3.0]]), [1.0, 10.0])
    array([21., 30.])
    """
    a, x = operand(a), operand(x)
    _require_square("trmv", a)
    return _trmv(bool(lower), bool(trans), bool(unit))(a, x)


def syrk(
    a: npt.ArrayLike,
    c: npt.ArrayLike | None = None,
    alpha: Any = 1,
    beta: Any = 1,
    *,
    trans: bool = False,
    lower: bool = False,
) -> Any:
    """Multiply a matrix and its transpose as BLAS's SYRK does: a triangle of ``alpha * op(a) @ op(a).T + beta * c``.

    Parameters
    ----------
    a : array_like
        Of shape (n, k), or (k, n) if `trans`.
    c : array_like, optional
        Of shape (n, n); without it nothing is added.
    alpha, beta : number
        Values at run time: all share one kernel.
    trans : bool
        Whether ``op`` transposes `a`.
    lower : bool
        Whether the triangle is that below the diagonal; else it is that above.

    Returns
    -------
    ndarray
        Of shape (n, n) and the common type of all arguments; outside of the triangle it is `c`, or 0.

    Raises
    ------
    ValueError
        If shapes do not match, or a factor is no scalar.
    TypeError
        If kernels do not compute with a type.

    Notes
    -----
    Both triangles are computed, and one is kept: where all of the product is wanted, :func:`mdhnp.gemm` gives it.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.syrk([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [ 0., 25.]])
    """
    given = [operand(v) for v in ((a,) if c is None else (a, c))]
    factors = [factor("syrk", v, *given) for v in ((alpha,) if c is None else (alpha, beta))]
    return _syrk(bool(trans), bool(lower), c is not None)(given[0], *given, *factors)


def _require_square(function: str, a: Any) -> None:
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"{function}: a of shape {a.shape}; a square matrix is needed")


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
