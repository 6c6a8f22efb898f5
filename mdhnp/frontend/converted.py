"""What NumPy's functions that make ndarrays give of arrays without values: the arrays, while functions are traced.

NumPy asks no array what these mean of it, but for its elements, of which there are none yet. So switches stand in their
place while a function is traced; what they are given by others, in this thread or another one, goes to NumPy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mdhnp.arrays.array import Array, view_of
from mdhnp.calls.switches import Switches

Function = Callable[..., Any]


def _is_traced(x: Any) -> bool:
    return x.device.passing if type(x) is Array else isinstance(x, list | tuple) and any([_is_traced(e) for e in x])


def _converted(x: Any, dtype: Any, order: Any, copy: Any) -> Any:
    """Give an array, or what a list of such is stacked to, in a type and memory order."""
    if type(x) is not Array:
        parts = [_converted(e, None, None, None) if _is_traced(e) else np.asarray(e) for e in x]
        x = np.stack([p.astype(np.result_type(*parts), copy=False) for p in parts])
    if dtype is not None and np.dtype(dtype) != x.dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        x = x.astype(dtype)
    flags = view_of(x).flags
    if order == "F" and not flags.f_contiguous:
        return x.T.copy().T
    return x.copy() if copy or (order == "C" and not flags.c_contiguous) else x


def _as(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None) -> Any:
    return _converted(a, dtype, order, copy)


def _contiguous(order: str) -> Function:
    return lambda a, dtype=None, *, like=None: np.atleast_1d(_converted(a, dtype, order, None))


def _new(
    object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: Any = False, ndmin: int = 0,
    like: Any = None,
) -> Any:  # fmt: skip
    found = _converted(object, dtype, order, copy)
    return found[(None,) * (ndmin - found.ndim)] if ndmin > found.ndim else found


def _switch(ours: Function) -> Callable[[Function], Function]:
    def choose(numpys: Function) -> Function:
        def function(*args: Any, **kwargs: Any) -> Any:
            asked = args and _is_traced(args[0]) and not kwargs.get("subok")  # as masked arrays do, which need elements
            return (ours if asked else numpys)(*args, **kwargs)

        return function

    return choose


#: To be counted while a function is traced.
switches = Switches([
    ("numpy", "asarray", _switch(_as)), ("numpy", "asanyarray", _switch(_as)), ("numpy", "array", _switch(_new)),
    ("numpy", "ascontiguousarray", _switch(_contiguous("C"))), ("numpy", "asfortranarray", _switch(_contiguous("F"))),
])  # fmt: skip
