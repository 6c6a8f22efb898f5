"""Functions that the host computes: NumPy's own, on the memory of Arrays where that is the host's, else on copies.

Such are functions that no MDH computes in as few operations, or whose result's size depends on values: sorting,
factorisations of matrices, Fourier transforms. What they give are Arrays where an operand is one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mdhnp.arrays.array import Array, is_array, make
from mdhnp.arrays.opencl import adopted
from mdhnp.calls import observe
from mdhnp.calls.arrays import brought, device_of, wrapped
from mdhnp.calls.recipes import is_constant
from mdhnp.settings import config

if TYPE_CHECKING:  # which loads OpenCL
    from mdhnp.runtime.handle import Device

Function = Callable[..., Any]


@dataclass(frozen=True)
class OnHost:
    """A function that the host has computed, for :func:`mdhnp.explain`."""

    #: For people.
    name: str
    #: Whether Arrays were copied for it, and what it gave.
    copied: bool


def by_host(function: Function, *operands: Any, **options: Any) -> Any:
    """Call a function of NumPy's with ndarrays in place of Arrays; gives Arrays if there are any.

    Errors are those of :func:`computed`.
    """
    if observe.learning and observe.is_called():
        constant = all(map(is_constant, options.values()))
        what = (partial(function, **options) if options else function) if constant else None
        return observe.called(what, observe.Kind.READS, operands, partial(by_host, function, *operands, **options))
    device, plain = None, []
    for a in operands:
        if type(a) is Array:
            if device is not a.device:
                device = a.device if device is None else device_of(function.__name__, operands)
            plain.append(a._view)
        else:
            plain.append(a)
    if device is None:
        if not any([is_array(a) for a in operands]):
            return function(*operands, **options)
        return by_host(function, *[adopted(a) if is_array(a) else a for a in operands], **options)
    if device.own_memory or observe.blocks:
        read = lambda: [a.numpy() if type(a) is Array else a for a in operands]  # noqa: E731
        return computed(function, device, lambda: function(*read(), **options))
    found = function(*plain, **options)
    if type(found) is np.ndarray:
        return make(found, device)
    if not isinstance(found, tuple):
        return wrapped(found, device)
    arrays = [make(np.asarray(a), device) for a in found]  # sooner than by `wrapped`
    return type(found)(*arrays) if hasattr(found, "_fields") else tuple(arrays)


def of_views(function: Function, x: Array, *others: Any, reads: bool = False) -> Any:
    """Give what a function makes of the views of Arrays, as Arrays: views, wherever elements are, unless it `reads`.

    All are on the device of the first one.
    """
    if observe.learning and observe.is_called():
        again, kind = partial(of_views, function, x, *others), observe.Kind.READS if reads else observe.Kind.VIEWS
        return observe.called(function, kind, (x, *others), again)
    found = function(x._view, *[a._view if type(a) is Array else a for a in others])
    return None if found is None else wrapped(found, x.device)


def computed(function: Function, device: "Device", compute: Callable[[], Any]) -> Any:
    """Give what a function of NumPy's gives, called by `compute`, as Arrays on a device.

    TracingError inside of `mdhnp.fuse`, where Arrays have no elements; TypeError where they would be copied, and
    ``config.fallback`` is "error".
    """
    name = f"{function.__module__}.{function.__name__}"
    if device.passing:
        from mdhnp.calls.tracing import TracingError, line

        raise TracingError(
            f"fuse: {name} {line()} is computed on the host, from elements, which there are none of yet; do it to what "
            "the function takes, or gives"
        )
    if device.own_memory and config.fallback == "error":
        raise TypeError(f"{name} is computed on the host, for which Arrays are copied; copy them by .numpy()")
    found = compute()
    if observe.blocks:
        observe.note(OnHost(name, device.own_memory), ())
    return brought(found, device)
