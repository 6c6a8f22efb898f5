"""The way of every call: found again by one look-up and run, or described, planned, run, and kept for the next.

Takes what is called with which arguments, and the operands as the user gave them.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mdhnp.arrays.array import Array, is_array
from mdhnp.arrays.opencl import adopted
from mdhnp.calls import loading, observe
from mdhnp.calls.arrays import brought, device_of, on_device, wrapped
from mdhnp.calls.entry import Entry
from mdhnp.calls.indices import preparing, stand_ins
from mdhnp.calls.lifecycle import DESCRIBING, State
from mdhnp.calls.numpy_tier import seconds_by_numpy
from mdhnp.calls.operands import fallback, is_sparse, unsupported
from mdhnp.calls.plans import Undescribed
from mdhnp.calls.request import Described, NoDoublePrecision, Routine, described
from mdhnp.calls.states import lifecycle_of
from mdhnp.calls.steps import CallRequest, at_precision
from mdhnp.calls.store import entries, find, find_views, key_of, repeat, store
from mdhnp.runtime.layout import Layout
from mdhnp.settings import Mode, config

if TYPE_CHECKING:  # which loads OpenCL
    from mdhnp.runtime.devices import Device


def call(
    what: tuple[Any, ...],
    operands: tuple[Any, ...],
    *,
    dtypes: Sequence[np.dtype[Any] | None] = (),
    numpy: Callable[[], Any] | None = None,
    owners: Sequence[object] = (),
) -> Any:
    """Make a call, and give what the user gets: new arrays, or scalars.

    It is told by `what`, which is its :class:`Routine`, then all arguments but the operands, hashable. Kernels must
    compute in `dtypes` that it names, too. `numpy` makes it with NumPy, by default the function's own way to. Its plans
    go when one of its `owners` dies, which `what` may hold weakly only.
    """
    if observe.learning and observe.is_called() and not _is_sparse(what, operands):
        again = partial(call, what, operands, dtypes=dtypes, numpy=numpy, owners=owners)
        return observe.called(None if owners else what, observe.Kind.ROUTINE, operands, again)
    mode = config.mode
    if operands and type(operands[0]) is Array:
        repeated = (find_views if observe.blocks else repeat)(entries, what, mode, operands, Array)
        if type(repeated) is Array or repeated == ():
            return repeated
        if repeated is not None:
            found, views, device = repeated
            return wrapped(found.run(views), device)
    devices = loading.devices()
    found = find(entries, what, devices, mode, operands)
    if found is not None:
        return found.run(operands)
    if _is_sparse(what, operands):
        return what[0].sparse(operands, *what[1:])
    given = _Arguments(what, operands, dtypes, numpy, owners)
    if any([type(a) is Array or is_array(a) for a in operands]):
        return _with_arrays(given, mode)
    return _first(given, operands, devices, devices, mode)


def _is_sparse(what: tuple[Any, ...], operands: tuple[Any, ...]) -> bool:
    """Whether it is a product with a sparse operand, which makes a call on the operand's arrays."""
    return what[0].sparse is not None and any(map(is_sparse, operands))


class _Arguments(NamedTuple):
    """A call as it was made: `call`'s arguments, the device of Arrays, if any, and what it computes, once known."""

    what: tuple[Any, ...]
    operands: tuple[Any, ...]
    dtypes: Sequence[np.dtype[Any] | None]
    numpy: Callable[[], Any] | None
    owners: Sequence[object]
    device: "Device | None" = None
    computed: Described | None = None

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
        result = entry.run(arrays)
        return result if self.device is None else wrapped(result, self.device)


def _with_arrays(given: _Arguments, mode: Mode) -> Any:
    """Make a call with Arrays among its operands: on their views, where they are."""
    operands = tuple([adopted(a) if is_array(a) else a for a in given.operands])
    device = device_of(given.what[0].name, operands)
    given = given._replace(operands=operands, device=device)
    views = on_device(operands, device, given.what[0].convert)
    if device.passing:
        exact: Any = partial(at_precision, mode=mode)
        return wrapped(device.call(given.what, views, given.dtypes, exact, mode), device)  # type: ignore[attr-defined]
    found = find(entries, given.what, device.key, mode, views)
    if found is not None:
        return wrapped(found.run(views), device)
    return _first(given, views, device.alone, device.key, mode)


