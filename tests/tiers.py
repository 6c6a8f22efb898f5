"""Better plans without chance: jobs and contests whose times are made up, so that no test depends on the machine's."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mdhnp.calls import build, lifecycle
from mdhnp.calls import contest as contests
from mdhnp.calls.build import Build, Built, Hopeless
from mdhnp.calls.contest import Contest
from mdhnp.calls.entry import Entry, Spent
from mdhnp.calls.loading import load
from mdhnp.calls.plans import Plan
from mdhnp.runtime.private import cache_folder
from mdhnp.runtime.programs import compiled
from mdhnp.tuning import background

_HERE = Path(__file__).parent
#: Seconds of a call that are said to have been measured.
FAST, SLOW = 1e-6, 2e-6


def note_compilations() -> None:
    """Leave the number of texts that this process has compiled where tests look for it."""
    (cache_folder() / f"{os.getpid()}.compiled").write_text(str(compiled()))


def binaries() -> list[Path]:
    """Compiled texts on disk; beside them lie records of programs, which hold JSON."""
    files = (cache_folder() / "binaries").glob("*.bin")
    return [file for file in files if b'{"found": ' not in file.read_bytes()[:100]]


def compilations() -> int:
    """Texts that were compiled by all processes that have left their numbers."""
    return sum(int(file.read_text()) for file in cache_folder().glob("*.compiled"))


@dataclass(frozen=True)
class Promising(Build):
    """A job whose kernels are checked as always, and then said to be fast."""

    def run(self) -> Built | Hopeless:
        original = build.compare
        build.compare = lambda *arguments: self.compared(original(*arguments))
        try:
            return Build.run(self if self.usual is None else replace(self, usual=1.0))
        finally:
            build.compare = original
            note_compilations()

    def compared(self, real: Any) -> Any:
        """What the comparison is to give."""
        return real if isinstance(real, str) else (FAST, SLOW)


class Slower(Promising):
    def compared(self, real: Any) -> Any:
        return real if isinstance(real, str) else (10 * SLOW, SLOW)


class Differing(Promising):
    """One whose kernels compute something else."""

    def run(self) -> Built | Hopeless:
        original = build.is_close
        build.is_close = lambda *_: False
        try:
            return super().run()
        finally:
            build.is_close = original


class Failing(Build):
    def run(self) -> Built | Hopeless:
        raise RuntimeError("the compiler has had enough")


class First(Contest):
    """A contest that the first candidate wins as soon as there was a call."""

    def see(self, entry: Entry, plan: Plan, seconds: float, calls: int) -> None:
        first = self._others[0].plan
        self._settle(entry, first, [(self._used.plan, [SLOW]), (first, [FAST])])


class Kept(Contest):
    """One in which the plan in use stays."""

    def see(self, entry: Entry, plan: Plan, seconds: float, calls: int) -> None:
        others = [(arm.plan, [SLOW]) for arm in self._others]
        self._settle(entry, self._used.plan, [(self._used.plan, [FAST]), *others])


class Counting(Contest):
    """One that never ends, and counts what it is told."""

    noted = 0

    @property
    def spent(self) -> Spent:
        return self._spent

    def see(self, entry: Entry, plan: Plan, seconds: float, calls: int) -> None:
        self.noted += 1
        self._spent.add(seconds, calls)


def own_helper(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have jobs done by a process that is started for them, which sees this test's environment; OpenCL is loaded."""
    load()
    gc.collect()  # entries that are forgotten, but hold kernels that lost a contest
    helper = background._Helper()
    monkeypatch.setattr(background, "_helper", helper)
    yield
    background.wait()
    helper.end()


def decide(monkeypatch: pytest.MonkeyPatch, job: type[Build] = Promising, contest: type[Contest] = First) -> None:
    """Have kernels built by such jobs, after the first call, and contests end so."""
    monkeypatch.setattr(lifecycle, "_price_of_building", lambda _: 0.0)
    monkeypatch.setattr(build, "Build", job)
    monkeypatch.setattr(contests, "Contest", contest)


#: What each program begins with, and how it says at its end what it has done.
_PROGRAM = """
import json, sys, warnings
import numpy as np
import mdhnp
A = np.arange(35 * 36, dtype=np.float32).reshape(35, 36) % 7
def report(**more):
    found = {"opencl": "pyopencl" in sys.modules, "hosted": mdhnp.host_counts(), **more}
    if found["opencl"]:
        from mdhnp.runtime.programs import compiled
        found["compiled"] = compiled()
    print(json.dumps(found))
"""


def program(code: str, **environment: str) -> subprocess.Popen[str]:
    """Start a program under the default settings, which finds this test's cache folder."""
    plain = {k: v for k, v in os.environ.items() if k not in ("MDHNP_HOST", "MDHNP_TUNING")}
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(filter(None, [*own, str(_HERE), *sys.path]))
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM + code],
        env={**plain, "PYTHONPATH": path, "MDHNP_TUNING": "off", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result(running: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = running.communicate(timeout=120)
    assert (err, running.returncode) == ("", 0)
    found: dict[str, Any] = json.loads(out)
    return found
