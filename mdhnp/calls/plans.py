"""The plans: how a computation is run, each by one method, `run`.

A plan takes arrays of the layouts it was made for, and gives new C-contiguous ones, one an output of its MDH. Those
that compute themselves (`Leaf`) are what :func:`mdhnp.explain` shows; the others run them (`SlicedKernels`, and
`InSteps` and `InParts` of `steps.py` and `loops.py`, whose steps and parts are entries).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from mdhnp.calls import observe
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.request import Request
from mdhnp.documentation import public
from mdhnp.mdh import Computation, Part, interpret

if TYPE_CHECKING:  # some of which load OpenCL
    from mdhnp.codegen.program import Program
    from mdhnp.runtime.devices import Device
    from mdhnp.runtime.executable import Executable
    from mdhnp.schedule import Schedule
    from mdhnp.tuning.lookup import Origin

Array = npt.NDArray[Any]
Results = tuple[Array, ...]

#: Points up to which calls are brief: most take less than some tenths of a millisecond, and Python 1 µs to note one.
_FEW = 1 << 18


class Plan(Protocol):
    """How a computation is run."""

    def run(self, arrays: Sequence[Array]) -> Results: ...


@dataclass(frozen=True)
class Leaf:
    """A plan that computes itself."""

    mdhom: Computation
    #: Where it is, or could be: several where the user has not decided.
    devices: "tuple[Device, ...]"
    #: Why it is this plan that computes, for people.
    why: str

    @property
    def brief(self) -> bool:
        """Whether calls have so few points, and take so little, that one of several is noted."""
        return prod(self.mdhom.extents) <= _FEW


@dataclass(frozen=True)
class Nothing(Leaf):
    """Nothing to launch, since an extent is 0: results are empty, or the operator's identity."""

    #: Whether arrays are views of the device's own memory.
    resident: bool = False

    def run(self, arrays: Sequence[Array]) -> Results:
        """Evaluate the definition, which is quick."""
        if observe.blocks:
            observe.note(self, arrays)
        memory, device = (self.devices[0].memory, self.devices[0]) if self.resident else (None, None)
        values = interpret(self.mdhom, *(arrays if memory is None else [memory.download(device, a) for a in arrays]))
        results = tuple([np.asarray(a) for a in (values if isinstance(values, tuple) else (values,))])
        return results if memory is None else tuple([memory.upload(device, a) for a in results])


#: A number a function, counted without a lock, for which a signal handler's call, or a child's, would wait.
_counts: dict[str, list[int]] = {}


@public(
    """Give the number of calls in this process that NumPy computed, since kernels were not faster, or not there yet.

See ``config.host``. A call of more than two operands counts once for each pair.""",
    returns="dict of str to int: Calls by function.",
    example="""
>>> with mdhnp.config(host="auto"):
...     product = mdhnp.matmul(np.eye(2), np.eye(2))
>>> mdhnp.host_counts()["matmul"] > 0
True""",
    guard=False,
)
def host_counts() -> dict[str, int]:
    return {function: calls for function, (calls,) in list(_counts.items())}


def counts_of(function: str) -> list[int]:
    """Give the number of a function's calls that NumPy has computed, for who computes others to add to."""
    return _counts.setdefault(function, [0])


def count_host(function: str) -> None:
    """Count a call that has no plan, since what NumPy or SciPy computes takes less time than preparing one."""
    counts_of(function)[0] += 1


@dataclass(frozen=True)
class ByNumpy(Leaf):
    """A function of NumPy's."""

    #: Takes the MDH's inputs.
    function: NumpyFunction
    #: The number of calls that it has computed, those of other plans of the function among them.
    calls: list[int] = field(repr=False, compare=False)

    @classmethod
    def of(cls, request: Request, why: str) -> "ByNumpy":
        assert request.numpy is not None
        return cls(request.mdhom, request.devices, why, request.numpy, counts_of(request.function))

    @property
    def host(self) -> tuple[Callable[..., Any], list[int]]:
        """What computes, and counts: for who does without this object."""
        return self.function.compute, self.calls

    def run(self, arrays: Sequence[Array]) -> Results:
        if observe.blocks:
            observe.note(self, arrays)
        self.calls[0] += 1
        return (self.function.compute(*arrays),)  # a scalar, where there are no axes


