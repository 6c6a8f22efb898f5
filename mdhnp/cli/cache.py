"""`mdhnp cache`: the tuned schedules that are kept: lists, shows, exports, imports, forgets and checks them."""

import hashlib
import json
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from statistics import median
from typing import get_args

import click

from mdhnp.cli.output import OutputFile, draw, duration, outcomes, plot_option, print_table, shorten, writing
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.runtime.devices import NoDeviceError, equal_devices, find_devices
from mdhnp.runtime.handle import Runtime
from mdhnp.schedule import Schedule
from mdhnp.tuning.cache import BestSchedule, Key
from mdhnp.tuning.cache import cache as tuning_cache
from mdhnp.tuning.cache.records import Measurement, printable
from mdhnp.tuning.cache.wisdom import shipped_entries
from mdhnp.tuning.lookup import GENERATOR

_device_option = click.option(
    "--device", metavar="TEXT", help="Only entries of this device: its runtime, or a part of what `list --all` shows."
)


@click.group()
def cache() -> None:
    """Look after the tuned schedules that are kept."""


@cache.command("list")
@_device_option
@click.option("--all", "everywhere", is_flag=True, help="Those of devices and drivers that are not here, too.")
def list_(device: str | None, everywhere: bool) -> None:
    """List the entries for this machine's devices: your own, and those that came with the package."""
    known = _known()
    chosen = {key: entry for key, entry in known.items() if _is_on(key, device)}
    _check_device(device, chosen, known)
    present = {name for name in {key.device for key in chosen} if everywhere or equal_devices(name)}
    rows = [
        (
            identifier_of(key), shorten(entry.mdh, 80), _extents_of(key), _device_of(key), duration(entry.seconds),
            str(entry.evaluations), entry.tuned_at[:10], _source_of(entry),
        )
        for key, entry in chosen.items() if key.device in present
    ]  # fmt: skip
    if rows:
        titles = ("id", "mdh", "extents", "device", "time", "evaluations", "date", "source")
        print_table(titles, rows, right=("time", "evaluations"))
    click.echo(f"{_entries(len(rows))} in {tuning_cache().path}")
    shipped = [entry.source == "shipped" for key, entry in chosen.items() if key.device not in present]
    for which, whose in (
        (False, "of other machines or drivers"),
        (True, "from the package, for other devices"),
    ):
        if count := shipped.count(which):
            click.echo(f"{_entries(count)} {whose}: `--all` lists them, too")
    _warn()


@cache.command()
@click.argument("identifier", metavar="ID")
@plot_option
def show(identifier: str, plot: Path | None) -> None:
    """Show one entry: its schedule, and all that was measured for it."""
    key, entry = _find(identifier)
    measurements = tuning_cache().measurements(key)
    _print_facts({
        "id": identifier_of(key),
        "mdh": entry.mdh,
        "extents": _extents_of(key),
        "device": key.device,
        "generator": key.generator,
        "time": duration(entry.seconds),
        "tuned at": f"{entry.tuned_at}, after {entry.evaluations} schedules",
        "source": _source_of(entry),
    })  # fmt: skip
    _print_schedule(entry.schedule, key.extents)
    _print_facts(_measured(measurements))
    if plot is not None:
        if not measurements:
            raise click.UsageError(f"nothing to draw: no measurements of {identifier} are kept here")
        with writing(plot):
            draw(plot, [(f"{entry.mdh}, {_extents_of(key)}", measurements)])
        click.echo(f"drawn: {plot}")


@cache.command()
@click.argument("file", type=OutputFile())
def export(file: Path) -> None:
    """Write your own entries to a JSON file.

    Other machines with the same device and driver can import it.
    """
    with writing(file):
        count = tuning_cache().export(file)
    others = sum(entry.objective != "time" for _, entry in tuning_cache().entries())
    said = f", {others} of which {'was' if others == 1 else 'were'} not tuned for the time (see `list --all`)"
    click.echo(f"{_entries(count)} written to {file}{said if others else ''}")


