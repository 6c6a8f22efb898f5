"""What waits for the next calls and holds memory: on each device no more than a part of its memory, the latest used.

Takes states by their size in bytes; it must not know what they are. A finalizer may make a call at any line, also at
one of ours, so nobody waits for a lock here: what is shared changes in single steps, which are atomic, and sums are
taken anew. That is slow, and done only if there may be too much: while all states of a device, idle and at work, are
no more than may be idle, a call looks at nothing.
"""

from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from mdhnp.runtime.handle import Device

if TYPE_CHECKING:
    from mdhnp.runtime.launches import State

__all__ = ["Account", "Idle", "account", "after_fork_in_child"]

#: Parts of a device's memory that may wait: of its own, and where it is the host's, which others need, too.
_OWN, _SHARED = 8, 16

_next = count(1).__next__


class Account:
    """The states of a device that hold memory.

    Attributes
    ----------
    most : int
        Bytes of all those that wait for a call.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._states: WeakValueDictionary[int, State] = WeakValueDictionary()  # idle or at work
        self._idle: WeakValueDictionary[int, Idle] = WeakValueDictionary()
        self._latest = self._checked = 0  # the state made last, and what that was when all were few enough

    def add(self, state: "State") -> None:
        """Know a new state."""
        number = _next()
        self._states[number] = state
        self._latest = number

    def waiting(self, nbytes: int) -> "Idle":
        """Give a list for idle states of so many bytes each."""
        idle = Idle(self, nbytes)
        self._idle[_next()] = idle
        return idle

    def settle(self) -> None:
        """Drop idle states, those of the list used longest ago first, until the rest is not too much."""
        latest = self._latest
        if latest == self._checked:
            return
        lists = [idle for reference in self._idle.valuerefs() if (idle := reference()) is not None]
        kept = sum(len(idle) * idle.nbytes for idle in lists)
        if kept > self.most:
            for idle in sorted(lists, key=lambda idle: idle.used):
                while kept > self.most and idle.drop():
                    kept -= idle.nbytes
        states = [state for reference in self._states.valuerefs() if (state := reference()) is not None]
        if sum(state.nbytes for state in states) <= self.most:
            self._checked = latest  # not what it is now: another state may have been made meanwhile


class Idle(list["State"]):
    """An executable's idle states, each of `nbytes` bytes.

    Attributes
    ----------
    used : int
        Grows with each use, over all such lists.
    """

    def __init__(self, account: Account, nbytes: int) -> None:
        super().__init__()
        self.nbytes = nbytes
        self.used = 0
        self._account = account

    def append(self, state: "State") -> None:
        """Keep a state, and drop what then is too much; a state that alone is too much goes at once."""
        if self.nbytes > self._account.most:
            return
        self.used = _next()
        super().append(state)
        self._account.settle()

    def drop(self) -> bool:
        """Drop one state, if there is one: another thread may have taken the last."""
        try:
            self.pop(0)
        except IndexError:
            return False
        return True


_accounts: dict[Device, Account] = {}


def account(device: Device) -> Account:
    """Give a device's account, the same at every call.

    Examples
    --------
    >>> account(find_device("pocl")).most  # doctest: +SKIP
    1073741824
    """
    if device not in _accounts:
        part = _SHARED if device.kind == "cpu" or device.cl.host_unified_memory else _OWN
        _accounts.setdefault(device, Account(device.cl.global_mem_size // part))
    return _accounts[device]


def after_fork_in_child() -> None:
    """Begin anew: the parent's states can be neither used nor freed."""
    _accounts.clear()
