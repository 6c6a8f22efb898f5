"""NumPy's generalized ufuncs that multiply: `matmul`, `vecdot`, `matvec` and `vecmat`, each one MDH.

Takes array-likes, gives new arrays. It must not know devices.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import addressable, check_casts, check_order, deliver, exact_type, fallback, output
from mdhnp.frontend.contraction import contraction
from mdhnp.frontend.cores import CORES, cores_of, labelled, places_of, whole_axes
from mdhnp.frontend.semirings import Semiring, asked, check_types, of_semiring
from mdhnp.mdh import Graph, MdHom

__all__ = ["matmul", "matvec", "vecdot", "vecmat"]

Array = npt.NDArray[Any]


def matmul(
    x1: npt.ArrayLike,
    x2: npt.ArrayLike,
    /,
    out: Any = None,
    *,
    casting: str = "same_kind",
    order: str = "K",
    dtype: npt.DTypeLike | None = None,
    axes: Any = None,
    precision: str | None = None,
    multiply: Any = None,
    add: Any = None,
    semiring: Semiring | None = None,
    **others: Any,
) -> Any:
    """Multiply matrices, or stacks of matrices, as ``numpy.matmul`` does.

    Parameters
    ----------
    x1, x2 : array_like
        Of shapes (..., n, k) and (..., k, m); a vector (k,) is taken for a row on the left and for a column on the
        right, and its axis is left out of the result. The leading axes are broadcast.
    out : ndarray, optional
        Where to put the result.
    casting : {"same_kind", "safe", "no", "equiv", "unsafe"}
        Which conversions to `dtype` and to `out` are allowed.
    order : {"K", "C", "F", "A"}
        Memory order of the result. "K" means C order here.
    dtype : dtype, optional
        Type to compute in; by default the operands' common type.
    axes : list of tuple of int, optional
        Where the core axes are in the operands and in the result, if they are not the last ones.
    precision : {"highest", "high", "default"}, optional
        How exact products of float32 must be; by default what ``config.precision`` says, which tells more.
    multiply, add, semiring
        What stands for the product and for the sum, as in :func:`mdhnp.einsum`.
    **others
        ``subok`` changes nothing, there being no subclasses; calls with ``signature`` are left to NumPy.

    Returns
    -------
    ndarray or scalar
        Of shape (..., n, m); `out` if given. A tuple where `add` is "argmin" or "argmax", as in :func:`mdhnp.einsum`.

    Raises
    ------
    ValueError
        If an operand has too few axes, shapes do not match, among them that of `out`, or there is no such precision.
    TypeError
        If the casting rule forbids a conversion; if kernels do not compute with a type and NumPy is not allowed to.
    numpy.exceptions.AxisError
        If an axis does not exist.

    Notes
    -----
    Source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms",
    Section IV-A.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> mdhnp.matmul(np.arange(6.0).reshape(2, 3), np.ones(3))
    array([ 3., 12.])
    >>> mdhnp.matmul([[0, 1], [2, 0]], [[0, 1], [2, 0]], semiring=mdhnp.semiring.min_plus)
    array([[0, 1],
           [2, 0]])
    """
    if multiply is not None or add is not None or semiring is not None:
        ring = asked("matmul", multiply, add, semiring)
        return _call(_OVER_SEMIRING, (x1, x2), out, casting, order, dtype, axes, precision, others, ring=ring)
    # As in `_call`, but sooner: handing the arguments on takes a tenth of the time of a tiny product.
    if out is None and dtype is None and axes is None and order == "K" and casting == "same_kind" and not others:
        return call((_MATMUL,), (x1, x2), precision=precision)
    return _call(_MATMUL, (x1, x2), out, casting, order, dtype, axes, precision, others)


def vecdot(
    x1: npt.ArrayLike,
    x2: npt.ArrayLike,
    /,
    out: Any = None,
    *,
    casting: str = "same_kind",
    order: str = "K",
    dtype: npt.DTypeLike | None = None,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    precision: str | None = None,
    **others: Any,
) -> Any:
    """Give the dot products of stacks of vectors, as ``numpy.vecdot`` does.

    Parameters
    ----------
    x1, x2 : array_like
        Of shape (..., k). The leading axes are broadcast. Complex elements of `x1` are conjugated.
    axis : int, optional
        Where the vectors' axis is in both operands, if it is not the last one.
    keepdims : bool
        Whether the result has an axis of one element where the operands have that axis.
    out, casting, order, dtype, axes, precision, **others
        As for :func:`matmul`, which has the errors and the source, too.

    Returns
    -------
    ndarray or scalar
        Of shape (...).

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.vecdot([[0, 5, 0], [0, 6, 8]], [0, 3, 4])
    array([15, 50])
    """
    if axis is not None:
        if axes is not None:
            raise TypeError("vecdot: axis and axes cannot both be given")
        axes = [axis, axis, axis if keepdims else ()]
    return _call(_VECDOT, (x1, x2), out, casting, order, dtype, axes, precision, others, keepdims)


def matvec(
    x1: npt.ArrayLike,
    x2: npt.ArrayLike,
    /,
    out: Any = None,
    *,
    casting: str = "same_kind",
    order: str = "K",
    dtype: npt.DTypeLike | None = None,
    axes: Any = None,
    precision: str | None = None,
    **others: Any,
) -> Any:
    """Multiply stacks of matrices and vectors, as ``numpy.matvec`` does.

    Parameters
    ----------
    x1, x2 : array_like
        Of shapes (..., n, k) and (..., k). The leading axes are broadcast.
    out, casting, order, dtype, axes, precision, **others
        As for :func:`matmul`, which has the errors and the source, too.

    Returns
    -------
    ndarray
        Of shape (..., n).

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.matvec([[0, 1], [1, 1]], [[1, 2], [3, 4]])
    array([[2, 3],
           [4, 7]])
    """
    return _call(_MATVEC, (x1, x2), out, casting, order, dtype, axes, precision, others)


def vecmat(
    x1: npt.ArrayLike,
    x2: npt.ArrayLike,
    /,
    out: Any = None,
    *,
    casting: str = "same_kind",
    order: str = "K",
    dtype: npt.DTypeLike | None = None,
    axes: Any = None,
    precision: str | None = None,
    **others: Any,
) -> Any:
    """Multiply stacks of vectors and matrices, as ``numpy.vecmat`` does.

    Parameters
    ----------
    x1, x2 : array_like
        Of shapes (..., k) and (..., k, m). The leading axes are broadcast. Complex elements of `x1` are conjugated.
    out, casting, order, dtype, axes, precision, **others
        As for :func:`matmul`, which has the errors and the source, too.

    Returns
    -------
    ndarray
        Of shape (..., m).

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.vecmat([1, 2], [[0, 1], [1, 1]])
    array([2, 3])
    """
    return _call(_VECMAT, (x1, x2), out, casting, order, dtype, axes, precision, others)


def _call(
    routine: Routine,
    operands: tuple[Any, Any],
    out: Any,
    casting: Any,
    order: Any,
    dtype: Any,
    axes: Any,
    precision: str | None,
    others: dict[str, Any],
    keepdims: bool = False,
    ring: Semiring | None = None,
) -> Any:
    plain = out is None and dtype is None and axes is None and order == "K" and casting == "same_kind"
    chosen = (routine,) if ring is None else (routine, ring)
    if plain and not keepdims and not others:
        return call(chosen, operands, precision=precision)
    name = routine.name
    given = {"out": out, "casting": casting, "order": order, "dtype": dtype, "axes": axes, "keepdims": keepdims}
    given = {key: value for key, value in given.items() if value is not None and value is not False} | others
    numpys = None if ring is not None else partial(getattr(np, name), *operands, **given)
    if others.keys() - {"subok"}:
        if numpys is None:
            raise TypeError(f"{name}: {', '.join(others)} cannot be given beside a semiring")
        return fallback(name, f"{', '.join(others)} is given", numpys, operands)
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"{name}: out has {len(out)} entries for one result")
        out = out[0]
    target = output(name, out)
    wanted = exact_type(dtype)
    to = None if target is None else target.dtype
    what = (*chosen, wanted, order, casting, whole_axes(name, axes), bool(keepdims), to)
    result = call(what, operands, dtypes=(wanted,), numpy=numpys, precision=precision)
    if target is None or result is target:
        return result
    cores = cores_of(name, [np.ndim(x) for x in operands])
    *_, place = places_of(name, cores, [np.ndim(x) for x in operands], axes, keepdims)
    return _deliver(name, result, target, place)


def _deliver(function: str, result: Array, target: Array, place: tuple[int, ...]) -> Array:
    """Put a result with its core's axes at the end into `out`, where they have other places."""
    last = tuple(range(-len(place), 0))
    view = target if place == last or target.ndim < result.ndim else np.moveaxis(target, place, last)
    if view.shape[view.ndim - len(place) :] != result.shape[result.ndim - len(place) :]:
        raise ValueError(f"{function}: out of shape {target.shape} does not fit a result of shape {result.shape}")
    deliver(function, result, view)
    return target


