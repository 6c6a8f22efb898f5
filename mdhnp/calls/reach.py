"""How far indices in a device's own memory reach: asked there once, for as long as they are not changed."""

import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.calls.sorting import computed
from mdhnp.runtime.layout import Layout

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.runtime.handle import Device

#: Views and memories whose reach is remembered.
_MOST = 128
#: Elements that kernels count.
COUNTED = 2**31 - 1
_REACHED = np.dtype(np.uint64)


class _Known(NamedTuple):
    """The reach of a view, or of a part of a memory, at which change of that."""

    of: "weakref.ref[Any]"
    version: int
    reach: int


#: By a view's id, or by the address of the first element, which stands for one on the device, and the layout.
_known: dict[int | tuple[int, tuple[int, ...], tuple[int, ...], str], _Known] = {}


def reach(device: "Device", view: npt.NDArray[Any]) -> int | None:
    """Give the least n for which an axis of n elements has all indices of a view, also those less than 0.

    None where no kernel says: for elements that do not lie one after the other. The device is waited for, unless the
    indices were asked for before, and their memory was not changed since.
    """
    resident = device.memory
    version = resident.version(view)
    known = _known.get(id(view))
    if known is not None and known.of() is view and known.version == version:
        return known.reach
    key = (view.__array_interface__["data"][0], view.shape, view.strides, view.dtype.char)
    memory, known = resident.lease_of(view), _known.get(key)
    if known is not None and known.of() is memory and known.version == version:
        reached = known.reach
    else:
        layout = Layout.of(view)
        if not view.size or not layout.contiguous or view.size > COUNTED:
            return None if view.size else 0
        from mdhnp.codegen.opencl.reach import groups, reaching

        outputs = [((groups(view.size, device.caps),), _REACHED)]
        (largest,) = computed(device, reaching, (view,), outputs, view.dtype, view.size)
        found = np.empty(largest.size, largest.dtype)  # a number of each work-group: few, and no second launch
        resident.download_into(device, largest, found, device.queue)
        reached = int(found.max()) + 1
        _keep(key, _Known(weakref.ref(memory), version, reached))
    _keep(id(view), _Known(weakref.ref(view), version, reached))
    return reached


def _keep(key: Any, known: _Known) -> None:
    """Remember what was known last, as the last in line."""
    _known.pop(key, None)
    _known[key] = known
    if len(_known) > _MOST:
        with suppress(StopIteration, RuntimeError):  # other threads put some in, too
            _known.pop(next(iter(_known)), None)
