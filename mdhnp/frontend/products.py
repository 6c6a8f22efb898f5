"""NumPy's other products of two arrays, and `trace`: one MDH each.

They are told apart by the labels of its operands' axes and of the result's. Takes array-likes, gives new C-contiguous
arrays; operands of any strides are read in place. It must not know devices.
"""

from collections.abc import Sequence
from functools import partial
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import Array as DeviceArray
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import check_casts, deliver, exact_type, output
from mdhnp.calls.request import array
from mdhnp.frontend.contraction import contraction
from mdhnp.mdh import MdHom

__all__ = ["dot", "exactly", "inner", "integer", "joined", "kron", "letters", "outer", "trace", "vdot"]

Array = npt.NDArray[Any]


def dot(a: npt.ArrayLike, b: npt.ArrayLike, out: Array | None = None, *, precision: str | None = None) -> Any:
    """Give the dot product, as ``numpy.dot`` does.

    Parameters
    ----------
    a, b : array_like
        The last axis of `a` and the last but one of `b` (its only one, if it is a vector) are multiplied and added;
        a scalar multiplies every element.
    out : ndarray, optional
        Where to put the result: C-contiguous, of exactly the result's shape and type.
    precision : {"highest", "high", "default"}, optional
        How exact products of float32 must be; by default what ``config.precision`` says, which tells more.

    Returns
    -------
    ndarray or scalar
        With the other axes of `a`, then those of `b`; `out` if given.

    Raises
    ------
    ValueError
        If extents differ, `out` does not fit, or there is no such precision.
    TypeError
        If kernels do not compute with a type and NumPy is not allowed to.

    Notes
    -----
    Source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms",
    Section IV-A.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> int(mdhnp.dot(np.arange(3), np.arange(3)))
    5
    """
    if out is None:
        return call((_DOT,), (a, b), precision=precision)
    target = output("dot", out)
    result = call((_DOT,), (a, b), numpy=partial(np.dot, a, b, out), precision=precision)
    return deliver("dot", result, exactly("dot", result, target))


def vdot(a: npt.ArrayLike, b: npt.ArrayLike, /, *, precision: str | None = None) -> Any:
    """Give the sum of the products of all elements, as ``numpy.vdot`` does.

    Parameters
    ----------
    a, b : array_like
        With equally many elements; arrays of different shapes are read in C order. Complex elements of `a` are
        conjugated.
    precision
        As for :func:`dot`.

    Returns
    -------
    scalar
        Of the common type.

    Raises
    ------
    ValueError
        If the operands have different numbers of elements, or there is no such precision.
    TypeError
        As for :func:`dot`, which has the source, too.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> float(mdhnp.vdot(np.ones((2, 3)), np.arange(6.0)))
    15.0
    """
    # A strided Array of a device's own memory is copied there to be read as a vector, which no view does.
    return call((_VDOT,), tuple([x.reshape(-1) if type(x) is DeviceArray else x for x in (a, b)]), precision=precision)


def inner(a: npt.ArrayLike, b: npt.ArrayLike, /, *, precision: str | None = None) -> Any:
    """Multiply along the last axes of both operands and add, as ``numpy.inner`` does.

    Parameters
    ----------
    a, b : array_like
        Of shapes (..., k) and (..., k); a scalar multiplies every element.
    precision
        As for :func:`dot`.

    Returns
    -------
    ndarray or scalar
        With the other axes of `a`, then those of `b`.

    Raises
    ------
    ValueError, TypeError
        As for :func:`dot`, which has the source, too.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.inner([[1, 2], [3, 4]], [[1, 0], [0, 1], [1, 1]])
    array([[1, 2, 3],
           [3, 4, 7]])
    """
    return call((_INNER,), (a, b), precision=precision)


