"""One tuned entry in words: what it is for, its schedule, and what was measured until it was found."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from statistics import median

import click

from mdhnp.cli.output import duration, outcomes, print_table
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.schedule import LocalCopy, Schedule
from mdhnp.tuning.cache.records import Entry, Key, Measurement

__all__ = ["device_of", "extents_of", "identifier_of", "print_entry"]


def identifier_of(key: Key) -> str:
    """Name a key: the same in every process and on every machine."""
    return hashlib.sha256(json.dumps(astuple(key)).encode()).hexdigest()[:8]


def extents_of(key: Key) -> str:
    """Write the extents down."""
    return "×".join(map(str, key.extents)) or "one point"


def device_of(key: Key) -> str:
    """Name the device, without its driver and its capabilities."""
    runtime, _, rest = key.device.partition("|")
    return f"{rest.split('|')[0]} ({runtime})" if rest else runtime


def print_entry(key: Key, entry: Entry, measurements: Sequence[Measurement]) -> None:
    """Print everything about an entry."""
    facts = {
        "id": identifier_of(key),
        "mdh": entry.mdh,
        "extents": extents_of(key),
        "device": key.device,
        "generator": key.generator,
        "time": duration(entry.seconds),
        "tuned at": f"{entry.tuned_at}, after {entry.evaluations} schedules",
        "source": entry.source,
    }
    _print_facts(facts)
    _print_schedule(entry.schedule, key.extents)
    _print_facts(_measured(measurements))


def _print_schedule(s: Schedule, extents: Sequence[int]) -> None:
    """Print a schedule: its sizes in a table with a row for each dimension, then its other decisions."""
    names = dimension_names(len(extents))
    sizes = zip(extents, s.num_wg, s.num_wi, s.local_tile, s.private_tile, strict=True)
    vectors = [f"of {s.vector_width}" if d == s.vector_dim and s.vector_width > 1 else "" for d in range(len(names))]
    rows = [(name, *map(str, row), vector) for name, row, vector in zip(names, sizes, vectors, strict=True)]
    titles = ("dimension", "extent", "work-groups", "work-items", "local tile", "private tile", "vectors")
    print_table(titles, rows, right=titles[1:])
    orders = {
        "tiles": s.global_order, "in a tile": s.local_order, "points": s.private_order,
        "work-groups": s.group_order, "work-items": s.item_order,
    }  # fmt: skip
    _print_facts({
        "local copies": "; ".join(f"input {n}: {_copy(c)}" for n, c in enumerate(s.local_copies) if c) or "none",
        "in flight": f"{s.stages} local tiles" if s.stages > 1 else "one local tile",
        "tiles": f"stream along {names[s.streamed]}" if s.streamed >= 0 else "one by one",
        "products": _products(s, names),
        "in registers": ", ".join(f"input {n}" for n, c in enumerate(s.private_copies) if c) or "none",
        "results": f"in {s.results} memory between tiles of a reduction",
        "combined": _combined(s),
        "orders": "; ".join(f"{what} {' '.join(names[d] for d in dims)}" for what, dims in orders.items()),
        "second kernel": str(s.second) if s.second is not None else "its default schedule, where there is one",
    })  # fmt: skip


def _combined(s: Schedule) -> str:
    if s.combine_on == "global":
        return "after all local tiles"
    return "after each local tile" if s.combine_every == 1 else f"after each {s.combine_every} local tiles"


def _products(s: Schedule, names: Sequence[str]) -> str:
    if not s.atom:
        return "one by one"
    rows, columns, terms = (names[d] for d in s.atom_dims)
    return f"by matrix instruction {s.atom}, rows {rows}, columns {columns}, terms {terms}"


def _copy(copy: LocalCopy) -> str:
    blocked = f", blocked by the private tile of axes {_list(copy.blocked)}" if copy.blocked else ""
    pad = f", rows padded by {copy.pad}" if copy.pad else ""
    return f"axes {_list(copy.order)}{blocked}{pad}"


def _measured(measurements: Sequence[Measurement]) -> dict[str, str]:
    times = sorted(m.seconds for m in measurements if m.status == "ok" and m.seconds is not None)
    facts = {"measured": f"{len(measurements)} schedules in all{': ' if measurements else ''}{outcomes(measurements)}"}
    if times:
        facts["times"] = f"best {duration(times[0])}, median {duration(median(times))}, worst {duration(times[-1])}"
    return facts


def _print_facts(facts: Mapping[str, str]) -> None:
    for name, text in facts.items():
        click.echo(f"{name:<15}{text}")


def _list(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
