"""Threads: one a device, in which its part of a call is done while others do theirs.

It must not know what is done.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from contextvars import ContextVar, copy_context
from typing import Any

from mdhnp.errors import collected, warn
from mdhnp.process import having, process
from mdhnp.runtime.devices import device as use
from mdhnp.runtime.groups import Group
from mdhnp.runtime.handle import Device

#: The group whose calls are made, whose labels tell equal devices apart.
_group: ContextVar[Group | None] = ContextVar("mdhnp_group", default=None)

_threads: dict[Device, ThreadPoolExecutor] = process.table()

#: Seconds of a wait, after which another one begins: a signal, as of Ctrl-C, that comes just before does not end it.
_WAIT = 0.5


def on_all(devices: Sequence[Device], jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Do a job on each device, all at once, and give what they give.

    Each sees the settings of the caller, and its device as the chosen one. What they warn of is issued at the
    end, at the user's line. A single one is done in the caller's thread. MemoryError, TypeError or RuntimeError, which
    names the device, if one fails; the others end what they have begun.
    """
    if len(jobs) == 1:
        return [_done(devices[0], jobs[0])]
    futures: list[Future[Any]] = []
    try:
        with collected() as warnings:
            for device, job in zip(devices, jobs, strict=True):
                futures.append(_thread(device).submit(copy_context().run, _done, device, job))
        _wait(futures, FIRST_EXCEPTION)
    finally:
        for future in futures:
            future.cancel()  # nothing, unless an exception came, as of Ctrl-C
    begun = [future for future in futures if not future.cancelled()]
    _wait(begun, ALL_COMPLETED)
    failed = [future for future in begun if future.exception() is not None]
    if not failed:  # an error says more
        for text in dict.fromkeys(warnings):
            warn(text)
    return [future.result() for future in failed or begun]


def in_turn(devices: Sequence[Device], jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Do jobs in the caller's thread, one after the other, with the errors of :func:`on_all`: those that only enqueue.

    No device is chosen for them.
    """
    found: list[Any] = []
    for device, job in zip(devices, jobs, strict=True):
        with named(device):
            found.append(job())
    return found


def _wait(futures: Sequence[Future[Any]], until: str) -> None:
    left: Any = True
    while left:
        done, left = wait(futures, _WAIT, until)
        if until == FIRST_EXCEPTION and any([future.exception() is not None for future in done]):
            return


def _done(device: Device, job: Callable[[], Any]) -> Any:
    with use(device), named(device):
        return job()


def calling(group: Group) -> AbstractContextManager[Group]:
    """Have errors in a block name devices as a group labels them."""
    return having(_group, group)


def _label(device: Device) -> str:
    group = _group.get()
    known = {} if group is None else dict(zip(group.members, group.labels, strict=True))
    return known.get(device, f"{device.name} ({device.runtime})")


class named:
    """Have errors in a block name the device; one that is named already stays what it is."""

    __slots__ = ("_device",)

    def __init__(self, device: Device) -> None:
        self._device = device

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MemoryError | TypeError):
            of = MemoryError if isinstance(error, MemoryError) else TypeError
            raise of(f"{_label(self._device)}: {error}") from error
        if isinstance(error, Exception) and not isinstance(error, _Failed):
            raise _Failed(f"{_label(self._device)}: {type(error).__name__}: {error}") from error


class _Failed(RuntimeError):
    """A device failed; names it."""


def _thread(device: Device) -> ThreadPoolExecutor:
    device.check()  # before a thread is asked for that a forked child does not have
    found = _threads.get(device)
    if found is None:
        name = f"mdhnp-{device.runtime}"
        found = _threads.setdefault(device, ThreadPoolExecutor(1, thread_name_prefix=name))
    return found
