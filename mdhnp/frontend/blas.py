"""BLAS's functions of vectors, and of matrices of which only a triangle counts, each a computation of one MDH.

A symmetric or triangular matrix is a square one; which element counts is told by the indices. Takes array-likes, gives
new arrays and NumPy's numbers. It must not know devices.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import Array
from mdhnp.calls.operands import scalar
from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.frontend.map_reduce import computed_type, operand, total_type, wide
from mdhnp.frontend.public import public
from mdhnp.frontend.types import astype
from mdhnp.mdh import cc, index, pw
from mdhnp.mdh.combine import first

_VECTOR = "array_like: Of shape (n,)."
_UNFIT = {
    "ValueError": "If `x` is no vector, shapes do not match, or `alpha` is no scalar.",
    "TypeError": "If kernels do not compute with a type.",
}
_of_vectors = partial(public, x=_VECTOR, raises=_UNFIT)
_of_matrices = partial(public, raises=_UNFIT | {"ValueError": "If shapes do not match, or a factor is no scalar."})
_LOWER = "bool: Whether the triangle is that on and below the diagonal; else it is that on and above it."
_COMMON = "and the common type of all arguments"


@_of_vectors(
    "Scale a vector as BLAS's SCAL does, ``alpha * x``.",
    returns="ndarray: Of shape (n,) and the type that NumPy gives ``alpha * x``.",
    example=">>> mdhnp.scal(2, [1.0, 2.0])\narray([2., 4.])",
)
def scal(alpha: Any, x: npt.ArrayLike) -> Any:
    return _computed(_SCAL, (x,), (alpha,))


@_of_vectors(
    "Add a scaled vector to another one as BLAS's AXPY does, ``alpha * x + y``.",
    y=_VECTOR,
    returns="ndarray: Of shape (n,) and the common type of all arguments; `y` stays what it is.",
    example=">>> mdhnp.axpy([1.0, 2.0], [10.0, 20.0], alpha=3)\narray([13., 26.])",
)
def axpy(x: npt.ArrayLike, y: npt.ArrayLike, alpha: Any = 1) -> Any:
    return _computed(_AXPY, (x, y), (alpha,))


@_of_vectors(
    "Add the sizes of a vector's elements as BLAS's ASUM does; a complex number's is ``|re| + |im|``.",
    returns="number: Of the type of the sizes; of integers what :func:`mdhnp.sum` gives.",
    example=">>> float(mdhnp.asum([3.0, -4.0]))\n7.0",
)
def asum(x: npt.ArrayLike) -> Any:
    return _computed(_ASUM, (x,))


@_of_vectors(
    "Give a vector's Euclidean length as BLAS's NRM2 does: no square overflows or gets lost on the way.",
    returns="number: Of the type of `x`, real; float64 for integers.",
    notes="Large, common and small squares are three sums, of which the large and the small ones are scaled. Source: "
    'Blue, "A Portable Fortran Program to Find the Euclidean Norm of a Vector", 1978.',
    example=""">>> f"{mdhnp.nrm2([3e200, -4e200]):.6g}"\n'5e+200'""",
)
def nrm2(x: npt.ArrayLike) -> Any:
    return _computed(_NRM2, (x,))


@_of_vectors(
    "Say where the largest element of a vector is as BLAS's IAMAX does, counted from 0.",
    x=f"{_VECTOR} Complex numbers are compared by ``|re| + |im|``; NaN is larger than all numbers, as in NumPy.",
    returns="int64: The first place of several.",
    raises=_UNFIT | {"ValueError": "If there is no element, or `x` is no vector."},
    example=">>> int(mdhnp.iamax([1.0, -5.0, 5.0]))\n1",
)
def iamax(x: npt.ArrayLike) -> Any:
    v = operand(x)
    if v.size == 0:
        raise ValueError("x has no elements")
    return scalar(_IAMAX(v)[1])


@_of_matrices(
    "Add the scaled outer product of two vectors to a matrix as BLAS's GER does: ``alpha * outer(x, y) + a``.",
    x="array_like: Of shape (n,). Complex ones are not conjugated (GERU).",
    y="array_like: Of shape (m,).",
    a="array_like, optional: Of shape (n, m); by default nothing is added.",
    returns=f"ndarray: Of shape (n, m) {_COMMON}; `a` stays what it is.",
    example=">>> mdhnp.ger([1.0, 2.0], [3.0, 4.0], alpha=10)\narray([[30., 40.],\n       [60., 80.]])",
)
def ger(x: npt.ArrayLike, y: npt.ArrayLike, a: npt.ArrayLike | None = None, alpha: Any = 1) -> Any:
    return _computed(_ger(a is not None), (x, y, a), (alpha,))


@_of_matrices(
    "Multiply a symmetric matrix and a vector as BLAS's SYMV does: ``alpha * a @ x + beta * y``.",
    a="array_like: Of shape (n, n); the elements on one side of the diagonal are not used. Complex ones are symmetric, "
    "not Hermitian.",
    x="array_like: Of shape (n,).",
    y="array_like, optional: Of shape (n,); by default nothing is added.",
    lower=_LOWER,
    returns=f"ndarray: Of shape (n,) {_COMMON}.",
    example=">>> mdhnp.symv(np.array([[1.0, 2.0], [np.nan, 3.0]]), [1.0, 10.0])\narray([21., 32.])",
)
def symv(
    a: npt.ArrayLike, x: npt.ArrayLike, y: npt.ArrayLike | None = None, alpha: Any = 1, beta: Any = 1, *,
    lower: bool = False,
) -> Any:  # fmt: skip
    adds = y is not None
    return _computed(_symv(bool(lower), adds), (_square(a), x, y), (alpha, beta)[: 1 + adds])


@_of_matrices(
    "Multiply a triangular matrix and a vector as BLAS's TRMV does: ``op(a) @ x``.",
    a="array_like: Of shape (n, n); the elements outside of its triangle are not used.",
    x="array_like: Of shape (n,).",
    lower=_LOWER,
    trans="bool: Whether ``op`` transposes `a`, of which `lower` says what it is before.",
    unit="bool: Whether the diagonal is 1, whatever is stored there.",
    returns=f"ndarray: Of shape (n,) {_COMMON}.",
    example=">>> mdhnp.trmv(np.array([[1.0, 2.0], [np.nan, 3.0]]), [1.0, 10.0])\narray([21., 30.])",
)
def trmv(a: npt.ArrayLike, x: npt.ArrayLike, *, lower: bool = False, trans: bool = False, unit: bool = False) -> Any:
    return _computed(_trmv(bool(lower), bool(trans), bool(unit)), (_square(a), x))


@_of_matrices(
    "Multiply a matrix and its transpose as BLAS's SYRK does: a triangle of ``alpha * op(a) @ op(a).T + beta * c``.",
    a="array_like: Of shape (n, k), or (k, n) if `trans`.",
    c="array_like, optional: Of shape (n, n); by default nothing is added.",
    trans="bool: Whether ``op`` transposes `a`.",
    lower=_LOWER,
    returns=f"ndarray: Of shape (n, n) {_COMMON}; outside of the triangle it is `c`, or 0.",
    notes="Both triangles are computed, and one is kept: where all of the product is wanted, :func:`mdhnp.gemm` gives "
    "it.",
    example=">>> mdhnp.syrk([[1.0, 2.0], [3.0, 4.0]])\narray([[ 5., 11.],\n       [ 0., 25.]])",
)
def syrk(
    a: npt.ArrayLike, c: npt.ArrayLike | None = None, alpha: Any = 1, beta: Any = 1, *, trans: bool = False,
    lower: bool = False,
) -> Any:  # fmt: skip
    a, adds = operand(a), c is not None
    return _computed(_syrk(bool(trans), bool(lower), adds), (a, a, c), (alpha, beta)[: 1 + adds])


def _computed(computation: Computation, arrays: Sequence[Any], factors: Sequence[Any] = ()) -> Any:
    """Compute of those arrays that are given, and factors, all of the common type; Python's numbers give way to it."""
    given = [operand(a) for a in arrays if a is not None]
    if axes := [n for n in map(np.ndim, factors) if n]:
        raise ValueError(f"a factor of {axes[0]} axes; a scalar is needed")
    common = np.result_type(*[getattr(v, "dtype", v) for v in factors], *[a.dtype for a in given])
    given += [astype(v, common) if type(v) is Array else np.asarray(v, common) for v in factors]
    return scalar(computation(*given))


