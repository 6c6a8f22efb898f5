"""NumPy's functions and ufuncs on Arrays: which of ours they mean.

NumPy has every function of the array API standard by the standard's name, beside its own name where that is another. So
the names of a function say which of ours it means. Functions that look at shapes and types only, and those that give
views, are NumPy's own, on the Arrays' views. All others are TypeErrors, or NumPy's on copies where the settings say so.
"""

import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mdhnp.arrays.array import Array, make, view_of
from mdhnp.calls.arrays import brought, device_of
from mdhnp.calls.operands import deliver, fallback, foreign, left_to_numpy
from mdhnp.settings import config

__all__ = ["array_function", "array_ufunc"]

Function = Callable[..., Any]


def array_function(array: Array, function: Function, types: Iterable[type], args: Any, kwargs: dict[str, Any]) -> Any:
    """Make a call of one of NumPy's functions: what ``Array.__array_function__`` does."""
    if not all(issubclass(t, Array | np.ndarray) for t in types):
        return NotImplemented
    if function in _LOOKS:
        return function(*_each(args, _view), **_each(kwargs, _view))
    ours = _ADAPTED.get(function) or _ours(function)
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    asked = _Asked(name, function, *_read(function, ours, args, kwargs), array)
    return asked.views() if function in _VIEWS else asked.answer(ours)


