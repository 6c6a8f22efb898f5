"""Wisdom: files of tuned entries that travel or come with the package are checked, and read whole or not at all."""

import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tuning_entries import RICH, entry, fresh_cache, key

from mdhnp.tuning.cache import TuningCache, wisdom
from mdhnp.tuning.cache import tuning_cache as cache_module
from mdhnp.tuning.cache.wisdom import read_wisdom, shipped_entries


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TuningCache]:
    yield from fresh_cache(tmp_path, monkeypatch)


@pytest.mark.parametrize("near", [None, "default", RICH])
def test_exported_entries_come_back(near: Any, tuned: TuningCache, tmp_path: Path) -> None:
    tuned.put(key(1, 2, 3), entry())
    tuned.put(key(4, 5, 6, device="b"), replace(entry(2e-3), near=near))
    assert tuned.export(tmp_path / "all.json") == 2
    other = TuningCache(tmp_path / "other" / "tuning.sqlite")
    other.put(key(1, 2, 3), entry(0.5e-3))
    assert other.import_(tmp_path / "all.json") == 1
    assert other.get(key(1, 2, 3)) == entry(0.5e-3), "what was measured here stays"
    assert other.get(key(4, 5, 6, device="b")) == replace(entry(2e-3), source="imported", near=near)
    other.put(key(1, 2, 3), entry(5e-3))
    assert other.import_(tmp_path / "all.json") == 0, "however fast others were elsewhere"
    other.put(key(1, 2, 3), replace(entry(5e-3), source="imported"))
    assert other.import_(tmp_path / "all.json") == 1
    assert other.get(key(1, 2, 3)) == replace(entry(), source="imported")
    assert other.import_(tmp_path / "all.json") == 0
    assert not list(tmp_path.glob("*.part"))


def test_what_an_entry_was_tuned_for_travels_and_is_said(tuned: TuningCache, tmp_path: Path) -> None:
    tuned.put(key(1, 2, 3), replace(entry(), objective="code_size"))
    tuned.put(key(4, 5, 6), replace(entry(), objective="a function of time, energy"))
    tuned.export(tmp_path / "all.json")
    other = TuningCache(tmp_path / "other.sqlite")
    fast = replace(entry(2e-3), source="imported")
    other.put(key(1, 2, 3), fast)
    with pytest.warns(RuntimeWarning, match=r"all.json: .* tuned for a function of time, energy, code_size, and may"):
        assert other.import_(tmp_path / "all.json") == 1
    assert other.get(key(1, 2, 3)) == fast
    found = other.get(key(4, 5, 6))
    assert found is not None and found.objective == "a function of time, energy"


