"""`einsum`: NumPy's einsum, from its arguments to labelled axes.

Takes subscripts and array-likes, gives NumPy's result as a new array. A repeat call does no more here than read its
arguments. It must not know devices.
"""

import string
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.numpy_tier import NumpyFunction, einsum_function
from mdhnp.calls.operands import addressable, check_casts, check_order, deliver, exact_type, foreign, output
from mdhnp.errors import ARGUMENTS, raise_named
from mdhnp.frontend.contraction import IndexedTerms, indexed_product, parse, parse_indexed, sum_of_products
from mdhnp.frontend.pairwise import contracted, contractions, hashable, is_path, keep_order
from mdhnp.frontend.public import PAPER, repeatable
from mdhnp.frontend.semirings import Semiring, asked, check_types, combining, of_semiring
from mdhnp.frontend.sparse import sparse_product
from mdhnp.frontend.sparse_formats import Product
from mdhnp.mdh import Graph, MdHom
from mdhnp.mdh.pattern import whole_extents

Array = npt.NDArray[Any]


@repeatable(
    "Evaluate the Einstein summation convention on the operands, as ``numpy.einsum`` does.",
    subscripts="str: One label an axis, operands separated by commas, optionally ``->`` and the output's labels; "
    "``...`` stands for broadcast axes. A term ``j[i]`` is of an operand of whole numbers: its element at ``i`` is an "
    "index along ``j``, of other operands or of the result, where what goes to the same place is added. NumPy's other "
    "form, ``einsum(a, [0, 1], b, [1, 2], [0, 2])``, works too.",
    operands="array_like: The arrays. Any strides; they are read in place. One may be a sparse array or matrix of "
    "SciPy's: where the output has all of its axes, the result is sparse, too.",
    dtype="dtype, optional: Type to compute in; by default the operands' common type. Integers wrap, booleans use "
    "`and` and `or`.",
    order='{"K", "C", "F", "A"}: Memory order of the result. "K": C order if all operands are C-contiguous, else '
    "NumPy's choice after theirs.",
    casting='{"safe", "no", "equiv", "same_kind", "unsafe"}: Which conversions to `dtype` and to `out` are allowed.',
    optimize='bool, str, or path: In which order more than two operands are contracted: "auto" and True let opt_einsum '
    "choose, a name or a path as in ``numpy.einsum`` is handed to it, False multiplies all of them at once. However "
    "that is, an axis that one operand has alone is summed first where that saves time, into an array no larger than "
    "the operand. As in NumPy, an `out` without axes takes results of any type if `optimize` is given and not False.",
    multiply="ufunc, str or callable, optional: What stands for the product, as :class:`mdhnp.semiring.Semiring` has "
    "it; NumPy's where only `add` is given. Types are promoted as these functions do.",
    add='ufunc, str, callable or pw(...), optional: What stands for the sum, likewise. "argmin" and "argmax" give two '
    "results.",
    memory_limit="int, optional: Bytes that temporaries of more than two operands may take at a time, in place of "
    "``config.memory_limit``. Steps are computed part by part where they would take more.",
    semiring="Semiring, optional: Both together, one of `mdhnp.semiring`.",
    extents="mapping of str to int, optional: How many elements the result has along labels that it has alone, by "
    "indices.",
    returns="ndarray or scalar: Of the output labels' extents; `out` if given. Always new memory, also where NumPy "
    'gives a view. For "argmin" and "argmax" a tuple: extremes, and in int64 where the first of each is along the '
    "label that is added over, or its number in row-major order of several, in order of appearance.",
    raises={
        "IndexError": "If an index is less than -n, or n or more, of n elements.",
        "ValueError": "If the subscripts are malformed or fit neither the operands' number nor their axes, extents "
        "disagree, or there is no such precision; if `add` is not associative, or has no value for no elements.",
        "TypeError": "If the casting rule forbids a conversion; if kernels do not compute with a type (longdouble, "
        "object, dates, …) and NumPy is not allowed to, or has no such product.",
    },
    notes=f"Source: {PAPER} IV-D.",
    example="""
>>> a, b = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
>>> mdhnp.einsum("ij,jk->ik", a, b)
array([[ 3.,  3.],
       [12., 12.]])
>>> mdhnp.einsum("ij,jk->ik", a, b, multiply=np.add, add="min")
array([[1., 1.],
       [4., 4.]])
>>> mdhnp.einsum("jk,j[i]->ik", a, [1, 0, 1])
array([[3., 4., 5.],
       [0., 1., 2.],
       [3., 4., 5.]])
>>> mdhnp.einsum("ik,s[i]->sk", a, [2, 2], extents={"s": 3})
array([[0., 0., 0.],
       [0., 0., 0.],
       [3., 5., 7.]])""",
    guard=False,
)
def einsum(
    subscripts: Any = None, /, *operands: Any, out: npt.NDArray[Any] | None = None, dtype: npt.DTypeLike | None = None,
    order: str = "K", casting: str = "safe", optimize: Any = "auto", precision: str | None = None, schedule: Any = None,
    multiply: Any = None, add: Any = None, semiring: Semiring | None = None, memory_limit: int | None = None,
    extents: Mapping[str, int] | None = None,
) -> Any:  # fmt: skip
    try:
        if type(subscripts) is not str:
            subscripts, operands = _read(subscripts, operands)
        path = optimize if type(optimize) is str else hashable(optimize)
        ring = None
        if multiply is not None or add is not None or semiring is not None:
            ring = asked(multiply, add, semiring)
        if out is None and dtype is None and order == "K" and casting == "safe" and extents is None:
            plain = (_EINSUM, subscripts, path) if ring is None else (_OVER_SEMIRING, ring, subscripts, path)
            return call(plain, operands)
        wanted, target = exact_type(dtype), output("einsum", out)
        to = None if target is None else (target.ndim, target.dtype)
        types = (wanted, None if target is None else target.dtype)
        sizes = tuple(sorted(whole_extents({} if extents is None else extents).items()))
        arguments = (subscripts, path, wanted, order, casting, to, sizes)
        if ring is None:
            given: dict[str, Any] = {"dtype": wanted, "out": out, "order": order, "casting": casting}
            numpys: Any = partial(_numpys, *operands, subscripts, optimize, **given)
            what: tuple[Any, ...] = (_EINSUM, *arguments)
        else:
            what, numpys = (_OVER_SEMIRING, ring, *arguments), None
        result = call(what, operands, dtypes=types, numpy=numpys)
        return result if target is None or result is target else deliver("einsum", result, target)
    except ARGUMENTS as error:
        raise_named("einsum", error)


