"""Building an MDH out of parts of others: what is read, and functions put together.

A new MDH has dimensions of its own; of an old one that becomes part of it each index is an affine function of these.
Values are numbered as in the graph that the old ones come from.
"""

import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mdhnp.mdh import Affine, Function, Instruction, View
from mdhnp.mdh.trace import Recorder
from mdhnp.mdh.views import Access

__all__ = ["Place", "Reads", "composed", "in_place", "unit"]

#: For each dimension of an old MDH, its index in those of the new one.
Place = tuple[Affine, ...]


def in_place(rank: int) -> Place:
    return tuple([Affine.of(d, rank) for d in range(rank)])


def unit(rank: int) -> Affine:
    """Give the index of the only point of a dimension."""
    return Affine((0,) * rank)


def composed(index: Affine, place: Place, rank: int) -> Affine:
    """Give an index of an old MDH in the dimensions of the new one."""
    steps, constant = [0] * rank, index.constant
    for c, old in zip(index.coefficients, place, strict=True):
        if c:
            constant += c * old.constant
            steps = [s + c * k for s, k in zip(steps, old.coefficients, strict=True)]
    return Affine(tuple(steps), constant)


class Reads:
    """What a new MDH reads, each access once, and its functions."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self._known: dict[tuple[int, View, Access], int] = {}

    def number(self, value: int, view: View, access: Access, place: Place) -> int:
        moved = tuple([composed(index, place, self.rank) for index in access])
        return self._known.setdefault((value, view.array, moved), len(self._known))

    def index(self, recorder: Recorder, place: Place) -> Callable[[int], int]:
        """Give what records the index that an old MDH had in a dimension."""

        def at(dim: int) -> int:
            index, whole = place[dim], np.dtype(np.int64)
            terms = [
                recorder.add(Instruction("index", (), whole, d)) * c for d, c in enumerate(index.coefficients) if c
            ]
            if index.constant or not terms:
                terms.append(recorder.constant(index.constant, whole))
            return int(sum(terms[1:], start=terms[0]).number)

        return at

    def views(self) -> tuple[tuple[View, ...], tuple[int, ...]]:
        together: dict[tuple[int, View], list[Access]] = {}
        for value, view, access in self._known:
            together.setdefault((value, view), []).append(access)
        names = string.ascii_uppercase if len(together) <= 14 else [f"A{n}" for n in range(len(together))]
        inputs = [
            replace(view, name=name, accesses=tuple(accesses))
            for name, ((_, view), accesses) in zip(names, together.items(), strict=False)
        ]
        return tuple(inputs), tuple([value for value, _ in together])

    def function(
        self, recorder: Recorder, results: Iterable[int], before: Sequence[np.dtype[Any]] = (), contract: bool = False
    ) -> Function:
        """Make the function of what was recorded; its parameters are some of those types, then all that is read."""
        inputs, values = self.views()
        order = [(n, view, access) for n, view in zip(values, inputs, strict=True) for access in view.accesses]
        places = {
            self._known[value, view.array, access]: len(before) + n for n, (value, view, access) in enumerate(order)
        }
        body = [
            replace(s, position=places[s.position - len(before)])
            if s.op == "param" and s.position >= len(before)
            else s
            for s in recorder.body
        ]
        parameters = (*before, *[view.dtype for _, view, _ in order])
        return Function(tuple(parameters), tuple(body), tuple(results), None, contract)
