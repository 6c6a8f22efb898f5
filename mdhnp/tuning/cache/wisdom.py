"""Tuned entries as JSON files that travel: from machine to machine, and with the package. "Wisdom", as FFTW calls it.

A file is ``{"format": "mdhnp wisdom", "version": 1, "entries": [...]}``; an entry holds the fields of :class:`Key`
under "key", and those of :class:`Entry`. It must not know the database.
"""

import importlib.resources
import json
import os
import tempfile
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from mdhnp.tuning.cache.records import Entry, Key, read_schedule

__all__ = ["read_wisdom", "shipped_entries", "write_wisdom"]

_FORMAT = "mdhnp wisdom"
_VERSION = 1
_SAID = 5  # problems in an error's message


def write_wisdom(path: str | os.PathLike[str], entries: Iterable[tuple[Key, Entry]]) -> None:
    """Write entries to a file, whole or not at all; equal entries give equal files.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    listed = [_to_json(key, entry) for key, entry in entries]
    listed.sort(key=lambda fields: json.dumps(fields["key"]))
    text = json.dumps({"format": _FORMAT, "version": _VERSION, "entries": listed}, indent=1, ensure_ascii=False)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")
        os.chmod(temporary, 0o644)  # it is made to be given away
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def read_wisdom(text: str, name: str) -> list[tuple[Key, Entry]]:
    """Read the text of a file.

    Parameters
    ----------
    text : str
        What :func:`write_wisdom` wrote.
    name : str
        What error messages call it.

    Raises
    ------
    ValueError
        If anything in it is wrong: which field of which entry, counted from 0.

    Examples
    --------
    >>> read_wisdom('{"format": "mdhnp wisdom", "version": 1, "entries": []}', "empty.json")
    []
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f'{name}: not a file of tuned entries: "format" is not "{_FORMAT}"')
    if content.get("version") != _VERSION:
        raise ValueError(f"{name}: version {content.get('version')!r}; this mdhnp reads version {_VERSION}")
    if not isinstance(content.get("entries"), list):
        raise ValueError(f'{name}: "entries" is not a list')
    found, problems = [], []
    for number, fields in enumerate(content["entries"]):
        try:
            found.append(_from_json(fields))
        except ValueError as error:
            problems.append(f"entry {number}: {error}")
    if problems:
        more = f"; and {len(problems) - _SAID} more" if len(problems) > _SAID else ""
        raise ValueError(f"{name}: {'; '.join(problems[:_SAID])}{more}")
    return found


@cache
def shipped_entries() -> dict[Key, Entry]:
    """Give the entries that come with the package; a file that cannot be read is left out, with a warning."""
    folder = importlib.resources.files("mdhnp.tuning.cache") / "shipped"
    entries: dict[Key, Entry] = {}
    files = sorted(folder.iterdir(), key=lambda file: file.name) if folder.is_dir() else []
    for file in files:
        if not file.name.endswith(".json"):
            continue
        try:
            found = read_wisdom(file.read_text(encoding="utf-8"), file.name)
        except (OSError, ValueError) as error:
            warnings.warn(f"tuned entries of this installation cannot be read: {error}", RuntimeWarning, stacklevel=2)
            continue
        for key, entry in found:
            if key not in entries or entry.seconds < entries[key].seconds:
                entries[key] = replace(entry, source="shipped")
    return entries


def _to_json(key: Key, entry: Entry) -> dict[str, Any]:
    return {
        "key": asdict(key),
        "mdh": entry.mdh,
        "seconds": entry.seconds,
        "evaluations": entry.evaluations,
        "tuned_at": entry.tuned_at,
        "source": entry.source,
        "schedule": json.loads(entry.schedule.to_json()),
    }


def _from_json(fields: Any) -> tuple[Key, Entry]:
    _expect(fields, dict, "it")
    for name, kind in (("key", dict), ("mdh", str), ("evaluations", int), ("tuned_at", str), ("source", str)):
        _expect(fields.get(name), kind, name)
    if type(fields.get("seconds")) is int:
        fields["seconds"] = float(fields["seconds"])
    _expect(fields.get("seconds"), float, "seconds")
    key = fields["key"]
    for name in ("family", "exact", "device", "generator"):
        _expect(key.get(name), str, f"key: {name}")
    _expect(key.get("extents"), list, "key: extents")
    if not all(type(n) is int and n >= 1 for n in key["extents"]):
        raise ValueError("key: extents: not all are integers of at least 1")
    schedule = read_schedule(json.dumps(fields.get("schedule")))
    if len(schedule.num_wg) != len(key["extents"]):
        raise ValueError(f"schedule: for {len(schedule.num_wg)} dimensions, the key has {len(key['extents'])}")
    return (
        Key(key["family"], tuple(key["extents"]), key["exact"], key["device"], key["generator"]),
        Entry(schedule, fields["seconds"], fields["evaluations"], fields["tuned_at"], fields["mdh"], fields["source"]),
    )


def _expect(value: Any, kind: type, name: str) -> None:
    if type(value) is not kind:
        found = "missing" if value is None else f"{value!r:.40}"
        raise ValueError(f"{name}: not {_KINDS[kind]}: {found}")


_KINDS = {dict: "an object", list: "a list", str: "a text", int: "an integer", float: "a number"}
