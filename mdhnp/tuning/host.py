"""The host cut-off: which calls NumPy has computed before a device is done.

Takes MDHs, gives a NumPy function that computes the same where it is fast enough. Both times are estimated from a few
constants, which are measured once for each device and kept in the tuning cache. So the choice is the same in every
process. It must not know how calls are dispatched.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.codegen.program import Argument, Kernel, Program
from mdhnp.mdh import MdHom
from mdhnp.mdh.subscripts import subscripts
from mdhnp.runtime.devices import Device
from mdhnp.runtime.memory import Layout
from mdhnp.runtime.plan import Plan
from mdhnp.schedule.choices import Facts
from mdhnp.tuning.cache import cache

__all__ = ["Costs", "Host", "costs_of", "host_counts", "host_for"]

Array = npt.NDArray[Any]

#: Of more points than this nothing is asked: what small calls differ in no longer counts.
_SMALL = 2**22

#: Seconds that a call of kernels takes beside the launch, for its plan and its result; and to wake the other cores.
_OURS, _WAKE = 3e-6, 5e-6

#: Types that BLAS multiplies matrices of.
_PRODUCTS = ("float32", "float64")

#: Types in which NumPy's einsum takes many times as long for a product as in float64.
_SLOW = ("float16", "complex64", "complex128")

# `np.einsum` itself takes as long to call this as this takes for small arrays.
_einsum: Callable[..., Any] = getattr(np._core.multiarray, "c_einsum", np.einsum)  # type: ignore[attr-defined]
_dot = np.ndarray.dot

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


@dataclass(frozen=True)
class Host:
    """A NumPy function in place of a kernel.

    Attributes
    ----------
    compute : callable
        Takes the MDH's inputs, gives a new C-contiguous array or a scalar.
    name : str
        What it is, for people.
    seconds : float
        Its time, estimated.
    kernels : float
        That of kernels, estimated.
    count : Count
        Of the calls that it has computed.
    """

    compute: Callable[..., Any]
    name: str
    seconds: float
    kernels: float
    count: "Count" = field(repr=False, compare=False)


class Count:
    """Calls of one function that NumPy computed. Without a lock, for which a signal handler's call would wait."""

    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls = 0


_counts: dict[str, Count] = {}


def host_counts() -> dict[str, int]:
    """Give the number of calls in this process that were too small for a device, so that NumPy computed them.

    By function; see ``config.host``. A call of more than two operands counts once for each pair.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> with mdhnp.config(host="auto"):
    ...     product = mdhnp.matmul(np.eye(2), np.eye(2))
    >>> mdhnp.host_counts()["matmul"] > 0
    True
    """
    return {function: count.calls for function, count in list(_counts.items())}


def host_for(function: str, h: MdHom, device: Device) -> Host | None:
    """Give what NumPy computes an MDH with faster than `device`, or None if there is nothing.

    Parameters
    ----------
    function : str
        Whose calls are counted.
    h : MdHom
        What is computed.
    device : Device
        Where it would be.
    """
    text = subscripts(h) if 0 < h.points <= _SMALL else None
    if text is None:
        return None
    costs = costs_of(device)
    operands, result = (*h.inputs, *h.outputs), h.outputs[0].dtype.name
    product = _matrix_product(text) if len({v.dtype for v in operands}) == 1 else None
    point, element, turned = costs.product.get(result, costs.product["float32"])
    if product is not None and result in costs.product:
        compute, name = product, "numpy.dot"
        elements = sum(prod(v.shape) for v in operands)
        seconds = costs.call + h.points * point + elements * element + _turned(h) * turned
    else:
        compute, name = _general(text, len(h.inputs)), f'numpy.einsum("{text}")'
        seconds = costs.call + h.points * costs.slow.get(result, costs.einsum)
    # One core computes about as fast as NumPy's matrix product.
    alone = h.points * point
    kernels = costs.launch + _OURS + min(alone, _WAKE + alone / device.caps.compute_units)
    if seconds >= kernels:
        return None
    return Host(compute, name, seconds, kernels, _counts.setdefault(function, Count()))


