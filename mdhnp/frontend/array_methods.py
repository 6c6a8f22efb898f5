"""What Arrays compute by operators, methods and indices: calls of the package's functions, attached to the class.

`arrays/` holds the datum and knows none of these functions; importing this module completes it.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array, each, is_array, make
from mdhnp.arrays.sparse import SparseArray
from mdhnp.calls.arrays import brought
from mdhnp.calls.operands import check_cast, check_order, fallback, not_copied
from mdhnp.frontend.array_adapted import on_host, package
from mdhnp.frontend.array_functions import array_function, array_ufunc
from mdhnp.frontend.contraction import ELLIPSIS
from mdhnp.frontend.creation import asarray, assign
from mdhnp.frontend.indexing import VIEWED, check_mask, elements_for, is_mask, put, put_on_host, selected, spread
from mdhnp.frontend.pairwise import keep_order
from mdhnp.frontend.public import repeatable

__all__: list[str] = []

#: An ndarray or a number; what an operator takes beside lists, tuples and pyopencl's arrays.
_PLAIN = (np.ndarray, np.generic, int, float, complex)
_OPERANDS = (Array, *_PLAIN)


def _is_operand(x: Any) -> bool:
    """Whether an operator takes it; what is made of lists and tuples may have operators of its own."""
    return isinstance(x, _OPERANDS) or type(x) in (list, tuple) or is_array(x)


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Return an operator, the one with operands exchanged, and the one that changes the array."""
    found_again = repeatable(numbers=name in _OF_NUMBERS)

    @found_again
    def operator(self: Array, other: Any) -> Any:
        return getattr(package(), name)(self, other) if _is_operand(other) else NotImplemented

    @found_again
    def exchanged(self: Array, other: Any) -> Any:
        return getattr(package(), name)(other, self) if _is_operand(other) else NotImplemented

    def in_place(self: Array, other: Any) -> Any:
        result = operator(self, other)
        if result is NotImplemented:
            return NotImplemented
        view, found = self._view, result._view
        if not self.device.own_memory and found.dtype == view.dtype and found.shape == view.shape:
            view[...] = found
            return self
        check_cast(name, result.dtype, self.dtype)
        if result.shape != self.shape:
            raise ValueError(f"{name}: a result of shape {result.shape} cannot be put into one of {self.shape}")
        self[...] = result
        return self

    return operator, exchanged, in_place


def _unary(name: str) -> Callable[..., Any]:
    def operator(self: Array) -> Any:
        return getattr(package(), name)(self)

    return _told(name, operator)


def _method(name: str) -> Callable[..., Any]:
    def method(self: Array, *others: Any, **options: Any) -> Any:
        place: Any = package() if options.get("out") is None else np  # NumPy's functions put results of ours there
        return getattr(place, name)(self, *others, **options)

    return _told(name, method)


