"""Tuned entries and calls' times as JSON files that travel, between machines and with the package: FFTW's "wisdom".

A file is ``{"format": …, "version": 1, "entries": […], "times": […]}``; an entry holds its key's fields under "key",
and its own; of "times" each has a "key", too, and "seconds" by plan. It must not know the database.
"""

import importlib.resources
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from mdhnp.tuning.cache.records import BestSchedule, Key, Times, expect, read_entry, read_key

T = TypeVar("T")

_FORMAT = "mdhnp wisdom"
_VERSION = 1


def wisdom_of(entries: Iterable[tuple[Key, BestSchedule]], times: Mapping[Key, Times]) -> str:
    """Give the text of a file with entries and times; equal ones give equal texts."""
    listed = [{"key": asdict(key), **entry.fields()} for key, entry in entries]
    timed = [{"key": asdict(key), "seconds": dict(sorted(each.items()))} for key, each in times.items()]
    for found in (listed, timed):
        found.sort(key=lambda fields: json.dumps(fields["key"]))
    content = {"format": _FORMAT, "version": _VERSION, "entries": listed, "times": timed}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_whole(path: Path, text: str) -> None:
    """Write a file, whole or not at all, else OSError."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(temporary, 0o644)  # it is made to be given away
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def read_wisdom(text: str, name: str) -> tuple[list[tuple[Key, BestSchedule]], dict[Key, Times]]:
    """Read the text of a file, which error messages call by a name.

    ValueError if anything in it is wrong: which field of the first such entry, counted from 0.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f'{name}: not a file of tuned entries: "format" is not "{_FORMAT}"')
    if content.get("version") != _VERSION:
        raise ValueError(f"{name}: version {content.get('version')!r}; this mdhnp reads version {_VERSION}")

    def read(part: str, what: str, from_json: Callable[[Any], T]) -> Iterator[T]:
        if not isinstance(content.get(part), list):
            raise ValueError(f'{name}: "{part}" is not a list')
        for number, fields in enumerate(content[part]):
            try:
                yield from_json(fields)
            except ValueError as error:
                raise ValueError(f"{name}: {what} {number}: {error}") from error

    return list(read("entries", "entry", _read_pair)), dict(read("times", "time", _read_times))


@cache
def shipped_entries() -> dict[Key, BestSchedule]:
    """Give the entries that come with the package; a file that cannot be read is left out, with a warning."""
    folder = importlib.resources.files("mdhnp.tuning.cache") / "shipped"
    entries: dict[Key, BestSchedule] = {}
    files = [file for file in folder.iterdir() if file.name.endswith(".json")] if folder.is_dir() else []
    for file in sorted(files, key=lambda file: file.name):
        try:
            found, _ = read_wisdom(file.read_text(encoding="utf-8"), file.name)
        except (OSError, ValueError) as error:
            warnings.warn(f"tuned entries of this installation cannot be read: {error}", RuntimeWarning, stacklevel=2)
            continue
        for key, entry in found:
            if key not in entries or entry.seconds < entries[key].seconds:
                entries[key] = replace(entry, source="shipped")
    return entries


def _read_pair(fields: Any) -> tuple[Key, BestSchedule]:
    entry = read_entry(fields)
    key = read_key(fields.get("key"))
    if len(entry.schedule.num_wg) != len(key.extents):
        raise ValueError(f"schedule: for {len(entry.schedule.num_wg)} dimensions, the key has {len(key.extents)}")
    return key, entry


def _read_times(fields: Any) -> tuple[Key, Times]:
    listed = expect(expect(fields, dict, "it").get("seconds"), dict, "seconds")
    seconds = {plan: expect(each, float, f"seconds: {plan}") for plan, each in listed.items()}
    for plan, each in seconds.items():
        if not (isfinite(each) and each > 0):
            raise ValueError(f"seconds: {plan}: {each} is no time")
    return read_key(fields.get("key")), seconds
