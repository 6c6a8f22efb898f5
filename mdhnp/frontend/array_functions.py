"""NumPy's functions and ufuncs on Arrays: which of ours they mean.

NumPy has every function of the array API standard by the standard's name, beside its own name where that is another. So
the names of a function say which of ours it means. Functions that look at shapes and types only, and those that give
views, are NumPy's own, on the Arrays' views. All others are TypeErrors, or NumPy's on copies where the settings say so.
"""

import inspect
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mdhnp.arrays.array import Array, each, make
from mdhnp.calls.arrays import brought, computed, device_of
from mdhnp.calls.operands import check_cast, deliver, fallback, foreign, left_to_numpy, not_copied
from mdhnp.frontend.array_adapted import ADAPTED, on_host, package
from mdhnp.frontend.composed import COMPOSED, UFUNCS

Function = Callable[..., Any]


def array_function(array: Array, function: Function, types: Iterable[type], args: Any, kwargs: dict[str, Any]) -> Any:
    """Make a call of one of NumPy's functions, by the package's function of its meaning."""
    if not all([issubclass(t, _OURS) for t in types]):
        return NotImplemented
    if function in _LOOKS:
        return function(*each(args, _view), **each(kwargs, _view))
    meaning = _of_function(function)
    call = _Call(meaning, function, *_read(meaning, args, kwargs), array)
    if function in _BY_HOST:
        return call.by_host()
    return call.views() if function in _VIEWS else call.answer()


