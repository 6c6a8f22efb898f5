"""Times calls against each other, and finds out how far the machine could go.

Takes callables; gives ratios with their spread. A pair is one sample of ours and one of a peer's, from the same round;
the speed-up is the median of the pairs' ratios, so that what slows the machine for a while slows both. Knows NumPy
only, nothing of OpenCL or the cases.
"""

import itertools
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from statistics import median, quantiles
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.system import cores

__all__ = ["Comparison", "Floor", "WrongResultError", "check_equal", "compare", "floor"]

Array = npt.NDArray[Any]
Call = Callable[[], Any]

#: Seconds between two looks at whether threads rest: OpenBLAS's and OpenMP's spin after a call, OpenBLAS's for 0.12 s.
PAUSE = 0.02
#: Seconds to wait, at most, for them to stop.
SPINNING = 1.0
#: Seconds for which other processes are watched; their time is counted in steps of 0.01 s.
WATCHED = 0.04
#: What other processes, or threads left over from the call before, may take before a sample, in processors.
QUIET = 0.3
#: A sample repeats calls until it lasts about this long, in seconds.
SAMPLE = 0.01
#: Seconds of untimed calls before a sample, which wake threads, caches and processors up: after a pause the first 5 to
#: 7 ms of any library's calls take twice as long here. A call longer than LONG needs none.
WAKING, LONG = 0.02, 0.2
#: Seconds that all pairs with one peer may take: slow calls have fewer, but FEWEST at least, unless one pair
#: takes longer than TEDIOUS: then it is the only one.
LONGEST, FEWEST, TEDIOUS = 4.0, 5, 20.0


class WrongResultError(AssertionError):
    """Ours and the peer's results differ: there is nothing to time."""


@dataclass(frozen=True)
class Comparison:
    """Pairs of one call of ours and one peer's.

    Attributes
    ----------
    ours, peer : tuple of float
        Seconds a call, one for each pair.
    kernel : tuple of float
        Seconds of our kernels alone, by the device's clock, one for each pair; none where they were not asked for.
    disturbed : int
        Samples that began while other processes ran, after waiting in vain.
    """

    ours: tuple[float, ...]
    peer: tuple[float, ...]
    kernel: tuple[float, ...] = ()
    disturbed: int = 0

    @property
    def ratios(self) -> list[float]:
        """Peer's time over ours, pair by pair: above 1 ours is faster."""
        return [p / o for o, p in zip(self.ours, self.peer, strict=True)]

    def summary(self) -> dict[str, Any]:
        """Give medians, quartiles and extremes as plain data."""
        ratios = self.ratios
        low, _, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
        return {
            "ours_seconds": median(self.ours),
            "peer_seconds": median(self.peer),
            "ratio": median(ratios),
            "quartiles": [low, high],
            "range": [min(ratios), max(ratios)],
            "pairs": len(ratios),
            "disturbed": self.disturbed,
        }


def compare(
    ours: Call,
    peers: Sequence[Call],
    accept: Callable[[int, Any], None],
    pairs: int,
    kernel: Callable[[], float] | None = None,
    patience: float = 0,
) -> list[Comparison]:
    """Time ours and the peers by turns, with a pause at every change of library.

    A round is one sample of ours and one of each peer's. Slow peers sit out the later rounds.

    Parameters
    ----------
    ours : callable
        A whole call, compiled and warmed up.
    peers : sequence of callable
        The peers' calls.
    accept : callable
        Given each peer's number and first result, before it is timed; raises an error if it is wrong.
    pairs : int
        How often each peer is sampled; less often where that takes longer than LONGEST.
    kernel : callable, optional
        Runs our kernels and gives their time; called once after every sample of ours.
    patience : float
        Seconds, for each peer, to wait for other processes to leave the machine alone.
    """
    turns = [_turn(ours, lambda result: None)]
    turns += [_turn(peer, partial(accept, n)) for n, peer in enumerate(peers)]
    rounds = [_rounds(turns[0].seconds + turn.seconds, pairs) for turn in turns[1:]]
    patience *= len(peers)
    found: list[list[float]] = [[] for _ in turns]
    kernels = []
    disturbed: list[list[bool]] = [[] for _ in turns]
    for n in range(max(rounds, default=0)):
        for which, turn in enumerate(turns):
            if which and n >= rounds[which - 1]:
                continue
            if turn.seconds > TEDIOUS:  # what takes so long is not run again
                found[which].append(turn.seconds)
                continue
            begin = time.monotonic()
            disturbed[which].append(not _settle(patience))
            patience -= max(time.monotonic() - begin - SPINNING, 0)
            if turn.wake:
                _wake(turn.call)
            found[which].append(_sample(turn.call, turn.repeats))
            if kernel is not None and which == 0:
                kernels.append(kernel())
    compared = []
    for taken, flags in zip(found[1:], disturbed[1:], strict=True):
        count = len(taken)
        bad = sum(disturbed[0][:count]) + sum(flags)
        compared.append(Comparison(tuple(found[0][:count]), tuple(taken), tuple(kernels[:count]), bad))
    return compared


