"""Routes: how elements that several devices hold come to where they are read, as data that serves all arrays alike.

Takes who holds what, and a box of it; gives what is copied from whom, and where all lies then. What a device holds
already is not moved; of anything else only those elements that are asked for. Pure: it must not know arrays, nor what
copies them.
"""

from collections.abc import Iterable
from typing import NamedTuple

from mdhnp.distributed.spans import Spans, StridedBox, around, beyond, holds, hull, split
from mdhnp.mdh.regions import Region, unwrapped
from mdhnp.runtime.handle import Device


class Held(NamedTuple):
    """What a device, or the host, has of an array."""

    device: Device | None
    room: Spans  # what its memory is for
    own: Spans  # what it gives to others
    valid: Spans  # what is there


class Holders:
    """What each of an array's holders has, and the array's bytes. Plans are found by it, so it is hashed once."""

    __slots__ = ("_hash", "each", "nbytes")

    def __init__(self, each: Iterable[Held]) -> None:
        self.each = tuple(each)
        self.nbytes = max([held.own[0].end for held in self.each], default=0)
        self._hash = hash(self.each)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Holders) and self.each == other.each


class Move(NamedTuple):
    """Elements that are copied: from the memory of the n-th holder, to other memory; boxes are of these."""

    holder: int
    source: StridedBox
    target: StridedBox


class Route(NamedTuple):
    """How elements come to where they are read: all moves are made, then they lie there."""

    moves: tuple[Move, ...]
    #: In the memory of the n-th holder; None: in new memory of so many bytes.
    holder: int | None
    nbytes: int
    #: Where, in that memory.
    box: StridedBox
    #: What is known to be there afterwards, where it moves into room beside what is held.
    valid: Spans | None = None


def route_to(array: Holders, box: StridedBox, region: Region, device: Device | None) -> Route:
    """Say how a region of a box comes to a device, or to the host; it may go on from an axis's beginning."""
    if all([s.stop <= n for s, n in zip(region, box.shape, strict=True)]):
        return _inside(array, box.part(region), device)
    beside = _with_halo(array, box, region, device)
    if beside is not None:
        return beside
    target = StridedBox.new([s.stop - s.start for s in region], box.itemsize)
    moves = [_moves(array, box.part(here), device, target.part(there)) for here, there in unwrapped(region, box.shape)]
    return Route(tuple([move for some in moves for move in some]), None, target.nbytes(target.whole), target)


def copied_to(array: Holders, box: StridedBox, device: Device | None, *, packed: bool = False) -> Route:
    """Say how elements are copied to new memory of a device or the host: in C order, or `packed` as they lie."""
    target = box.packed() if packed else StridedBox.new(box.shape, box.itemsize)
    return Route(tuple(_moves(array, box, device, target)), None, target.nbytes(target.whole), target)


def _inside(array: Holders, box: StridedBox, device: Device | None) -> Route:
    if 0 in box.shape:
        return Route((), None, 0, StridedBox.new(box.shape, box.itemsize))
    if any([s == 0 and n > 1 for s, n in zip(box.strides, box.shape, strict=True)]):
        few = tuple([n if s else 1 for n, s in zip(box.shape, box.strides, strict=True)])
        thin = _inside(array, box._replace(shape=few), device)
        strides = [s if given else 0 for s, given in zip(thin.box.strides, box.strides, strict=True)]
        return thin._replace(box=thin.box._replace(shape=box.shape, strides=tuple(strides)))
    for n, held in enumerate(array.each):
        readable = held.device is device or not (is_apart(held.device) or is_apart(device))
        if readable and holds(held.room, box, box.whole):
            if held.device is device:
                return _completed(array, n, box, box.whole)
            if holds(held.valid, box, box.whole):
                return Route((), n, 0, box.within(held.room, box.whole))
    return copied_to(array, box, device, packed=True)


def is_apart(device: Device | None) -> bool:
    """Whether it is a device with memory of its own, from which elements must be copied."""
    return device is not None and device.own_memory


def _with_halo(array: Holders, box: StridedBox, region: Region, device: Device | None) -> Route | None:
    """Say how a region that goes on at the array's other end comes to a device that has room for it; None: to none."""
    lying = zip(box.shape, box.strides, StridedBox.new(box.shape, box.itemsize).strides, strict=True)
    if box.start or box.nbytes(box.whole) != array.nbytes or any([n > 1 and s != t for n, s, t in lying]):
        return None
    axis = next((a for a, n in enumerate(box.shape) if n > 1), 0)
    for n, held in enumerate(array.each):
        for turn in (0, box.shape[axis]):
            along = slice(region[axis].start - turn, region[axis].stop - turn)
            turned = (*region[:axis], along, *region[axis + 1 :])
            inside = all([s.stop <= n for a, (s, n) in enumerate(zip(turned, box.shape, strict=True)) if a != axis])
            if held.device is device and inside and holds(held.room, box, turned):
                return _completed(array, n, box, turned)
    return None


def _completed(array: Holders, n: int, box: StridedBox, region: Region) -> Route:
    """Say what moves to the room of a holder beside what is there; beyond the array's end, of the other end."""
    held, moves = array.each[n], list[Move]()
    wanted = hull(held.valid, around(held.room, box, region))
    for lacking in beyond(wanted, held.valid):
        some = StridedBox.of_bytes(lacking)
        moves += _moves(
            array, some._replace(start=some.start % array.nbytes), held.device, some.within(held.room, some.whole), n
        )
    return Route(tuple(moves), n, 0, box.within(held.room, region), wanted if moves else None)


def _moves(
    array: Holders, box: StridedBox, device: Device | None, target: StridedBox, into: int | None = None
) -> list[Move]:
    """Say from who has them elements go to memory of a device: at first itself, then who comes after it.

    With `into` that is room of the n-th holder, beside what it has, and they come from others.
    """
    left, found, count = [] if 0 in box.shape else [box.whole], list[Move](), len(array.each)
    first = next((n for n, held in enumerate(array.each) if held.device is device), 0)
    for n in (*range(first, count), *range(first)):  # not all the same one first, which serves one at a time
        if n != into:
            held = array.each[n]
            some, left = split(box, left, held.valid if held.device is device else held.own)
            found += [Move(n, box.within(held.room, region), target.part(region)) for region in some]
    assert not left, "a placement has a hole"
    return found
