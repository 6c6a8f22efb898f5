"""A kernel of a user's own as a cost function: its parameters are macros, and its cost is what is measured of it.

Results are compared with right ones before a time counts. It runs in this process: a kernel that writes outside of its
arrays, or never ends, does so here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from mdhnp.documentation import exported, public
from mdhnp.runtime.devices import Device, default_device, find_device
from mdhnp.runtime.launches import translating
from mdhnp.runtime.pending import LaunchError
from mdhnp.runtime.programs import BuildError, build
from mdhnp.tuning.measure.bench import runs_after
from mdhnp.tuning.measure.check import is_close, tolerance
from mdhnp.tuning.measure.objective import Objective, measured
from mdhnp.tuning.search.own import InvalidConfiguration
from mdhnp.tuning.search.parameters import Configuration, applied, arguments_of

NDArray = npt.NDArray[Any]
#: Work-items along each axis, or what gives them from parameters.
Size = int | Sequence[int] | Callable[..., int | Sequence[int]]

#: A kernel that takes so many times as long as the fastest one before it is not timed again.
_CUT_OFF = 2.0


class _Launch(NamedTuple):
    """A compiled kernel with its arguments, and its work-items in all and in a group."""

    program: cl.Program
    kernel: cl.Kernel
    every: tuple[int, ...]
    group: tuple[int, ...] | None


@exported
class TunedKernel:
    """A kernel with parameters, and arguments to run it on; made by :func:`kernel`.

    Calling it with a configuration gives its cost: by default the seconds of a launch, by the device's clock.

    Attributes
    ----------
    device : Device
        Where it runs.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.tuning import kernel
    >>> text = "__kernel void fill(__global int *x) { x[get_global_id(0)] = VALUE; }"
    >>> fill = kernel(text, "fill", [np.zeros(3, np.int32)], global_size=3)
    >>> fill.results({"VALUE": 5})
    (array([5, 5, 5], dtype=int32),)
    """

    def __init__(
        self,
        source: str,
        name: str,
        arguments: Sequence[Any],
        sizes: tuple[Size, Size | None],
        reference: Sequence[NDArray] | None,
        objective: Objective,
        device: Device,
    ) -> None:
        objective.require_counters(device)
        self.device, self._objective = device, objective
        self._source, self._name, self._sizes = source, name, sizes
        self._queue = device.queue_of("profiling")
        self._arrays = [a if isinstance(a, np.generic) else np.array(a, order="C") for a in arguments]
        with translating(device, sum(a.nbytes for a in self._arrays)):
            #: What the kernel takes: numbers, and buffers.
            self._arguments = [a if isinstance(a, np.generic) else _buffer(a, device) for a in self._arrays]
        shapes = [a.shape for a in self._arrays if isinstance(a, np.ndarray)]
        right = None if reference is None else zip(reference, shapes, strict=True)
        self._right = None if right is None else tuple([np.asarray(r).reshape(shape) for r, shape in right])
        self._fastest = float("inf")

    def source(self, configuration: Mapping[str, Any]) -> str:
        """Give the text of a configuration: macros, then what was given."""
        macros = "".join([f"#define {n} {int(v) if isinstance(v, bool) else v}\n" for n, v in configuration.items()])
        return f"{macros}#line 1\n{self._source}"

    def results(self, configuration: Configuration) -> tuple[NDArray, ...]:
        """Run it once, and give all arrays among its arguments as they are then."""
        self._put()
        self._run(self._launch(configuration))
        return self._got()

    def __call__(self, configuration: Configuration) -> Any:
        """Give what it costs; InvalidConfiguration where it cannot be launched, or is wrong."""
        try:
            launch = self._launch(configuration)
            self._put()
            first = self._run(launch)
            self._compare(self._got())
            run, size = partial(self._run, launch), lambda: len(launch.program.binaries[0])
            found = measured(self._objective.wanted, self.device, self._seconds(launch, first), run, size)
        except (BuildError, LaunchError, MemoryError) as error:
            raise InvalidConfiguration(str(error)) from error
        return self._objective(found)

    def _seconds(self, launch: _Launch, first: float) -> float:
        """Give the seconds of a launch, of which the first took so many."""
        if first > _CUT_OFF * self._fastest:
            return first
        seconds = median([self._run(launch) for _ in range(runs_after(first, in_a_row=False))] or [first])
        self._fastest = min(self._fastest, seconds)
        return seconds

    def _launch(self, configuration: Configuration) -> _Launch:
        every, group = map(_size, ("global_size", "local_size"), self._sizes, (configuration, configuration))
        if every is None or min(every, default=0) < 1 or (group is not None and min(group, default=0) < 1):
            raise InvalidConfiguration(f"there are no work-items: {every} in all, {group} in a group")
        if group is not None and (len(group) != len(every) or any(n % g for n, g in zip(every, group, strict=True))):
            raise InvalidConfiguration(f"local size {group} does not divide global size {every}")
        program = build(self.device, self.source(configuration), keep=False)
        try:
            found = cl.Kernel(program, self._name)
            if found.num_args != len(self._arguments):
                given = f"{len(self._arguments)} are given"
                raise LaunchError(f"kernel {self._name} takes {found.num_args} arguments, {given}")
            found.set_args(*self._arguments)
        except cl.Error as error:
            raise LaunchError(f"kernel {self._name!r} of {len(self._arguments)} arguments: {error}") from error
        return _Launch(program, found, every, group)

    def _run(self, launch: _Launch, count: int = 1) -> float:
        """Launch it so often on what is in the buffers, and give the seconds of the last time."""
        _, kernel, every, group = launch
        where = f"kernel {self._name!r}, global size {every}, local size {group}, on {self.device.name}"
        try:
            event = [cl.enqueue_nd_range_kernel(self._queue, kernel, every, group) for _ in range(count)][-1]
            event.wait()
        except cl.Error as error:
            raise LaunchError(f"{where}: {error}") from error
        return float(event.profile.end - event.profile.start) * 1e-9

    def _put(self) -> None:
        """Copy the arrays as they were given to the buffers."""
        for array, buffer in zip(self._arrays, self._arguments, strict=True):
            if isinstance(buffer, cl.Buffer):
                cl.enqueue_copy(self._queue, buffer, np.asarray(array))

    def _got(self) -> tuple[NDArray, ...]:
        """Give what is in the buffers."""
        found = []
        for array, buffer in zip(self._arrays, self._arguments, strict=True):
            if isinstance(buffer, cl.Buffer):
                found.append(np.empty_like(array))
                cl.enqueue_copy(self._queue, found[-1], buffer)
        return tuple(found)

    def _compare(self, found: tuple[NDArray, ...]) -> None:
        """Take the first results for right, if no others are known."""
        if self._right is None:
            self._right = found
            return
        for n, (got, right) in enumerate(zip(found, self._right, strict=True)):
            if not is_close(got, right):
                far = np.argwhere(~np.isclose(got, right, rtol=0.0, atol=tolerance(right), equal_nan=True)).tolist()
                said = [f" has {got[at]} at {at}, not {right[at]}" for at in map(tuple, far[:1])]
                raise InvalidConfiguration(f"its results are wrong: array {n}{''.join(said)}")


@public(
    "Make a cost function of OpenCL C text: the time of a kernel that has a configuration's values as macros.",
    source="str: OpenCL C, in which parameters are macros of their names; true is 1 and false 0.",
    name_="str: The kernel's.",
    arguments="sequence of array or NumPy scalar: The kernel's arguments in order. The kernel works on copies of the "
    "arrays, as they are now; these are new ones for each configuration.",
    global_size="int, sequence of int or callable: Work-items along each axis; or a function that gives them, which "
    "takes parameters by their names.",
    local_size="int, sequence of int or callable, optional: The same of a work-group; by default the runtime chooses.",
    reference="sequence of array, optional: What the arrays among the arguments are to be after a launch; by default "
    "what the first configuration makes of them. Floats may differ as sums in another order do.",
    objective='str or callable: What it costs: ``"time"``, in seconds by the clock of the device; ``"energy"``, in '
    'joules of the processors or of the board for a launch, what else they do included; ``"code_size"``, in bytes of '
    "the compiled program; or a function of some of these by their names, as "
    "``lambda time, code_size: (time > 1e-3, code_size)``. What is not asked for is not measured, but time.",
    device="str, int or Device, optional: As :func:`mdhnp.device` takes it; by default the one that calls run on.",
    returns="TunedKernel: Takes a configuration and gives its cost; one that does not compile, cannot be launched or "
    "computes something else is an :class:`InvalidConfiguration`.",
    raises={
        "TypeError": "If an argument is neither an array nor a NumPy scalar, whose type kernels have to know, or a "
        "size is none.",
        "ValueError": "If `reference` has another number of arrays, or `objective` asks for something else.",
        "RuntimeError": "If the energy is asked for, and not told: of CPUs Linux tells it, to whom may read its "
        "counters, of NVIDIA's GPUs their driver, with ``pip install mdhnp[energy]``.",
        "NoDeviceError": "If there is no such device.",
    },
    example="""
