"""Kernel: a computation that is called on Arrays of one device, wherever their elements lie."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.calls.call import call
from mdhnp.calls.request import Described, Routine, results
from mdhnp.mdh import Computation
from mdhnp.mdh.pattern import array_view, as_lying
from mdhnp.runtime.handle import Device

NDArray = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class DeviceCall:
    """An MDH to be called on Arrays of one device, whatever their strides: known by itself, which costs no hash."""

    mdhom: Computation
    function: str  # of whose call it is part

    def __call__(self, device: Device, arrays: Sequence[NDArray], into: NDArray | None = None) -> tuple[Array, ...]:
        """Compute, on views of a device's memory; puts the only result into such a view, where there is one."""
        given = tuple([make(a, device) for a in arrays])
        if into is not None:
            call((_routine(self.function, True), self), (*given, make(into, device)), owners=(self,))
            return ()
        found = call((_routine(self.function, False), self), given, owners=(self,))
        if type(found) is Array:
            return (found,)
        each = found if isinstance(found, tuple) else (found,)
        return tuple([f if type(f) is Array else make(transfer.put(np.asarray(f), device), device) for f in each])


def _describe(arrays: Sequence[NDArray], kernel: DeviceCall) -> Described:
    h = as_lying(kernel.mdhom, arrays)
    return Described(h, None, results if len(h.outputs) > 1 else None)  # a single one is launched by compiled code


def _describe_into(arrays: Sequence[NDArray], kernel: DeviceCall) -> Described:
    h, (out,) = as_lying(kernel.mdhom, arrays[:-1]).last, kernel.mdhom.outputs  # nothing fused is put somewhere
    outputs = (array_view(out.name, arrays[-1], out.accesses),)
    return Described(replace(h, outputs=outputs), None, into=True)


@cache
def _routine(function: str, into: bool) -> Routine:
    return Routine(function, _describe_into if into else _describe)
