"""Measures one problem: our kernels untuned and tuned, and the peers', checked against the definition, by turns.

Takes a problem, our device and the peers' side; gives the row as plain data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from statistics import median
from typing import Any

import mdhnp
from benchmarks.gpu.ours import Ours, resources_of, tune
from benchmarks.gpu.problems import Problem
from benchmarks.gpu.table import VARIANTS
from benchmarks.gpu.torch_side import TorchSide
from benchmarks.measure import Comparison, WrongResultError
from benchmarks.rows import Row
from mdhnp.runtime.devices import Device

__all__ = ["Measurement", "error_text"]

#: Launches of one sample: alone, a short kernel would be timed with the gap before it. Long ones are launched less
#: often, to take about so many seconds.
_FEWEST, _MOST, _FILLED = 2, 10, 0.02


@dataclass(frozen=True)
class _Contestant:
    """Our kernels or a peer's: the time of one of so many launches, and how far the result is from the definition."""

    clock: Callable[[int], float]
    error: float


@dataclass(frozen=True)
class Measurement:
    """One problem on one device, and PyTorch's beside it; `say` is told what is left out."""

    problem: Problem
    side: TorchSide
    device: Device
    say: Callable[[str], Any]

    def row(self, pairs: int, seconds: float, limits: Row) -> Row:
        """Compute it by all, compare the results, then time all by turns.

        Parameters
        ----------
        pairs : int
            Of samples.
        seconds : float
            That tuning each kernel may take; 0 leaves the tuned ones out.
        limits : dict
            As :meth:`TorchSide.limits` gives them.
        """
        definition = self._definition()
        ours = self._ours(seconds)
        mine = {name: _Contestant(o.seconds, self._checked(name, o, definition)) for name, o in ours.items()}
        peers = self._peers(definition)
        del definition  # which may be large
        times = _by_turns({**mine, **peers}, pairs, self.side.wake)
        ranked = sorted(peers, key=lambda name: median(times[name]))
        peer_rows = [self._peer_row(name, peers[name].error, times[name]) for name in ranked]
        row = self._costs(ours[VARIANTS[0]], limits) | {
            "peer": peer_rows[0] if peer_rows else None,
            "slower": peer_rows[1:],
        }
        row["schedules"] = [f"{name}, {schedule}" for name, o in ours.items() for schedule in o.schedules]
        for name, o in ours.items():
            row[name] = _our_row(o, mine[name].error, times[name])
            if ranked:
                row[name] |= Comparison(tuple(times[name]), tuple(times[ranked[0]])).summary()
        return row

    def _definition(self) -> Any:
        exact = (self.side.tensor(a).double() for a in self.problem.operands)
        return self.problem.definition(self.side.torch, *exact)

    def _ours(self, seconds: float) -> dict[str, Ours]:
        call = partial(self.problem.ours, *[mdhnp.asarray(a, device=self.device) for a in self.problem.operands])
        untuned, tuned = VARIANTS
        found = {untuned: Ours.of(call)}
        if seconds:
            try:
                tune(found[untuned], seconds)
                found[tuned] = Ours.of(call)
            except Exception as error:  # what is there without tuning still counts
                self.say(f"not tuned, {error_text(error)}")
        return found

    def _checked(self, name: str, ours: Ours, definition: Any) -> float:
        error = self.side.error(ours.result, definition, self.problem.by_norm)
        if not error <= self.problem.tolerance:  # written so that a NaN fails
            raise WrongResultError(f"{name}: off by {error:.2g}, {self.problem.tolerance:.2g} allowed")
        return error

    def _peers(self, definition: Any) -> Mapping[str, _Contestant]:
        tensors = [self.side.tensor(a) for a in self.problem.operands]
        found = {}
        for name, peer in self.problem.peers.items():
            try:
                call = peer.make(self.side.torch, *tensors)
                error = self.side.error(call(), definition, self.problem.by_norm)
            except Exception as missing:
                self.say(f"{name} is left out, {error_text(missing)}")
                continue
            found[name] = _Contestant(partial(self.side.seconds, call), error)
        return found

    def _peer_row(self, name: str, error: float, times: list[float]) -> Row:
        version = import_module(self.problem.peers[name].library).__version__
        return {"name": name, "version": version, "seconds": median(times), "error": error}

    def _costs(self, ours: Ours, limits: Row) -> Row:
        results = ours.result if isinstance(ours.result, tuple) else (ours.result,)
        nbytes = sum(a.nbytes for a in (*self.problem.operands, *results))
        memory = nbytes / limits["copy_bytes_per_second"]
        arithmetic = self.problem.flops / limits["flops_per_second"][self.problem.dtype]
        floor = {"memory": memory, "arithmetic": arithmetic}
        return {"bytes": nbytes, "flops": self.problem.flops, "floor": floor}


def error_text(error: Exception) -> str:
    """Give an error's kind and first line."""
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


def _our_row(ours: Ours, error: float, times: list[float]) -> Row:
    resources = [each._asdict() for plan in ours.plans for each in resources_of(plan)]
    return {"seconds": median(times), "error": error, "call_seconds": ours.call_seconds, "resources": resources}


def _by_turns(contestants: Mapping[str, _Contestant], pairs: int, wake: Callable[[], None]) -> dict[str, list[float]]:
    """Give each one's samples, one a round, of a device that was at work just before; each comes first in turn.

    Who came after the peer, which keeps the device at work, had an advantage otherwise: of the same schedule twice one
    took 14.4 µs, the other 17.2.
    """
    clocks = {name: one.clock for name, one in contestants.items()}
    launches = {name: min(max(round(_FILLED / max(clock(1), 1e-9)), _FEWEST), _MOST) for name, clock in clocks.items()}
    times: dict[str, list[float]] = {name: [] for name in clocks}
    order = [*clocks]
    for _ in range(pairs):
        for name in order:
            wake()
            times[name].append(clocks[name](launches[name]))
        order = [*order[1:], order[0]]
    return times
