"""The search of a call's schedules among those that parameters describe, by a technique for any such space.

A parameter has the name of a field of :class:`Schedule`, or that and the number of a dimension or of an input, for one
of the field's values. What no parameter says is as in the default schedule where that is legal, and else follows from
the others as it does in every search.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from mdhnp.errors import raise_named
from mdhnp.mdh import Computation, MdHom
from mdhnp.schedule import DeviceCaps, IllegalSchedule, LocalCopy, Schedule, check
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.batch import RESULTS, Batch
from mdhnp.schedule.check import check_fields, check_second
from mdhnp.schedule.general import adapt
from mdhnp.schedule.schedule import INPUTS, SIZES, put
from mdhnp.tuning.search.parameters import Configuration, Parameter, Space, parameter
from mdhnp.tuning.search.search import Told
from mdhnp.tuning.search.space import schedule
from mdhnp.tuning.search.techniques import ModelGuided, Technique, asked, begun


def _names(h: Computation) -> dict[str, tuple[str, int | None]]:
    """Give the names that parameters of a stage's schedules may have, with the field and the number in it."""
    counts = dict.fromkeys(SIZES, h.rank) | dict.fromkeys(INPUTS, len(h.inputs))
    names: dict[str, tuple[str, int | None]] = {f.name: (f.name, None) for f in fields(Schedule)}
    return names | {f"{field}_{n}": (field, n) for field, count in counts.items() for n in range(count)}


class SpaceSearch(Told):
    """Proposes schedules for one stage in canonical form that a technique finds in a space; `start` is measured first.

    Without a space it is the usual one, without a technique the model-guided one. IllegalSchedule where schedules of
    the stage have no field of a parameter's name, and, when asked, where none that is described is legal.
    """

    def __init__(
        self,
        h: Computation,
        caps: DeviceCaps,
        start: Schedule,
        seed: int,
        space: Space | None,
        technique: Callable[[Space, int], Technique[Configuration]] | None,
    ) -> None:
        super().__init__()
        self._h, self._caps, self._start, self._access = h, caps, start, AccessPattern(h.last)
        self._described, self._names = space is not None, _names(h)
        space = Space(list(_usual(h, caps, start))) if space is None else space
        if unknown := [p.name for p in space.parameters if p.name not in self._names]:
            raise IllegalSchedule(f"tune: space: {unknown[0]!r} is none of {', '.join(sorted(self._names))}, of {h}")
        try:
            self._technique = begun(technique or ModelGuided, space, seed)
        except TypeError as error:
            raise_named("tune", error)
        self._asked: dict[Schedule, Configuration | None] = {}
        self._some_legal = False

    def ask(self) -> Schedule | None:
        """Give a schedule that was not asked for before; None where none is found any more."""
        if not self._asked:
            self._asked[self._start] = None
            return self._start
        configuration: Configuration = {}
        for configuration in asked(self._technique):
            found = self._of(configuration)
            self._some_legal |= found is not None
            if found is not None and found not in self._asked:
                self._asked[found] = configuration
                return found
            self._technique.tell(configuration, None if found is None else self._times.get(found))
        if not self._some_legal and self._described:
            try:
                self._check(self._with(self._start, configuration))
            except IllegalSchedule as error:
                raise IllegalSchedule(f"tune: space: has no legal schedule for {self._h}: {error}") from None
        return None

    def tell(self, schedule: Schedule, seconds: float | None) -> None:
        super().tell(schedule, seconds)
        if (configuration := self._asked.get(schedule)) is not None:
            self._technique.tell(configuration, seconds)

    def resume(self, log: Iterable[tuple[Schedule, float | None]]) -> None:
        """Begin anew: what other searches measured need not be of this space."""

    def _of(self, configuration: Configuration) -> Schedule | None:
        """Give the legal schedule that has a configuration's values; None where there is none."""
        said = self._with(self._start, configuration)
        with suppress(IllegalSchedule):
            check_fields(said, self._h.rank, len(self._h.inputs))
            for form in self._forms(said):
                for found in (one := self._with(form, configuration), adapt(self._h, one, self._caps)):
                    if found is not None and self._with(found, configuration) == found:
                        with suppress(IllegalSchedule):
                            self._check(found)
                            return found
        return None

    def _check(self, s: Schedule) -> None:
        check(self._h, s, self._caps)
        check_second(self._h, s, self._caps)

    def _forms(self, said: Schedule) -> Iterator[Schedule]:
        """Give a schedule with orders and layouts that suit its numbers, and with each place where results may wait."""
        if isinstance(self._h, MdHom) and not said.atom:
            for results in dict.fromkeys((said.results, *RESULTS)):
                yield schedule(self._access, Batch.of([replace(said, results=results)]), 0, self._caps)
        yield said

    def _with(self, s: Schedule, configuration: Mapping[str, Any]) -> Schedule:
        """Give a schedule with a configuration's values in place of its own; itself where it has them."""
        changed = dict[str, Any]()
        for name, value in configuration.items():
            field, n = self._names[name]
            if n is None:
                changed |= {"atom_dims": (), name: value} if name == "atom" and not value else {name: value}
                continue
            own = changed.get(field, getattr(s, field))
            if field == "local_copies" and isinstance(value, bool):
                value = (own[n] or LocalCopy(tuple(range(len(self._h.inputs[n].shape))))) if value else None
            changed[field] = put(own, n, value)
        return replace(s, **changed)


def _usual(h: Computation, caps: DeviceCaps, start: Schedule) -> Iterator[Parameter]:
    """Give the parameters of the usual space: tiles in powers of two or whole, copies, work-groups or work-items.

    On a CPU work-groups share the longest dimension, on a GPU work-items share all, and a local tile is their step but
    for reductions.
    """
    gpu, combined = caps.kind == "gpu", h.last.combined
    longest = max([d for d in range(h.rank) if d not in combined] or [0], key=lambda d: h.extents[d])
    for d, extent in enumerate(h.extents):
        lanes = start.vector_width if d == start.vector_dim else 1
        powers = [1 << n for n in range(extent.bit_length())]
        each = {"private_tile": [lanes * n for n in powers[:4]]}
        if not gpu or d in combined:
            each["local_tile"] = [lanes * n for n in powers if lanes * n < extent] + [extent]
        if gpu:
            each["num_wi"] = powers[:8]
        elif d == longest:
            each["num_wg"] = powers[: (4 * caps.compute_units).bit_length()]
        for name, values in each.items():
            yield parameter(f"{name}_{d}", sorted({getattr(start, name)[d], *values}))
    for n in range(len(h.inputs)):
        yield parameter(f"local_copies_{n}", [False, True])
    if start.atom:
        yield parameter("atom", ["", start.atom])
