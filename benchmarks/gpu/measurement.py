"""Measures one problem: our call prepared and tuned, and the peers', checked against the definition, by turns.

Takes a problem, our device and the peers' side; gives the row as plain data. A sample is some calls enqueued in a row,
and a wait for the device.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from statistics import median
from typing import Any

import mdhnp
from benchmarks.gpu.ours import PREPARED, Ours, arrived, prepared, tuned
from benchmarks.gpu.problems import Problem
from benchmarks.gpu.torch_side import Error, TorchSide
from benchmarks.measure import Comparison, WrongResultError
from benchmarks.problem import Call
from benchmarks.rows import Row
from mdhnp.runtime.devices import Device

__all__ = ["Contestant", "Measurement", "by_turns", "error_text"]

#: Seconds that the calls of one sample take, and how many they are: after a wait the device is idle for a moment.
_FILLED, _FEWEST, _MOST = 0.01, 3, 2000
#: Calls before each sample, which the clock does not see: a GPU takes 0.13 ms from one library's context to the next.
_BEFORE = 2


@dataclass(frozen=True)
class Contestant:
    """Our call or a peer's, what waits for the device, the settings, and how far the result is from the definition."""

    call: Call
    wait: Call
    error: Error
    settings: Callable[[], AbstractContextManager[Any]] = nullcontext

    def seconds(self, calls: int) -> float:
        """Give the time of one call, of some in a row."""
        with self.settings():
            for _ in range(_BEFORE):
                result = self.call()
            self.wait()
            begin = time.perf_counter()
            for _ in range(calls):
                result = self.call()
            self.wait()
            taken = time.perf_counter() - begin
        del result
        return taken / calls


@dataclass(frozen=True)
class Measurement:
    """One problem on one device, and PyTorch's beside it.

    It may be `ready`: prepared by another process. `say` is told what is left out.
    """

    problem: Problem
    side: TorchSide
    device: Device
    ready: bool
    say: Callable[[str], Any]

    def row(self, pairs: int, seconds: float, limits: Row) -> Row:
        """Compute it by all, compare the results, then time all by turns.

        Parameters
        ----------
        pairs : int
            Of samples.
        seconds : float
            That tuning each kernel may take; 0 leaves the tuned one out.
        limits : dict
            As :meth:`TorchSide.limits` gives them.
        """
        tensors = [self.side.tensor(a) for a in self.problem.operands]
        definition = self.problem.definition(self.side.torch, *map(self.side.exact, tensors))
        ours = self._ours(seconds)
        wait = partial(mdhnp.synchronize, self.device)
        mine = {o.variant: Contestant(o.call, wait, self._checked(o, definition), o.settings) for o in ours}
        peers = self._peers(tensors, definition)
        del definition  # which may be large
        times = by_turns({**mine, **peers}, pairs, self.side.wake)
        ranked = sorted(peers, key=lambda name: median(times[name]))
        peer_rows = [self._peer_row(name, peers[name].error, times[name]) for name in ranked]
        first = ours[0].result
        row = self._costs(first if isinstance(first, tuple) else (first,), limits)
        row |= {"peer": peer_rows[0] if peer_rows else None, "slower": peer_rows[1:]}
        for o in ours:
            row[o.variant] = {
                "seconds": median(times[o.variant]),
                "kernel_seconds": o.kernel_seconds,
                "error": mine[o.variant].error,
                "atoms": o.atoms,
                "schedules": o.schedules,
            }
            if ranked:
                row[o.variant] |= Comparison(tuple(times[o.variant]), tuple(times[ranked[0]])).summary()
        return row

    def _ours(self, seconds: float) -> list[Ours]:
        """Prepare and tune it; the tuned one is called first, since a search forgets what was called before."""
        call, found = (arrived if self.ready else prepared)(self.problem, self.device), list[Ours]()
        if seconds:
            try:
                found.append(tuned(call, seconds))
            except Exception as error:  # what is there without tuning still counts
                self.say(f"not tuned, {error_text(error)}")
        return [Ours.of(call, PREPARED), *found]

    def _checked(self, ours: Ours, definition: Any) -> Error:
        error = self.side.error(ours.result, definition)
        if not error.largest <= self.problem.tolerance:  # written so that a NaN fails
            raise WrongResultError(f"{ours.variant}: off by {error.largest:.2g}, {self.problem.tolerance:.2g} allowed")
        return error

    def _peers(self, tensors: list[Any], definition: Any) -> Mapping[str, Contestant]:
        found, installed = {}, self.side.versions
        for name, peer in self.problem.peers.items():
            if peer.library not in installed:
                continue
            try:
                call = peer.make(self.side.torch, *tensors)
                error = self.side.error(call(), definition)
                if not error.largest <= self.problem.tolerance:
                    raise WrongResultError(f"off by {error.largest:.2g}")
            except Exception as missing:
                self.say(f"{name} is left out, {error_text(missing)}")
                continue
            found[name] = Contestant(call, self.side.wait, error)
        return found

    def _peer_row(self, name: str, error: Error, times: list[float]) -> Row:
        version = import_module(self.problem.peers[name].library).__version__
        return {"name": name, "version": version, "seconds": median(times), "error": error}

    def _costs(self, results: tuple[Any, ...], limits: Row) -> Row:
        nbytes = sum(a.nbytes for a in (*self.problem.operands, *results))
        memory = nbytes / limits["copy_bytes_per_second"]
        arithmetic = self.problem.flops / limits["flops_per_second"][self.problem.dtype]
        floor = {"memory": memory, "arithmetic": arithmetic}
        return {"bytes": nbytes, "flops": self.problem.flops, "floor": floor, "dtype": self.problem.dtype}


def error_text(error: Exception) -> str:
    """Give an error's kind and first line."""
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


def by_turns(contestants: Mapping[str, Contestant], pairs: int, wake: Call) -> dict[str, list[float]]:
    """Give each one's samples, one a round, of a device that was at work just before; each comes first in turn.

    Who came after the peer, which keeps the device at work, had an advantage otherwise: of the same schedule twice one
    took 14.4 µs, the other 17.2.
    """
    calls = {}
    for name, one in contestants.items():
        guess = one.seconds(_FEWEST)
        calls[name] = min(max(round(_FILLED / max(guess, 1e-9)), _FEWEST), _MOST)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    order = [*contestants]
    for _ in range(pairs):
        for name in order:
            wake()
            times[name].append(contestants[name].seconds(calls[name]))
        order = [*order[1:], order[0]]
    return times