def array_ufunc(array: Array, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a call of a ufunc, or of one of its methods: what ``Array.__array_ufunc__`` does."""
    if any(foreign(x, "__array_ufunc__") and type(x) is not Array for x in (*inputs, *kwargs.get("out", ()))):
        return NotImplemented
    if method == "outer":
        first, second = (x if type(x) is Array else np.asarray(x) for x in inputs)
        method, inputs = "__call__", (first[(..., *[None] * second.ndim)], second)
    if method == "__call__" and not left_to_numpy.get():
        inputs = tuple([np.asarray(x) if isinstance(x, list | tuple) else x for x in inputs])
        if not _arrays(inputs):  # `out` is one
            inputs = (_package().asarray(inputs[0], device=array.device), *inputs[1:])
    if method == "__call__":
        return _Asked(ufunc.__name__, ufunc, inputs, kwargs, _UFUNC, array).answer(_ours(ufunc))
    if method in ("reduce", "accumulate"):
        kwargs = {"axis": 0} | kwargs
    asked = _Asked(f"{ufunc.__name__}.{method}", getattr(ufunc, method), inputs, kwargs, _UFUNC, array)
    return asked.answer(_named(_METHODS.get((ufunc, method))))


class _Asked(NamedTuple):
    """A call of NumPy's that has to do with an Array.

    Attributes
    ----------
    name : str
        Of the function, for people.
    function : callable
        NumPy's.
    args, kwargs
        The arguments; in `kwargs` are those that could be left out.
    defaults : mapping
        What NumPy takes for those that are.
    array : Array
        One of its arguments, or what its result is to be like.
    """

    name: str
    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    defaults: Mapping[str, Any]
    array: Array

    def views(self) -> Any:
        """Give views of the first argument, as NumPy does."""
        first, *others = self.args
        if left_to_numpy.get() or type(first) is not Array:
            return self.answer(None)
        found = self.function(view_of(first), *others, **self.kwargs)
        return _each(found, lambda view: make(view, first.device))

    def answer(self, ours: Function | None) -> Any:
        """Let our function compute, if there is one that takes all arguments."""
        if left_to_numpy.get():
            return self._on_host()
        if ours is None:
            return self._on_copies("mdhnp has no function of that meaning")
        taken = _signature(ours).parameters
        every = any(p.kind is p.VAR_KEYWORD for p in taken.values())
        given, out = {}, None
        for name, value in self.kwargs.items():
            known = _RENAMED.get(name, name)
            if known == "out":
                (out,) = value if type(value) is tuple else (value,)
            elif known in taken or every:
                given[known] = value
            elif not _same(value, self.defaults.get(name, _MISSING)):
                return self._on_copies(f"mdhnp's function of that meaning has no argument {name!r}")
        if "device" in taken and not _arrays(self.args):  # as in numpy.zeros(..., like=array)
            given["device"] = self.array.device
        if "out" in taken:
            return ours(*self.args, **given, out=out)
        return self._put(ours(*self.args, **given), out)

    def _put(self, result: Any, out: Any) -> Any:
        """Put a result into `out`, by the casting rule of NumPy's functions."""
        if out is None:
            return result
        if not np.can_cast(result.dtype, out.dtype, "same_kind"):
            raise TypeError(f"{self.name}: a result of {result.dtype} cannot be put into an array of {out.dtype}")
        return deliver(self.name, result, out)

    def _on_copies(self, reason: str) -> Any:
        """Let NumPy compute on copies, if the settings allow that."""
        if config.fallback != "numpy":
            raise TypeError(f"{self.name}: {reason}; copy Arrays by .numpy(), or set config.fallback to 'numpy'")
        device = device_of(self.name, _arrays((self.args, self.kwargs)) or [self.array])
        return brought(fallback(self.name, reason, self._on_host, ()), device)

    def _on_host(self) -> Any:
        """Let NumPy compute on copies, and bring what it puts into `out` back."""
        out = self.kwargs.get("out")
        copies = [(a, np.array(a.numpy())) for a in _arrays(out)]
        kwargs = self.kwargs if out is None else self.kwargs | {"out": _each(out, _swapped(copies))}
        found = self.function(*_each(self.args, _host), **_each(kwargs, _host))
        for a, copy in copies:
            a[...] = copy
        return _each(found, _swapped([(copy, a) for a, copy in copies]))


def _read(
    function: Function, ours: Function | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]:
    """Give arguments that cannot be left out, those that could, and what NumPy takes for these."""
    try:
        signature = _signature(function)
    except ValueError:  # NumPy before 2.4 tells not all of them; those functions of ours take the same arguments
        if ours is None:
            return args, kwargs, {}
        signature = _signature(ours)
    bound = signature.bind(*args, **kwargs).arguments
    needed: list[Any] = []
    left: dict[str, Any] = {}
    for p in signature.parameters.values():
        if p.name not in bound:
            continue
        if p.kind is p.VAR_POSITIONAL:
            needed += bound[p.name]
        elif p.kind is p.VAR_KEYWORD:
            left |= bound[p.name]
        elif p.default is p.empty or p.kind is p.POSITIONAL_ONLY:
            needed.append(bound[p.name])
        else:
            left[p.name] = bound[p.name]
    return tuple(needed), left, {p.name: p.default for p in signature.parameters.values()}


_signature = lru_cache(maxsize=512)(inspect.signature)


def _ours(function: Function) -> Function | None:
    """Give our function of the same meaning as NumPy's, if there is one."""
    return next((ours for name in _NAMES.get(function, ()) if (ours := _named(name)) is not None), None)


def _named(name: str | None) -> Function | None:
    """Give our function of a name."""
    package = sys.modules["mdhnp"]
    if name is None:
        return None
    module, _, last = name.rpartition(".")
    found = package.linalg if module else package
    return getattr(found, last) if last in found.__all__ else None


def _names() -> dict[Function, list[str]]:
    found: dict[Function, list[str]] = defaultdict(list)
    for module, prefix in ((np, ""), (np.linalg, "linalg.")):
        for name, value in vars(module).items():
            if callable(value) and not isinstance(value, type):
                found[value].append(prefix + name)
    return found


# Tables, of what NumPy's functions are before `mdhnp.patch` puts others in their place.

#: The names of NumPy's functions.
_NAMES = _names() | {np.amax: ["max"], np.amin: ["min"], np.around: ["round"]}
#: What methods of ufuncs mean.
_METHODS: Mapping[tuple[np.ufunc, str], str] = {
    (np.add, "reduce"): "sum", (np.multiply, "reduce"): "prod", (np.maximum, "reduce"): "max",
    (np.minimum, "reduce"): "min", (np.logical_and, "reduce"): "all", (np.logical_or, "reduce"): "any",
    (np.add, "accumulate"): "cumulative_sum", (np.multiply, "accumulate"): "cumulative_prod",
}  # fmt: skip
#: Arguments that have another name in the standard.
_RENAMED = {"a_min": "min", "a_max": "max", "ddof": "correction"}
#: What ufuncs take for arguments that are left out.
_UFUNC: Mapping[str, Any] = {
    "where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True, "keepdims": False,
}  # fmt: skip
#: Functions that look at shapes, types and addresses only.
_LOOKS = {
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.common_type, np.iscomplexobj, np.isrealobj,
    np.may_share_memory, np.shares_memory, np.einsum_path,
}  # fmt: skip
#: Functions that give views of their first argument.
_VIEWS = {
    np.array_split, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_to, np.diagonal, np.dsplit,
    np.expand_dims, np.flip, np.fliplr, np.flipud, np.hsplit, np.linalg.diagonal, np.linalg.matrix_transpose,
    np.matrix_transpose, np.moveaxis, np.rollaxis, np.rot90, np.split, np.squeeze, np.swapaxes, np.transpose,
    np.unstack, np.vsplit,
}  # fmt: skip


# Functions of NumPy's that are a line of ours.


def _concatenate(arrays: Any, /, axis: Any = 0) -> Any:
    return _package().concat(arrays, axis=axis)


def _vstack(tup: Any) -> Any:
    return _package().concat([np.atleast_2d(a) for a in tup], axis=0)


def _hstack(tup: Any) -> Any:
    arrays = [np.atleast_1d(a) for a in tup]
    return _package().concat(arrays, axis=min(arrays[0].ndim - 1, 1))


def _ravel(a: Array) -> Any:
    return a.ravel()


def _cumsum(a: Array, axis: Any = None, dtype: Any = None) -> Any:
    return a.cumsum(axis, dtype)


def _cumprod(a: Array, axis: Any = None, dtype: Any = None) -> Any:
    return a.cumprod(axis, dtype)


def _copy(a: Array) -> Array:
    return a.copy()


def _copyto(dst: Any, src: Any, casting: Any = "same_kind") -> None:
    if type(dst) is not Array:
        raise TypeError(f"copyto: dst must be an Array, since src is, not {type(dst).__name__}; copy src by .numpy()")
    if not np.can_cast(np.result_type(src), dst.dtype, casting):
        raise TypeError(f"copyto: {np.result_type(src)} cannot be put into {dst.dtype} by the rule {casting!r}")
    dst[...] = src


_ADAPTED: Mapping[Function, Function] = {
    np.concatenate: _concatenate, np.vstack: _vstack, np.hstack: _hstack, np.ravel: _ravel, np.cumsum: _cumsum,
    np.cumprod: _cumprod, np.copy: _copy, np.copyto: _copyto,
}  # fmt: skip


# Arrays among other arguments.


def _each(x: Any, change: Callable[[Any], Any]) -> Any:
    """Change what is in nested tuples, lists and dictionaries."""
    if isinstance(x, tuple):
        changed = [_each(e, change) for e in x]
        return type(x)(*changed) if hasattr(x, "_fields") else tuple(changed)
    if isinstance(x, list):
        return [_each(e, change) for e in x]
    return {key: _each(e, change) for key, e in x.items()} if isinstance(x, dict) else change(x)


def _arrays(x: Any) -> list[Array]:
    found: list[Array] = []
    _each(x, lambda e: found.append(e) if type(e) is Array else None)
    return found


def _view(x: Any) -> Any:
    return view_of(x) if type(x) is Array else x


def _host(x: Any) -> Any:
    return x.numpy() if type(x) is Array else x


def _swapped(pairs: list[tuple[Any, Any]]) -> Callable[[Any], Any]:
    """Give what exchanges the first ones of pairs for the second ones."""
    return lambda x: next((b for a, b in pairs if a is x), x)


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and isinstance(value, _PLAIN) and value == default)


_PLAIN, _MISSING = (bool, int, float, str), object()


def _package() -> Any:
    return sys.modules["mdhnp"]
