"""Exchange: elements of placements, brought to where they are needed, on routes that `routes.py` has found.

Of small pieces, as halos are, all are on their way at once: read to pinned memory on every device, and as they come
written where they go to, beside what kernels compute meanwhile. Nobody else waits for them: kernels that read them are
behind them in their device's queue.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from mdhnp import system
from mdhnp.arrays import transfer
from mdhnp.arrays.array import make
from mdhnp.distributed.placement import Placement, Shard, box_of, placement_of, seen
from mdhnp.distributed.routes import Route, copied_to, is_apart, route_to
from mdhnp.distributed.spans import split
from mdhnp.distributed.threads import named
from mdhnp.process import having
from mdhnp.runtime import relay, resident
from mdhnp.runtime.handle import Device
from mdhnp.runtime.layout import Layout

View = npt.NDArray[Any]

_BYTE = np.dtype(np.uint8)
#: Bytes between elements that may be copied with them, which takes no longer than a launch.
_BETWEEN = 1 << 16
#: Bytes of a piece up to which it is read at once; larger ones pass in parts, so that reading and writing overlap.
AT_ONCE = 1 << 23
#: Seconds in which pieces are asked after without a break, and breaks afterwards.
_SPINNING, _BREAK = 2e-3, 2e-4


class Exchange(NamedTuple):
    """Elements that went from one device to another."""

    source: Device
    target: Device
    nbytes: int


_watching: ContextVar[tuple[list[Exchange], ...]] = ContextVar("mdhnp_exchanges", default=())


@contextmanager
def watched() -> Iterator[list[Exchange]]:
    """Collect what calls made inside of a block exchange between devices."""
    found: list[Exchange] = []
    with having(_watching, (*_watching.get(), found)):
        yield found


class Copy(NamedTuple):
    """Elements that are to be copied, from a view of what a device, or the host, has to a view of another's memory."""

    giver: Device | None
    source: View
    taker: Device | None
    target: View


class Bringing(NamedTuple):
    """Elements of an array that are to go their way; `stores` is the placement's from before this was found."""

    placement: Placement
    dtype: np.dtype[Any]
    route: Route
    device: Device | None
    stores: object


def fetch(view: View, device: Device | None) -> View:
    """Give a view of the elements on a device, or on the host: of the memory where they are, or of a copy.

    Nobody may change them.
    """
    placement, box = placement_of(view), box_of(view)
    stores = placement.stores
    one = Bringing(placement, view.dtype, route_to(placement.holders(), box, box.whole, device), device, stores)
    copies, found = planned(one)
    carry(copies)
    brought([one])
    return found


def copied(view: View, device: Device | None, *, packed: bool = False) -> View:
    """Give the view of a new copy of the elements on a device or the host: in C order, or `packed` as they lie."""
    placement = placement_of(view)
    route = copied_to(placement.holders(), placement.box(view), device, packed=packed)
    copies, found = _copies(Bringing(placement, view.dtype, route, device, None))
    carry(copies)
    return found


def planned(one: Bringing) -> tuple[list[Copy], View]:
    """Give what is to be copied, and the view of the elements, which nobody may change, when that is done."""
    placement, dtype, route, device, _ = one
    if route.holder is None and device is not None and len(route.moves) == 1 and route.nbytes <= transfer.FEW:
        shard = placement.shards[route.moves[0].holder]
        if shard.device is None:  # a few elements of an ndarray come again in most programs
            return [], transfer.constant(seen(shard.memory, route.moves[0].source, dtype), device)
    return _copies(one)


def _copies(one: Bringing) -> tuple[list[Copy], View]:
    """Give what is to be copied, and the view of the elements when that is done."""
    placement, dtype, route, device, _ = one
    if 0 in route.box.shape:
        return [], transfer.empty(route.box.shape, dtype, device)
    n = route.holder
    memory = transfer.empty((route.nbytes,), _BYTE, device) if n is None else placement.shards[n].memory
    copies = []
    for move in route.moves:
        shard = placement.shards[move.holder]
        source, target = seen(shard.memory, move.source, dtype), seen(memory, move.target, dtype)
        copies.append(Copy(shard.device, source, device, target))
    return copies, seen(memory, route.box, dtype)


def brought(each: Sequence[Bringing]) -> None:
    """Note where elements are now that they were copied."""
    for placement, _, route, _, stores in each:
        if route.valid is not None and route.holder is not None:
            placement.complete(placement.shards[route.holder], route.valid, stores)


def carry(
    copies: Sequence[Copy],
    meanwhile: Callable[[], None] = lambda: None,
    arrived: Callable[[Device], None] = lambda device: None,
    *,
    beside: bool = False,
) -> None:
    """Make all copies; what devices of their own memory give each other in small pieces is on its way at once.

    `meanwhile` is called when these are, `arrived` when all that goes to a device is ahead of what it is given next.
    They go `beside` what devices are given meanwhile, or in turn, which takes less time. What a device moves in its own
    memory it moves meanwhile, too, but for such a piece of the same call, a halo.
    """
    passing, own, late = list[_Passing](), list[Copy](), dict[Device, list[Copy]]()
    for one in copies:
        giver, source, device, target = one
        if giver is not None and device is not None and giver is not device:
            for exchanges in _watching.get():
                exchanges.append(Exchange(giver, device, source.nbytes))
        if giver is device and giver is not None:
            own.append(one)
        elif giver is None or not is_apart(giver):
            _put(giver, source, device, target)
        elif source.nbytes <= AT_ONCE and device is not None and is_apart(device):
            room = target if target.flags.c_contiguous else transfer.empty(target.shape, target.dtype, device)
            passing.append(_Passing(giver, source, device, target, room))
        elif device is not None and is_apart(device):
            _relay(giver, source, device, target)
        else:
            with named(giver):
                target[...] = _downloaded(giver, source)

    changing = {id(resident.block_of(one.target)) for one in passing}

    def begun() -> None:
        for one in own:
            if one.giver is not None and is_apart(one.giver) and id(resident.block_of(one.source)) in changing:
                late.setdefault(one.giver, []).append(one)
            else:
                _put(*one)
        meanwhile()

    def end(device: Device) -> None:
        for one in late.pop(device, ()):
            _put(*one)
        arrived(device)

    _pass(passing, begun, end, beside)
    for device in list(late):
        end(device)


