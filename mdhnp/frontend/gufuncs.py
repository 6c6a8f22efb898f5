"""NumPy's generalized ufuncs that multiply: `matmul`, `vecdot`, `matvec` and `vecmat`, each one MDH.

The last axes of an operand are its core, a vector or a matrix; those before them are a stack, and broadcast. Takes
array-likes, gives new arrays. It must not know devices.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple

from mdhnp.dispatch import repeat, run
from mdhnp.frontend.contraction import ELLIPSIS, Terms, contraction
from mdhnp.frontend.operands import (
    check_casts,
    check_order,
    deliver,
    fallback,
    left_to_numpy,
    output,
    prepare,
    straight,
)
from mdhnp.mdh import MdHom

__all__ = ["matmul", "matvec", "vecdot", "vecmat"]

Array = npt.NDArray[Any]

#: Labels of the operands' cores; the result has all but k. A vector may stand for a matrix in `matmul` only.
_CORES: dict[str, Terms] = {
    "matmul": ("ik", "kj"), "vecdot": ("k", "k"), "matvec": ("ik", "k"), "vecmat": ("k", "kj"),
}  # fmt: skip


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
    **others
        ``subok`` changes nothing, there being no subclasses; calls with ``signature`` are left to NumPy.

    Returns
    -------
    ndarray or scalar
        Of shape (..., n, m); `out` if given.

    Raises
    ------
    ValueError
        If an operand has too few axes, or shapes do not match, among them that of `out`.
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
    """
    # As in `_call`, but sooner: handing the arguments on takes a tenth of the time of a tiny product.
    if out is None and dtype is None and axes is None and order == "K" and casting == "same_kind" and not others:
        known = repeat(("matmul",), (x1, x2))
        if known is not None:
            return known
    return _call("matmul", (x1, x2), out, casting, order, dtype, axes, others)


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
    out, casting, order, dtype, axes, **others
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
    return _call("vecdot", (x1, x2), out, casting, order, dtype, axes, others, keepdims)


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
    **others: Any,
) -> Any:
    """Multiply stacks of matrices and vectors, as ``numpy.matvec`` does.

    Parameters
    ----------
    x1, x2 : array_like
        Of shapes (..., n, k) and (..., k). The leading axes are broadcast.
    out, casting, order, dtype, axes, **others
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
    return _call("matvec", (x1, x2), out, casting, order, dtype, axes, others)


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
    **others: Any,
) -> Any:
    """Multiply stacks of vectors and matrices, as ``numpy.vecmat`` does.

    Parameters
    ----------
    x1, x2 : array_like
        Of shapes (..., k) and (..., k, m). The leading axes are broadcast. Complex elements of `x1` are conjugated.
    out, casting, order, dtype, axes, **others
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
    return _call("vecmat", (x1, x2), out, casting, order, dtype, axes, others)


def _call(
    function: str,
    operands: tuple[Any, Any],
    out: Any,
    casting: Any,
    order: Any,
    dtype: Any,
    axes: Any,
    others: dict[str, Any],
    keepdims: bool = False,
) -> Any:
    """Make a call: at once if it has no keywords, and kernels can address its operands."""
    plain = out is None and dtype is None and axes is None and order == "K" and casting == "same_kind"
    if plain and not others and not keepdims:
        if (known := repeat((function,), operands)) is not None:
            return known
        new = straight(operands, lambda: run((function,), operands, lambda: _build(function, operands))[0])
        if new is not None:
            return new
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"{function}: out has {len(out)} entries for one result")
        out = out[0]
    target = output(function, out)
    arrays = prepare(operands, "__array_ufunc__")
    wanted = None if dtype is None else np.dtype(dtype)
    reason = left_to_numpy(arrays, wanted)
    if reason or others.keys() - {"subok"}:
        given = {"out": out, "casting": casting, "order": order, "dtype": dtype, "axes": axes, "keepdims": keepdims}
        given = {name: value for name, value in given.items() if value is not None and value is not False} | others
        reason = reason or f"{', '.join(others)} is given"
        return fallback(function, reason, getattr(np, function), *operands, **given)
    fortran = check_order(order, arrays) == "F"
    common = wanted or np.result_type(*(a.dtype for a in arrays))
    check_casts(f"ufunc {function!r}", arrays, common, target, casting)
    arrays, place = _cores_last(function, arrays, axes, keepdims)
    result = run((function, common, fortran), arrays, lambda: _build(function, arrays, common, fortran))[0]
    result = result.T if fortran else result
    return _deliver(function, result[..., np.newaxis] if keepdims else result, target, place)


