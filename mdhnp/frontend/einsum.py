"""`einsum`: NumPy's einsum, from its arguments to labelled axes.

Takes subscripts and array-likes, gives NumPy's result as a new array. A repeat call does no more here than look at its
operands' types. It must not know devices.
"""

import string
from collections.abc import Sequence
from functools import partial
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.dispatch import repeat, run
from mdhnp.frontend.chain import contract, keep_order
from mdhnp.frontend.contraction import Terms, contraction, parse
from mdhnp.frontend.operands import (
    check_casts,
    check_order,
    deliver,
    fallback,
    foreign,
    left_to_numpy,
    output,
    prepare,
    straight,
)

__all__ = ["einsum"]


def einsum(
    subscripts: Any = None,
    /,
    *operands: Any,
    out: npt.NDArray[Any] | None = None,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    casting: str = "safe",
    optimize: Any = "auto",
) -> Any:
    """Evaluate the Einstein summation convention on the operands, as ``numpy.einsum`` does.

    Parameters
    ----------
    subscripts : str
        One label an axis, operands separated by commas, optionally ``->`` and the output's labels; ``...`` stands for
        broadcast axes. NumPy's other form, ``einsum(a, [0, 1], b, [1, 2], [0, 2])``, works too.
    *operands : array_like
        The arrays. Any strides; they are read in place.
    out : ndarray, optional
        Where to put the result.
    dtype : dtype, optional
        Type to compute in; by default the operands' common type. Integers wrap, booleans use `and` and `or`.
    order : {"K", "C", "F", "A"}
        Memory order of the result. "K": C order if all operands are C-contiguous, else NumPy's choice after theirs.
    casting : {"safe", "no", "equiv", "same_kind", "unsafe"}
        Which conversions to `dtype` and to `out` are allowed.
    optimize : bool, str, or path
        In which order more than two operands are contracted: "auto" and True let opt_einsum choose, a name or a path as
        in ``numpy.einsum`` is handed to it, False computes all operands in one kernel without temporaries. As in
        NumPy, an `out` without axes takes results of any type if `optimize` is given and not False.

    Returns
    -------
    ndarray or scalar
        Of the output labels' extents; `out` if given. Always new memory, also where NumPy gives a view.

    Raises
    ------
    ValueError
        If the subscripts are malformed or fit neither the operands' number nor their axes, or extents disagree.
    TypeError
        If the casting rule forbids a conversion; if kernels do not compute with a type (longdouble, object, dates, …)
        and NumPy is not allowed to.

    Notes
    -----
    Source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms",
    Section IV-D.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> a, b = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
    >>> mdhnp.einsum("ij,jk->ik", a, b)
    array([[ 3.,  3.],
           [12., 12.]])
    """
    if type(subscripts) is str and operands and out is None and dtype is None and order == "K" and casting == "safe":
        if (known := repeat(("einsum", subscripts, None), operands)) is not None:
            return known
        if (new := straight(operands, partial(_plain, subscripts, operands, optimize))) is not None:
            return new
    if isinstance(subscripts, bytes):
        subscripts = subscripts.decode("ascii")
    elif not isinstance(subscripts, str):
        subscripts, operands = _from_sublists((subscripts, *operands))
    return _general(str(subscripts), operands, out, dtype, order, casting, optimize)


def _plain(subscripts: str, arrays: tuple[npt.NDArray[Any], ...], optimize: Any) -> npt.NDArray[Any]:
    ranks = tuple([a.ndim for a in arrays])
    if len(arrays) < 3 and all([a.flags.c_contiguous for a in arrays]):
        return run(("einsum", subscripts, None), arrays, lambda: contraction(*parse(subscripts, ranks), arrays))[0]
    return _ordered(*parse(subscripts, ranks), arrays, "K", np.result_type(*arrays), optimize)


def _general(
    subscripts: str, operands: tuple[Any, ...], out: Any, dtype: Any, order: str, casting: Any, optimize: Any
) -> Any:
    # NumPy's einsum reads subclasses as plain arrays.
    arrays = prepare(a if foreign(a) else np.asarray(a) for a in operands)
    wanted = None if dtype is None else np.dtype(dtype)
    target = output("einsum", out)
    if reason := left_to_numpy(arrays, wanted, None if target is None else target.dtype):
        given: Any = {"out": out, "order": order, "casting": casting} | ({} if dtype is None else {"dtype": dtype})
        if len(arrays) > 2:
            given["optimize"] = optimize is not False and optimize is not None
        result = fallback("einsum", reason, np.einsum, subscripts, *operands, **given)
        # NumPy gives some results as views.
        return result if result is out or getattr(result, "base", None) is None else result.copy()
    terms, kept = parse(subscripts, tuple([a.ndim for a in arrays]))
    if target is not None and target.ndim != len(kept):
        raise ValueError(f"einsum: out has {target.ndim} axes, the result has {len(kept)}")
    letter = check_order(order, arrays)
    common = wanted or np.result_type(*(a.dtype for a in arrays), *([] if target is None else [target.dtype]))
    unchecked = target is not None and target.ndim == 0 and optimize not in (False, "auto")
    check_casts("einsum", arrays, common, None if unchecked else target, casting)
    return deliver("einsum", _ordered(terms, kept, arrays, letter, common, optimize), target)


def _ordered(
    terms: Terms, output: str, arrays: Sequence[npt.NDArray[Any]], letter: str, dtype: Any, optimize: Any
) -> npt.NDArray[Any]:
    """Contract, with the result in the memory order of that letter: its labels in that order, seen transposed."""
    memory = output if letter == "C" else output[::-1] if letter == "F" else keep_order(terms, output, arrays)
    result = contract("einsum", terms, memory, arrays, dtype, optimize)
    return result if memory == output else result.transpose([memory.index(label) for label in output])


def _from_sublists(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Turn ``(a, [0, 1], b, [1, 2], [0, 2])`` into subscripts and operands."""
    if len(given) < 2:
        raise ValueError("einsum: subscripts and operands, or operands with a list of subscripts each, are needed")
    pairs = len(given) // 2
    subscripts = ",".join(_from_sublist(given[2 * n + 1]) for n in range(pairs))
    if len(given) % 2:
        subscripts += "->" + _from_sublist(given[-1])
    return subscripts, given[: 2 * pairs : 2]


def _from_sublist(sublist: Any) -> str:
    if not isinstance(sublist, list | tuple | np.ndarray):
        raise TypeError(f"einsum: subscripts of an operand must be a list, not {type(sublist).__name__}")
    letters = string.ascii_uppercase + string.ascii_lowercase
    text = ""
    for label in sublist:
        try:
            number = -1 if label is Ellipsis else index(label)
        except TypeError:
            raise TypeError(f"einsum: subscript {label!r} is neither an integer nor an ellipsis") from None
        if label is not Ellipsis and not 0 <= number < len(letters):
            raise ValueError(f"einsum: subscript {number} is outside of 0 … {len(letters) - 1}")
        text += "..." if label is Ellipsis else letters[number]
    return text
