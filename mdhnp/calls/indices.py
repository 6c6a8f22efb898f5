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
_Looks = Callable[[Sequence[npt.NDArray[Any]]], None]


def looking(
    graph: Graph, sortings: Sequence[Sorting], take: _Take | None, device: "Device | None"
) -> tuple[_Take | None, _Looks | None]:
    """Give what takes a call's inputs, and what raises IndexError where an index among them names no element.

    Where an index has to be brought to the host, or is sorted, what takes the inputs does both.
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

    def looks(found: Sequence[npt.NDArray[Any]]) -> None:
        for h, inputs in steps:
            check_indices(h, [found[p] for p in inputs])

    if away is None and not sortings and all([p < graph.given for _, inputs in steps for p in inputs]):
        return take, looks

    def taken(operands: Sequence[Any]) -> Sequence[Any]:
        here = _Inputs([*(operands if take is None else take(operands))], away)
        found = here.found
        for s in sortings:
            view = found[s.source]
            if away is not None and view.ndim == 1 and view.size and here.inside(s.source, s.extent):
                found += [each._view for each in group(make(view, away), s.extent, s.piece)]
            else:
                sent = s.sort(here.read(s.source))
                found += sent if away is None else [away.memory.upload(away, each) for each in sent]
        for h, inputs, made, axes in asked:
            if axes is not None and all([here.inside(inputs[n], axis) for n, axis in axes.items()]):
                continue
            sources = h.index_sources  # also those by which others are read that are looked at
            arrays = [
                here.read(p) if n in sources else found[p] if p < len(found) else None for n, p in enumerate(inputs)
            ]
            check_indices(h, arrays, made)  # type: ignore[arg-type]  # others are not read
        return found

    return taken, None


class _Inputs:
    """A call's inputs, which are `away` from the host if that is a device; those that were copied are not again."""

    __slots__ = ("_away", "_seen", "found")

    def __init__(self, found: list[npt.NDArray[Any]], away: "Device | None") -> None:
        self.found, self._away = found, away
        self._seen: dict[int, npt.NDArray[Any]] = {}

    def read(self, number: int) -> npt.NDArray[Any]:
        """Give an input's elements on the host."""
        if self._away is None:
            return self.found[number]
        if number not in self._seen:
            self._seen[number] = self._away.memory.download(self._away, self.found[number])
        return self._seen[number]

    def inside(self, number: int, axis: int) -> bool:
        """Whether a device says that all elements of an input are indices of an axis of so many elements."""
        if self._away is None or number in self._seen:
            return False
        reached = reach(self._away, self.found[number])
        return reached is not None and reached <= axis


def stand_ins(sortings: Sequence[Sorting]) -> list[npt.NDArray[Any]]:
    """Give arrays as sorting gives them, but for elements."""
    return [np.empty(shape, np.intp) for s in sortings for shape in s.shapes]
