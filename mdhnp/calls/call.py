"""The way of every call: found again by one look-up and run, or described, planned, run, and kept for the next.

Takes what is called with which arguments, and the operands as the user gave them.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdhnp.arrays.array import Array
from mdhnp.arrays.opencl import is_array, seen
from mdhnp.calls import before, observe
from mdhnp.calls.arrays import brought, device_of, on_device, wrapped
from mdhnp.calls.entry import Entry, InSteps, Made
from mdhnp.calls.operands import fallback, unsupported
from mdhnp.calls.request import Described, NoDoublePrecision, Request, Routine
from mdhnp.calls.spending import Spending
from mdhnp.calls.store import entries, find, find_views, key_of, repeat, store
from mdhnp.fusion.least_work import least_work
from mdhnp.mdh import Computation, Graph
from mdhnp.mdh.mdhom import row_major
from mdhnp.runtime.layout import Layout
from mdhnp.settings import Mode, config

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.calls.ways import Ways
    from mdhnp.runtime.devices import Device

__all__ = ["call"]


def call(
    what: tuple[Any, ...],
    operands: tuple[Any, ...],
    *,
    dtypes: Sequence[np.dtype[Any] | None] = (),
    numpy: Callable[[], Any] | None = None,
    owners: Sequence[object] = (),
    precision: Any = None,
) -> Any:
    """Make a call.

    Parameters
    ----------
    what : tuple
        The :class:`Routine`, then all arguments but the operands, hashable.
    operands : tuple
        Array-likes.
    dtypes : sequence of dtype or None
        Types that the call names, in which kernels must compute, too.
    numpy : callable, optional
        Makes the call with NumPy; by default the function's own way to.
    owners : sequence of object
        What this call cannot be made without; its plans go when one of them dies. `what` may hold them weakly only.
    precision : {"highest", "high", "default"}, optional
        How exact products of float32 must be, where the call says that.

    Returns
    -------
    What the user gets: new arrays, or scalars.
    """
    mode = config.mode
    if precision is not None:
        mode = mode.at(precision, f"{what[0].name}: precision")
    if operands and type(operands[0]) is Array:
        repeated = (find_views if observe.blocks else repeat)(entries, what, mode, operands, Array)
        if type(repeated) is Array:
            return repeated
        if repeated is not None:
            found, views, device = repeated
            return wrapped(found.run(views), device)
    devices = _devices()
    found = find(entries, what, devices, mode, operands)
    if found is not None:
        return found.run(operands)
    given = _Given(what, operands, dtypes, numpy, owners)
    if any([type(a) is Array or is_array(a) for a in operands]):
        return _with_arrays(given, mode)
    return _first(given, operands, devices, devices, mode)


class _Given(NamedTuple):
    """A call as it was made: `call`'s arguments, and the device of Arrays, if there are any."""

    what: tuple[Any, ...]
    operands: tuple[Any, ...]
    dtypes: Sequence[np.dtype[Any] | None]
    numpy: Callable[[], Any] | None
    owners: Sequence[object]
    device: "Device | None" = None

    def by_numpy(self) -> Callable[[], Any] | None:
        """Give what makes the call with NumPy, if anything does."""
        routine: Routine = self.what[0]
        if self.numpy is not None or routine.numpy is None:
            return self.numpy
        return partial(routine.numpy, *self.operands, *self.what[1:])

    def left_to_numpy(self, reason: str) -> Any:
        """Let NumPy make the call, if the settings allow that."""
        name, compute = self.what[0].name, self.by_numpy()
        if compute is None:
            raise TypeError(f"{name}: {reason}, which OpenCL kernels do not compute; convert it")
        found = fallback(name, reason, compute, self.operands)
        return found if self.device is None else brought(found, self.device)

    def run(self, entry: Entry, arrays: Sequence[Any]) -> Any:
        """Run what was found for the call."""
        found = entry.run(arrays)
        return found if self.device is None else wrapped(found, self.device)