@cache.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def import_(file: Path) -> None:
    """Add the entries of a file that `export` wrote.

    What was tuned here stays.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            count = tuning_cache().import_(file)
        except (ValueError, OSError) as error:
            raise click.UsageError(printable(str(error), "\n")) from error
    click.echo(f"{_entries(count)} added to {tuning_cache().path}")
    for each in told:
        click.echo(f"Warning: {each.message}", err=True)
    _warn()


@cache.command()
@click.argument("identifier", metavar="[ID]", required=False)
@_device_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def clear(identifier: str | None, device: str | None, yes: bool) -> None:
    """Forget your own entries: one, those of a device, or all.

    With them goes everything that was measured for them.
    """
    known = tuning_cache()
    if identifier is not None and device is not None:
        raise click.UsageError("either an ID or --device, not both")
    own = dict(known.entries())
    _check_device(device, [key for key in own if _is_on(key, device)], own)
    if identifier is not None:
        key, _ = _find(identifier)
        if key not in own:
            raise click.UsageError(f"{identifier} came with the package and stays")
        chosen = [key]
    else:
        chosen = [key for key in own if _is_on(key, device)]
    if not yes:
        click.confirm(f"Forget {_entries(len(chosen))} of {known.path}?", abort=True)
    everything = identifier is None and device is None
    # Without a key, measurements of which no entry came go, too.
    count = known.clear() if everything else sum(known.clear(key) for key in chosen)
    click.echo(f"{_entries(count)} forgotten")


@cache.command()
@click.pass_context
def verify(ctx: click.Context) -> None:
    """Check the file and its entries.

    The exit status is 1 if anything is wrong.
    """
    known = tuning_cache()
    problems = known.verify(GENERATOR)
    for problem in problems:
        click.echo(printable(problem))
    click.echo(f"{len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'} in {known.path}")
    ctx.exit(1 if problems else 0)


def _known() -> dict[Key, BestSchedule]:
    """All entries that a call may find: the user's own, and those of the package that they do not replace."""
    own = dict(tuning_cache().entries())
    return own | {key: entry for key, entry in shipped_entries().items() if key not in own}


def _find(identifier: str) -> tuple[Key, BestSchedule]:
    """Give the entry whose identifier begins with this."""
    found = [pair for pair in _known().items() if identifier_of(pair[0]).startswith(identifier.lower())]
    if len(found) != 1:
        problem = f"{len(found)} entries begin with" if found else "no entry has"
        raise click.UsageError(f"{problem} the id {identifier!r}; see `mdhnp cache list --all`")
    return found[0]


def _check_device(device: str | None, chosen: Collection[Key], known: Iterable[Key]) -> None:
    """Refuse the name of a device that neither is here nor has entries."""
    if device is None or chosen:
        return
    try:
        find_devices(device)
    except NoDeviceError:
        names = printable(", ".join(sorted({key.device.partition("|")[0] for key in known}))) or "none"
        raise click.BadParameter(
            f"{device!r} is neither a device of this machine nor one with entries (runtimes that have some: {names})",
            param_hint="--device",
        ) from None


def _is_on(key: Key, device: str | None) -> bool:
    """Say whether an entry is of a device: of this runtime, or with this text in its name or driver."""
    if device is None:
        return True
    wanted, known = device.lower(), key.device.lower()
    # PoCL names its device after the processor, often "…Intel(R)…": a runtime's name means the runtime.
    return wanted == known.partition("|")[0] if wanted in get_args(Runtime) else wanted in known


def _entries(count: int) -> str:
    return f"{count or 'no'} {'entry' if count == 1 else 'entries'}"


def _warn() -> None:
    if (trouble := tuning_cache().trouble) is not None:
        click.echo(f"Warning: the file cannot be used, and what is changed now will be lost: {trouble}", err=True)


def identifier_of(key: Key) -> str:
    """Name a key: the same in every process and on every machine."""
    return hashlib.sha256(json.dumps(astuple(key)).encode()).hexdigest()[:8]


def _source_of(entry: BestSchedule) -> str:
    return entry.source if entry.objective == "time" else f"{entry.source} for {entry.objective}"


def _extents_of(key: Key) -> str:
    return "×".join(map(str, key.extents)) or "one point"


def _device_of(key: Key) -> str:
    """Name the device, without its driver and its capabilities."""
    runtime, _, rest = key.device.partition("|")
    return f"{rest.split('|')[0]} ({runtime})" if rest else runtime


def _print_schedule(s: Schedule, extents: Sequence[int]) -> None:
    """Print a schedule: its sizes in a table with a row for each dimension, then all of it, as Python."""
    names = dimension_names(len(extents))
    sizes = zip(extents, s.num_wg, s.num_wi, s.local_tile, s.private_tile, strict=True)
    vectors = [f"of {s.vector_width}" if d == s.vector_dim and s.vector_width > 1 else "" for d in range(len(names))]
    rows = [(name, *map(str, row), vector) for name, row, vector in zip(names, sizes, vectors, strict=True)]
    titles = ("dimension", "extent", "work-groups", "work-items", "local tile", "private tile", "vectors")
    print_table(titles, rows, right=titles[1:])
    _print_facts({"schedule": repr(s)})


def _measured(measurements: Sequence[Measurement]) -> dict[str, str]:
    times = sorted(m.seconds for m in measurements if m.status == "ok" and m.seconds is not None)
    facts = {"measured": f"{len(measurements)} schedules in all{': ' if measurements else ''}{outcomes(measurements)}"}
    if times:
        facts["times"] = f"best {duration(times[0])}, median {duration(median(times))}, worst {duration(times[-1])}"
    return facts


def _print_facts(facts: Mapping[str, str]) -> None:
    for name, text in facts.items():
        click.echo(f"{name:<15}{printable(text)}")
