"""Several devices for tests, of unlike kinds of memory, and calls on them that are cut however small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from separate import separate

import mdhnp
from mdhnp.calls.store import forget
from mdhnp.cost import Link, Machine
from mdhnp.distributed import executor
from mdhnp.runtime.devices import Device, devices
from mdhnp.runtime.groups import Group, group, sub_devices


def machine(*, operation: float, byte: float, asking: float, moving: float, handing: float) -> Machine:
    """Return a machine by the seconds that things take on it."""
    flops, memory, bandwidth = (1 / t if t else inf for t in (2 * operation, byte, moving))
    return Machine("cpu", 0.0, memory, flops, flops, fetching=Link(asking, bandwidth), handing=handing)


#: A device for which only work counts.
SLOW = machine(operation=1e3, byte=1e3, asking=1e-3, moving=1e-6, handing=1e-3)

#: A device for which all that moves takes as long as work, so that grids are worth it.
FAR = machine(operation=1e3, byte=1.0, asking=1e-3, moving=1e3, handing=1e-3)

KINDS = ("block", "copy", "overlap", "single")

RNG = np.random.default_rng(5)
A, B = RNG.integers(-9, 9, (13, 7)), RNG.integers(-9, 9, (7, 11))
F, G = RNG.standard_normal((13, 7)), RNG.standard_normal((7, 11)).astype("f4")


def groups() -> dict[str, Callable[[], Group]]:
    """Give devices of unlike runtimes, parts of one CPU, and both kinds of memory side by side; or GPUs alone."""
    found = [d for d in devices() if d.runtime != "oclgrind"]
    two = found[:2] if len(found) > 1 else list(sub_devices(found[0], 2))
    shared = next((d for d in two if not d.own_memory), two[1])  # on the host's memory: of a GPU and a CPU the CPU
    other = next(d for d in two if d is not shared)
    return {
        "unlike": lambda: group(two),
        "apart": lambda: group([separate(d) for d in two]),
        "mixed": lambda: _first(3, [shared, separate(other), separate(shared), *found]),
        "four": lambda: _first(4, [*two, *map(separate, two), *found]),
    }


def _first(count: int, members: list[Device]) -> Group:
    """Give a group of so many, each once."""
    each = [*dict.fromkeys(members)]
    return group(each[:count]) if len(each) >= count else pytest.skip(f"there are no {count} devices")


@contextmanager
def cut_always() -> Iterator[None]:
    """Cut small calls, too: work takes so long that it is shared wherever that can be, among equals."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "weights", lambda group: (1.0,) * len(group.members))
        patch.setattr(executor, "machines", lambda group: (SLOW,) * len(group.members))
        forget()  # plans of the same calls that are not cut
        yield
        forget()


def same(found: Any, expected: Any) -> None:
    """Assert that results have the values, shapes and types of others; floats within the accuracy of one device."""
    for one, other in zip(*[x if type(x) is tuple else (x,) for x in (found, expected)], strict=True):
        got, want = (x.numpy() if type(x) is mdhnp.Array else np.asarray(x) for x in (one, other))
        assert (type(one), got.shape, got.dtype) == (type(other), want.shape, want.dtype)
        if got.dtype.kind in "fc":
            near = 64 * np.finfo(got.dtype).eps
            np.testing.assert_allclose(got, want, rtol=near, atol=near * max(np.abs(want).max(initial=0), 1))
        else:
            np.testing.assert_array_equal(got, want)


def failed_event(device: Device) -> cl.Event:
    """Give an event that has failed."""
    event = cl.UserEvent(device.context)
    event.set_status(cl.status_code.OUT_OF_RESOURCES)
    return event


def tells_of_failures(device: Device) -> bool:
    """Whether waiting for an event that failed is an error."""
    try:
        failed_event(device).wait()
    except cl.Error:
        return True
    return False


def need_failures_told(device: Device) -> None:
    """Skip a test on a device that does not tell."""
    if not tells_of_failures(device):
        pytest.skip("waiting for an event that failed is no error of this runtime (NVIDIA's)")