def _with_arrays(given: _Given, mode: Mode) -> Any:
    """Make a call with Arrays among its operands: on their views, where they are."""
    operands = tuple([seen(a) if is_array(a) else a for a in given.operands])
    device = device_of(given.what[0].name, operands)
    given = given._replace(operands=operands, device=device)
    views = on_device(operands, device, given.what[0].convert)
    if device.passing:
        return wrapped(device.call(given.what, views, given.dtypes, partial(_at_precision, mode=mode)), device)  # type: ignore[attr-defined]
    found = find(entries, given.what, device.key, mode, views)
    if found is not None:
        return wrapped(found.run(views), device)
    return _first(given, views, device.alone, device.key, mode)


def _until_loaded() -> "tuple[Device, ...]":
    """Give the devices of calls, without a detour as soon as OpenCL is loaded."""
    global _devices  # noqa: PLW0603
    if found := before.devices():
        from mdhnp.runtime.devices import candidates

        _devices = candidates
    return found


_devices: "Callable[[], tuple[Device, ...]]" = _until_loaded


def _first(given: _Given, operands: tuple[Any, ...], devices: "tuple[Device, ...]", place: Hashable, mode: Mode) -> Any:
    """Make a call that was not found by its operands as they are; `place` stands for the devices in keys."""
    what = given.what
    routine: Routine = what[0]
    arrays = routine.convert(operands)
    if reason := unsupported(arrays, *given.dtypes):
        return given.left_to_numpy(reason)
    key = key_of(what, place, mode, arrays)
    entry, epoch = store.recall(key)
    if entry is None:
        try:
            made = _made(what, arrays, devices, mode if place == devices else mode.of_views, given.device)
        except NoDoublePrecision as error:
            if given.by_numpy() is None:
                raise
            return given.left_to_numpy(str(error))
        if made is None:  # OpenCL is loaded now: later calls will ask for an entry with devices
            return _first(given, operands, _devices(), _devices(), mode)
        entry, kept = made
        if not kept:
            return given.run(entry, arrays)
    return given.run(store.keep(key, entry, epoch, given.owners), arrays)


def _made(
    what: tuple[Any, ...], arrays: tuple[Any, ...], devices: "tuple[Device, ...]", mode: Mode, device: "Device | None"
) -> tuple[Entry, bool] | None:
    """Describe and plan a call, of views on a device, if any; None where that takes OpenCL, which was loaded for it."""
    routine: Routine = what[0]
    described = routine.describe(arrays, *what[1:])
    if not isinstance(described, Described):
        described = Described(described)
    given = arrays[:-1] if described.into else arrays
    take = _taking(described, device, routine)
    inputs = given if take is None else tuple(take(given))
    if devices and devices[0].several:
        group: Any = devices[0]
        plan = group.executor.plan_of(_way(described, devices), routine.name, group, mode, described.into)
        if plan is not None:
            return Entry(Made(plan), take, described.give), True
        devices = devices[0].members
    made = _planned(routine, described, [(Layout.of(a), a.dtype) for a in inputs], devices, mode)
    return None if made is None else (Entry(made, take, described.give), made.kept)


def _way(described: Described, devices: "Sequence[Device]") -> Graph:
    """Give the graph that is computed: of those by which rules may be applied, the one that was found to be fastest."""
    whole, written = described.mdhom, described.written
    graph = whole if isinstance(whole, Graph) else Graph.of(whole)
    if written is None:
        return graph
    if not devices:
        return before.way(graph, written)
    from mdhnp.calls.rewritten import chosen

    return chosen(written, graph, devices[0].members if len(devices) == 1 else devices)


