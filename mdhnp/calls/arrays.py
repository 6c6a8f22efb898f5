"""Calls on Arrays: which device they run on, what they give, and those that the host computes.

An Array's view is an operand like any other, so a call on Arrays is one on their views, on their device. The host
computes, by NumPy's own functions, what no MDH does in as few operations, or whose result's size depends on values:
sorting, factorisations of matrices, Fourier transforms. It does on the memory of Arrays where that is the host's, else
on copies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, each, is_array, make
from mdhnp.arrays.opencl import adopted
from mdhnp.calls import observe
from mdhnp.calls.observe import is_constant
from mdhnp.calls.operands import addressable, unsupported
from mdhnp.settings import config

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.runtime.handle import Device


def device_of(function: str, operands: Sequence[Any]) -> "Device":
    """Give the one device of all Arrays among operands, of which there is one at least; ValueError names several.

    What stands for several devices takes Arrays of others as well, and a function that is traced any.
    """
    found = [(n, a.device) for n, a in enumerate(operands) if type(a) is Array]
    wide = [d for _, d in found if d.passing] or [d for _, d in found if d.several]
    if wide and (wide[0].passing or len(set(wide)) == 1):
        return wide[0]
    first, device = found[0]
    for n, other in found:
        if other is not device:
            one, two = (f"operand {m} is on {d.name} ({d.runtime})" for m, d in ((first, device), (n, other)))
            raise ValueError(f"{function}: {one}, {two}; bring them together by to_device")
    return device


def on_device(
    operands: Sequence[Any], device: "Device", convert: Callable[[Sequence[Any]], tuple[Any, ...]]
) -> tuple[Any, ...]:
    """Give the views of operands, of which those that are no Arrays are brought to the device."""
    if not device.own_memory:
        return tuple([a._view if type(a) is Array else a for a in operands])
    found = []
    for a in operands:
        if type(a) is Array and a.device is device:
            found.append(a._view)
            continue
        if device.several:
            (a,) = (a,) if type(a) is Array else convert((a,))
            found.append(a if unsupported((a,)) and type(a) is not Array else device.memory.lent(a))
            continue
        (plain,) = convert((a.numpy() if type(a) is Array else a,))
        if unsupported((plain,)) is None:
            few = plain.nbytes <= transfer.FEW
            plain = transfer.constant(plain, device) if few else transfer.put(plain, device)
        found.append(plain)
    return tuple(found)


def wrapped(result: Any, device: "Device") -> Any:
    """Give what a call on views gives as Arrays."""
    if type(result) is np.ndarray:  # as most calls give
        return make(result, device)
    if type(result) is tuple or type(result) is list:  # sooner than by `each`
        return type(result)([make(a, device) if type(a) is np.ndarray else wrapped(a, device) for a in result])
    return each(result, lambda found: found if type(found) is Array else make(np.asarray(found), device))


def brought(result: Any, device: "Device") -> Any:
    """Give what NumPy has computed on the host as Arrays; what kernels do not compute with stays what it is."""

    def one(found: Any) -> Any:
        if not isinstance(found, np.ndarray | np.generic):
            return found
        (plain,) = addressable((found,))
        return found if unsupported((plain,)) else make(transfer.put(plain, device), device)

    return each(result, one)


# Functions that the host computes.

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
    return wrapped(function(*plain, **options), device)


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
        tracer: Any = device
        why = " is computed on the host, from elements, which there are none of yet"
        raise tracer.error(f"fuse: {name}", f"{why}; do it to what the function takes, or gives")
    if device.own_memory and config.fallback == "error":
        raise TypeError(f"{name} is computed on the host, for which Arrays are copied; copy them by .numpy()")
    found = compute()
    if observe.blocks:
        observe.note(OnHost(name, device.own_memory), ())
    return brought(found, device)