def test_what_was_tuned_for_the_time_comes_before_what_was_not(
    tuned: TuningCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, fast, file = replace(entry(1e-3), objective="code_size"), entry(2e-3), tmp_path / "fast.json"
    tuned.put(key(1, 2, 3), fast)
    tuned.export(file)
    other = TuningCache(tmp_path / "other.sqlite")
    other.put(key(1, 2, 3), replace(small, source="imported"))
    assert other.import_(file) == 1
    assert other.get(key(1, 2, 3)) == replace(fast, source="imported")
    other.put(key(1, 2, 3), small)
    assert other.import_(file) == 0, "what was tuned here stays"

    monkeypatch.setattr(cache_module, "shipped_entries", lambda: {key(1, 2, 3): fast})
    tuned.put(key(1, 2, 3), small)
    tuned.export(file)
    third = TuningCache(tmp_path / "third.sqlite")
    with pytest.warns(RuntimeWarning, match="code_size"):
        assert third.import_(file) == 0
    assert third.get(key(1, 2, 3)) == fast


def test_an_objective_s_name_is_a_short_text() -> None:
    """One that was shortened would be found in place of others that begin as it does."""
    assert replace(entry(), objective="\ud800" + 74 * "x").objective == r"\ud800" + 74 * "x"
    with pytest.raises(ValueError, match="objective: has more than 80 characters"):
        replace(entry(), objective="\ud800" + 75 * "x")


def _without(name: str) -> Callable[[dict], object]:
    return lambda fields: fields.pop(name)


def _with(**changes: object) -> Callable[[dict], object]:
    return lambda fields: fields.update(changes)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (_without("seconds"), "seconds: not a number: missing"),
        (_with(seconds=-1.0), "seconds: -1.0 is no positive number"),
        (_with(seconds=float("nan")), "seconds: nan"),
        (_with(seconds=True), "seconds: not a number"),
        (_with(seconds=10**400), "seconds: not a number"),
        (_with(evaluations="50"), "evaluations: not an integer"),
        (_with(tuned_at="yesterday"), "yesterday"),
        (_with(tuned_at="0001-01-01T00:00:00+23:00"), "tuned_at"),
        (_with(source="elsewhere"), "source"),
        (_with(key=None), "key: not an object: missing"),
        (lambda fields: fields["key"].update(extents=[1, "2", 3]), "key: extents"),
        (lambda fields: fields["key"].update(extents=[1, 0, 3]), "key: extents"),
        (lambda fields: fields["key"].update(extents=[1, 2]), "for 3 dimensions, the key has 2"),
        (lambda fields: fields["key"].pop("device"), "key: device: not a text: missing"),
        (_without("schedule"), "schedule"),
        (lambda fields: fields["schedule"].update(num_wi=[1, 1, "1);"]), "num_wi"),
        (lambda fields: fields["schedule"].update(num_wi=[1, 0, 1]), "num_wi"),
        (lambda fields: fields["schedule"].update(local_tile=[1, 1, 1 << 80]), "local_tile"),
        (lambda fields: fields["schedule"].update(item_order=[0, 0, 1]), "item_order"),
        (lambda fields: fields["schedule"].update(vector_dim=3), "vector_dim"),
        (lambda fields: fields["schedule"].update(private_copies=[True]), "local_copies"),
        (lambda fields: fields["schedule"]["second"].update(private_tile=[0, 1]), "private_tile"),
        (lambda fields: fields["schedule"]["local_copies"][0].update(order=[1, 2]), "local_copies"),
        (lambda fields: fields["schedule"]["local_copies"][0].update(blocked=[7]), "local_copies"),
        (lambda fields: fields["schedule"].update(private_copies=[0, 1]), "private_copies"),
        (lambda fields: fields["schedule"].update(results="nowhere"), "results"),
        (lambda fields: fields["schedule"]["second"].update(vector_width=1.5), "vector_width"),
        (lambda fields: fields["schedule"]["local_copies"][0].update(order=["0", 1]), "local_copies"),
        (lambda fields: fields["schedule"]["local_copies"][0].update(pad=4.5), "local_copies"),
        (lambda fields: fields["schedule"]["local_copies"][0].update(pad=-1), "local_copies"),
        (lambda fields: fields["schedule"].update(stages=0), "stages"),
        (lambda fields: fields["schedule"].update(stages=True), "stages"),
        (lambda fields: fields["schedule"].update(atom={"a": 1}), "atom"),
        (lambda fields: fields["schedule"].update(atom_dims=5), "atom_dims"),
        (lambda fields: fields["schedule"].update(atom_dims=[[0], [1], [2]]), "atom_dims"),
        (lambda fields: fields["schedule"].update(atom_dims=[False, True, 2]), "atom_dims"),
        (lambda fields: fields["schedule"].update(unheard_of=1), "schedule"),
        (_with(objective=3), "objective: not a text"),
        (_with(objective="time" * 21), "objective: has more than 80 characters"),
    ],
)
def test_one_bad_entry_keeps_a_file_out(
    tuned: TuningCache, tmp_path: Path, change: Callable[[dict], object], complaint: str
) -> None:
    file = tmp_path / "wisdom.json"
    for number in range(3):
        tuned.put(key(number + 1, 1, 1), entry())
    tuned.export(file)
    content = json.loads(file.read_text())
    change(content["entries"][1])
    file.write_text(json.dumps(content))
    other = TuningCache(tmp_path / "other.sqlite")
    with pytest.raises(ValueError, match=r"wisdom\.json: entry 1: ") as caught:
        other.import_(file)
    assert complaint in str(caught.value)
    assert other.entries() == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON"),
        ('{"format": "mdhnp wisdom", "version": 1, "entries": [', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a file of tuned entries"),
        ('{"version": 1, "entries": []}', "not a file of tuned entries"),
        ('{"format": "mdhnp wisdom", "version": 2, "entries": [], "times": []}', "version 2"),
        ('{"format": "mdhnp wisdom", "version": 1, "entries": {}, "times": []}', '"entries" is not a list'),
        ('{"format": "mdhnp wisdom", "version": 1, "entries": []}', '"times" is not a list'),
        ('{"format": "mdhnp wisdom", "version": 1, "entries": [3], "times": []}', "entry 0: it: not an object"),
        ('{"format": "mdhnp wisdom", "version": 1, "entries": [], "times": [3]}', "time 0: it: not an object"),
    ],
)
def test_a_file_that_is_no_wisdom_says_why(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^w.json: .*{complaint}"):
        read_wisdom(text, "w.json")


def test_shipped_files_are_read_and_a_bad_one_left_out(
    tuned: TuningCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shipped").mkdir()
    tuned.put(key(), entry())
    tuned.export(tmp_path / "shipped" / "b.json")
    tuned.put(key(), entry(0.5e-3))
    tuned.export(tmp_path / "shipped" / "a.json")
    (tmp_path / "shipped" / "c.json").write_text("{")
    (tmp_path / "shipped" / "README").write_text("not an entry")
    monkeypatch.setattr(wisdom.importlib.resources, "files", lambda package: tmp_path)
    with pytest.warns(RuntimeWarning, match=r"c\.json: not JSON") as said:
        assert shipped_entries.__wrapped__() == {key(): replace(entry(0.5e-3), source="shipped")}
    assert len(said) == 1


def test_the_packages_own_files_can_be_read() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = shipped_entries.__wrapped__()
    assert {each.objective for each in found.values()} == {"time"}
