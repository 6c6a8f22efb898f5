"""The entries of calls made before, found by one dictionary look-up.

The key is all that decides what a call's plan is: what is called with which arguments, the device, the settings, and
each array's shape, strides and dtype. It must not know what entries are.
"""

import weakref
from array import array
from collections.abc import Hashable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from mdhnp import native
from mdhnp.process import process

if TYPE_CHECKING:
    from mdhnp.calls.entry import Entry
    from mdhnp.runtime.handle import Device

#: Entries kept; those not used for long go first.
_CAPACITY = 4096


def key_of(what: Hashable, device: Hashable, mode: Hashable, arrays: Sequence[Any]) -> Hashable:
    # Types' numbers tell long from long long, which are equal but not the same.
    axes = [(a.dtype.num, a.ndim, *[n for axis in zip(a.shape, a.strides, strict=True) for n in axis]) for a in arrays]
    return what, device, mode, array("q", chain(*axes)).tobytes()


def _find(
    entries: "dict[Hashable, Entry]", what: Hashable, device: Hashable, mode: Hashable, operands: Sequence[Any]
) -> "Entry | None":
    """Look an entry up; None where none is found, and for operands that are not what kernels can address."""
    for a in operands:
        if type(a) is not np.ndarray or not a.dtype.isnative or not a.flags.aligned:
            return None
    return entries.get(key_of(what, device, mode, operands))


def find_views(
    entries: "dict[Hashable, Entry]", what: Hashable, mode: Hashable, operands: Sequence[Any], kind: type[Any]
) -> "tuple[Entry, tuple[Any, ...], Device] | None":
    """Look up a call all of whose operands are Arrays on one device, of the type `kind`."""
    if not operands or any(type(a) is not kind or a.device is not operands[0].device for a in operands):
        return None
    views = tuple([a._view for a in operands])
    device = operands[0].device
    found = _find(entries, what, device.key, mode, views)
    return None if found is None else (found, views, device)


find = _find if native.find is None else native.find
#: As `find_views`, which also makes the call where all it does is to enqueue kernels, and gives its Array then.
repeat = find_views if native.repeat is None else native.repeat


class EntryStore:
    """The entries kept, in two generations, so that finding one costs a look-up and nothing else.

    When the young generation is full it becomes the old one, in place of what was that. An entry found among the old
    ones is young again: what is in use stays, and what was not used for as long as half the capacity's entries were
    made goes.
    """

    def __init__(self) -> None:
        self.young: dict[Hashable, Entry] = {}  # always the same object: `find` reads it without the lock
        self.old: dict[Hashable, Entry] = {}
        self.epoch = 0  # counts `clear`
        self.lock = process.lock()

    def recall(self, key: Hashable) -> "tuple[Entry | None, int]":
        """Give an entry, of whichever generation, and the epoch."""
        with self.lock:
            return self.young.get(key) or self.old.get(key), self.epoch

    def keep(self, key: Hashable, entry: "Entry", epoch: int, owners: Sequence[object] = ()) -> "Entry":
        """Keep an entry, and give the one to use: that of another thread which was faster.

        None is kept if all entries were dropped since `epoch`: then its schedules may be outdated. An entry goes
        when one of its owners dies, without whom the call cannot be made.
        """
        with self.lock:
            if epoch != self.epoch:
                return entry
            if (first := self.young.get(key)) is not None:
                return first
            entry = self.old.pop(key, entry)
            if len(self.young) >= _CAPACITY // 2:
                self.old.clear()
                self.old.update(self.young)
                self.young.clear()
            self.young[key] = entry
            entry.owners = tuple([weakref.ref(owner, lambda _: self.drop(key)) for owner in owners])
            return entry

    def drop(self, key: Hashable) -> None:
        """Drop one entry; called by the garbage collector, so without the lock."""
        self.young.pop(key, None)
        self.old.pop(key, None)

    def clear(self) -> None:
        with self.lock:
            self.young.clear()
            self.old.clear()
            self.epoch += 1

    def forked(self) -> None:
        """Begin without entries in a child: their watchers may wait for threads that are not there."""
        process.inherit((dict(self.young), dict(self.old)))
        self.clear()


store = EntryStore()
entries = store.young
#: Drops all plans, so that calls look their schedules up again; those being made now are not kept either.
forget = store.clear
process.at_fork(store.forked)
