"""`einsum`: NumPy's einsum as MDHs, one for two operands, a chain of them for more.

Takes subscripts and array-likes, gives NumPy's result as a new C-contiguous array. A repeat call does no more here
than look at its operands' types. It must not know devices.
"""

import string
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, partial
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.dispatch import NoDoublePrecision, run
from mdhnp.frontend.contraction import contraction, extents, parse
from mdhnp.frontend.operands import beyond_device, check_order, deliver, fallback, fits, prepare, unsupported
from mdhnp.mdh import MdHom

__all__ = ["einsum"]


def einsum(
    subscripts: Any = None,
    /,
    *operands: Any,
    out: npt.NDArray[Any] | None = None,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    casting: str = "safe",
    optimize: Any = True,
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
        Memory order of the result. "K" means C order here.
    casting : {"safe", "no", "equiv", "same_kind", "unsafe"}
        Which conversions to `dtype` and to `out` are allowed.
    optimize : bool, str, or path
        In which order more than two operands are contracted: True lets opt_einsum choose, a name or a path as in
        ``numpy.einsum`` is handed to it, False computes all operands in one kernel without temporaries.

    Returns
    -------
    ndarray or scalar
        Of the output labels' extents; `out` if given. Always new memory, also where NumPy gives a view.

    Raises
    ------
    ValueError
        If the subscripts are malformed or fit neither the operands' number nor their axes, or extents disagree.
    TypeError
        If the casting rule forbids a conversion; if kernels do not compute with a type (float16, complex, object, …)
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
        for a in operands:
            if not fits(a):
                break
        else:
            with suppress(NoDoublePrecision):
                if len(operands) < 3:
                    result = run(("einsum", subscripts, None), operands, lambda: _build(subscripts, operands))[0]
                else:
                    result = _contract(subscripts, operands, np.result_type(*operands), optimize)
                return result if result.ndim else result[()]
    if isinstance(subscripts, bytes):
        subscripts = subscripts.decode("ascii")
    elif not isinstance(subscripts, str):
        subscripts, operands = _from_sublists((subscripts, *operands))
    return _general(str(subscripts), operands, out, dtype, order, casting, optimize)


def _build(subscripts: str, arrays: Sequence[npt.NDArray[Any]], dtype: Any = None) -> MdHom:
    return contraction(*parse(subscripts, [a.ndim for a in arrays]), arrays, dtype)


def _general(
    subscripts: str, operands: tuple[Any, ...], out: Any, dtype: Any, order: str, casting: Any, optimize: Any
) -> Any:
    if out is not None and not isinstance(out, np.ndarray):
        raise TypeError(f"einsum: out must be an ndarray, not {type(out).__name__}")
    # NumPy's einsum reads subclasses as plain arrays.
    arrays = prepare(map(np.asarray, operands))
    terms, output = parse(subscripts, [a.ndim for a in arrays])
    extents(terms, [a.shape for a in arrays])
    if out is not None and out.ndim != len(output):
        raise ValueError(f"einsum: out has {out.ndim} axes, the result has {len(output)}")
    memory = check_order(order, arrays)
    target = [] if out is None else [out.dtype]
    wanted = None if dtype is None else np.dtype(dtype)
    asked = target if wanted is None else [*target, wanted]
    if reason := unsupported(arrays, *asked) or beyond_device(arrays, *asked):
        given: Any = {"out": out, "order": "C" if order == "K" else order, "casting": casting}
        if dtype is not None:
            given["dtype"] = dtype
        if len(arrays) > 2:
            given["optimize"] = optimize is not False and optimize is not None
        return fallback("einsum", reason, lambda: _owned(np.einsum(subscripts, *operands, **given), out))
    common = wanted or np.result_type(*(a.dtype for a in arrays), *target)
    for n, a in enumerate(arrays):
        if not np.can_cast(a.dtype, common, casting):
            raise TypeError(f"einsum: operand {n} of {a.dtype} cannot become {common} by the rule {casting!r}")
    if out is not None and not np.can_cast(common, out.dtype, casting):
        raise TypeError(f"einsum: the result of {common} cannot become {out.dtype} by the rule {casting!r}")
    return deliver(_contract(subscripts, arrays, common, optimize), out, memory, casting)


def _owned(result: Any, out: Any) -> Any:
    """Copy what NumPy gave as a view."""
    return result if result is out or getattr(result, "base", None) is None else result.copy()


def _contract(subscripts: str, arrays: tuple[npt.NDArray[Any], ...], dtype: Any, optimize: Any) -> npt.NDArray[Any]:
    """Run the contraction, a few operands at a time if there are more than two."""
    if len(arrays) < 3 or optimize is False or optimize is None:
        return run(("einsum", subscripts, dtype), arrays, lambda: _build(subscripts, arrays, dtype))[0]
    left = list(arrays)
    # Temporaries of float16 operands are float32, as all of it would be in one kernel.
    computed = np.float32 if dtype == np.float16 else dtype
    for positions, terms, output in _steps(subscripts, tuple(a.shape for a in arrays), _method(optimize)):
        now = tuple(left.pop(p) for p in positions)[::-1]
        build = partial(contraction, terms, output, now, computed)
        left.append(run(("einsum", (terms, output), computed), now, build)[0])
    return left[0].astype(dtype, copy=False)


def _method(optimize: Any) -> Any:
    """Make what to find a path by hashable; an explicit path loses NumPy's mark."""
    if not isinstance(optimize, tuple | list):
        return optimize
    steps = optimize[1:] if optimize and isinstance(optimize[0], str) and optimize[0] == "einsum_path" else optimize
    return tuple(tuple(step) if isinstance(step, list) else step for step in steps)


@lru_cache(maxsize=1024)
def _steps(
    subscripts: str, shapes: tuple[tuple[int, ...], ...], method: Any
) -> tuple[tuple[tuple[int, ...], tuple[str, ...], str], ...]:
    """Order the contractions: what to take out of the list that results are appended to (last first), terms, output."""
    import opt_einsum

    terms, output = parse(subscripts, [len(s) for s in shapes])
    extents(terms, shapes)
    if isinstance(method, tuple) and not (method and isinstance(method[0], str)):
        path = method
    else:
        name, limit = method if isinstance(method, tuple) else (method, None)
        equation = f"{','.join(terms)}->{output}"
        path, _ = opt_einsum.contract_path(equation, *shapes, shapes=True, optimize=name, memory_limit=limit)
    left = list(terms)
    steps = []
    for positions in path:
        order = tuple(sorted(positions, reverse=True))
        if not order or order[0] >= len(left) or order[-1] < 0 or len(set(order)) < len(order):
            raise ValueError(f"einsum: step {positions} of the path does not fit {len(left)} operands")
        now = tuple(left.pop(p) for p in order)[::-1]
        needed = output + "".join(left)
        kept = output if not left else "".join(dict.fromkeys(c for c in "".join(now) if c in needed))
        steps.append((order, now, kept))
        left.append(kept)
    if len(left) != 1:
        raise RuntimeError(f"einsum: the path leaves {len(left)} operands uncontracted")
    return tuple(steps)


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
