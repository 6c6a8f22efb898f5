"""The search of a call's schedules among those that parameters describe, by a technique for any such space.

A parameter has the name of a field of :class:`Schedule`; a number behind it is that of a dimension or of an input. What
no parameter says is as in the default schedule where that is legal, and else follows from the others as it does in
every search.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mdhnp.mdh import Computation, MdHom
from mdhnp.schedule import DeviceCaps, IllegalSchedule, LocalCopy, Schedule, check
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.batch import RESULTS, Batch
from mdhnp.schedule.check import check_fields, is_legal
from mdhnp.schedule.fixed import in_fixed_order, is_fixed
from mdhnp.schedule.general import adapt
from mdhnp.tuning.search.parameters import Configuration, Parameter, Space, parameter
from mdhnp.tuning.search.search import Told
from mdhnp.tuning.search.space import schedule
from mdhnp.tuning.search.techniques import REPEATED, ModelGuided, Technique

#: Fields of a schedule that a parameter can be: with a value for each dimension, for each input, and for all of them.
_SIZES, _COPIES = ("num_wg", "num_wi", "local_tile", "private_tile"), ("local_copies", "private_copies")
_OTHERS = ("vector_dim", "vector_width", "results", "combine_on", "combine_every", "stages", "streamed", "atom")


def require_names(h: Computation, space: Space) -> None:
    """Raise ValueError where schedules of a stage have no field of a parameter's name."""
    sizes = [f"{f}_{d}" for f in _SIZES for d in range(h.rank)]
    names = {*sizes, *(f"{f}_{n}" for f in _COPIES for n in range(len(h.inputs))), *_OTHERS}
    if unknown := [p.name for p in space.parameters if p.name not in names]:
        raise ValueError(f"tune: space: {unknown[0]!r} is none of {', '.join(sorted(names))}, of {h}")


class SpaceSearch(Told):
    """Proposes schedules for one stage in canonical form that a technique finds in a space; `start` is measured first.

    Without a space it is the usual one, without a technique the model-guided one.
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
        self._described = space is not None
        space = Space(list(_usual(h, caps, start))) if space is None else space
        require_names(h, space)
        self._technique = (technique or ModelGuided)(space, seed)
        self._asked: dict[Schedule, Configuration | None] = {}
        self._last: Configuration = {}
        self._some_legal = False

    def ask(self) -> Schedule | None:
        """Give a schedule that was not asked for before; None where none is found any more."""
        if not self._asked:
            self._asked[self._start] = None
            return self._start
        for _ in range(REPEATED):
            if (configuration := self._technique.ask()) is None:
                break
            self._last, found = configuration, self._of(configuration)
            self._some_legal |= found is not None
            if found is not None and found not in self._asked:
                self._asked[found] = configuration
                return found
            self._technique.tell(configuration, None if found is None else self._times.get(found))
        if not self._some_legal and self._described:
            try:
                check(self._h, _with(self._h, self._start, self._last), self._caps)
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
        said = _with(self._h, self._start, configuration)
        others: dict[str, Any] = {name: value for name, value in configuration.items() if name in _OTHERS}
        with suppress(IllegalSchedule):
            check_fields(said, self._h.rank, len(self._h.inputs))
            for form in self._forms(said):
                for found in (one := replace(form, **others), adapt(self._h, one, self._caps)):
                    as_said = found is not None and _with(self._h, found, configuration) == found
                    if found is not None and as_said and is_legal(self._h, found, self._caps):
                        return found
        return None

    def _forms(self, said: Schedule) -> Iterator[Schedule]:
        """Give a schedule with orders and layouts that suit its numbers, and with each place where results may wait."""
        if isinstance(self._h, MdHom) and not said.atom:
            for results in dict.fromkeys((said.results, *RESULTS)):
                made = schedule(self._access, Batch.of([replace(said, results=results)]), 0, self._caps)
                yield in_fixed_order(self._h, made) if is_fixed(self._h) else made
        yield said


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


def _with(h: Computation, s: Schedule, configuration: Mapping[str, Any]) -> Schedule:
    """Give a schedule with a configuration's values in place of its own; itself where it has them."""
    for name, value in configuration.items():
        field, _, number = name.rpartition("_")
        if name == "atom" and not value:
            s = replace(s, atom="", atom_dims=())
        elif name in _OTHERS:
            s = replace(s, **{name: value})
        else:
            n, own = int(number), getattr(s, field)
            if field == "local_copies":
                value = (own[n] or LocalCopy(tuple(range(len(h.inputs[n].shape))))) if value else None
            changed: dict[str, Any] = {field: (*own[:n], value, *own[n + 1 :])}
            s = replace(s, **changed)
    return s