def _first(
    given: _Arguments, operands: tuple[Any, ...], devices: "tuple[Device, ...]", place: Hashable, mode: Mode
) -> Any:
    """Make a call that was not found by its operands as they are; `place` stands for the devices in keys."""
    arrays = given.what[0].convert(operands)
    if reason := unsupported(arrays, *given.dtypes):
        return given.left_to_numpy(reason)
    key = key_of(given.what, place, mode, arrays)
    entry, epoch = store.recall(key)
    if entry is None and place == devices and (made := _undescribed(given, arrays, devices, mode, (key, epoch))):
        entry = made
    elif entry is None:
        try:
            planned = _planned(given, arrays, devices, mode if place == devices else mode.of_views)
        except NoDoublePrecision as error:
            if given.by_numpy() is None:
                raise
            return given.left_to_numpy(str(error))
        if isinstance(planned, Described):  # OpenCL is loaded now: later calls will ask for an entry with devices
            return _first(given._replace(computed=planned), operands, loading.devices(), loading.devices(), mode)
        entry, kept = planned
        if not kept:
            return given.run(entry, arrays)
    return given.run(store.keep(key, entry, epoch, given.owners), arrays)


def _undescribed(
    given: _Arguments, arrays: tuple[Any, ...], devices: "tuple[Device, ...]", mode: Mode, place: tuple[Hashable, int]
) -> Entry | None:
    """Give the entry of a call that NumPy makes for now, kept at a place in the store; None of one to be described."""
    routine: Routine = given.what[0]
    chosen = mode.decides != "measurements" or mode.memory_limit is not None or any([d.several for d in devices])
    if routine.brief is None or chosen or observe.blocks or config.debug:
        return None
    if not all([a.flags.c_contiguous for a in arrays]):  # results of functions may lie as operands do
        return None
    function = routine.brief(arrays, *given.what[1:])
    if function is None or seconds_by_numpy(function) >= DESCRIBING:
        return None
    layouts = [(a.dtype, a.shape, a.strides) for a in arrays]
    kept = given._replace(operands=())  # an entry keeps nobody's arrays

    def describe() -> Entry:
        alike = tuple([as_strided(np.empty((), dtype), shape, strides) for dtype, shape, strides in layouts])
        computed = described(kept.what, alike)._replace(brief=function)
        planned = _planned(kept._replace(computed=computed), alike, devices, mode)
        assert not isinstance(planned, Described)  # OpenCL is not loaded for what takes so little
        store.drop(place[0])
        return store.keep(place[0], planned[0], place[1])

    plan = Undescribed(routine.name, function, describe)
    return Entry(lifecycle_of((), plan, State.UNDESCRIBED), None, None)


def _planned(
    given: _Arguments, arrays: tuple[Any, ...], devices: "tuple[Device, ...]", mode: Mode
) -> tuple[Entry, bool] | Described:
    """Describe and plan a call; gives the description where planning takes OpenCL, which was loaded for it."""
    routine: Routine = given.what[0]
    asked = given.computed or described(given.what, arrays)  # which calls functions of users, so once
    computed = asked.on(devices, mode)
    if computed.sortings and given.device is not None and given.device.own_memory:
        computed = computed.in_pieces()
    take, held = computed.take, computed.constants
    if held:  # where the operands are
        held = held if given.device is None else on_device(held, given.device, routine.convert)
        take = lambda read: (*(read if computed.take is None else computed.take(read)), *held)  # noqa: E731
    prepare = preparing(computed.graph, computed.sortings, given.device)
    inputs = (*computed.inputs(arrays), *held, *stand_ins(computed.sortings))
    layouts = tuple([(Layout.of(a), a.dtype) for a in inputs])
    start = CallRequest(routine.name, computed, layouts, devices, mode).plan()
    return asked if start is None else (Entry(start, take, computed.give, prepare), start.kept)