def _rounds(once: float, pairs: int) -> int:
    """Choose how often a peer is sampled, from the seconds of a pair."""
    return 1 if once > TEDIOUS else min(pairs, max(FEWEST, int(LONGEST / once)))


def _settle(patience: float) -> bool:
    """Pause until threads of this process and other processes are at rest; say whether the others are.

    For its own threads it waits `SPINNING` at most, for the others `patience`.
    """
    begin = watched = time.monotonic()
    others = _others()
    while True:
        start, own = time.monotonic(), time.process_time()
        time.sleep(PAUSE)
        now = time.monotonic()
        spinning = (time.process_time() - own) / (now - start) > QUIET and now - begin < SPINNING
        if spinning or now - watched < WATCHED:
            continue
        quiet = (_others() - others) / (now - watched) <= QUIET
        if quiet or now - begin > patience:
            return quiet
        watched, others = now, _others()


def _own() -> float:
    """Give the processor time, in seconds, that this process has had."""
    taken = os.times()
    return taken.user + taken.system


def _others() -> float:
    """Give the processor time, in seconds, that other processes and other virtual machines have had."""
    try:
        with open("/proc/stat") as lines:
            user, nice, system, _, _, irq, soft, steal = map(int, lines.readline().split()[1:9])
    except (OSError, ValueError):  # not Linux: as if there were none
        return 0.0
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK") - _own()