def _told(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    method.__name__ = name
    method.__doc__ = f"Call :func:`mdhnp.{name}` with the array, and with arguments as it takes them after it."
    return repeatable(numbers=name in _OF_NUMBERS)(method)


class _Methods:
    """What the class `Array` gets beside the tables'."""

    def __getattr__(self: Any, name: str) -> Any:
        """Say what helps where an ndarray has such a method (`partition`, `put`, …) and an Array has not."""
        if hasattr(Array, name) or name.startswith("_") or not hasattr(np.ndarray, name):
            return object.__getattribute__(self, name)  # raises what it raised before: also a property's own error
        helps = not_copied([self]) or "copy it by .numpy()"
        raise AttributeError(f"an Array has no {name!r}, since mdhnp has no function of that meaning; {helps}")

    def cumsum(self: Any, axis: int | None = None, dtype: Any = None) -> Any:
        """Return the sums of all elements up to each one, along an axis or among all elements in C order.

        Examples
        --------
        >>> import mdhnp
        >>> mdhnp.asarray([1, 2, 3]).cumsum().numpy()
        array([1, 3, 6])
        """
        return package().cumulative_sum(self.ravel() if axis is None else self, axis or 0, dtype=dtype)

    def cumprod(self: Any, axis: int | None = None, dtype: Any = None) -> Any:
        """Return the products of all elements up to each one, as :meth:`cumsum` gives sums."""
        return package().cumulative_prod(self.ravel() if axis is None else self, axis or 0, dtype=dtype)

    def sort(self: Any, axis: int = -1, kind: Any = None, *, stable: bool = False) -> None:
        """Put the elements in order along an axis, in place; see :func:`mdhnp.sort`.

        Examples
        --------
        >>> import mdhnp
        >>> a = mdhnp.asarray([3, 1, 2], copy=True)
        >>> a.sort()
        >>> a.tolist()
        [1, 2, 3]
        """
        self[...] = package().sort(self, axis, kind, stable=stable)

    def diagonal(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """Give a view of what lies where two axes' indices are the same, or `offset` apart.

        Examples
        --------
        >>> import mdhnp
        >>> mdhnp.asarray([[1, 2], [3, 4]]).diagonal().tolist()
        [1, 4]
        """
        return make(self._view.diagonal(offset, axis1, axis2), self.device)

    def __divmod__(self: Any, other: Any) -> Any:
        """Give quotients that are rounded down, and what is left over."""
        return (self // other, self % other) if _is_operand(other) else NotImplemented

    def __rdivmod__(self: Any, other: Any) -> Any:
        """Divide another operand, likewise."""
        return (self.__rfloordiv__(other), self.__rmod__(other)) if _is_operand(other) else NotImplemented

    @repeatable()
    def astype(self: Any, dtype: "npt.DTypeLike", *, copy: bool = True) -> Array:
        """Convert the elements, as ``ndarray.astype`` does; see :func:`mdhnp.astype`.

        Examples
        --------
        >>> import mdhnp
        >>> mdhnp.asarray([1.5, -1.5]).astype("int8").numpy()
        array([ 1, -1], dtype=int8)
        """
        return package().astype(self, dtype, copy=copy)

    @property
    def imag(self: Any) -> Any:
        """The imaginary parts: of complex numbers a view, else zeros."""
        return make(self._view.imag, self.device) if self.dtype.kind == "c" else package().zeros_like(self)

    @repeatable()
    def reshape(self: Any, *shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
        """Return the elements in another shape: a view where strides allow, else a copy; see :func:`mdhnp.reshape`.

        Examples
        --------
        >>> import mdhnp
        >>> mdhnp.arange(6).reshape(2, -1).tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
        return package().reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)

    @repeatable()
    def ravel(self: Any, order: Any = "C") -> Any:
        """Return the elements along one axis, in an order of NumPy's: a view where strides allow, else a copy."""
        return package().reshape(self if order == "C" else _walked(self, order)[0], (-1,))

    @repeatable()
    def flatten(self: Any, order: Any = "C") -> Any:
        """Return a copy of the elements along one axis, in an order of NumPy's."""
        return package().reshape(self if order == "C" else _walked(self, order)[0], (-1,), copy=True)

    @repeatable()
    def copy(self: Any, order: Any = "C") -> Array:
        """Return a new array of the same elements, which lie in an order of NumPy's.

        Examples
        --------
        >>> import mdhnp
        >>> a = mdhnp.zeros(2)
        >>> b = a.copy()
        >>> b[0] = 7
        >>> a.tolist()
        [0.0, 0.0]
        """
        if order == "C":
            return asarray(self, copy=True)
        walked, axes = _walked(self, order)
        return asarray(walked, copy=True).transpose(np.argsort(axes).tolist())

    __copy__ = copy

    def __deepcopy__(self: Any, memo: Any) -> Array:
        return asarray(self, copy=True)

    def to_device(self: Any, device: Any, /, *, stream: None = None) -> Array:
        """Return the array on another device; itself where it is there.

        Raises
        ------
        ValueError
            If a stream is given: devices here have one each.
        NoDeviceError
            If there is no such device.

        Examples
        --------
        >>> import mdhnp
        >>> a = mdhnp.asarray([1.0, 2.0])
        >>> a.to_device(a.device) is a
        True
        """
        if stream is not None:
            raise ValueError("to_device: stream must be None, for a device has one queue")
        return asarray(self, device=device)

    def __contains__(self, value: Any) -> bool:
        """Whether an element equals a value, or a part that of another array."""
        equal = self == value
        return equal is not False and bool(package().any(equal))

    @repeatable(least=2)
    def __getitem__(self: Any, key: Any) -> Array:
        """Return a view of some of the elements, by whole numbers, slices, ``None`` and ``...``, else a new array.

        Arrays of whole numbers name elements, arrays of booleans those where they are true, as NumPy's do; devices with
        memory of their own are waited for, so that these can be looked at. Other keys are IndexErrors, or NumPy's on a
        copy where ``config.fallback`` is "numpy".
        """
        keys = _of_view(key)
        if keys is not None:
            return make(self._view[keys], self.device)
        if (found := selected(self, key if type(key) is tuple else (key,))) is not None:
            return found
        return brought(_by_numpy(self, "getitem", key, lambda: self.numpy()[each(key, on_host)]), self.device)

    @repeatable(least=2)
    def __setitem__(self: Any, key: Any, value: Any) -> None:
        """Put elements into a part of the array, converted by NumPy's rules.

        Keys are those of reading; of what arrays of indices put in one place the last value stays. An array of booleans
        has its number of true ones read if elements are put there one after the other.
        """
        keys, parts = _of_view(key), key if type(key) is tuple else (key,)
        if is_mask(key):
            check_mask(self, key)
        by_kernels = self.device.own_memory and not (self.device.passing or self.device.several)
        if not self.device.own_memory and not (type(value) is Array and value.device is not self.device):
            if keys is not None and isinstance(value, _PLAIN):
                self._view[key] = value
                return
            held = [each(given, on_host) if type(given) in (list, tuple) else given for given in (*parts, value)]
            put_on_host(self, held[:-1], held[-1])
        elif keys is not None:
            place = self[keys]
            # Only arrays may have more axes than a part, of one element, and not where that is no view but an element.
            exact = isinstance(value, list | tuple) or not (place.ndim or Ellipsis in parts)
            if exact and np.ndim(value) > place.ndim:
                np.empty((), self.dtype)[()] = np.empty(value.shape) if type(value) is Array else value  # its error
            assign(place, value)
        elif is_mask(key) and (np.ndim(value) <= self.ndim - key.ndim or self.device.own_memory):
            mask: Any = key[(..., *[None] * (self.ndim - key.ndim))]
            value = elements_for(self, value)
            if np.ndim(value) > self.ndim - key.ndim:
                value = spread(value, key, self.shape)
            assign(self, package().where(mask, value, self))
        elif not (by_kernels and put(self, key, elements_for(self, value))):

            def changed() -> Any:
                copy = np.array(self.numpy())
                copy[each(key, on_host)] = each(value, on_host)
                return copy

            here = not self.device.own_memory and not self.device.passing
            self[...] = changed() if here else _by_numpy(self, "setitem", key, changed)

    __array_function__, __array_ufunc__ = array_function, array_ufunc

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the package, which has the array API standard's functions."""
        offered = ("2021.12", "2022.12", "2023.12", package().__array_api_version__)
        if api_version not in (None, *offered):
            raise ValueError(f"api_version: {api_version!r} is none of {', '.join(offered)}")
        return package()


def _of_sparse(self: SparseArray, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
    """Call :func:`mdhnp.matmul` for NumPy's; TypeError for its other ufuncs, which take no sparse operands."""
    if ufunc is np.matmul and method == "__call__":
        return package().matmul(*operands, **options)
    raise TypeError(f"{ufunc.__name__}: a SparseArray does not support ufuncs but matmul; mdhnp.einsum takes it, too")


def _walked(a: Array, order: Any) -> tuple[Array, list[int]]:
    """Return a view in whose C order elements are in an order of NumPy's, and which axes it has; never the array."""
    letter, labels = check_order("C" if order is None else order, [a._view]), ELLIPSIS[: a.ndim]
    walked = {"C": labels, "F": labels[::-1]}.get(letter) or keep_order((labels,), labels, [a._view])
    axes = [labels.index(label) for label in walked]
    return a.transpose(axes), axes


def _of_view(key: Any) -> tuple[Any, ...] | None:
    """Return a key that makes NumPy give a view, also of a single element; None if it is none."""
    keys = key if type(key) is tuple else (key,)
    if any([not isinstance(index, VIEWED) or isinstance(index, bool) for index in keys]):
        return None
    return keys if Ellipsis in keys else (*keys, ...)


def _by_numpy(array: Array, name: str, key: Any, compute: Callable[[], Any]) -> Any:
    """Let NumPy index a copy by values, which are known only when they are read, if the settings allow it to copy."""
    if (helps := not_copied([array])) is not None:
        parts = key if type(key) is tuple else (key,)
        named = ", ".join([f"{part.dtype}" if hasattr(part, "dtype") else type(part).__name__ for part in parts])
        known = isinstance(key, float | complex | str)  # which is none of NumPy's keys either
        raise IndexError(
            f"only integers, slices (`:`), ellipsis (`...`), None and arrays of integers or booleans are indices of an "
            f"Array, not {named}{'' if known else f'; {helps}'}"
        )
    return fallback(name, "indices are values", compute, ())


#: The package's functions that operators of two operands call. They take numbers, ndarrays and pyopencl's arrays beside
#: Arrays; what is not on the device is copied to it.
_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
_COMPARISONS = {
    "lt": "less", "gt": "greater", "le": "less_equal", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip
#: Of all those functions, the ones that call the same whatever numbers they are given.
_OF_NUMBERS = {*_BINARY.values(), *_COMPARISONS.values(), "clip"} - {"pow", "matmul"}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}
#: Methods that are functions of the same names, which say what they take.
_SAME = """
    sum prod mean min max argmin argmax argsort all any clip round conj dot nonzero repeat searchsorted squeeze swapaxes
    take trace var std
"""

_made: dict[str, Any] = {name: _method(name) for name in _SAME.split()}
_made |= {f"__{name}__": _unary(function) for name, function in _UNARY.items()}
_made |= {f"__{name}__": _binary(function)[0] for name, function in _COMPARISONS.items()}
for _name, _function in _BINARY.items():
    _made |= zip((f"__{_name}__", f"__r{_name}__", f"__i{_name}__"), _binary(_function), strict=True)
for _name, _member in (_made | vars(_Methods)).items():
    if callable(_member) or isinstance(_member, property):
        setattr(Array, _name, _member)
        if inspect.isfunction(_function := inspect.unwrap(_member)):
            _function.__qualname__ = f"Array.{_name}"  # which Python's errors say
for _name, _member in ({n: _made[n] for n in ("__matmul__", "__rmatmul__")} | {"__array_ufunc__": _of_sparse}).items():
    setattr(SparseArray, _name, _member)
