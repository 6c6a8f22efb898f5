"""What one call of a plan works with, and what an OpenCL error means to its user.

Takes a device, a compiled program and the arrays' layouts; gives :class:`LaunchState`. It must not launch anything.
"""

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

from mdhnp.codegen.program import Kernel, Program
from mdhnp.native import Enqueuer, Launcher
from mdhnp.runtime import pending
from mdhnp.runtime.handle import Device
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.memory import Bound, Memory, Resident, SystemMemory, memory_for
from mdhnp.runtime.pending import FULL, LaunchError
from mdhnp.runtime.pool import pool

#: Shape and type of a result.
Output = tuple[tuple[int, ...], np.dtype[Any]]

_enqueue: Callable[..., cl.Event] = cl.enqueue_nd_range_kernel


class Launch(NamedTuple):
    """A kernel with its sizes set: what remains is one argument for each pair in `bindings` and `offsets`."""

    kernel: cl.Kernel  # not shared with any other state
    set_arg: Callable[[int, Any], None]  # the kernel's, looked up once
    global_size: tuple[int]
    local_size: tuple[int]
    #: Argument's index, and position among the inputs, followed by the outputs, followed by the temporaries.
    bindings: tuple[tuple[int, int], ...]
    #: The same of arguments that are an array's offset in its buffer.
    offsets: tuple[tuple[int, int], ...]
    #: The kernel, its sizes and the device, for messages.
    where: str


@dataclass(frozen=True, slots=True)
class LaunchState:
    """Memory and launches of one call at a time. OpenCL's errors are those of :func:`translating`."""

    device: Device
    nbytes: int  # of all arrays and temporaries
    launches: tuple[Launch, ...]
    memory: Memory
    native: "Launcher | None"  # launches without Python, where kernels work on the arrays' own memory
    temporaries: Callable[[], tuple[Any, ...]] | None  # that it needs beside the arrays
    enqueuer: "Enqueuer | None"  # the same for views of the device's own memory

    def launched(self, arrays_in: Sequence[Any], arrays_out: Sequence[Any]) -> bool:
        """Launch without Python, and wait; False if OpenCL refused something."""
        assert self.native is not None
        if self.temporaries is None:
            return self.native.launch(arrays_in, arrays_out)
        return self.native.launch(arrays_in, (*arrays_out, *self.temporaries()))

    def bind(self, arrays_in: Sequence[Any], arrays_out: Sequence[Any]) -> Bound:
        """Set what changes from call to call, and give it."""
        if self.enqueuer is not None:
            self.enqueuer.forget()
        with translating(self.device, self.nbytes):
            bound = self.memory.bind(arrays_in, arrays_out)
            for launch in self.launches:
                for index, slot in launch.bindings:
                    launch.set_arg(index, bound.arguments[slot])
                for index, slot in launch.offsets:
                    launch.set_arg(index, bound.offsets[slot])
            return bound

    def launch(self, queue: cl.CommandQueue) -> list[cl.Event]:
        events = []
        for launch in self.launches:
            with translating(self.device, self.nbytes, launch):
                events.append(_enqueue(queue, launch.kernel, launch.global_size, launch.local_size))
        return events

    def complete(self, event: cl.Event, bound: Bound, arrays_out: Sequence[Any]) -> None:
        """Wait for the last launch, see that the results are in `arrays_out`, and let go of what was bound."""
        with translating(self.device, self.nbytes, self.launches[-1]):
            self.memory.complete(event, bound, arrays_out)
            if self.memory.transient:  # a freed buffer that is still set has crashed PoCL
                for launch in self.launches:
                    for index, _ in launch.bindings:
                        launch.set_arg(index, None)
        if self.native is not None:
            self.native.forget()


def make_state(
    device: Device,
    built: cl.Program,
    program: Program,
    inputs: Sequence[Layout],
    outputs: Sequence[Layout],
    resident: bool,
    results: Sequence[Output],
) -> LaunchState:
    """Make kernel objects of a compiled program, for calls on arrays of these layouts.

    LaunchError if a kernel is missing, or needs more work-items or local memory than the device has; MemoryError if an
    array or temporary is larger than the device's largest buffer, or there is no room.
    """
    device.check()
    nbytes = sum(layout.nbytes for layout in (*inputs, *outputs)) + sum(program.temporaries)
    with translating(device, nbytes):
        memory = memory_for(device, inputs, outputs, program.temporaries, resident=resident)
        first = {"input": 0, "output": len(inputs), "temporary": len(inputs) + len(outputs)}
        launches = tuple([_launch(device, built, kernel, program.sizes, first) for kernel in program.kernels])
    temporaries = memory.temporaries if isinstance(memory, SystemMemory) and program.temporaries else None
    launcher, enqueuer = _natives(device, memory, launches, program, results)
    return LaunchState(device, nbytes, launches, memory, launcher, temporaries, enqueuer)


