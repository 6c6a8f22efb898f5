"""What large calls cost: copies to a device, its memory and arithmetic, and NumPy's own at sizes beyond the caches.

Measured once for each device, and once for NumPy, when first asked for, and kept in the tuning cache like `costs.py`'s.
"""

import time
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from mdhnp.calls.numpy_tier import dot, einsum
from mdhnp.codegen.program import Argument, Kernel, Program
from mdhnp.placement.costs import keep, kept, least
from mdhnp.runtime.devices import Device
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.memory import DeviceBuffers, Layout
from mdhnp.schedule import DeviceCaps

__all__ = ["DeviceRates", "HostRates", "device_rates", "host_rates", "usual_rates"]

#: Bytes that the copying kernel reads, and writes again, on CPUs and GPUs: well over their caches.
_COPIED = {"cpu": 1 << 25, "gpu": 1 << 28}
#: Bytes of the two arrays that are copied to a device and back.
_SENT = (1 << 16, 1 << 24)
#: Independent sums of one work-item, and how often each is added to.
_SUMS, _ROUNDS = 10, {"cpu": 1 << 14, "gpu": 1 << 10}
#: Work-groups a compute unit.
_GROUPS = 8


@dataclass(frozen=True)
class DeviceRates:
    """What a device's hardware gives kernels.

    Attributes
    ----------
    bandwidth : float
        Bytes a second that a copying kernel reads and writes.
    peak : dict of str to float
        By dtype: multiply-adds a second; float64 only where the device has it.
    sending, receiving : (float, float)
        Seconds of a copy to and from the device's memory, and of each byte more; zeros where it shares the host's.
    """

    bandwidth: float
    peak: dict[str, float]
    sending: tuple[float, float] = (0.0, 0.0)
    receiving: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class HostRates:
    """What NumPy gets of the host on large arrays.

    Attributes
    ----------
    product : dict of str to float
        By dtype: seconds of one multiply-add of a large matrix product.
    byte : float
        Seconds of one byte that is read by a sum.
    copied : float
        Seconds of one byte that is copied to be in another order.
    """

    product: dict[str, float]
    byte: float
    copied: float


_devices: dict[str, DeviceRates] = {}
_hosts: list[HostRates] = []


def device_rates(device: Device) -> DeviceRates:
    """Give the rates of a device; measures where nothing is known, in some 100 ms and the time that compiling takes."""
    found = _devices.get(device.identity)
    if found is None:
        found = _read_device(kept(device, "rates"))
        if found is None:
            found = _measure_device(device)
            keep(device, "rates", asdict(found))
        _devices[device.identity] = found
    return found


def usual_rates(caps: DeviceCaps) -> DeviceRates:
    """Give what devices like this one usually have, at the most, without measuring anything.

    Examples
    --------
    >>> caps = DeviceCaps("any", "cpu", 2, 32, 16, 1 << 15, 4096, 1 << 15, 1 << 20, True, False, 1 << 32)
    >>> usual_rates(caps).peak["float32"] / 1e9  # two cores, 8 lanes, twice each cycle
    96.0
    """
    units = caps.compute_units
    if caps.kind == "gpu":
        peak = {name: units * lanes * 2e9 for name, lanes in (("float32", 128), ("float64", 64))}
        return DeviceRates(units * 40e9, peak, (5e-6, 2e-11), (5e-6, 2e-11))
    peak = {name: units * 2 * 3e9 * caps.vector_bytes / size for name, size in (("float32", 4), ("float64", 8))}
    return DeviceRates(min(units * 20e9, 400e9), peak)


def host_rates(device: Device) -> HostRates:
    """Give NumPy's rates, which are kept beside a device's; measures where nothing is known, in some 100 ms."""
    if not _hosts:
        found = _read_host(kept(device, "host"))
        if found is None:
            found = _measure_host()
            keep(device, "host", asdict(found))
        _hosts.append(found)
    return _hosts[0]


def _read_device(values: Any) -> DeviceRates | None:
    """Read what :func:`device_rates` kept; None if it is damaged."""
    try:
        peak = {str(dtype): float(rate) for dtype, rate in values["peak"].items()}
        sending, receiving = ((float(fixed), float(byte)) for fixed, byte in (values["sending"], values["receiving"]))
        return DeviceRates(float(values["bandwidth"]), {"float32": peak["float32"], **peak}, sending, receiving)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _read_host(values: Any) -> HostRates | None:
    """Read what :func:`host_rates` kept; None if it is damaged."""
    try:
        product = {name: float(values["product"][name]) for name in ("float32", "float64")}
        return HostRates(product, float(values["byte"]), float(values["copied"]))
    except (KeyError, TypeError, ValueError):
        return None


