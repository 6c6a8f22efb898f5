"""Calls on Arrays: which device they run on, and what they give.

An Array's view is an operand like any other, so a call on Arrays is one on their views, on their device.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.arrays.nested import each
from mdhnp.calls.operands import addressable, unsupported

if TYPE_CHECKING:  # which loads OpenCL
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
    return each(result, lambda found: found if type(found) is Array else make(np.asarray(found), device))


def brought(result: Any, device: "Device") -> Any:
    """Give what NumPy has computed on the host as Arrays; what kernels do not compute with stays what it is."""

    def one(found: Any) -> Any:
        if not isinstance(found, np.ndarray | np.generic):
            return found
        (plain,) = addressable((found,))
        return found if unsupported((plain,)) else make(transfer.put(plain, device), device)

    return each(result, one)