def _describe(
    function: str,
    arrays: Sequence[Array],
    wanted: np.dtype[Any] | None = None,
    order: Any = "K",
    casting: Any = "same_kind",
    axes: Any = None,
    keepdims: bool = False,
    to: np.dtype[Any] | None = None,
    *,
    ring: Semiring | None = None,
) -> MdHom | Described:
    """Describe a call; with `out`, of type `to`, the axes of the result's core stay at the end."""
    ndims = [a.ndim for a in arrays]
    cores = cores_of(function, ndims)
    conjugate = function in {"vecdot", "vecmat"} and arrays[0].dtype.kind == "c"
    plain = wanted is None and to is None and (order, casting, axes, keepdims) == ("K", "same_kind", None, False)
    if plain and ring is None:
        return contraction(*labelled(function, cores, arrays), arrays, None, conjugate)
    fortran = check_order(order, arrays) == "F"
    common = wanted or np.result_type(*(a.dtype for a in arrays))
    if ring is not None:
        check_types(function, arrays, ring, wanted, to, casting)
    else:
        check_casts(f"ufunc {function!r}", arrays, common, to, casting)
    *places, place = places_of(function, cores, ndims, axes, keepdims)

    def take(arrays: Sequence[Array]) -> Sequence[Array]:
        """Move the axes of the operands' cores to the end."""
        if axes is None:
            return arrays
        return tuple([np.moveaxis(a, at, range(-len(at), 0)) for a, at in zip(arrays, places, strict=True)])

    def give(found: Sequence[Any]) -> Any:
        """Move the axes of the results' core from the end to their places."""
        each = [_given(np.asarray(one)) for one in found]
        return each[0] if len(each) == 1 else tuple(each)

    def _given(result: Any) -> Any:
        result = result.T if fortran else result
        result = result[..., np.newaxis] if keepdims else result
        if to is not None:
            return result
        return deliver(function, result if axes is None else np.moveaxis(result, range(-len(place), 0), place))

    taken = take(arrays)
    terms, result = labelled(function, cores, taken)
    result = result[::-1] if fortran else result
    h: MdHom | Graph
    if ring is None:
        h = contraction(terms, result, taken, common, conjugate)
    else:
        h = of_semiring(terms, result, taken, ring, wanted)
        if plain and len(h.results) == 1:
            return Described(h)
    return Described(h, None if axes is None else take, give)


def _describe_over(arrays: Sequence[Array], ring: Semiring, *arguments: Any) -> MdHom | Described:
    return _describe("matmul", arrays, *arguments, ring=ring)


_MATMUL, _VECDOT, _MATVEC, _VECMAT = (
    Routine(name, partial(_describe, name), getattr(np, name), partial(addressable, protocol="__array_ufunc__"))
    for name in CORES
)
#: Of a semiring that NumPy does not know.
_OVER_SEMIRING = Routine("matmul", _describe_over, None, _MATMUL.convert)
