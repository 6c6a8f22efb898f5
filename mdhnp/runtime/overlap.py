"""Kernels on parts of arrays of the host, while other parts are copied to a device with memory of its own, or from it.

Takes the parts, and what enqueues kernels for each. It must not know what they compute. Copies to the device, kernels
and copies from it have a queue each; markers keep a part's own order.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy.typing as npt
import pyopencl as cl

from mdhnp.runtime import pending, resident
from mdhnp.runtime.handle import Device
from mdhnp.runtime.transfers import after

Array = npt.NDArray[Any]


#: A part: what enqueues kernels on views of its inputs, and gives views of results; inputs and outputs on the host.
SliceJob = tuple[Callable[[Sequence[Array]], Sequence[Array]], Sequence[Array], Sequence[Array]]


def overlapped(device: Device, jobs: Sequence[SliceJob]) -> None:
    """Do all jobs on a device with memory of its own, and return when their results are in the outputs.

    What several of them read is copied once. LaunchError if a copy or a kernel failed, MemoryError if there is no room
    for all inputs. After Ctrl-C the copies and kernels that are on their way are waited for.
    """
    # All taken at first and held to the end: copies do not wait for kernels that use what is free later.
    inputs: dict[tuple[Any, ...], tuple[Array, Array]] = {}
    for a in [a for _, read, _ in jobs for a in read]:
        if _memory(a) not in inputs:
            inputs[_memory(a)] = resident.unsent(device, a)
    left = {key: array for key, (array, _) in inputs.items()}
    up, calls, down = device.queue_of("sending"), device.queue, device.queue_of("receiving")
    with pending.errors(device), ThreadPoolExecutor(1, thread_name_prefix="mdhnp-receive") as receiver:
        copies: list[Future[None]] = []
        try:
            after(up, calls)  # kernels of calls before may still use what were free blocks
            for enqueue, read, outputs in jobs:
                mine = [_memory(a) for a in read]
                for key in mine:
                    if key in left:
                        resident.upload_into(device, left.pop(key), inputs[key][1], up)
                after(calls, up)
                found = enqueue([inputs[key][1] for key in mine])
                done = cl.enqueue_marker(calls)
                calls.flush()
                copies.append(receiver.submit(_receive, device, found, outputs, done))
            for copy in copies:
                copy.result()
        except BaseException:
            for copy in copies:
                copy.cancel()
            for queue in (up, calls, down):  # which use the arrays, and blocks about to be free
                with suppress(cl.Error):  # the first error says more
                    queue.finish()
            raise


def _memory(a: Array) -> tuple[Any, ...]:
    return a.__array_interface__["data"][0], a.dtype, a.shape, a.strides


def _receive(device: Device, views: Sequence[Array], outputs: Sequence[Array], done: cl.Event) -> None:
    down = device.queue_of("receiving")
    cl.enqueue_barrier(down, wait_for=[done])
    for view, output in zip(views, outputs, strict=True):
        resident.download_into(device, view, output, down)