class _Passing(NamedTuple):
    """A copy from a device to another one, which goes to dense memory there (`room`) at first, maybe the target."""

    giver: Device
    source: View
    taker: Device
    target: View
    room: View


def _pass(
    copies: Sequence[_Passing], meanwhile: Callable[[], None], arrived: Callable[[Device], None], beside: bool
) -> None:
    """Make copies between devices, all at once; what several take is read once."""
    left, written = dict[Device, list[_Passing]](), dict[Device, list[cl.Event]]()
    for one in copies:
        left.setdefault(one.taker, []).append(one)
        written.setdefault(one.taker, [])
    marks, reading = dict[Device, cl.Event | None](), list[tuple[relay.Piece, list[_Passing]]]()
    try:
        _read(copies, beside, marks, reading)
        meanwhile()
        begin = time.perf_counter()
        while reading:
            late = []
            for piece, takers in reading:
                giver = takers[0].giver
                with named(giver):
                    is_read = piece.is_read()
                if not is_read:
                    late.append((piece, takers))
                    continue
                for one in takers:
                    with named(one.taker):
                        piece.write(one.taker, one.room, marks[one.taker], written[one.taker])
                    if len(written[one.taker]) == len(left[one.taker]):
                        if beside:
                            _wait_for(one.taker, written[one.taker])
                        for _, _, taker, target, room in left.pop(one.taker):
                            if room is not target:
                                make(target, taker)[...] = make(room, taker)
                        arrived(one.taker)
            if len(late) == len(reading):
                if time.perf_counter() - begin < _SPINNING:
                    system.give_way()
                else:
                    time.sleep(_BREAK)
            reading = late
    except BaseException:
        for piece, _ in reading:
            piece.abandon()
        raise
    finally:  # whatever failed: nothing is put where it is written meanwhile
        with ExitStack() as waits:
            for taker in left if beside else ():
                waits.callback(_wait_for, taker, written[taker])


def _read(
    copies: Sequence[_Passing],
    beside: bool,
    marks: dict[Device, cl.Event | None],
    reading: list[tuple[relay.Piece, list[_Passing]]],
) -> None:
    """Begin to read all pieces; adds the marks of devices, beside whose kernels that is, and who takes which piece."""
    pieces = dict[Any, list[_Passing]]()
    for one in copies:
        key = one.giver, one.source.__array_interface__["data"][0], one.source.shape, one.source.strides
        pieces.setdefault(key, []).append(one)
    dense = list[View]()
    for first, *_ in pieces.values():
        with named(first.giver):
            dense.append(_dense(first.giver, first.source))
    for each in dict.fromkeys([d for one in copies for d in (one.giver, one.taker)]):
        with named(each):
            marks[each] = relay.mark(each) if beside else None
    for view, takers in zip(dense, pieces.values(), strict=True):
        giver = takers[0].giver
        with named(giver):
            reading.append((relay.Piece(giver, view, marks[giver]), takers))


def _wait_for(taker: Device, events: Sequence[cl.Event]) -> None:
    with named(taker):
        relay.wait_for(taker, events)


def _dense(device: Device, view: View) -> View:
    """Give the view of the same elements in C order, of themselves or of a copy."""
    return view if view.flags.c_contiguous else make(view, device).copy()._view


def _put(giver: Device | None, source: View, device: Device | None, target: View) -> None:
    """Copy from the host's memory, or within a device's, to a view of a device's memory."""
    if giver is not None and is_apart(giver):
        if source.flags.c_contiguous and target.flags.c_contiguous:
            resident.move(giver, source, target)
        else:
            make(target, giver)[...] = make(source, giver)
    elif device is None or not is_apart(device):
        target[...] = source
    elif target.flags.c_contiguous:
        resident.upload_into(device, np.ascontiguousarray(source).reshape(source.shape), target)
    else:
        make(target, device)[...] = make(transfer.put(source, device), device)


def _relay(giver: Device, source: View, device: Device, target: View) -> None:
    """Copy from one device's memory to another's in pieces, one being read while those before are written."""
    dense = target if target.flags.c_contiguous else transfer.empty(target.shape, target.dtype, device)
    with resident.filling(device, dense) as fill:

        def put(some: View, at: int) -> Any:
            with named(device):
                return fill(some, at)

        with named(giver):
            resident.pass_on(giver, _dense(giver, source), put)
    if dense is not target:
        make(target, device)[...] = make(dense, device)


def _downloaded(device: Device, view: View) -> View:
    """Copy elements to the host; those that lie far apart are put together before, for what is between is not asked."""
    if Layout.of(view).nbytes - view.nbytes > max(view.nbytes, _BETWEEN):
        view = make(view, device).copy()._view
    return resident.download(device, view)


def store(target: View, source: View, shard: Shard) -> None:
    """Put the elements of a view into another one of the same shape, as far as a device has them."""
    assert shard.device is not None
    placement, box = placement_of(target), box_of(target)
    for region in split(box, [box.whole], placement.valid(shard))[0]:
        key: Any = (*region, ...)
        here = fetch(source[key], shard.device)
        there = seen(shard.memory, box.within(shard.room, region), target.dtype)
        make(there, shard.device)[...] = make(here, shard.device)