def outer(a: npt.ArrayLike, b: npt.ArrayLike, out: Array | None = None) -> Any:
    """Multiply every element of one operand by every element of the other, as ``numpy.outer`` does.

    Parameters
    ----------
    a, b : array_like
        Of any shapes, read in C order.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Of shape (a.size, b.size); `out` if given.

    Raises
    ------
    ValueError
        If `out` does not fit.
    TypeError
        If `out` has a lesser type; else as for :func:`dot`, which has the source, too.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.outer([1, 2], [3, 4])
    array([[3, 4],
           [6, 8]])
    """
    target = output("outer", out)
    if target is None:
        return call((_OUTER,), (a, b))
    return deliver("outer", call((_OUTER, target.dtype), (a, b), numpy=partial(np.outer, a, b, out)), target)


def kron(a: npt.ArrayLike, b: npt.ArrayLike) -> Any:
    """Give the Kronecker product, as ``numpy.kron`` does.

    Parameters
    ----------
    a, b : array_like
        Of any shapes; the one of fewer axes gets axes of one element in front.

    Returns
    -------
    ndarray or scalar
        Each element of `a` times the whole of `b`, block by block.

    Raises
    ------
    TypeError
        As for :func:`dot`, which has the source, too.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.kron([1, 10], [5, 6, 7])
    array([ 5,  6,  7, 50, 60, 70])
    """
    return call((_KRON,), (a, b))


def trace(
    a: npt.ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: npt.DTypeLike | None = None,
    out: Array | None = None,
) -> Any:
    """Add the elements of diagonals, as ``numpy.trace`` does.

    Parameters
    ----------
    a : array_like
        Of two or more axes.
    offset : int
        How far above the main diagonal.
    axis1, axis2 : int
        Axes whose diagonals are taken.
    dtype : dtype, optional
        Type to add in; by default that of `a`, for integers and booleans the default integer if that is wider.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray or scalar
        With the other axes of `a`; `out` if given.

    Raises
    ------
    ValueError
        If `a` has too few axes, the two axes are one, or `out` does not fit.
    numpy.exceptions.AxisError
        If there is no such axis.
    TypeError
        If `offset` is no integer; else as for :func:`dot`, which has the source, too.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> int(mdhnp.trace(np.arange(9).reshape(3, 3), offset=1))
    6
    """
    target = output("trace", out)
    wanted = exact_type(dtype)
    places = [integer(f"trace: {name}", n) for name, n in (("offset", offset), ("axis1", axis1), ("axis2", axis2))]
    what = (_TRACE, *places, wanted)
    if target is None:
        return call(what, (a,), dtypes=(wanted,))
    numpys = partial(np.trace, a, offset, axis1, axis2, dtype, out)
    result = call(what, (a,), dtypes=(wanted,), numpy=numpys)
    if target.shape != np.shape(result):
        raise ValueError(f"trace: out of shape {target.shape} for a result of shape {np.shape(result)}")
    return deliver("trace", result, target)


def exactly(function: str, result: Array, out: Array | None) -> Array | None:
    """Give `out` back if it is as NumPy's BLAS calls want it."""
    contiguous = not isinstance(out, np.ndarray) or out.flags.c_contiguous  # Arrays need not be
    if out is not None and (out.shape != result.shape or out.dtype != result.dtype or not contiguous):
        raise ValueError(f"{function}: out must be C-contiguous, of shape {result.shape} and dtype {result.dtype}")
    return out


def letters(count: int) -> str:
    """Give that many labels, those usual for matrices first."""
    return ("ijlmnopqabcdefgh" + "".join(chr(ord("α") + n) for n in range(count)))[:count]


def _dot(arrays: Sequence[Array]) -> MdHom:
    return _aligned("dot", arrays, -2)


def _vdot(arrays: Sequence[Array]) -> Described:
    a, b = arrays
    conjugate = a.dtype.kind == "c"
    if a.shape == b.shape:
        return Described(contraction((letters(a.ndim),) * 2, "", arrays, None, conjugate))
    if a.size != b.size:
        raise ValueError(f"vdot: a has {a.size} elements, b has {b.size}")
    return Described(contraction(("i", "i"), "", _flat(arrays), None, conjugate), _flat)