def _deliver(function: str, result: Array, target: Array | None, place: tuple[int, ...]) -> Any:
    """Move the axes of the result's core from the end to their places, and put it into `out`."""
    last = tuple(range(-len(place), 0))
    if target is None:
        return deliver(function, np.moveaxis(result, last, place))
    view = np.moveaxis(target, place, last) if target.ndim >= result.ndim else target
    if view.shape[view.ndim - len(place) :] != result.shape[result.ndim - len(place) :]:
        raise ValueError(f"{function}: out of shape {target.shape} does not fit a result of shape {result.shape}")
    deliver(function, result, view)
    return target


def _cores(function: str, arrays: Sequence[Array]) -> Terms:
    """Give the labels of the operands' cores: for `matmul` a vector's own, and a matrix's else."""
    cores = _CORES[function]
    if function == "matmul":
        cores = cores[0][-max(arrays[0].ndim, 1) :], cores[1][: max(arrays[1].ndim, 1)]
    for n, (a, core) in enumerate(zip(arrays, cores, strict=True)):
        if a.ndim < len(core):
            raise ValueError(f"{function}: operand {n} has {a.ndim} axes, {len(core)} or more are needed")
    return cores


def _cores_last(
    function: str, arrays: tuple[Array, ...], axes: Any, keepdims: bool
) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    """Move the axes of the operands' cores to the end, and say where those of the result's core shall go."""
    cores = _cores(function, arrays)
    kept = len("".join(cores).replace("k", "")) + keepdims
    if axes is None:
        return arrays, tuple(range(-kept, 0))
    if not isinstance(axes, list):
        raise TypeError(f"{function}: axes must be a list, not {type(axes).__name__}")
    if len(axes) == 2 and kept == keepdims:
        axes = [*axes, axes[0] if keepdims else ()]
    if len(axes) != 3:
        raise ValueError(f"{function}: axes has {len(axes)} entries, one for each operand and the result is needed")

    def places(n: int, ndim: int, count: int) -> tuple[int, ...]:
        entry = axes[n] if isinstance(axes[n], tuple) else (axes[n],)
        if len(entry) != count:
            raise np.exceptions.AxisError(f"{function}: axes: entry {n} names {len(entry)} axes, the core has {count}")
        return normalize_axis_tuple(entry, ndim, "axes")

    moved = tuple(
        np.moveaxis(a, places(n, a.ndim, len(core)), range(-len(core), 0))
        for n, (a, core) in enumerate(zip(arrays, cores, strict=True))
    )
    stacked = max(a.ndim - len(core) for a, core in zip(arrays, cores, strict=True))
    return moved, places(2, stacked + kept, kept)


def _build(function: str, arrays: Sequence[Array], dtype: Any = None, fortran: bool = False) -> MdHom:
    cores = _cores(function, arrays)
    sizes = [a.shape[a.ndim - len(core) + core.index("k")] for a, core in zip(arrays, cores, strict=True)]
    if sizes[0] != sizes[1]:
        shapes = " and ".join(str(a.shape) for a in arrays)
        raise ValueError(f"{function}: operands of shapes {shapes} do not match: {sizes[0]} and {sizes[1]} elements")
    stacks = [a.ndim - len(core) for a, core in zip(arrays, cores, strict=True)]
    most = max(stacks)
    terms = tuple(ELLIPSIS[most - n : most] + core for n, core in zip(stacks, cores, strict=True))
    result = ELLIPSIS[:most] + "".join(cores).replace("k", "")
    conjugate = function in {"vecdot", "vecmat"} and arrays[0].dtype.kind == "c"
    return contraction(terms, result[::-1] if fortran else result, arrays, dtype, conjugate)