def _measure_device(device: Device) -> DeviceRates:
    if device.runtime == "oclgrind":  # a simulator, whose measurements would take minutes
        return DeviceRates(1e7, {"float32": 1e6, "float64": 1e6})
    names = ["float32", *(["float64"] if device.caps.fp64 else [])]
    kernels, copied = _kernels(device, names)
    x, y = np.ones(1, np.float32), np.zeros(1, np.float32)
    _, copying, *adding = Executable(device, kernels, [Layout.of(x)], [Layout.of(y)]).profile([x], [y])
    lanes = {name: _lanes(device, name) for name in names}
    count = _work_items(device) * _SUMS * _ROUNDS[device.kind]
    peak = {name: count * lanes[name] / took for name, took in zip(names, adding, strict=True)}
    if device.kind == "cpu":
        return DeviceRates(2 * copied / copying, peak)
    sending, receiving = _transfers(device)
    return DeviceRates(2 * copied / copying, peak, sending, receiving)


def _lanes(device: Device, name: str) -> int:
    return 1 if device.kind == "gpu" else min(max(device.caps.vector_bytes // np.dtype(name).itemsize, 2), 16)


def _work_items(device: Device) -> int:
    return device.caps.compute_units * _GROUPS * (_group(device))


def _group(device: Device) -> int:
    return min(256, device.caps.max_work_group) if device.kind == "gpu" else 1


def _kernels(device: Device, names: list[str]) -> tuple[Program, int]:
    """Give kernels that copy one temporary to another, and add products in registers; and the bytes copied."""
    vector = "float4"
    copied = min(_COPIED[device.kind], device.caps.max_allocation // 4)
    items = copied // 16
    if device.kind == "gpu":
        copy = "size_t i = get_global_id(0); y[i] = x[i];"
        launched, local = items, _group(device)
    else:  # one work-item a work-group walks through a part
        launched, local = device.caps.compute_units * _GROUPS, 1
        part = items // launched
        copy = f"size_t at = get_global_id(0) * {part}; for (size_t i = at; i < at + {part}; i++) y[i] = x[i];"
        items = part * launched
    source = ["#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if "float64" in names else ""]
    # Memory that was never written may not be there yet, so that reading it takes no time.
    for name, body in (("fill", copy.replace("x[i]", "x[0]")), ("copy", copy)):
        source.append(f"__kernel void {name}(__global const {vector} *x, __global {vector} *y) {{ {body} }}\n")
    first, second = Argument("temporary", 0), Argument("temporary", 1)
    started = launched // local * local
    kernels = [Kernel("fill", started, local, (second, first)), Kernel("copy", started, local, (first, second))]
    for name in names:
        scalar = "float" if name == "float32" else "double"
        lanes = _lanes(device, name)
        typed = scalar if lanes == 1 else f"{scalar}{lanes}"
        sums = range(_SUMS)
        steps = " ".join(f"s{n} = mad(s{n}, a, b);" for n in sums)
        total = " + ".join(f"s{n}" for n in sums)
        source.append(
            f"__kernel void add_{name}(__global const float *x, __global {typed} *y) {{\n"
            f"  {typed} a = ({typed})(x[0]), b = a * ({scalar})0.5, {', '.join(f's{n} = a + {n}' for n in sums)};\n"
            f"  for (int i = 0; i < {_ROUNDS[device.kind]}; i++) {{ {steps} }}\n"
            f"  y[get_global_id(0)] = {total};\n}}\n"
        )
        stored = (Argument("input", 0), Argument("temporary", 1))
        kernels.append(Kernel(f"add_{name}", _work_items(device), _group(device), stored))
    return Program("".join(source), tuple(kernels), (copied, copied)), items * 16


def _transfers(device: Device) -> tuple[tuple[float, float], tuple[float, float]]:
    """Copy arrays of two sizes as calls do."""
    times = []
    for size in _SENT:
        x, y = np.ones(size, np.uint8), np.ones(size, np.uint8)
        memory = DeviceBuffers(device, [Layout.of(x)], [Layout.of(y)], ())
        sent, received = [], []
        for _ in range(4):
            begin = time.perf_counter()
            bound = memory.bind(device.queue, [x], [y])
            device.queue.finish()
            middle = time.perf_counter()
            event = cl.enqueue_marker(device.queue)
            memory.complete(event, device.queue, bound, [y])
            sent.append(middle - begin)
            received.append(time.perf_counter() - middle)
        times.append((min(sent[1:]), min(received[1:])))
    (send, receive), (send_large, receive_large) = times
    return _line(send, send_large), _line(receive, receive_large)


def _line(small: float, large: float) -> tuple[float, float]:
    """Give the fixed part and the time of a byte."""
    byte = max(large - small, 0.0) / (_SENT[1] - _SENT[0])
    return max(small - _SENT[0] * byte, 0.0), byte


def _measure_host() -> HostRates:
    product = {}
    for name, n in (("float32", 512), ("float64", 384)):
        square = np.ones((n, n), name)
        # The fastest of several: BLAS's threads wait long for a core that someone else uses.
        product[name] = min(least(partial(dot, square, square), 3) for _ in range(4)) / n**3
    large = np.ones(1 << 24, np.float32)  # of which even a third cache holds little
    byte = least(partial(einsum, "a->", large), 4) / large.nbytes
    block = large[: 1 << 22].reshape(1 << 5, 1 << 11, 1 << 6)
    copied = least(lambda: np.ascontiguousarray(block.transpose(2, 0, 1)), 3) / block.nbytes
    return HostRates(product, byte, copied)