def _matrix_product(text: str) -> Callable[[Any, Any], Any] | None:
    """Give the product of two matrices or vectors that an einsum is, if it is one."""
    operands, _, output = text.partition("->")
    terms = operands.split(",")
    if len(terms) != 2 or any(len(t) != len(set(t)) or len(t) > 2 for t in terms):
        return None
    common = set(terms[0]) & set(terms[1])
    kept = "".join(terms).translate({ord(c): None for c in common})
    if len(common) != 1 or common & set(output) or sorted(kept) != sorted(output):
        return None
    k = common.pop()
    if output != kept:  # the transpose of the product is the product of the transposes
        swapped = _matrix_product(f"{terms[1]},{terms[0]}->{output}")
        return None if swapped is None else lambda a, b: swapped(b, a)
    turn_a, turn_b = terms[0][-1] != k, terms[1][0] != k
    if turn_a:
        return (lambda a, b: _dot(a.T, b.T)) if turn_b else lambda a, b: _dot(a.T, b)
    return (lambda a, b: _dot(a, b.T)) if turn_b else _dot


def _turned(h: MdHom) -> int:
    """Elements of a product's right operand, that with the result's last dimension, if they lie along the sum."""
    if len(h.dims("cc")) < 2 or any(h.extents[d] == 1 for d in h.dims("cc")):
        return 0
    facts = Facts(h)
    (k,) = facts.combined
    last = min(facts.kept, key=lambda d: abs(facts.output_strides[d]))
    turned = (prod(v.shape) for v, s in zip(h.inputs, facts.strides, strict=True) if abs(s[k]) == 1 < abs(s[last]))
    return next(turned, 0)


def _general(text: str, operands: int) -> Callable[..., Any]:
    if operands == 1:  # NumPy gives some results as views
        return lambda a: np.array(_einsum(text, a), order="C")
    return lambda *arrays: _einsum(text, *arrays, order="C")


_known: dict[str, Costs] = {}


def costs_of(device: Device) -> Costs:
    """Give what is known about a device and NumPy beside it; measures where nothing is, in some milliseconds."""
    key = device.identity
    found = _known.get(key)
    if found is None:
        kept = cache().costs(key)
        found = None if kept is None else _read(kept)
        if found is None:
            found = _measure(device)
            cache().set_costs(key, json.dumps(asdict(found)))
        _known[key] = found
    return found


def _read(text: str) -> Costs | None:
    """Read what :func:`costs_of` wrote; None if it is damaged."""
    try:
        read = json.loads(text)
        product = {name: (float(a), float(b), float(c)) for name in _PRODUCTS for a, b, c in [read["product"][name]]}
        slow = {str(dtype): float(seconds) for dtype, seconds in read["slow"].items()}
        return Costs(float(read["launch"]), float(read["call"]), float(read["einsum"]), product, slow)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _measure(device: Device) -> Costs:
    x, y = np.zeros(1, np.float32), np.zeros(1, np.float32)
    trivial = Plan(device, _TRIVIAL, [Layout.of(x)], [Layout.of(y)])
    tiny, ones = np.ones((4, 4), np.float32), np.ones((32, 32), np.float64)
    launch, call = _seconds(partial(trivial, [x], [y])), _seconds(partial(_dot, tiny, tiny))
    einsum = (_seconds(partial(_einsum, "ij,jk->ik", ones, ones)) - call) / 32**3
    product = {}
    for name in _PRODUCTS:
        square, wide = np.ones((64, 64), name), np.ones((256, 256), name)
        point = max(_seconds(partial(_dot, square, square)) - call, 0.0) / 64**3
        element = max(_seconds(partial(_dot, wide, wide[0])) - call - 256**2 * point, 0.0) / 256**2
        few, right = np.ones((16, 64), name), np.ones((256, 64), name)
        straight = _seconds(partial(_dot, few, right.reshape(64, 256)))
        turned = max(_seconds(partial(_dot, few, right.T)) - straight, 0.0) / right.size
        product[name] = (point, element, turned)
    slow = {}
    for name in _SLOW:
        few = np.ones((16, 16), name)
        slow[name] = max(_seconds(partial(_einsum, "ij,jk->ik", few, few)) - call, 0.0) / 16**3
    return Costs(launch, call, max(einsum, 0.0), product, slow)


def _seconds(work: Callable[[], Any], runs: int = 20) -> float:
    """Give the time that three quarters of all runs take at least."""
    work()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return sorted(times)[runs // 4]
