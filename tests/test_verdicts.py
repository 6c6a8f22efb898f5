"""Contests that other work on the machine has decided are held again: who lost may win. Times are made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from tiers import FAST, SLOW, First, Kept, Promising, Slower, decide, own_helper

import mdhnp
from mdhnp import config
from mdhnp.calls.lifecycle import COMPILING, Lifecycle, _price_of_contest
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import ByNumpy, Kernels, Leaf
from mdhnp.calls.store import entries, forget
from mdhnp.runtime.devices import Device
from mdhnp.tuning import background, times
from mdhnp.tuning.cache import cache
from mdhnp.tuning.times import KERNELS, NUMPY, judge, remember

pytestmark = pytest.mark.usefixtures("binaries_on_disk")

A = np.arange(41 * 42, dtype=np.float32).reshape(41, 42) % 5
SUM = mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc, "j": mdhnp.pw("add")}, "A[i,j] -> B[i]").bind(A)
#: Contests of an entry in one process.
MOST = 8


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(times, "_devices", {})
    monkeypatch.setattr("mdhnp.calls.lifecycle._prices", {})
    monkeypatch.setattr("mdhnp.calls.actions.paid", lambda *_: None)
    forget()
    with config(host="auto", tuning="off"):
        yield from own_helper(monkeypatch)
    forget()


def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know no more than another process would."""
    background.wait()
    monkeypatch.setattr(times, "_devices", {})
    forget()


def product() -> Leaf:
    with observe() as seen:
        np.testing.assert_array_equal(mdhnp.matmul(A, A.T), A @ A.T)
    background.wait()
    return seen[0][0]


def is_counted() -> bool:
    (entry,) = entries.values()
    return entry.watcher is not None


def cost(seconds: float) -> None:
    """Have the entry's calls cost so much, on a clock that only this moves: more than real ones here do."""
    (entry,) = entries.values()
    assert entry.watcher is not None
    entry.watcher.saw(entry, entry.plan, seconds)
    background.wait()


def settled() -> type[Leaf]:
    """Make calls until a contest, if one has begun, is over; give what computes then."""
    return [type(product()) for _ in range(3)][-1]


@pytest.mark.parametrize(
    ("first", "then", "kinds"), [(Kept, First, (ByNumpy, Kernels)), (First, First, (Kernels, ByNumpy))]
)
def test_who_lost_is_tried_again_and_may_win(
    first: type[Kept], then: type[First], kinds: tuple[type[Leaf], ...], device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(monkeypatch, contest=first)
    assert settled() is kinds[0]
    decide(monkeypatch, contest=then)
    cost(COMPILING)
    assert settled() is kinds[0]
    cost(COMPILING)
    assert settled() is kinds[1]


def test_another_process_tries_again_what_lost_in_the_first(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are on disk, so that it compiles nothing."""
    decide(monkeypatch, contest=Kept)
    assert settled() is ByNumpy
    anew(monkeypatch)
    decide(monkeypatch)
    assert settled() is ByNumpy
    cost(COMPILING)
    assert settled() is Kernels
    anew(monkeypatch)
    assert type(product()) is Kernels


@pytest.mark.parametrize("job", [Promising, Slower])
def test_contests_wait_for_twice_the_cost_each_time_and_end(
    job: type[Promising], device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that the helper decides, too: there kernels are hopeless, as far as it sees."""
    decide(monkeypatch, job, Kept)
    assert settled() is ByNumpy
    for n in range(1, MOST):
        (entry,) = entries.values()
        cost(COMPILING * 2**n / 2)
        assert entry.watcher is not None
        assert entry.watcher.contests == n
        cost(COMPILING * 2**n / 2)
        assert settled() is ByNumpy
    assert not is_counted()


def test_what_three_processes_found_is_settled(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    decide(monkeypatch)
    assert settled() is Kernels
    for agree in (2, 3):
        anew(monkeypatch)
        decide(monkeypatch, contest=Kept)
        for n in range(3):  # of which only the first counts
            assert settled() is Kernels
            if is_counted():
                cost(COMPILING * 2**n)
        (verdict,) = cache().verdicts(device.identity).values()
        assert verdict.processes == agree
        assert is_counted() == (agree < 3)
    anew(monkeypatch)
    assert settled() is Kernels
    assert not is_counted()


CLEAR: Mapping[str, Sequence[float]] = {KERNELS: [FAST] * 10, NUMPY: [SLOW] * 10}
NOISY: Mapping[str, Sequence[float]] = {KERNELS: [FAST, 3 * FAST] * 5, NUMPY: [SLOW, 3 * SLOW] * 5}
#: Who won the contests of a process, and in what times; and how many processes agree by then.
PROCESSES: list[tuple[str, Mapping[str, Sequence[float]], int]] = [
    (KERNELS, CLEAR, 1), (KERNELS, NOISY, 1), (KERNELS, CLEAR, 2), (KERNELS, CLEAR, 3), (NUMPY, NOISY, 0),
    (KERNELS, CLEAR, 1),
]  # fmt: skip


def test_a_process_counts_once_and_only_beyond_the_noise(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    for won, calls, agreed in PROCESSES:
        for _ in range(2):
            assert judge(SUM, device, won, calls).processes == agreed
        assert times.is_settled(SUM, device) == (agreed >= 3)
        anew(monkeypatch)
        assert times.is_settled(SUM, device) == (agreed >= 3)


def test_margin_and_noise_are_kept(device: Device) -> None:
    judge(SUM, device, KERNELS, NOISY)
    (verdict,) = cache().verdicts(device.identity).values()
    assert (verdict.plan, verdict.margin, verdict.noise) == (KERNELS, pytest.approx(2.0), pytest.approx(3.0))


@pytest.mark.parametrize("damage", ["'[]'", "'{\"plan\": 1}'", "3.0"])
def test_damaged_verdicts_count_as_none(damage: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    judge(SUM, device, KERNELS, CLEAR)
    cache()._database.write(lambda db: db.execute(f"UPDATE records SET content = {damage} WHERE kind = 'verdict'"))
    anew(monkeypatch)
    assert not times.is_settled(SUM, device)


@pytest.mark.parametrize("how", [{"host": "never"}, {"tuning": "full"}, {"specialise": "always"}])
def test_where_calls_are_not_to_be_compared_nothing_is(how: dict[str, str], device: Device) -> None:
    with config(**how, budget=0.1):
        product()
        remember(entries[next(iter(entries))].plan.mdhom, device, {KERNELS: FAST, NUMPY: SLOW})
        forget()
        product()
        assert all(_price_of_contest(e.watcher) is None for e in entries.values() if isinstance(e.watcher, Lifecycle))
