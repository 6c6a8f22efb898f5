"""One OpenCL device as the rest of the package sees it: names, limits, context and queues.

Takes a pyopencl device, gives :class:`Device`. It must not know which other devices there are.
"""

import hashlib
from collections.abc import Hashable
from functools import cached_property
from typing import Any, ClassVar, Literal

import pyopencl as cl

from mdhnp.documentation import exported
from mdhnp.process import process
from mdhnp.runtime.capabilities import COMPILING, INTEL_LOCAL, cpu_model, query_caps, refusal, shortage, target
from mdhnp.schedule.schedule import DeviceCaps

Runtime = Literal["intel", "pocl", "nvidia", "oclgrind", "other"]


@exported
class NoDeviceError(RuntimeError):
    """No OpenCL device is there, none fits what was asked for, or this process may not use it.

    Examples
    --------
    >>> import mdhnp
    >>> with mdhnp.device("abacus"):
    ...     pass
    Traceback (most recent call last):
    ...
    mdhnp.NoDeviceError: no OpenCL device fits 'abacus'; ...
    """


@exported
class Device:
    """One OpenCL device, with its context and queues made when first needed.

    Attributes
    ----------
    cl : pyopencl.Device
        The device itself.
    name, platform, driver : str
        The device's and its platform's own names, and the driver's version.
    runtime : {"intel", "pocl", "nvidia", "oclgrind", "other"}
        Whose OpenCL implementation drives the device.
    kind : {"cpu", "gpu"}
        Same as ``caps.kind``.
    caps : DeviceCaps
        Sizes and limits, such as ``compute_units``; what schedules and the code generator go by.
    identity : str
        The same in every process on this machine as long as device and driver stay the same; the key of caches.
    svm : bool
        Whether kernels may read and write any host memory (fine-grained *system* shared virtual memory).
    own_memory : bool
        Whether kernels work on memory of the device's own, which the host cannot read, and not on the host's.

    Raises
    ------
    NoDeviceError
        If its kernels would not compile, or end the process; says what helps.

    Examples
    --------
    >>> import mdhnp
    >>> device = mdhnp.devices()[0]
    >>> device.kind in ("cpu", "gpu") and device.caps.compute_units > 0
    True
    """

    #: What tries what a device says to have: `trial.py`, which builds programs, and is set by `devices.py`.
    trial: ClassVar[Any]
    #: What keeps arrays in memory of its own: `resident.py`, which knows devices, and is set by `devices.py`.
    memory: ClassVar[Any]
    #: Whether it goes with a call, as what stands for a device while a function is traced does, and whether it stands
    #: for several devices, as a `Group` does: no device does.
    passing = several = False

    def __init__(self, device: cl.Device) -> None:
        if (why := refusal(device)) is not None:
            raise NoDeviceError(why)
        self.cl = device
        self.name: str = device.name.strip()
        self.platform: str = device.platform.name.strip()
        self.driver: str = device.driver_version.strip()
        self._said = query_caps(device)
        self.kind = self._said.kind
        #: Why matrix instructions of its architecture are not used, if so; known once `caps` are.
        self.refused = ""
        self.runtime: Runtime = _runtime(self.platform, self.kind)
        self.svm: bool = _system_svm(device, self.runtime, self.kind)
        self.own_memory = self._said.offsets
        #: The device only, as calls name those that they may choose from, and as a group names those it stands for.
        self.alone: tuple[Device, ...] = (self,)
        self.members = self.alone
        #: What tells calls on Arrays of this device from others; where memory is the host's, these are on ndarrays.
        self.key: Hashable = ("views", id(self)) if self.own_memory else self.alone
        self.identity: str = self._identity()
        self._lock = process.lock()
        self._forks = process.forks
        self._context: cl.Context | None = None
        self._queues: dict[str, cl.CommandQueue] = {}

    def __repr__(self) -> str:
        return f"<Device {self.name!r} ({self.runtime}, {self.driver})>"

    @cached_property
    def caps(self) -> DeviceCaps:
        """Sizes and limits, and what was tried of them."""
        caps, self.refused = self.trial.confirmed(self, self._said)
        return caps

    @property
    def lost(self) -> bool:
        """Whether this process is a forked child of the one that found the device."""
        return self._forks != process.forks

    @property
    def context(self) -> cl.Context:
        """The device's one context."""
        self.check()
        with self._lock:  # two threads must not end up with a context each
            if self._context is None:
                if (why := shortage(COMPILING)) is not None:
                    raise NoDeviceError(f"{self.name} ({self.platform}) is not used, for want of memory: {why}")
                try:
                    context = cl.Context([self.cl])
                except cl.Error as error:
                    raise NoDeviceError(
                        f"{self.name} ({self.platform}) cannot be used: its context could not be made ({error}); "
                        "is there too little memory, as by `ulimit -v` or a container's limit?"
                    ) from error
                self._context = self._context or context  # a finalizer may have made one
            return self._context

    @property
    def queue(self) -> cl.CommandQueue:
        """In-order queue of every call, without profiling, which costs time at every launch."""
        return self.queue_of("calls")

    def queue_of(self, purpose: Literal["calls", "profiling", "sending", "receiving"]) -> cl.CommandQueue:
        """In-order queue: of calls, of launches whose events carry times, of copies that go on beside kernels."""
        found = self._queues.get(purpose)
        if found is not None and not self.lost:
            return found
        context = self.context
        with self._lock:
            if purpose not in self._queues:
                timed = {"properties": cl.command_queue_properties.PROFILING_ENABLE} if purpose == "profiling" else {}
                queue = cl.CommandQueue(context, self.cl, **timed)
                self._queues.setdefault(purpose, queue)
            return self._queues[purpose]

    def check(self) -> None:
        """Raise :class:`NoDeviceError` in a forked child, where the runtime's threads are not.

        PoCL's worker threads and NVIDIA's context stay in the parent: any launch in the child waits for ever. Intel's
        runtime mostly goes on, yet waits for ever in one child of a hundred on a busy machine: a thread of its own held
        a lock when the process was forked.
        """
        if self.lost:
            raise NoDeviceError(
                f"{self.name} ({self.platform}) was found before this process was forked, and OpenCL does not "
                "survive that; start processes with multiprocessing's 'spawn' or 'forkserver' method"
            )

    def _identity(self) -> str:
        # Virtual machines call every processor "Intel(R) Xeon(R) Processor". A home folder that two machines share must
        # not hand one machine's AVX-512 code to the other, so the processor's model and features are in the key too.
        detail = [self.platform, self.cl.version, cpu_model() if self.kind == "cpu" else ""]
        detail += filter(None, [target(self.cl)])
        local = self._said.local_memory  # what is fastest, and which times were measured, go by that, too
        detail += [str(local)] if self.runtime == "intel" and local != INTEL_LOCAL else []
        digest = hashlib.sha256("|".join(detail).encode()).hexdigest()[:12]
        return f"{self.runtime}|{self.name}|{self.driver}|{self._said.compute_units}cu|{digest}"


def _runtime(platform: str, kind: str) -> Runtime:
    if platform == "Oclgrind":
        return "oclgrind"
    if platform == "Portable Computing Language":
        return "pocl"
    if platform.startswith("NVIDIA"):
        return "nvidia"
    return "intel" if "Intel" in platform and kind == "cpu" else "other"


def _system_svm(device: cl.Device, runtime: Runtime, kind: str) -> bool:
    # PoCL before 4.0 does not claim it, yet its CPU devices work on the host's memory by its address all the same.
    if runtime == "pocl" and kind == "cpu":
        return True
    if device.version.startswith("OpenCL 1."):  # which does not know the question
        return False
    return bool(device.svm_capabilities & cl.device_svm_capabilities.FINE_GRAIN_SYSTEM)
