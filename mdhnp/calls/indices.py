"""Operands whose elements are indices: in each call looked at before anything reads where they say, or sorted."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import make
from mdhnp.calls.handwritten import group, reach
from mdhnp.mdh import Graph, Sorting, axes_of_indices, check_indices

if TYPE_CHECKING:  # which loads OpenCL
    from mdhnp.runtime.devices import Device

_Prepare = Callable[[Sequence[npt.NDArray[Any]]], Sequence[npt.NDArray[Any]]]


def preparing(graph: Graph, sortings: Sequence[Sorting], device: "Device | None") -> _Prepare | None:
    """Give what kernels need before them: it takes a call's inputs, and gives them with what sorting makes of them.

    It raises IndexError where an index among them names no element; None where nothing is to be looked at, nor sorted.
    `device` is where all are. If it has memory of its own it sorts those of one axis, and says how far indices reach,
    for which it is waited for, unless it said so of the same ones before; those that may be outside are copied.
    ValueError if indices are computed by another step, where nobody could look at them, TypeError if they are on
    several devices.
    """
    steps = [(s.mdhom.last, s.inputs) for s in graph.steps if s.mdhom.last.looked_at]
    if not steps and not sortings:
        return None
    given = graph.given - sum([len(s.shapes) for s in sortings])
    asked = []
    for h, inputs in steps:
        made = {n for n, p in enumerate(inputs) if given <= p < graph.given}
        asked.append((h, inputs, made, axes_of_indices(h, made)))
        for number in h.looked_at:
            if inputs[number] >= graph.given:
                name = h.inputs[number].name
                raise ValueError(
                    f"{name}: indices must be given: those that the same function computes are not checked"
                )
            if device is not None and device.several:
                raise TypeError("arrays on several devices cannot be indexed by arrays; bring them to one by to_device")
    away = device if device is not None and device.own_memory else None

    def prepared(inputs: Sequence[npt.NDArray[Any]]) -> Sequence[npt.NDArray[Any]]:
        here = _Inputs([*inputs], away)
        found = here.found
        for s in sortings:
            view = found[s.source]
            if away is not None and view.ndim == 1 and view.size and here.inside(s.source, s.extent):
                found += [each._view for each in group(make(view, away), s.extent, s.piece)]
            else:
                sent = s.sort(here.read(s.source))
                found += sent if away is None else [away.memory.upload(away, each) for each in sent]
        for h, places, made, axes in asked:
            if axes is not None and all([here.inside(places[n], axis) for n, axis in axes.items()]):
                continue
            sources = h.index_sources  # also those by which others are read that are looked at
            arrays = [
                here.read(p) if n in sources else found[p] if p < len(found) else None for n, p in enumerate(places)
            ]
            check_indices(h, arrays, made)  # type: ignore[arg-type]  # others are not read
        return found

    return prepared


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
