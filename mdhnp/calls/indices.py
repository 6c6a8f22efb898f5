"""Operands whose elements are indices, looked at in each call before anything reads where they say."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from mdhnp.mdh import Graph, check_indices

if TYPE_CHECKING:  # which loads OpenCL
    from mdhnp.runtime.devices import Device

_Take = Callable[[Sequence[npt.NDArray[Any]]], Sequence[npt.NDArray[Any]]]


def looking(graph: Graph, take: _Take | None, device: "Device | None") -> _Take:
    """Give what takes a call's inputs, and raises IndexError where an index among them names no element.

    `device` is where they are, if it has memory of its own: it is waited for then. ValueError if indices are computed
    by another step, where nobody could look at them, TypeError if they are on several devices.
    """
    asked = [(s.mdhom.last, s.inputs) for s in graph.steps if s.mdhom.last.looked_at]
    for h, inputs in asked:
        for number in h.looked_at:
            name = h.inputs[number].name
            if inputs[number] >= graph.given:
                raise ValueError(
                    f"{name}: indices must be given: those that the same function computes are not checked"
                )
            if device is not None and device.several:
                raise TypeError(f"{name}: indices are on several devices; bring arrays to one of them")

    def taken(operands: Sequence[npt.NDArray[Any]]) -> Sequence[npt.NDArray[Any]]:
        found = operands if take is None else take(operands)
        for h, inputs in asked:
            arrays: list[Any] = [found[n] if n < len(found) else None for n in inputs]
            if device is not None and device.own_memory:
                sources = h.looked_at
                arrays = [device.memory.download(device, a) if n in sources else a for n, a in enumerate(arrays)]
            check_indices(h, arrays)
        return found

    return taken