>>> from mdhnp.tuning import evaluations, kernel, parameter, space, tune
>>> text = '''
... __kernel void twice(__global const float *x, __global float *y) {
...   for (int n = 0; n < EACH; ++n) y[get_global_id(0) * EACH + n] = 2 * x[get_global_id(0) * EACH + n];
... }'''
>>> x = np.ones(4096, np.float32)
>>> twice = kernel(text, "twice", [x, np.zeros_like(x)], lambda EACH: 4096 // EACH, reference=[x, 2 * x])
>>> found = tune(twice, space(parameter("EACH", [1, 2, 4, 8])), abort=evaluations(4))
>>> found.cost < 1
True""",
)
def kernel(
    source: str,
    name: str,
    arguments: Sequence[Any],
    global_size: Any,
    local_size: Any = None,
    *,
    reference: Sequence[Any] | None = None,
    objective: Any = "time",
    device: Any = None,
) -> TunedKernel:
    for what, size in (("global_size", global_size), ("local_size", local_size)):
        if callable(size):
            arguments_of(size, what)
        elif size is not None:
            _whole(size)
    for n, a in enumerate(arguments):
        if not isinstance(a, np.generic | np.ndarray):
            raise TypeError(f"arguments: number {n} is {a!r:.80}; takes arrays, and NumPy scalars as np.int32(3)")
    arrays = sum(isinstance(a, np.ndarray) for a in arguments)
    if reference is not None and len(reference) != arrays:
        raise ValueError(f"reference: {len(reference)} arrays for the {arrays} among the arguments")
    sizes = [a.size for a in arguments if isinstance(a, np.ndarray)]
    for n, (right, size) in enumerate(zip([] if reference is None else reference, sizes, strict=False)):
        if np.size(right) != size:
            raise ValueError(f"reference: number {n} has {np.size(right)} elements, the array {size}")
    where = default_device() if device is None else find_device(device)
    return TunedKernel(source, name, arguments, (global_size, local_size), reference, Objective(objective), where)


def _size(what: str, size: Size | None, configuration: Configuration) -> tuple[int, ...] | None:
    """Give work-items along each axis; ValueError where a function of parameters reads what is none."""
    if callable(size) and (missing := [name for name in arguments_of(size) if name not in configuration]):
        raise ValueError(f"{what} reads {missing[0]!r}, which is no parameter; there are {', '.join(configuration)}")
    found = applied(size, configuration) if callable(size) else size
    return None if found is None else _whole(found)


def _whole(size: Any) -> tuple[int, ...]:
    each = tuple(size) if isinstance(size, Sequence) else (size,)
    if not 1 <= len(each) <= 3 or not all(isinstance(n, int | np.integer) for n in each):
        raise TypeError(f"sizes are one to three whole numbers, not {size!r}")
    return tuple(map(int, each))


def _buffer(array: NDArray, device: Device) -> cl.Buffer:
    return cl.Buffer(device.context, cl.mem_flags.READ_WRITE, max(array.nbytes, 1))
