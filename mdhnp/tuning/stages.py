"""Tunes the stages of what calls were seen to run, each of them once."""

from collections.abc import Sequence
from typing import Any

from mdhnp.calls.kernels import staged
from mdhnp.runtime.devices import Device
from mdhnp.tuning.cache.records import Key
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.prepare import requested, settle
from mdhnp.tuning.search.session import Tuned, tune_stage

__all__ = ["Seen", "Stages"]

#: Plans of a call, with their arrays.
Seen = Sequence[tuple[Any, Sequence[Any]]]


class Stages:
    """Stages that are tuned; takes what :func:`mdhnp.tuning.search.session.tune_stage` takes.

    Attributes
    ----------
    found : list of Tuned
        What that brought.
    keys : dict
        The keys of the stages that were seen, in order.
    """

    def __init__(
        self,
        budget: float,
        evaluations: int | None,
        seed: int = 0,
        progress: bool | None = None,
        beside: Sequence[Device] = (),
    ) -> None:
        self.found: list[Tuned] = []
        self.keys: dict[Key, None] = {}
        self._how = budget, evaluations, seed, progress, beside

    def tune(self, seen: Seen) -> bool:
        """Tune what was not seen before, and measure it beside NumPy; gives whether the user wants no more."""
        requests = dict.fromkeys(requested(seen))
        for h, device in [(s.mdhom, r.device) for r in requests for s in staged(r.mdhom)]:
            if (key := key_of(h, device)) in self.keys:
                continue
            self.keys[key] = None
            tuned, stopped = tune_stage(h, device, *self._how)
            self.found += [tuned] if tuned is not None else []
            if stopped:
                return True
        for request in requests:
            settle(request)
        return False