def _planned(
    routine: Routine,
    described: Described,
    given: "Sequence[tuple[Layout, np.dtype[Any]]]",
    devices: "tuple[Device, ...]",
    mode: Mode,
) -> Made | None:
    """Plan what is computed; None where that takes OpenCL, which was loaded for it."""
    graph, written, ways = _way(described, devices), described.written, None
    if written is not None and devices:
        from mdhnp.calls.ways import Ways

        again = partial(_planned, routine, described, given, devices, mode)
        ways = Ways.of(written, described.mdhom, tuple(given), devices, mode, again)
    layouts = [layout for layout, _ in given]
    steps = _apart(least_work(graph), devices)
    requests = _requests(routine, steps, layouts, devices, mode, described.into)
    shapes = [layout.shape for layout in layouts]
    planned = partial(_of_steps, steps, requests, shapes, ways)
    made = None
    if written is not None and devices:
        from mdhnp.calls.written import until_built

        made = until_built(graph, written, requests, shapes, planned)
    return made or planned()


def _taking(described: Described, device: "Device | None", routine: Routine) -> Callable[[Sequence[Any]], Any] | None:
    """What gives the inputs: constants are where the operands are."""
    take, constants = described.take, described.constants
    if not constants:
        return take
    held = constants if device is None else on_device(constants, device, routine.convert)
    return lambda given: (*(given if take is None else take(given)), *held)


def _requests(
    routine: Routine,
    graph: Graph,
    given: Sequence[Layout],
    devices: "tuple[Device, ...]",
    mode: Mode,
    into: bool,
) -> list[Request]:
    """Say what each step asks for."""
    layouts, found = list(given), []
    for step in graph.steps:
        inputs = tuple([_seen_as(layouts[p], v.shape) for p, v in zip(step.inputs, step.mdhom.inputs, strict=True)])
        found.append(Request(routine.name, _at_precision(step.mdhom, mode), inputs, devices, mode, into))
        layouts += [_layout(v.shape, v.strides, v.dtype.itemsize) for v in step.mdhom.outputs]
    return found


def _of_steps(
    graph: Graph, requests: Sequence[Request], given: Sequence[tuple[int, ...]], ways: "Ways | None"
) -> Made | None:
    """Make the plans of all steps; None where that takes OpenCL, which was loaded for it."""
    shapes = [*given, *[v.shape for step in graph.steps for v in step.mdhom.outputs]]
    first = graph.steps[0].mdhom
    alone = graph == Graph.of(first) and [v.shape for v in first.inputs] == shapes[: graph.given]
    if alone:
        requests = [replace(requests[0], ways=ways)]
    found = []
    for request in requests:
        if request.devices:
            from mdhnp.calls.make import make

            found.append(make(request))
        elif (made := before.before(request)) is not None:
            found.append(made)
        else:
            before.load()
            return None
    if alone:
        return found[0]
    entries = [Entry(made, None, tuple) for made in found]
    watcher = None
    if ways is not None:
        from mdhnp.calls.improve import due

        watcher = Spending(due(*requests), ways.search)
    return Made(InSteps(graph, entries, shapes), watcher, all(made.kept for made in found))


def _apart(graph: Graph, devices: "Sequence[Device]") -> Graph:
    """Take apart what is fused where some device cannot compute it as one."""
    if not devices or not any([len(s.mdhom.mdhoms) > 1 for s in graph.steps]):
        return graph
    from mdhnp.calls.kernels import fits
    from mdhnp.fusion.rewrite import all_apart

    return all_apart(graph, lambda h: all([fits(h, device) for device in devices]))


def _layout(shape: tuple[int, ...], strides: Sequence[int], size: int) -> Layout:
    return Layout(shape, tuple([size * s for s in strides]), size)


def _seen_as(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """Give the layout that a C-contiguous array has in another shape."""
    return layout if layout.shape == shape else _layout(shape, row_major(shape), layout.itemsize)


def _at_precision(h: Computation, mode: Mode) -> Computation:
    """Have an MDH ask for the precision that the settings ask for."""
    if mode.precision == "highest":
        return h
    from mdhnp.schedule.matrices import at_precision  # only now, since importing the package loads no schedules

    return at_precision(h, mode.precision)