def array_ufunc(array: Array, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Make a call of a ufunc or of one of its methods, by the package's function of its meaning."""
    for x in (*inputs, *kwargs.get("out", ())):
        if type(x) is not Array and foreign(x, "__array_ufunc__"):
            return NotImplemented
    if method == "outer":
        first, second = (x if type(x) is Array else np.asarray(x) for x in inputs)
        method, inputs = "__call__", (first[(..., *[None] * second.ndim)], second)
    if method in ("reduce", "accumulate"):
        kwargs = {"axis": 0} | kwargs
    function = ufunc if method == "__call__" else getattr(ufunc, method)
    return _Call(_of_ufunc(ufunc, method), function, inputs, kwargs, array).answer()


class _Meaning(NamedTuple):
    """What a function of NumPy's means here: its name, ours, the names of our arguments, and NumPy's defaults."""

    name: str
    ours: Function | None
    takes: Container[str]
    defaults: Mapping[str, Any]
    signature: inspect.Signature | None = None
    needed: int | None = None  #: arguments that cannot be left out, if none may be more than one


class _Call(NamedTuple):
    """A call of NumPy's with an Array among its arguments, or as what its result is to be like.

    In `kwargs` are the arguments that could be left out.
    """

    meaning: _Meaning
    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    array: Array

    def views(self) -> Any:
        """Return views of the first argument, as NumPy does."""
        first, *others = self.args
        if left_to_numpy.get() or type(first) is not Array:
            return self.answer()
        found = self.function(first._view, *others, **self.kwargs)
        return each(found, lambda view: make(view, first.device))

    def by_host(self) -> Any:
        """Let NumPy compute on the host, as it does all calls of the function."""
        if left_to_numpy.get():
            return self._on_host()
        device = device_of(self.meaning.name, _arrays((self.args, self.kwargs)) or [self.array])
        return computed(self.function, device, self._on_host)

    def answer(self) -> Any:
        """Let our function compute, if there is one that takes all arguments."""
        if left_to_numpy.get():
            return self._on_host()
        _, ours, takes, defaults, *_ = self.meaning
        if ours is None:
            return self._on_copies("mdhnp has no function of that meaning")
        given: dict[str, Any] = {}
        out, where = None, True
        for name, value in self.kwargs.items():
            known = _RENAMED.get(name, name)
            if known == "out":
                out = value[0] if type(value) is tuple and len(value) == 1 else value
            elif known == "where" and type(self.function) is np.ufunc and self.kwargs.get("out") is not None:
                where = value
            elif known in takes:
                given[known] = value
            elif not _same(value, defaults.get(name, _MISSING)):
                return self._on_copies(f"mdhnp's function of that meaning has no argument {name!r}")
        if "out" in takes and out is not None:
            return ours(*self.args, **given, out=out)
        result = ours(*self._operands(given), **given)
        if out is None:
            return result
        if where is not True:
            result = np.where(where, result, out)
        put, name = [], self.meaning.name
        for found, into in zip(result, out, strict=True) if type(out) is tuple else [(result, out)]:
            if into is not None:
                check_cast(name, found.dtype, into.dtype)
            put.append(found if into is None else deliver(name, found, into))
        return tuple(put) if type(out) is tuple else put[0]

    def _operands(self, given: dict[str, Any]) -> tuple[Any, ...]:
        """Return arguments as our functions take them, on the device where they do not tell which it is."""
        args = self.args
        if isinstance(self.function, np.ufunc):
            args = tuple([np.asarray(x) if isinstance(x, list | tuple) else x for x in args])
        if not any([type(x) is Array for x in args]) and not _arrays(args):
            if "device" in self.meaning.takes:  # numpy.zeros(..., like=array)
                given["device"] = self.array.device
            elif args:  # `out` is one
                args = (package().asarray(args[0], device=self.array.device), *args[1:])
        return args

    def _on_copies(self, reason: str) -> Any:
        """Let NumPy compute on copies, if the settings allow that."""
        name, arrays = self.meaning.name, _arrays((self.args, self.kwargs)) or [self.array]
        if (helps := not_copied(arrays)) is not None:
            raise TypeError(f"{name}: {reason}; {helps}")
        device = device_of(name, arrays)
        return brought(fallback(name, reason, self._on_host, ()), device)

    def _on_host(self) -> Any:
        """Let NumPy compute on copies, and bring what it puts into `out` back."""
        out = self.kwargs.get("out")
        copies = [(a, np.array(a.numpy())) for a in _arrays(out)]
        kwargs = self.kwargs if out is None else self.kwargs | {"out": each(out, _swapped(copies))}
        found = self.function(*each(self.args, on_host), **each(kwargs, on_host))
        for a, copy in copies:
            a[...] = copy
        return each(found, _swapped([(copy, a) for a, copy in copies]))


def _read(meaning: _Meaning, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Tell arguments that could be left out from others."""
    signature = meaning.signature
    if signature is None or len(args) == meaning.needed:
        return args, kwargs
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
    return tuple(needed), left


@lru_cache(maxsize=512)
def _of_function(function: Function) -> _Meaning:
    """Say what one of NumPy's functions means."""
    ours = ADAPTED.get(function) or COMPOSED.get(function) or _ours(function)
    if function is np.pad and ours is not None:
        ours = inspect.unwrap(ours)  # whose errors are NumPy's word for word, without the name before them
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    try:
        signature = inspect.signature(function)
    except ValueError:  # NumPy before 2.4 tells not all of them; those functions of ours take the same arguments
        if ours is None:
            return _Meaning(name, ours, (), {})
        signature = inspect.signature(ours)
    parameters = signature.parameters.values()
    defaults = {p.name: p.default for p in parameters}
    single = not any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
    needed = sum(p.default is p.empty for p in parameters) if single else None
    return _Meaning(name, ours, _takes(ours), defaults, signature, needed)


@lru_cache(maxsize=512)
def _of_ufunc(ufunc: np.ufunc, method: str) -> _Meaning:
    """Say what a ufunc or one of its methods means."""
    called = method == "__call__"
    ours = UFUNCS.get((ufunc, method)) or (_ours(ufunc) if called else _named(_METHODS.get((ufunc, method))))
    name = ufunc.__name__ if called else f"{ufunc.__name__}.{method}"
    return _Meaning(name, ours, _takes(ours), _LEFT_OUT)


def _takes(ours: Function | None) -> Container[str]:
    """Return the names of a function's arguments; those of NumPy's functions, where it takes any."""
    parameters = {} if ours is None else inspect.signature(ours).parameters
    return _Any() if any(p.kind is p.VAR_KEYWORD for p in parameters.values()) else frozenset(parameters)


class _Any:
    def __contains__(self, name: object) -> bool:
        return True


def _ours(function: Function) -> Function | None:
    return next((ours for name in _NAMES.get(function, ()) if (ours := _named(name)) is not None), None)


def _named(name: str | None) -> Function | None:
    if name is None:
        return None
    module, _, last = name.rpartition(".")
    found = getattr(package(), module) if module else package()
    return getattr(found, last) if last in found.__all__ else None


def _names() -> dict[Function, list[str]]:
    found: dict[Function, list[str]] = defaultdict(list)
    for module, prefix in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")):
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
_RENAMED = {"a_min": "min", "a_max": "max"}
#: What ufuncs take for arguments that are left out.
_LEFT_OUT: Mapping[str, Any] = {
    "where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True, "keepdims": False,
}  # fmt: skip
#: Functions that look at shapes, types and addresses only.
_LOOKS = {
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.common_type, np.iscomplexobj, np.isrealobj,
    np.may_share_memory, np.shares_memory, np.einsum_path,
}  # fmt: skip
#: Functions that the host computes.
_BY_HOST = {
    np.argpartition, np.argwhere, np.flatnonzero, np.lexsort, np.median, np.nanmedian, np.nanpercentile,
    np.nanquantile, np.partition, np.percentile, np.quantile, np.sort_complex,
    np.intersect1d, np.setdiff1d, np.setxor1d, np.union1d, np.unique,
    np.linalg.cholesky, np.linalg.cond, np.linalg.det, np.linalg.eig, np.linalg.eigh, np.linalg.eigvals,
    np.linalg.eigvalsh, np.linalg.inv, np.linalg.lstsq, np.linalg.matrix_rank, np.linalg.pinv, np.linalg.qr,
    np.linalg.slogdet, np.linalg.solve, np.linalg.svd, np.linalg.svdvals, np.linalg.tensorinv, np.linalg.tensorsolve,
    np.fft.fft, np.fft.fft2, np.fft.fftn, np.fft.hfft, np.fft.ifft, np.fft.ifft2, np.fft.ifftn, np.fft.ihfft,
    np.fft.irfft, np.fft.irfft2, np.fft.irfftn, np.fft.rfft, np.fft.rfft2, np.fft.rfftn,
}  # fmt: skip
#: Functions that give views of their first argument.
_VIEWS = {
    np.array_split, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.diagonal, np.dsplit, np.expand_dims,
    np.fliplr, np.flipud, np.hsplit, np.linalg.diagonal, np.linalg.matrix_transpose,
    np.matrix_transpose, np.moveaxis, np.rollaxis, np.rot90, np.split, np.squeeze, np.swapaxes, np.transpose,
    np.unstack, np.vsplit,
}  # fmt: skip


# Arrays among other arguments.


def _arrays(x: Any) -> list[Array]:
    found: list[Array] = []
    each(x, lambda e: found.append(e) if type(e) is Array else None)
    return found


def _view(x: Any) -> Any:
    return x._view if type(x) is Array else x


def _swapped(pairs: list[tuple[Any, Any]]) -> Callable[[Any], Any]:
    """Give what exchanges the first ones of pairs for the second ones."""
    return lambda x: next((b for a, b in pairs if a is x), x)


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and isinstance(value, _PLAIN) and value == default)


_PLAIN, _MISSING = (bool, int, float, str), object()
_OURS = (Array, np.ndarray)