def _describe(
    arrays: Sequence[Array],
    subscripts: str,
    optimize: Any,
    wanted: np.dtype[Any] | None = None,
    order: str = "K",
    casting: Any = "safe",
    to: tuple[int, np.dtype[Any]] | None = None,
    sizes: tuple[tuple[str, int], ...] = (),
    *,
    ring: Semiring | None = None,
) -> Described:
    """Describe a call; `to` is the number of axes and the type of `out`, `sizes` are extents of the result."""
    if "[" in subscripts or sizes:
        return _describe_indexed(
            arrays, parse_indexed(subscripts, tuple([a.ndim for a in arrays]), sizes), wanted, order, casting, to, ring
        )
    terms, kept = parse(subscripts, tuple([a.ndim for a in arrays]))
    if to is not None and to[0] != len(kept):
        raise ValueError(f"out has {to[0]} axes, the result has {len(kept)}")
    letter = check_order(order, arrays)
    # Another memory order: the result's labels in that order, seen transposed.
    memory = kept if letter == "C" else kept[::-1] if letter == "F" else keep_order(terms, kept, arrays)
    contract: Callable[[Any], MdHom | Graph]
    if ring is None:
        common = wanted or np.result_type(*[a.dtype for a in arrays], *([] if to is None else [to[1]]))
        unchecked = to is not None and to[0] == 0 and optimize not in (False, "auto")
        check_casts(arrays, common, None if to is None or unchecked else to[1], casting)
        contract = partial(contracted, terms, memory, arrays, common)
    else:
        check_types(arrays, ring, wanted, None if to is None else to[1], casting)
        contract = partial(of_semiring, terms, memory, arrays, ring, wanted)
    mdhom, whole = contract(optimize), None
    if isinstance(mdhom, Graph) and len(mdhom.steps) > 1 and not is_path(optimize):
        whole = contract(False)
    results = len(mdhom.results) if isinstance(mdhom, Graph) else len(mdhom.outputs)
    return Described(mdhom, None, _seen(memory, kept, results), at_once=whole)


def _brief(arrays: Sequence[Array], subscripts: str, optimize: Any, *others: Any) -> NumpyFunction | None:
    """Give NumPy's function for a call without other arguments."""
    if others or "[" in subscripts or not (len(arrays) < 3 or optimize in (True, "auto")):
        return None
    return einsum_function(*parse(subscripts, tuple([a.ndim for a in arrays])), arrays)


def _seen(memory: str, kept: str, results: int) -> Callable[[Any], Any] | None:
    """Give what sees results with axes in one order as those with another one; None where that is how they are."""
    if memory == kept and results == 1:
        return None
    axes = [memory.index(label) for label in kept]

    def give(found: Sequence[Any]) -> Any:
        each = [deliver("einsum", np.asarray(one).transpose(axes)) for one in found]
        return each[0] if len(each) == 1 else tuple(each)

    return give


