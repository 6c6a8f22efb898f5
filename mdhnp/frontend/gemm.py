"""BLAS's `gemv` and `gemm`: products that are scaled and added to an array, each one MDH.

Takes array-likes, gives new C-contiguous arrays. It must not know devices.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import addressable
from mdhnp.calls.request import array
from mdhnp.frontend.contraction import Terms, contraction
from mdhnp.frontend.public import PAPER, UNSUPPORTED, public
from mdhnp.mdh import Affine, MdHom, trace
from mdhnp.mdh.pattern import array_view

Array = npt.NDArray[Any]

_NUMBERS = (bool, int, float, complex)
_ADDED = "Its elements are not read if `beta` is 0."


_product = partial(
    public,
    raises={
        "ValueError": "If shapes do not match, `alpha` or `beta` is no scalar, `beta` is not 0 and there is nothing to "
        "add, or there is no such precision.",
        "TypeError": UNSUPPORTED,
    },
    notes=f"Source: {PAPER} IV-A.",
)


@_product(
    "Multiply a matrix and a vector as BLAS's GEMV does: ``alpha * op(a) @ x + beta * y``.",
    a="array_like: Of shape (n, k), or (k, n) if `trans`.",
    x="array_like: Of shape (k,).",
    y=f"array_like, optional: Of shape (n,). {_ADDED}",
    trans="bool: Whether ``op`` transposes `a`.",
    returns="ndarray: Of shape (n,). Its type is that of :func:`gemm`.",
    example=">>> mdhnp.gemv(np.ones((2, 3)), np.arange(3.0), y=np.ones(2), alpha=2, beta=10)\narray([16., 16.])",
)
def gemv(
    a: npt.ArrayLike, x: npt.ArrayLike, y: npt.ArrayLike | None = None, alpha: Any = 1, beta: Any = 0,
    trans: bool = False, *, precision: str | None = None, schedule: Any = None,
) -> Array:  # fmt: skip
    return _scaled(_GEMV, ("ki" if trans else "ik", "k", "i"), (a, x, y), alpha, beta)


@_product(
    "Multiply two matrices as BLAS's GEMM does: ``alpha * op(a) @ op(b) + beta * c``.",
    a="array_like: Of shape (n, k), or (k, n) if `trans_a`.",
    b="array_like: Of shape (k, m), or (m, k) if `trans_b`.",
    c=f"array_like, optional: Of shape (n, m). {_ADDED}",
    trans_a="bool: Whether ``op`` transposes `a`.",
    trans_b="bool: Whether ``op`` transposes `b`.",
    returns="ndarray: Of shape (n, m) and the common type of all arguments, where Python's numbers give way to arrays "
    "as in NumPy.",
    example="""
