"""From an MdHom and arrays to results: looks plans up, has missing ones made, runs them, replaces them by better ones.

A plan is found by one dictionary look-up from the call's own key, the arrays' layouts and the device; on a miss the MDH
is built, and `plans.py` makes the plan.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp import native
from mdhnp.mdh import MdHom, interpret
from mdhnp.plans import NoDoublePrecision, Prepared, prepare
from mdhnp.runtime.devices import Device, default_device
from mdhnp.runtime.memory import Layout
from mdhnp.settings import Tuning, config
from mdhnp.tuning.host import host_for
from mdhnp.tuning.policy import Trial, general_serves

__all__ = [
    "NoDoublePrecision",
    "Prepared",
    "computes_doubles",
    "forget",
    "observe",
    "prepare",
    "repeat",
    "run",
]

Array = npt.NDArray[Any]

#: Plans kept; those not used for long go first.
_CAPACITY = 4096


class _Plans:
    """The plans kept, in two generations, so that finding one costs a look-up and nothing else.

    When the young generation is full it becomes the old one, in place of what was that. A plan found among the old
    ones is young again: what is in use stays, and what was not used for as long as half the capacity's plans were
    made goes.
    """

    def __init__(self) -> None:
        self.young: dict[Hashable, Prepared] = {}  # always the same object: `run` reads it without the lock
        self.old: dict[Hashable, Prepared] = {}
        self.epoch = 0  # counts `clear`
        # Reentrant, since the garbage collector may come at any line, and run a finalizer that makes a call.
        self.lock = threading.RLock()

    def find(self, key: Hashable) -> tuple[Prepared | None, int]:
        """Give the plan, of whichever generation, and the epoch."""
        with self.lock:
            return self.young.get(key) or self.old.get(key), self.epoch

    def keep(self, key: Hashable, prepared: Prepared, epoch: int) -> Prepared:
        """Keep a plan, and give the one to use: that of another thread which was faster, and may be tuned by now.

        None is kept if all plans were dropped since `epoch`: then its schedules may be outdated.
        """
        with self.lock:
            if epoch != self.epoch:
                return prepared
            if (first := self.young.get(key)) is not None:
                return first
            prepared = self.old.pop(key, prepared)
            if len(self.young) >= _CAPACITY // 2:
                self.old.clear()
                self.old.update(self.young)
                self.young.clear()
            self.young[key] = prepared
            return prepared

    def swap(self, key: Hashable, old: Prepared, new: Prepared) -> None:
        """Put a plan in another one's place, unless that is gone."""
        with self.lock:
            for generation in (self.young, self.old):
                if generation.get(key) is old:
                    generation[key] = new
            if new.owner is not None and new.owner() is None:  # it died between two of these lines
                self.drop(key)

    def drop(self, key: Hashable) -> None:
        """Drop one plan; called by the garbage collector, so without the lock."""
        self.young.pop(key, None)
        self.old.pop(key, None)

    def clear(self) -> None:
        with self.lock:
            self.young.clear()
            self.old.clear()
            self.epoch += 1

    def after_fork_in_child(self) -> None:
        self.lock = threading.RLock()  # a thread that is not here may hold the old one


_cache = _Plans()
_plans = _cache.young
_Seen = list[tuple[Prepared, Sequence[Array]]]
_observers: ContextVar[tuple[_Seen, ...]] = ContextVar("mdhnp_observers", default=())

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_cache.after_fork_in_child)


def computes_doubles() -> bool:
    """Whether the current device computes in float64 and complex128."""
    return default_device().caps.fp64


def _key(call: Hashable, device: Device, host: str, arrays: Sequence[Array]) -> Hashable:
    """Give the key of a plan: all that a kernel or the choice between it and NumPy depends on."""
    # Numbers tell long from long long, which are equal but not the same.
    return (call, device, host, *[part for a in arrays for part in (a.shape, a.strides, a.dtype.num)])


def _find_plan(
    plans: dict[Hashable, Prepared], call: Hashable, device: Device, host: str, operands: Sequence[Any]
) -> Prepared | None:
    """Look up the plan; None where none is found, and for operands that are not what kernels can address."""
    for a in operands:
        if type(a) is not np.ndarray or not a.dtype.isnative or not a.flags.aligned:
            return None
    return plans.get(_key(call, device, host, operands))


_find = _find_plan if native.find_plan is None else native.find_plan


def repeat(call: Hashable, operands: tuple[Any, ...]) -> Any:
    """Make a call of one result again, if its plan is there: the short way, without a look at what it computes.

    Parameters
    ----------
    call : hashable
        As :func:`run` takes it.
    operands : tuple
        As a user gives them.

    Returns
    -------
    ndarray or scalar or None
        What the user gets; None where there is no plan, or the operands are not what kernels can address.
    """
    device, mode = default_device(), config.host
    prepared = _find(_plans, call, device, mode, operands)
    if prepared is None:
        return None
    if prepared.host is not None and not _observers.get():
        prepared.host.count.calls += 1
        result = prepared.host.compute(*operands)
    else:
        results = _run_ready(prepared, operands)
        if results is None:
            results = _run(_key(call, device, mode, operands), prepared, operands)
        result = results[0]
    return result if result.ndim else result[()]


def _run_ready(prepared: Prepared, arrays: tuple[Any, ...]) -> tuple[Array, ...] | None:
    """Run a plan with which nothing else is to be done; None where there is."""
    plan = prepared.plan
    if plan is None or prepared.trial is not None or _observers.get():
        return None
    if prepared.watch is not None and config.tuning != "off":
        return None
    results = prepared.make()
    plan(arrays, results)
    return results