class Undescribed:
    """NumPy's function for a call of which nobody has said yet what it computes: that takes as long as ten such calls.

    `describe` puts another entry in the place of the one that has this for a plan, and gives it.
    """

    brief = True

    def __init__(self, name: str, function: NumpyFunction, describe: Callable[[], Any]) -> None:
        self.host = function.compute, counts_of(name)
        self.describe = describe

    def run(self, arrays: Sequence[Array]) -> Results:
        """Make a call, by the other entry where somebody looks on."""
        if observe.blocks:
            return (self.describe().run(arrays),)
        compute, calls = self.host
        calls[0] += 1
        return (compute(*arrays),)


@dataclass(frozen=True)
class Kernels(Leaf):
    """Kernels on a device."""

    #: One a stage.
    schedules: "tuple[Schedule, ...]"
    #: Where each schedule comes from.
    origins: "tuple[Origin, ...]"
    #: The generated text and launches.
    program: "Program"
    executable: "Executable" = field(repr=False, compare=False)
    #: Whether the last array given is where the only result goes.
    into: bool
    #: The host's function for the same that the call itself brings, where it does.
    own: NumpyFunction | None = field(default=None, repr=False, compare=False)

    @property
    def device(self) -> "Device":
        return self.devices[0]

    @property
    def host(self) -> tuple[Callable[..., Any], None] | None:
        """As in :class:`ByNumpy`, where a call gives one new array of the host's; nobody counts these calls."""
        one = not (self.into or self.executable.resident) and len(self.executable.results) == 1
        return (lambda *arrays: self.executable.new(arrays)[0], None) if one else None

    @property
    def free(self) -> list[Any] | None:
        """Free states of its executable, if it has one result, new or given, on views of the device's own memory."""
        plain = self.executable.resident and (self.into or len(self.executable.results) == 1)
        return self.executable.free if plain else None

    def run(self, arrays: Sequence[Array]) -> Results:
        """Launch the kernels, and wait unless arrays are views of the device's own memory."""
        if observe.blocks:
            observe.note(self, arrays)
        if not self.into:
            return self.executable.new(arrays)
        self.compute(arrays[:-1], arrays[-1:])
        return ()

    def make(self) -> Results:
        return self.executable.make()

    def compute(self, arrays: Sequence[Array], results: Sequence[Array]) -> None:
        self.executable(arrays, results)

    def profile(self, arrays: Sequence[Array]) -> list[float]:
        """Give the seconds of each kernel, by the device's clock."""
        if self.into:
            return self.executable.profile(arrays[:-1], arrays[-1:])
        return self.executable.profile(arrays, self.make())


@dataclass(frozen=True)
class SlicedKernels:
    """Part by part, each on slices of the arrays."""

    mdhom: Computation
    #: What computes each, and its slices.
    parts: tuple[tuple[Kernels, Part], ...]
    #: Allocates the results.
    make: Callable[[], Results]
    #: Computes all parts, given the device, and of each the plan's `run`, inputs and outputs, where the plans take
    #: views of the device's own memory, for copies of some parts and kernels of others to go on side by side.
    #: Otherwise an array is larger than the device's largest buffer.
    side_by_side: "Callable[[Device, Sequence[tuple[Any, ...]]], None] | None" = None
    #: As in :class:`Kernels`, for the whole.
    own: NumpyFunction | None = field(default=None, repr=False, compare=False)

    @property
    def devices(self) -> "tuple[Device, ...]":
        return self.parts[0][0].devices

    def run(self, arrays: Sequence[Array]) -> Results:
        results = self.make()
        self.compute(arrays, results)
        return results

    def compute(self, arrays: Sequence[Array], results: Sequence[Array]) -> None:
        """Launch the kernels of each part on slices of arrays for the results."""
        if observe.blocks:
            observe.note(self, arrays)
        each = [
            (
                plan,
                [_sliced(a, where) for a, where in zip(arrays, part.inputs, strict=True)],
                [_sliced(r, where) for r, where in zip(results, part.outputs, strict=True)],
            )
            for plan, part in self.parts
        ]
        if self.side_by_side is not None:
            self.side_by_side(self.devices[0], [(plan.run, inputs, outputs) for plan, inputs, outputs in each])
            return
        for plan, inputs, outputs in each:
            if observe.blocks:
                observe.note(plan, inputs)
            plan.compute(inputs, outputs)


def _sliced(a: Array, where: Sequence[slice]) -> Array:
    """A view of part of an array, also of one without axes."""
    key: Any = (*where, ...)
    found: Array = a[key]
    return found