def _flat(arrays: Sequence[Array]) -> tuple[Array, ...]:
    return tuple([x.reshape(-1) for x in arrays])


def _inner(arrays: Sequence[Array]) -> MdHom:
    return _aligned("inner", arrays, -1)


def _outer(arrays: Sequence[Array], target: np.dtype[Any] | None = None) -> Described:
    check_casts("outer", (), np.result_type(*arrays), target, "same_kind")
    shape = tuple([x.size for x in arrays])
    return Described(joined(arrays, ()), None, lambda found: array(found).reshape(shape))


def _kron(arrays: Sequence[Array]) -> Described:
    ndim = max(x.ndim for x in arrays)
    shapes = [(1,) * (ndim - x.ndim) + x.shape for x in arrays]
    shape = tuple([m * n for m, n in zip(*shapes, strict=True)])
    return Described(_interleaved(arrays), None, lambda found: deliver("kron", array(found).reshape(shape)))


def _trace(arrays: Sequence[Array], offset: int, axis1: int, axis2: int, wanted: np.dtype[Any] | None) -> Described:
    def diagonals(arrays: Sequence[Array]) -> tuple[Array]:
        return (np.diagonal(arrays[0], offset, axis1, axis2),)

    found = diagonals(arrays)
    # An empty sum has the type that NumPy adds in.
    common = wanted or np.add.reduce(np.empty(0, arrays[0].dtype)).dtype
    labels = letters(found[0].ndim)
    return Described(contraction((labels,), labels[:-1], found, common), diagonals)


_DOT = Routine("dot", _dot, np.dot)
_VDOT = Routine("vdot", _vdot, np.vdot)
_INNER = Routine("inner", _inner, np.inner)
_OUTER = Routine("outer", _outer, np.outer)
_KRON = Routine("kron", _kron, np.kron)
_TRACE = Routine("trace", _trace, np.trace)


def joined(arrays: Sequence[Array], pairs: Sequence[tuple[int, int]]) -> MdHom:
    """Multiply two arrays and add along pairs of axes; the result has the first one's other axes, then the second's."""
    a, b = arrays
    labels = letters(a.ndim + b.ndim)
    first, second = labels[: a.ndim], labels[a.ndim :]
    for i, j in pairs:
        second = second[:j] + first[i] + second[j + 1 :]
    kept = [c for n, c in enumerate(first) if n not in {i for i, _ in pairs}]
    kept += [c for n, c in enumerate(second) if n not in {j for _, j in pairs}]
    return contraction((first, second), "".join(kept), arrays)


def _aligned(function: str, arrays: Sequence[Array], axis: int) -> MdHom:
    """Join the first one's last axis with an axis of the second; scalars have none."""
    a, b = arrays
    if not a.ndim or not b.ndim:
        return joined(arrays, ())
    axis = max(b.ndim + axis, 0)
    if a.shape[-1] != b.shape[axis]:
        sizes = f"{a.shape[-1]} and {b.shape[axis]} elements"
        raise ValueError(f"{function}: a of shape {a.shape} and b of shape {b.shape} are not aligned: {sizes}")
    return joined(arrays, ((a.ndim - 1, axis),))


def _interleaved(arrays: Sequence[Array]) -> MdHom:
    """Keep all axes of both, in turn, beginning from the last ones."""
    a, b = arrays
    labels = letters(a.ndim + b.ndim)
    first, second = labels[: a.ndim], labels[a.ndim :]
    ndim = max(a.ndim, b.ndim)
    pairs = zip(first.rjust(ndim), second.rjust(ndim), strict=True)
    return contraction((first, second), "".join(m + n for m, n in pairs).replace(" ", ""), arrays)


def integer(name: str, value: Any) -> int:
    """Give an argument as an integer; TypeError, which names it, if it is none."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r} is no integer") from None