def run(
    call: Hashable, arrays: tuple[Array, ...], build: Callable[[], MdHom], owner: object | None = None
) -> tuple[Array, ...]:
    """Run an MDH on arrays.

    Parameters
    ----------
    call : hashable
        What is computed, as far as shapes, strides, dtypes and the device do not say. The first part of a tuple is the
        function's name.
    arrays : tuple of ndarray
        One an input view, of native byte order and aligned.
    build : callable
        Gives the MDH for these arrays; called where no plan is found.
    owner : object, optional
        What alone makes this call; its plans are dropped when it dies. `call` may hold it weakly only.

    Returns
    -------
    tuple of ndarray
        New C-contiguous arrays, one an output view.
    """
    device, mode = default_device(), config.host
    prepared = _find(_plans, call, device, mode, arrays)
    if prepared is not None and (results := _run_ready(prepared, arrays)) is not None:
        return results
    key = _key(call, device, mode, arrays)
    if prepared is None:
        prepared, epoch = _cache.find(key)
        if prepared is None:
            prepared = _made(call, build(), arrays, device, mode)
            if owner is not None:
                prepared = replace(prepared, owner=weakref.ref(owner, lambda _: _cache.drop(key)))
        prepared = _cache.keep(key, prepared, epoch)
    return _run(key, prepared, arrays)


def _made(call: Hashable, h: MdHom, arrays: Sequence[Array], device: Device, mode: str) -> Prepared:
    function = call[0] if isinstance(call, tuple) and isinstance(call[0], str) else "md_hom"
    host = host_for(function, h, device) if mode == "auto" else None
    if host is None:
        return prepare(h, [Layout.of(a) for a in arrays], device)
    return Prepared(h, device, tuple((v.shape, v.dtype) for v in h.outputs), host=host)


def _run(key: Hashable, prepared: Prepared, arrays: Sequence[Array]) -> tuple[Array, ...]:
    if prepared.trial is not None:
        if general_serves():
            return _run_general(key, prepared, arrays)
        prepared = _replaced(key, prepared)  # made under other settings
    if prepared.watch is not None and (policy := config.tuning) != "off":
        return _run_untuned(policy, key, prepared, arrays)
    return _execute(prepared, arrays)


def _execute(prepared: Prepared, arrays: Sequence[Array]) -> tuple[Array, ...]:
    if prepared.parts:
        return _execute_parts(prepared, arrays)
    for seen in _observers.get():
        seen.append((prepared, arrays))
    if prepared.plan is None:
        return _without_kernels(prepared, arrays)
    results = prepared.make()
    prepared.plan(arrays, results)
    return results


def _without_kernels(prepared: Prepared, arrays: Sequence[Array]) -> tuple[Array, ...]:
    if prepared.host is not None:
        prepared.host.count.calls += 1
        result = prepared.host.compute(*arrays)
        return (result if type(result) is np.ndarray else np.asarray(result),)
    found = interpret(prepared.mdhom, *arrays)
    return tuple(np.asarray(a) for a in found) if isinstance(found, tuple) else (np.asarray(found),)


def _execute_parts(prepared: Prepared, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Run a call part by part, each on slices of the arrays."""
    results = prepared.make()
    for one, part in prepared.parts:
        assert one.plan is not None
        inputs = [a[where] for a, where in zip(arrays, part.inputs, strict=True)]
        for seen in _observers.get():
            seen.append((one, inputs))
        one.plan(inputs, [r[where] for r, where in zip(results, part.outputs, strict=True)])
    return results


def _run_untuned(policy: Tuning, key: Hashable, prepared: Prepared, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Run a plan whose schedules are not all tuned, and have them tuned when the policy says so."""
    watch = prepared.watch
    assert watch is not None
    if policy == "auto":
        begin = time.perf_counter()
        results = _execute(prepared, arrays)
        if watch.is_due(time.perf_counter() - begin) and watch.tune(exhaustive=False):
            _renewed(key, prepared)
        return results
    if policy == "full" and watch.tune(exhaustive=True):
        prepared = _renewed(key, prepared)
    results = _execute(prepared, arrays)
    if policy == "background":
        watch.tune_later(partial(_renewed, key, prepared))
    return results


def _run_general(key: Hashable, prepared: Prepared, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Run a plan with a general kernel, and replace it when it has been used for long enough."""
    assert prepared.trial is not None
    begin = time.perf_counter()
    results = _execute(prepared, arrays)
    if prepared.trial.is_due(time.perf_counter() - begin):
        try:
            _replaced(key, prepared)
        except KeyboardInterrupt:
            _cache.swap(key, prepared, replace(prepared, trial=Trial()))  # which else would never be due again
            raise
    return results


def _renewed(key: Hashable, prepared: Prepared) -> Prepared:
    """Give the plan with the schedules known now, and let later calls find it."""
    return _replaced(key, prepared, watch=None)


def _replaced(key: Hashable, prepared: Prepared, **changes: Any) -> Prepared:
    """Make the plan anew, with kernels for its very sizes, and let later calls find it."""
    assert prepared.plan is not None  # only such plans are replaced
    new = prepare(prepared.mdhom, prepared.plan.inputs, prepared.device, special=True)
    new = replace(new, owner=prepared.owner, **changes)
    _cache.swap(key, prepared, new)
    return new


def forget() -> None:
    """Drop all plans, so that calls look their schedules up again; those being made now are not kept either."""
    _cache.clear()


@contextmanager
def observe() -> Iterator[list[tuple[Prepared, Sequence[Array]]]]:
    """Collect the plans and arrays of all calls made inside the block, in order.

    Blocks nest, and the outer ones see the calls of the inner. A block sees the calls of its own thread or
    asynchronous task only.
    """
    seen: _Seen = []
    token = _observers.set((*_observers.get(), seen))
    try:
        yield seen
    finally:
        _observers.reset(token)
