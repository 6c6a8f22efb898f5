"""Operands whose elements are indices: in each call looked at before anything reads where they say, or sorted."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import make
from mdhnp.calls.reach import reach
from mdhnp.calls.sorting import group
from mdhnp.mdh import Graph, Sorting, axes_of_indices, check_indices

if TYPE_CHECKING:  # which loads OpenCL
    from mdhnp.runtime.devices import Device

_Take = Callable[[Sequence[npt.NDArray[Any]]], Sequence[npt.NDArray[Any]]]


def looking(graph: Graph, sortings: Sequence[Sorting], take: _Take | None, device: "Device | None") -> _Take:
    """Give what takes a call's inputs, and raises IndexError where an index among them names no element.

    What sorting gives are the last ones, made so that they are right. `device` is where all are. If it has memory of
    its own it sorts those of one axis, and says how far indices reach, for which it is waited for, unless it said so of
    the same ones before; those that may be outside are copied.
    ValueError if indices are computed by another step, where nobody could look at them, TypeError if they are on
    several devices.
    """
    steps = [(s.mdhom.last, s.inputs) for s in graph.steps if s.mdhom.last.looked_at]
    given = graph.given - sum([len(s.shapes) for s in sortings])
    asked = []
    for h, inputs in steps:
        made = {n for n, p in enumerate(inputs) if given <= p < graph.given}
        asked.append((h, inputs, made, axes_of_indices(h, made)))
    for h, inputs in steps:
        for number in h.looked_at:
            name = h.inputs[number].name
            if inputs[number] >= graph.given:
                raise ValueError(
                    f"{name}: indices must be given: those that the same function computes are not checked"
                )
            if device is not None and device.several:
                raise TypeError("arrays on several devices cannot be indexed by arrays; bring them to one by to_device")
    away = device if device is not None and device.own_memory else None

    def taken(operands: Sequence[npt.NDArray[Any]]) -> Sequence[npt.NDArray[Any]]:
        found = [*(operands if take is None else take(operands))]
        seen: dict[int, npt.NDArray[Any]] = {}

        def read(number: int) -> npt.NDArray[Any]:
            if away is None:
                return found[number]
            if number not in seen:
                seen[number] = away.memory.download(away, found[number])
            return seen[number]

        def inside(number: int, axis: int) -> bool:
            if away is None or number in seen:
                return False
            reached = reach(away, found[number])
            return reached is not None and reached <= axis

        for s in sortings:
            view = found[s.source]
            if away is not None and view.ndim == 1 and view.size and inside(s.source, s.extent):
                found += [each._view for each in group(make(view, away), s.extent)]
            else:
                sent = s.sort(read(s.source))
                found += sent if away is None else [away.memory.upload(away, each) for each in sent]
        for h, inputs, made, axes in asked:
            if axes is not None and all([inside(inputs[n], axis) for n, axis in axes.items()]):
                continue
            sources = {*h.looked_at} - made
            arrays = [read(p) if n in sources else found[p] if p < len(found) else None for n, p in enumerate(inputs)]
            check_indices(h, arrays, made)  # type: ignore[arg-type]  # others are not read
        return found

    return taken


def stand_ins(sortings: Sequence[Sorting]) -> list[npt.NDArray[Any]]:
    """Give arrays as sorting gives them, but for elements."""
    return [np.empty(shape, np.intp) for s in sortings for shape in s.shapes]
