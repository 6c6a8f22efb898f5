"""Runs a case and its peer by turns, times them, and compares the result with the expected one."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any, Self

import numpy as np

import mdhnp
from mdhnp.calls.plans import ByNumpy

#: Seconds between measurements, at least and at most: OpenBLAS's threads keep spinning after a call, 0.1 s or more, and
#: would take the processors from whoever comes next.
_PAUSE, _PATIENCE = 0.02, 0.3
#: Part of a pause that the process's threads may compute in and yet be at rest.
_RESTING = 0.2
#: Seconds of untimed calls before a measurement, and of calls in it, where one call is shorter: after a pause
#: processors take some milliseconds to run at their full speed.
_WAKING, _LENGTH = 0.01, 0.005
_MOST_PAIRS, _FEWEST_PAIRS, _SECONDS_A_CASE = 9, 3, 1.5


#: A computation as functions of the same arrays, each after the text that is printed for it: ours, and NumPy's.
Calls = tuple[str, Callable[..., Any], str, Callable[..., Any]]


@dataclass(frozen=True)
class Case:
    """A call beside NumPy's, or whoever else computes the same today."""

    call: str
    data: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    peer_name: str  # who computes it today
    expected: Callable[[], Any]  # gives the right result: NumPy's, in float64 where results are floats
    tolerance: float = 1e-5  # largest error allowed, relative to the largest expected value
    note: Callable[[Any], str] | None = None  # from the result to a remark printed under the table

    @classmethod
    def of(cls, calls: Calls, data: str, *arrays: Any, **others: Any) -> Self:
        """Return the case of functions of arrays; by default the right result is what NumPy's gives of wide ones."""
        call, ours, peer_name, peer = calls
        expected = others.pop("expected", lambda: peer(*map(_wide, arrays)))
        return cls(call, data, partial(ours, *arrays), partial(peer, *arrays), peer_name, expected, **others)


_DOUBLE = {"f": np.float64, "c": np.complex128}


def _wide(array: Any) -> Any:
    return array.astype(_DOUBLE.get(array.dtype.kind, array.dtype)) if isinstance(array, np.ndarray) else array


@dataclass(frozen=True)
class Measured:
    """What came out: seconds of our call and the peer's, pair by pair, the largest error, what was launched."""

    case: Case
    pairs: tuple[tuple[float, float], ...]
    error: float
    mdhoms: tuple[str, ...]
    result: Any = field(repr=False)

    @property
    def seconds(self) -> float:
        """Median of our call."""
        return median(ours for ours, _ in self.pairs)

    @property
    def peer_seconds(self) -> float:
        """Median of the peer's call."""
        return median(theirs for _, theirs in self.pairs)

    @property
    def ratio(self) -> float:
        """Median of the pairs' ratios, peer by ours."""
        return median(theirs / ours for ours, theirs in self.pairs)

    @property
    def right(self) -> bool:
        """Whether the error is within the case's tolerance; NumPy's own results show nothing about this package."""
        return bool(self.mdhoms) and self.error <= self.case.tolerance


def measure(case: Case, count: int | None = None) -> Measured:
    """Prepare, check, and time a case and its peer by turns: `count` pairs, or as many as are worth the time.

    Prepared, every call has the plan that it would have if it were made often.
    """
    mdhnp.prepare(case.ours)
    kept: list[Any] = []
    launches = mdhnp.explain(lambda: kept.append(case.ours())).launches
    result = kept[0]
    error = largest_error(result, case.expected())
    case.peer()
    pairs: list[tuple[float, float]] = []
    begin = time.perf_counter()
    while len(pairs) < (count or _MOST_PAIRS):
        pairs.append((_seconds(case.ours), _seconds(case.peer)))
        if count is None and len(pairs) >= _FEWEST_PAIRS and time.perf_counter() - begin > _SECONDS_A_CASE:
            break
    mdhoms = [short(plan.mdhom.loops) + (", by NumPy" if isinstance(plan, ByNumpy) else "") for plan in launches]
    return Measured(case, tuple(pairs), error, tuple(mdhoms), result)


def _seconds(function: Callable[[], Any]) -> float:
    """Time of one call: the mean over calls that take long enough together."""
    _rest()
    _mean(function, _WAKING)
    return _mean(function, _LENGTH)


def _rest() -> None:
    """Pause until no thread of this process computes any more."""
    end = time.perf_counter() + _PATIENCE
    while True:
        begin, computed = time.perf_counter(), time.process_time()
        time.sleep(_PAUSE)
        now = time.perf_counter()
        if time.process_time() - computed <= _RESTING * (now - begin) or now > end:
            return


def _mean(function: Callable[[], Any], length: float) -> float:
    """Call until so many seconds have passed; the mean time of a call."""
    count, begin = 0, time.perf_counter()
    while True:
        function()
        count += 1
        passed = time.perf_counter() - begin
        if passed > length:
            return passed / count


def largest_error(found: Any, expected: Any) -> float:
    """Give the largest difference by the largest expected value; infinite where shapes or infinities differ."""
    if isinstance(expected, tuple):
        return max(largest_error(f, e) for f, e in zip(found, expected, strict=True))
    found, expected = np.asarray(found), np.asarray(expected)
    finite = np.isfinite(expected)
    if found.shape != expected.shape or not np.array_equal(found[~finite], expected[~finite]):
        return float("inf")
    wide = _DOUBLE.get(expected.dtype.kind, np.int64)
    difference = np.abs(found[finite].astype(wide) - expected[finite].astype(wide)).max(initial=0)
    error = float(difference / max(float(np.abs(expected[finite]).max(initial=0)), np.finfo(float).tiny))
    return error if np.isfinite(error) else float("inf")


def short(h: mdhnp.MdHom) -> str:
    """Give the papers' notation, with long scalar functions and lists of accesses cut."""
    function = {"x0 * x1": "*", "x0 + x1": "+", "x0": "id"}.get(str(h.scalar).removeprefix("(").removesuffix(")"), "f")
    accesses = [f"{v.name}[{','.join(i.show(h.names) for i in a)}]" for v in h.inputs for a in v.accesses]
    shown = ", ".join(accesses if len(accesses) < 4 else [*accesses[:2], "…"])
    outputs = ", ".join(v.show(h.names) for v in h.outputs)
    return f"md_hom({function}, ({', '.join(map(str, h.combine))})) ∘ {shown} -> {outputs}"