def _describe_indexed(
    arrays: Sequence[Array], read: IndexedTerms, wanted: np.dtype[Any] | None, order: str, casting: Any,
    to: tuple[int, np.dtype[Any]] | None, ring: Semiring | None,
) -> Described:  # fmt: skip
    """Describe a call with indices: all operands are multiplied at once."""
    if to is not None and to[0] != len(read.output):
        raise ValueError(f"out has {to[0]} axes, the result has {len(read.output)}")
    values = [arrays[n] for n in read.values]
    types, out = tuple([a.dtype for a in values]), None if to is None else to[1]
    if ring is None:
        common = wanted or np.result_type(*types, *([] if out is None else [out]))
        check_casts(values, common, out, casting)
        functions, results = sum_of_products(types, common, False), (common,)
    else:
        check_types(values, ring, wanted, out, casting)
        fixed = frozenset([n for n, term in enumerate(read.terms) if {*read.walked(term)} <= {*read.kept}])
        functions, results = combining(ring, types, wanted, fixed, len(read.kept)), None
    memory = read.output[::-1] if check_order(order, arrays) == "F" else read.output
    ordered = [arrays[n] for n in read.order]
    mdhom = indexed_product(read, memory, ordered, functions, results)
    in_order = read.order == tuple(range(len(arrays)))
    take = None if in_order else lambda given: [given[n] for n in read.order]
    return Described(mdhom, take, _seen(memory, read.output, 1))


def _converted(operands: Sequence[Any]) -> tuple[Array, ...]:
    """Convert operands; NumPy's einsum reads subclasses as plain arrays."""
    return addressable([a if type(a) is np.ndarray or foreign(a) else np.asarray(a) for a in operands])


def _numpys(*arguments: Any, dtype: Any = None, **given: Any) -> Any:
    *operands, subscripts, optimize = arguments
    if "[" in subscripts:
        raise TypeError(f"{subscripts!r} has indices, which numpy.einsum does not take, and types that kernels do not")
    if dtype is not None:
        given["dtype"] = dtype
    if len(operands) > 2:
        given["optimize"] = optimize is not False and optimize is not None
    result = np.einsum(subscripts, *operands, **given)
    # NumPy gives some results as views.
    return result if result is given.get("out") or getattr(result, "base", None) is None else result.copy()


def _asked(
    shapes: Sequence[tuple[int, ...]], subscripts: str, optimize: Any, wanted: np.dtype[Any] | None = None,
    order: str = "K", casting: Any = "safe", to: tuple[int, np.dtype[Any]] | None = None,
    sizes: tuple[tuple[str, int], ...] = (), *, ring: Semiring | None = None,
) -> Product:  # fmt: skip
    """Read a call with a sparse operand, for which there is no path: all operands are multiplied at once."""
    if "[" in subscripts or sizes:
        raise TypeError(f"{subscripts!r} has indices beside a sparse operand; make that one dense")
    terms, kept = parse(subscripts, tuple([len(shape) for shape in shapes]))
    if len(shapes) > 2 and optimize not in (False, None, True, "auto"):
        contractions(terms, kept, tuple(shapes), optimize)  # which knows what it may be
    return Product("einsum", terms, kept, wanted, ring, order, casting, None if to is None else to[1])


_EINSUM: Routine = Routine("einsum", _describe, _numpys, _converted, sparse_product(_asked), _brief)
#: Of a semiring that NumPy does not know.
_OVER_SEMIRING = Routine(
    "einsum", lambda arrays, ring, *others: _describe(arrays, *others, ring=ring), None, _converted,
    sparse_product(lambda shapes, ring, *others: _asked(shapes, *others, ring=ring)),
)  # fmt: skip


def _read(subscripts: Any, operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Read subscripts that are bytes, text of another type, or lists: ``(a, [0, 1], b, [1, 2], [0, 2])``."""
    if isinstance(subscripts, bytes | str):
        return subscripts.decode("ascii") if isinstance(subscripts, bytes) else str(subscripts), operands
    given = (subscripts, *operands)
    if len(given) < 2:
        raise ValueError("subscripts and operands, or operands with a list of subscripts each, are needed")
    pairs = len(given) // 2
    output = "->" + _from_sublist(given[-1]) if len(given) % 2 else ""
    return ",".join([_from_sublist(given[2 * n + 1]) for n in range(pairs)]) + output, given[: 2 * pairs : 2]


def _from_sublist(sublist: Any) -> str:
    if not isinstance(sublist, list | tuple | np.ndarray):
        raise TypeError(f"subscripts of an operand must be a list, not {type(sublist).__name__}")
    letters = string.ascii_uppercase + string.ascii_lowercase
    text = ""
    for label in sublist:
        try:
            number = -1 if label is Ellipsis else index(label)
        except TypeError:
            raise TypeError(f"subscript {label!r} is neither an integer nor an ellipsis") from None
        if label is not Ellipsis and not 0 <= number < len(letters):
            raise ValueError(f"subscript {number} is outside of 0 … {len(letters) - 1}")
        text += "..." if label is Ellipsis else letters[number]
    return text