def _sample(call: Call, repeats: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def _wake(call: Call) -> None:
    begin = time.perf_counter()
    while time.perf_counter() - begin < WAKING:
        call()


@dataclass(frozen=True)
class _Turn:
    """How a call is sampled: how many in a row, whether untimed ones come first, and seconds that all take."""

    call: Call
    repeats: int
    wake: bool
    seconds: float


def _turn(call: Call, accept: Callable[[Any], None]) -> _Turn:
    _settle(0)
    begin = time.perf_counter()
    result = call()
    once = time.perf_counter() - begin
    accept(result)
    del result
    if once <= TEDIOUS:  # the first call may have compiled and started threads
        once = _sample(call, 1)
    wake = once < LONG
    if wake:
        _wake(call)
        once = _sample(call, 1)
    if once < SAMPLE / 10:
        once = _sample(call, max(3, int(SAMPLE / 10 / max(once, 1e-7))))
    repeats = max(1, round(SAMPLE / once))
    return _Turn(call, repeats, wake, once * repeats + WAKING * wake)


def check_equal(ours: Any, peer: Any, tolerance: float, what: str) -> float:
    """Compare results before anything is timed.

    Parameters
    ----------
    ours, peer : ndarray or sequence of ndarray
        Floating-point arrays may differ by `tolerance` times the peer's largest element, others not at all.
    tolerance : float
        Relative to the peer's largest absolute value.
    what : str
        For the message.

    Returns
    -------
    float
        The largest relative difference of floating-point results.

    Raises
    ------
    WrongResultError
        If shapes, dtypes' kinds or values differ.
    """
    left, right = _arrays(ours), _arrays(peer)
    if len(left) != len(right):
        raise WrongResultError(f"{what}: {len(left)} results, the peer has {len(right)}")
    worst = 0.0
    for a, b in zip(left, right, strict=True):
        if a.shape != b.shape or (a.dtype.kind == "f") != (b.dtype.kind == "f"):
            raise WrongResultError(f"{what}: {a.dtype}{a.shape}, the peer has {b.dtype}{b.shape}")
        if a.dtype.kind == "f":
            # Written so that a NaN in the difference fails.
            difference = float(np.max(np.abs(a - b))) / max(float(np.max(np.abs(b))), 1e-30)
            if not difference <= tolerance:
                raise WrongResultError(f"{what}: off by {difference:.2g} of the largest value, {tolerance:.2g} allowed")
            worst = max(worst, difference)
        elif not np.array_equal(a, b):
            raise WrongResultError(f"{what}: {np.count_nonzero(a != b)} of {a.size} whole numbers differ")
    return worst


def _arrays(result: Any) -> list[Array]:
    return [np.asarray(a) for a in (result if isinstance(result, tuple | list) else (result,))]


@dataclass(frozen=True)
class Floor:
    """The least time a computation can take on this machine, from measured limits.

    Attributes
    ----------
    memory, arithmetic : float
        Seconds to move the bytes, and to compute.
    """

    memory: float
    arithmetic: float


def floor(read: int, written: int, instructions: int) -> Floor:
    """Give the roofline floor.

    Parameters
    ----------
    read, written : int
        Bytes that must be moved at least once.
    instructions : int
        Arithmetic on float32 or int32, a fused multiply-add counting as one.

    Notes
    -----
    Bytes written, and as many of those read, move at the speed of a copy of the same size; the other bytes read at the
    speed of a dot product. Arithmetic runs at the rate of the multiply-adds in the best matrix product seen.
    """
    copied = min(read, written)
    memory = (copied + written) / _copy_speed(_size(copied + written))
    if read > copied:
        memory += (read - copied) / _read_speed(_size(read - copied))
    return Floor(memory, instructions / _arithmetic_speed())


def _size(nbytes: int) -> int:
    """Round up to a power of two, so that few sizes are measured."""
    return 1 << max(20, (max(nbytes, 1) - 1).bit_length())


@cache
def _copy_speed(nbytes: int) -> float:
    """Bytes a second, read and written, that all cores copy together."""
    source = np.ones(nbytes // 8, np.float32)
    target = np.zeros_like(source)
    return 2 * source.nbytes / _together(lambda s: np.copyto(target[s], source[s]), len(source))


@cache
def _read_speed(nbytes: int) -> float:
    """Bytes a second that all cores read together, each in a dot product of two halves of its part."""
    left = np.ones(nbytes // 8, np.float32)
    right = np.ones_like(left)
    return 2 * left.nbytes / _together(lambda s: float(left[s] @ right[s]), len(left))


def _together(work: Callable[[slice], Any], length: int) -> float:
    """Give the least seconds that all cores, or one, take for all parts."""
    best = float("inf")
    with ThreadPoolExecutor(cores()) as pool:
        for count in {1, cores()}:
            bounds = [length * n // count for n in range(count + 1)]
            parts = [slice(a, b) for a, b in itertools.pairwise(bounds)]
            for _ in range(12):
                begin = time.perf_counter()
                list(pool.map(work, parts))
                best = min(best, time.perf_counter() - begin)
    return best


@cache
def _arithmetic_speed() -> float:
    """Fused multiply-adds a second in NumPy's best matrix product."""
    n = 2048
    a = np.ones((n, n), np.float32)
    out = np.empty_like(a)
    _settle(0)
    return n**3 / min(_sample(lambda: np.matmul(a, a, out=out), 1) for _ in range(8))


def limits(sizes: Sequence[int] = (1 << 24, 1 << 26, 1 << 28)) -> dict[str, Any]:
    """Give the measured limits, for the report: bytes a second by size, and float32 operations a second."""
    return {
        "copy_bytes_per_second": {n: _copy_speed(n) for n in sizes},
        "read_bytes_per_second": {n: _read_speed(n) for n in sizes},
        "flops_per_second": 2 * _arithmetic_speed(),
    }
