"""What small calls cost: a launch on a device, and NumPy's own functions.

A few constants, measured once for each device and kept in the tuning cache, so that every process decides alike. What
large calls need besides is in `large.py`.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mdhnp.calls.numpy_tier import dot, einsum
from mdhnp.codegen.program import Argument, Kernel, Program
from mdhnp.runtime.devices import Device
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.layout import Layout
from mdhnp.tuning.cache import cache

__all__ = ["Costs", "costs_of", "keep", "kept", "least"]

#: Types that BLAS multiplies matrices of.
_PRODUCTS = ("float32", "float64")

#: Types in which NumPy's einsum takes many times as long for a product as in float64.
_SLOW = ("float16", "complex64", "complex128")

_TRIVIAL = Program(
    "__kernel void trivial(__global const float *x, __global float *y) { y[0] = x[0]; }",
    (Kernel("trivial", 1, 1, (Argument("input", 0), Argument("output", 0))),),
    (),
)


@dataclass(frozen=True)
class Costs:
    """Seconds that things take at least.

    Attributes
    ----------
    launch : float
        The device's smallest call.
    call : float
        NumPy's smallest matrix product or einsum.
    einsum : float
        One more product of an einsum.
    product : dict of str to (float, float, float)
        By dtype: one more multiplication and addition of a matrix product, one more element in its operands, and what
        an element of the right one takes beside where its rows lie along the sum (BLAS calls it transposed).
    slow : dict of str to float
        By dtype: as `einsum`, for results that take NumPy much longer.
    """

    launch: float
    call: float
    einsum: float
    product: dict[str, tuple[float, float, float]]
    slow: dict[str, float] = field(default_factory=dict)


_known: dict[str, Costs] = {}


def costs_of(device: Device) -> Costs:
    """Give what is known about a device and NumPy beside it; measures where nothing is, in some milliseconds."""
    key = device.identity
    found = _known.get(key)
    if found is None:
        found = _read(kept(device, "small"))
        if found is None:
            found = _measure(device)
            keep(device, "small", asdict(found))
        _known[key] = found
    return found


def kept(device: Device, part: str) -> Any:
    """Give a part of what the tuning cache holds about a device's costs; None where it is missing or damaged."""
    return _parts(device).get(part)


def keep(device: Device, part: str, values: dict[str, Any]) -> None:
    """Keep a part of a device's costs beside the others."""
    cache().set_costs(device.identity, json.dumps({**_parts(device), part: values}))


def _parts(device: Device) -> dict[str, Any]:
    try:
        read = json.loads(cache().costs(device.identity) or "{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _read(values: Any) -> Costs | None:
    """Read what :func:`costs_of` kept; None if it is damaged."""
    try:
        product = {name: (float(a), float(b), float(c)) for name in _PRODUCTS for a, b, c in [values["product"][name]]}
        slow = {str(dtype): float(seconds) for dtype, seconds in values["slow"].items()}
        return Costs(float(values["launch"]), float(values["call"]), float(values["einsum"]), product, slow)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _measure(device: Device) -> Costs:
    x, y = np.zeros(1, np.float32), np.zeros(1, np.float32)
    trivial = Executable(device, _TRIVIAL, [Layout.of(x)], [Layout.of(y)])
    tiny, ones = np.ones((4, 4), np.float32), np.ones((32, 32), np.float64)
    launch, call = least(partial(trivial, [x], [y])), least(partial(dot, tiny, tiny))
    addition = (least(partial(einsum, "ij,jk->ik", ones, ones)) - call) / 32**3
    product = {}
    for name in _PRODUCTS:
        square, wide = np.ones((64, 64), name), np.ones((256, 256), name)
        point = max(least(partial(dot, square, square)) - call, 0.0) / 64**3
        element = max(least(partial(dot, wide, wide[0])) - call - 256**2 * point, 0.0) / 256**2
        few, right = np.ones((16, 64), name), np.ones((256, 64), name)
        straight = least(partial(dot, few, right.reshape(64, 256)))
        turned = max(least(partial(dot, few, right.T)) - straight, 0.0) / right.size
        product[name] = (point, element, turned)
    slow = {}
    for name in _SLOW:
        few = np.ones((16, 16), name)
        slow[name] = max(least(partial(einsum, "ij,jk->ik", few, few)) - call, 0.0) / 16**3
    return Costs(launch, call, max(addition, 0.0), product, slow)


def least(work: Callable[[], Any], runs: int = 20) -> float:
    """Give the time that three quarters of all runs take at least."""
    work()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return sorted(times)[runs // 4]