>>> mdhnp.gemm(np.ones((2, 3)), np.ones((2, 3)), alpha=0.5, trans_b=True)
array([[1.5, 1.5],
       [1.5, 1.5]])""",
)
def gemm(
    a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike | None = None, alpha: Any = 1, beta: Any = 0,
    trans_a: bool = False, trans_b: bool = False, *, precision: str | None = None, schedule: Any = None,
) -> Array:  # fmt: skip
    terms = ("ki" if trans_a else "ik", "jk" if trans_b else "kj", "ij")
    return _scaled(_GEMM, terms, (a, b, c), alpha, beta)


def _scaled(routine: Routine, terms: Terms, operands: tuple[Any, ...], alpha: Any, beta: Any) -> Any:
    """Make a call; `terms` are labels of the first two operands, and of the result and the third operand."""
    plain = type(alpha) is type(beta) is int and alpha == 1 and beta == 0
    if plain and operands[2] is None:
        return call((routine, terms), operands[:2])
    for factor in (alpha, beta):
        if not isinstance(factor, _NUMBERS) and np.ndim(factor):
            raise ValueError("alpha and beta must be scalars")
    arrays = addressable(operands[:2] if operands[2] is None else operands)
    adds = bool(beta != 0)
    if adds and len(arrays) < 3:
        raise ValueError("beta is not 0, but there is nothing to add")
    common = _common(*[x.dtype for x in arrays], _kind(alpha), _kind(beta))
    scaled = adds or alpha != 1
    factors = (np.array(alpha, common), np.array(beta, common))[: 2 if adds else int(scaled)]
    numpys = partial(_by_numpy, *arrays, terms, alpha=alpha, beta=beta)
    what = (routine, terms, adds, scaled, common)
    return call(what, (*arrays, *factors), dtypes=(common,), numpy=numpys)


def _describe(
    arrays: Sequence[Array], terms: Terms, adds: bool = False, scaled: bool = False, common: np.dtype[Any] | None = None
) -> Described:
    """Describe a call on two arrays, a third one where one was given, and the factors that are used."""
    count = len(arrays) - scaled - adds
    matrices, factors = arrays[:count], arrays[count:]
    _check(terms, matrices)
    h = contraction(terms[:2], terms[2], arrays[:2], common or _common(*[a.dtype for a in arrays], int))
    if scaled:
        h = _with_factors(h, matrices[2:] if adds else (), factors)
    # A third array that is multiplied by 0 is not read.
    return Described(h, None if adds or count == 2 else lambda arrays: (*arrays[:2], *arrays[3:]), array)


def _by_numpy(*given: Any, alpha: Any = 1, beta: Any = 0) -> Array:
    *arrays, terms = given
    plain = [np.asanyarray(a) for a in arrays]
    _check(terms, plain)
    common = _common(*[a.dtype for a in plain], _kind(alpha), _kind(beta))
    total = alpha * np.einsum(f"{terms[0]},{terms[1]}->{terms[2]}", *(a.astype(common) for a in plain[:2]))
    return (total + beta * plain[2] if beta != 0 else total).astype(common, copy=False)


_GEMV, _GEMM = Routine("gemv", _describe, _by_numpy), Routine("gemm", _describe, _by_numpy)


def _check(terms: Terms, arrays: Sequence[Array]) -> None:
    sizes: dict[str, int] = {}
    for n, (term, a) in enumerate(zip(terms, arrays, strict=False)):
        if a.ndim != len(term):
            raise ValueError(f"operand {n} has {a.ndim} axes, {len(term)} are needed")
        for axis, (label, size) in enumerate(zip(term, a.shape, strict=True)):
            if sizes.setdefault(label, size) != size:
                need = f"axis {axis} has {size} elements, {sizes[label]} are needed"
                raise ValueError(f"operand {n} of shape {a.shape} does not match: {need}")


def _kind(factor: Any) -> Any:
    """Give a factor's type in a form that has a hash."""
    return type(factor) if isinstance(factor, _NUMBERS) else np.asarray(factor).dtype


@lru_cache(maxsize=256, typed=True)
def _common(*kinds: Any) -> np.dtype[Any]:
    """Give the common type of dtypes and number types; Python's own are weak."""
    return np.result_type(*[k(0) if isinstance(k, type) else k for k in kinds])


def _with_factors(h: MdHom, added: Sequence[Array], factors: Sequence[Array]) -> MdHom:
    """Scale a complete product by the first factor; add the second factor times the added array, if there is one."""
    common, computed = h.outputs[0].dtype, h.scalar.dtypes[0]
    times, plus = (np.logical_and, np.logical_or) if common == np.bool_ else (np.multiply, np.add)
    here = tuple(Affine.of(d, h.rank) for d in range(len(h.outputs[0].shape)))
    third = [array_view("C" if len(here) == 2 else "y", a, (here,)) for a in added]
    views = (*h.inputs, *third, *(array_view(n, f, ((),)) for n, f in zip(("alpha", "beta"), factors, strict=False)))
    dtypes = tuple(v.dtype for v in views)

    def finish(total: Any, _a: Any, _b: Any, *rest: Any) -> Any:
        if len(rest) == 1:
            return times(rest[0].astype(computed), total).astype(common)
        c, alpha, beta = (v.astype(common).astype(computed) for v in rest)
        return plus(times(alpha, total), times(beta, c)).astype(common)

    return replace(
        h,
        scalar=replace(h.scalar, parameters=dtypes),
        inputs=views,
        outputs=tuple(replace(v, name="O") for v in h.outputs),
        finish=replace(trace(finish, [computed, *dtypes], what="finish"), contract=True),
    )
