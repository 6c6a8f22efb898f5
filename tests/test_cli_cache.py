"""The command line's `cache` commands: what they print of entries, and what they do to them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from commands import run
from tuning_entries import entry, fresh_cache, keep, key, measurement

import mdhnp
from mdhnp.cli import cache as cache_commands
from mdhnp.cli.cache import identifier_of
from mdhnp.runtime.devices import Device
from mdhnp.tuning.cache import TuningCache
from mdhnp.tuning.cache.records import Measurement
from mdhnp.tuning.lookup import GENERATOR


@pytest.fixture(autouse=True)
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TuningCache]:
    monkeypatch.setattr(cache_commands, "shipped_entries", dict)
    yield from fresh_cache(tmp_path, monkeypatch)


def test_cache_list_and_show(known: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("cache", "list").stdout == f"no entries in {known.path}\n"
    here, there, shipped = key(device="intel|Xeon|1"), key(device="pocl|pthread-Intel|3"), key(4, 5, 6)
    failed = Measurement(entry().schedule, None, "build", "no")
    keep(known, here, entry(0.0123), measurement(0), measurement(1), failed)
    known.put(there, entry())
    monkeypatch.setattr(cache_commands, "shipped_entries", lambda: {shipped: entry(), here: entry(1)})
    header, *rows, path = run("cache", "list", "--all").stdout.splitlines()
    assert header.split()[:2] == ["id", "mdh"] and path == f"3 entries in {known.path}"
    assert [row.split()[0] for row in rows] == [identifier_of(k) for k in (here, there, shipped)]
    for part in ("Xeon (intel)", "6×5×7", "12.3 ms", "50", "2026-02-03", "tuned", entry().mdh):
        assert part in rows[0]
    for text, chosen in {"intel": [here], "pthread": [there], "XEON": [here]}.items():
        rows = run("cache", "list", "--all", "--device", text).stdout.splitlines()[1:-1]
        assert [row.split()[0] for row in rows] == [identifier_of(k) for k in chosen]
    for command in (("list",), ("clear", "--yes")):
        said = run("cache", *command, "--device", "no such", status=2).stderr
        assert "'no such' is neither a device of this machine nor one with entries" in " ".join(said.split())

    shown = run("cache", "show", identifier_of(here)[:6].upper()).stdout
    facts = {line[:15].strip(): line[15:] for line in shown.splitlines()}
    assert facts["device"] == "intel|Xeon|1" and facts["time"] == "12.3 ms"
    assert facts["measured"] == "3 schedules in all: 2 ok, 1 build"
    assert facts["times"] == "best 1.00 ms, median 501 ms, worst 1.00 s"
    assert eval(facts["schedule"], {n: getattr(mdhnp.tuning, n) for n in ("Schedule", "LocalCopy")}) == entry().schedule
    assert re.search(r"^j +5 +1 +1 +5 +1 +of 8$", shown, re.M)
    nothing = run("cache", "show", identifier_of(there), "--plot", known.path.parent / "x.png", status=2)
    assert "no measurements" in nothing.stderr
    assert "no entry has the id 'x'" in run("cache", "show", "x", status=2).stderr
    assert "3 entries begin with" in run("cache", "show", "", status=2).stderr


def test_cache_list_shows_other_machines_entries_only_when_asked(
    known: TuningCache, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = key(device=device.identity), key(device=f"{device.identity}0")
    known.put(there, entry())
    hint = "1 entry of other machines or drivers: `--all` lists them, too\n"
    assert run("cache", "list").stdout == f"no entries in {known.path}\n{hint}"
    known.put(here, entry())
    for arguments, shown, last in (((), [here], hint), (("--all",), [here, there], f"2 entries in {known.path}\n")):
        printed = run("cache", "list", *arguments).stdout
        assert [identifier_of(k) in printed for k in (here, there)] == [k in shown for k in (here, there)]
        assert printed.endswith(last)
    shipped = {key(device="another's"): replace(entry(), source="shipped")}
    monkeypatch.setattr(cache_commands, "shipped_entries", lambda: shipped)
    said = "1 entry from the package, for other devices: `--all` lists them, too\n"
    assert run("cache", "list").stdout.endswith(f"{hint}{said}")
    known.clear(there)
    assert run("cache", "list").stdout.endswith(f"1 entry in {known.path}\n{said}")


def test_what_was_tuned_for_something_else_is_said(known: TuningCache, device: Device, tmp_path: Path) -> None:
    here, file = key(device=device.identity), tmp_path / "tuned.json"
    known.put(here, replace(entry(), objective="code_size"))
    known.put(key(4, 5, 6), entry())
    assert "tuned for code_size\n" in run("cache", "list").stdout
    assert re.search("^source +tuned for code_size$", run("cache", "show", identifier_of(here)).stdout, re.M)
    said = "2 entries written to {}, 1 of which was not tuned for the time (see `list --all`)\n"
    assert run("cache", "export", file).stdout == said.format(file)
    known.clear()
    said = f"Warning: {file}: some of its entries were tuned for code_size, and may be slow\n"
    assert run("cache", "import", file).stderr == said


def test_cache_files(known: TuningCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known.put(key(), entry())
    file = tmp_path / "tuned.json"
    assert run("cache", "export", file).stdout == f"1 entry written to {file}\n"
    known.clear()
    assert run("cache", "import", file).stdout == f"1 entry added to {known.path}\n"
    assert "imported" in run("cache", "list", "--all").stdout
    assert run("cache", "import", file).stdout == f"no entries added to {known.path}\n"
    file.write_text("{}")
    assert run("cache", "import", file, status=2).stderr.startswith(f"Error: {file}: not a file of tuned entries")
    assert "does not exist" in run("cache", "import", tmp_path / "no.json", status=2).stderr
    assert "no folder" in run("cache", "export", tmp_path / "no" / "tuned.json", status=2).stderr


def test_cache_clear(known: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [key(n, device=device) for n in (1, 2) for device in ("intel|Xeon|1", "pocl|pthread-Intel|3")]
    for k in keys:
        keep(known, k, entry(), measurement())

    def left() -> list[int]:
        return [n for n, k in enumerate(keys) if known.get(k) and known.measurements(k)]

    assert "Forget 4 entries" in run("cache", "clear", typed="n\n", status=1).output
    run("cache", "clear", status=1)  # nobody answers
    assert left() == [0, 1, 2, 3]
    assert "1 entry forgotten" in run("cache", "clear", identifier_of(keys[0]), typed="y\n").output
    assert left() == [1, 2, 3]
    assert run("cache", "clear", "--device", "pocl", "--yes").stdout == "2 entries forgotten\n"
    assert left() == [2]
    assert "not both" in run("cache", "clear", "x", "--device", "pocl", status=2).stderr
    shipped = key(9)
    monkeypatch.setattr(cache_commands, "shipped_entries", lambda: {shipped: entry()})
    assert "came with the package" in run("cache", "clear", identifier_of(shipped), "--yes", status=2).stderr
    known.record(keys[0], measurement())
    assert run("cache", "clear", "--yes").stdout == "1 entry forgotten\n"
    assert left() == [] and known.measurements(keys[0]) == []


def test_cache_verify(known: TuningCache) -> None:
    known.put(key(generator=GENERATOR), entry())
    assert run("cache", "verify").stdout == f"no problems in {known.path}\n"
    known.put(key(generator="0"), entry())
    printed = run("cache", "verify", status=1).stdout
    assert "of generator version 0" in printed and printed.endswith(f"1 problem in {known.path}\n")


def test_a_cache_in_memory_is_told(known: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TuningCache, "trouble", "the disk is full")
    assert "the disk is full" in run("cache", "list").stderr


def test_texts_of_files_do_not_steer_a_terminal(known: TuningCache, tmp_path: Path) -> None:
    """Nor do those of entries that were imported before."""
    steering, file = "\x1b[31m\r\x9b\u202e", tmp_path / "tuned.json"
    other = key(device=f"{steering}|{steering}|1")
    known.put(other, entry())
    known.export(file)
    fields = json.loads(file.read_text())
    fields["entries"][0] |= {"mdh": f"md_hom({steering}\n\ud83d)", "objective": steering}
    file.write_text(json.dumps(fields))
    known.clear()
    imported = run("cache", "import", file)
    shown = [run("cache", *command) for command in (("list", "--all"), ("show", identifier_of(other)))]
    assert r"(\x1b[31m\r\x9b\u202e\n\ud83d)" in shown[1].stdout
    unknown = run("cache", "list", "--device", "no such", status=2)
    wrong = run("cache", "verify", status=1)
    fields["times"] = [{"key": fields["entries"][0]["key"], "seconds": {steering: "x"}}]
    file.write_text(json.dumps(fields))
    refused = run("cache", "import", file, status=2)
    for result in (imported, *shown, unknown, wrong, refused):
        assert not {*steering} & {*result.output} - {*"[31m"}