def _launch(
    device: Device, built: cl.Program, description: Kernel, sizes: Sequence[int], first: Mapping[str, int]
) -> Launch:
    """Make a kernel object with its sizes set; `first` is where each role's arguments begin among all arrays."""
    where = (
        f"kernel {description.name!r}, global size {description.global_size}, local size {description.local_size}, "
        f"on {device.name} ({device.runtime})"
    )
    try:
        kernel = cl.Kernel(built, description.name)
    except cl.LogicError as error:
        raise LaunchError(f"{where}: the program has no such kernel") from error
    _check(device, kernel, description, where)
    bindings, offsets = [], []
    for index, (role, position) in enumerate(description.arguments):
        if role == "size":
            kernel.set_arg(index, np.int32(sizes[position]))
        elif role.startswith("offset"):
            offsets.append((index, position + first[role.removeprefix("offset of ")]))
        else:
            bindings.append((index, position + first[role]))
    items = (description.global_size,), (description.local_size,)
    return Launch(kernel, kernel.set_arg, *items, tuple(bindings), tuple(offsets), where)


def _natives(
    device: Device, memory: Memory, launches: Sequence[Launch], program: Program, outputs: Sequence[Output]
) -> tuple["Launcher | None", "Enqueuer | None"]:
    """What launches without Python, where it is compiled and finds the functions that pyopencl itself calls."""
    lows = (*memory.lows, *(0 for _ in program.temporaries))
    kernels = tuple((launch.kernel.int_ptr, *launch.global_size, *launch.local_size) for launch in launches)
    bindings = tuple(
        (n, *binding, kind)
        for n, launch in enumerate(launches)
        for kind, pairs in ((False, launch.bindings), (True, launch.offsets))
        for binding in pairs
    )
    if Launcher is not None and isinstance(memory, SystemMemory):  # functions that came with OpenCL 2
        functions = _addresses("SetKernelArgSVMPointer", "EnqueueNDRangeKernel", "WaitForEvents", "ReleaseEvent")
        launcher = None if functions is None else Launcher(functions, device.queue.int_ptr, lows, kernels, bindings)
        return launcher, None
    functions = _addresses("SetKernelArg", "EnqueueNDRangeKernel")
    if Enqueuer is None or not isinstance(memory, Resident) or functions is None:
        return None, None
    source, waiting = pool(device), pending.waiting(device)
    results = [(source.size_of(prod(shape) * dtype.itemsize), shape, dtype) for shape, dtype in outputs]
    temporaries = [source.size_of(nbytes) for nbytes in program.temporaries]
    return None, Enqueuer(
        functions, device.queue.int_ptr, lows, kernels, bindings,
        (tuple((source.home(size), size, shape, dtype) for size, shape, dtype in results),
         tuple((source.home(size), size) for size in temporaries), source.new),
        (launches[-1].where, pending.PACKAGE, waiting.last, pending.EACH, waiting.put_address),
    )  # fmt: skip


@lru_cache(maxsize=8)
def _addresses(*names: str) -> Any:
    try:
        library = ctypes.CDLL(cl._cl.__file__)
        return tuple(ctypes.cast(getattr(library, f"cl{name}"), ctypes.c_void_p).value or 0 for name in names)
    except (AttributeError, OSError):
        return None


def _check(device: Device, kernel: cl.Kernel, description: Kernel, where: str) -> None:
    """Refuse here what runtimes refuse at the launch, with less to say."""
    info = cl.kernel_work_group_info
    # Not WORK_GROUP_SIZE: NVIDIA's runtime says 256 of all kernels, also of those that it compiled for more.
    most = device.caps.max_work_group
    local = int(kernel.get_work_group_info(info.LOCAL_MEM_SIZE, device.cl))
    if description.global_size % description.local_size:
        raise LaunchError(f"{where}: the local size does not divide the global size")
    if description.local_size > most:
        raise LaunchError(f"{where}: at most {most} work-items fit in a work-group")
    if local > device.caps.local_memory:
        raise LaunchError(f"{where}: needs {local} bytes of local memory, of {device.caps.local_memory}")


@contextmanager
def translating(device: Device, nbytes: int, launch: Launch | None = None) -> Iterator[None]:
    """Turn an OpenCL error in this block into MemoryError, if it means that memory is full, or LaunchError.

    What is under way is a launch, or by default bringing arrays and temporaries, `nbytes` in all, to the device.
    """
    try:
        yield
    except cl.Error as error:
        # Of a launch, OUT_OF_RESOURCES speaks of local memory or registers.
        if error.code in FULL or (launch is None and error.code == cl.status_code.OUT_OF_RESOURCES):
            raise MemoryError(f"{device.name} ({device.runtime}) has no room for {nbytes} bytes: {error}") from error
        if launch is None:
            raise LaunchError(f"arrays of {nbytes} bytes could not be brought to {device.name}: {error}") from error
        local = launch.kernel.get_work_group_info(cl.kernel_work_group_info.LOCAL_MEM_SIZE, device.cl)
        raise LaunchError(f"{launch.where}, {local} bytes of local memory: {error}") from error