def _square(a: Any) -> Any:
    """Give a square matrix."""
    a = operand(a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"a of shape {a.shape}; a square matrix is needed")
    return a


def _size(x: Any) -> Any:
    """Give an element's size, in a type that holds it."""
    if x.dtype.kind == "c":
        return np.abs(x.real) + np.abs(x.imag)
    return np.abs(x.astype(total_type(x.dtype)))


def _squares(x: Any) -> tuple[Any, Any, Any]:
    """Give an element's square as one that is scaled down, as it is, or scaled up; 0 for the others."""
    if x.dtype.kind == "c":
        return tuple(p + q for p, q in zip(_squares(x.real), _squares(x.imag), strict=True))
    x = x.astype(computed_type(x.dtype))
    large, small, down, up = _bounds(x.dtype)
    size, none = np.abs(x), x.dtype.type(0)
    is_large, is_small = size > large, size < small
    return (
        np.where(is_large, (x * down) * (x * down), none),
        np.where(np.logical_or(is_large, is_small), none, x * x),
        np.where(is_small, (x * up) * (x * up), none),
    )


def _length(large: Any, common: Any, small: Any, x: Any) -> Any:
    """Give the length from sums of squares."""
    _, _, down, up = _bounds(large.dtype)
    overflowing = np.sqrt(large + (common * down) * down) / down
    length = np.where(large > 0, overflowing, np.hypot(np.sqrt(common), np.sqrt(small) / up))
    return length.astype(np.float16) if x.dtype == np.float16 else length


def _bounds(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Sizes above and below which squares leave a type, and the factors that bring those back."""
    powers = (52, -63, -76, 75) if dtype == np.float32 else (486, -511, -538, 537)
    return tuple([dtype.type(2.0**power) for power in powers])


_SCAL = md_hom(lambda x, alpha: alpha * x, {"i": cc}, "x[i], alpha[] -> O[i]")
_AXPY = md_hom(lambda x, y, alpha: alpha * x + y, {"i": cc}, "x[i], y[i], alpha[] -> O[i]")
_ASUM = md_hom(_size, {"i": pw("add")}, "x[i] -> O[]")
_NRM2 = md_hom(_squares, {"i": pw("add")}, "x[i] -> O[]", finish=_length)
_IAMAX = md_hom(
    lambda x: (_size(x), index(0)),
    {"i": pw(partial(first, "max"), identity=(0, np.iinfo(np.int64).max), commutative=True, name="first max")},
    "x[i] -> O[], at[]",
)


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
    def product(x: Any, y: Any, *rest: Any) -> Any:
        return rest[-1] * x * y + rest[0] if adds else rest[-1] * x * y

    return md_hom(product, {"i": cc, "j": cc}, f"x[i], y[j], {'a[i,j], ' if adds else ''}alpha[] -> O[i,j]")


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

    finish = lambda total, a, x: total.astype(np.result_type(a.dtype, x.dtype))  # noqa: E731
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
