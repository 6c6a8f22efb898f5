"""What is compiled of the package; None where it was installed without a C compiler."""

from contextlib import suppress
from typing import TYPE_CHECKING

__all__ = ["Enqueuer", "Launcher", "Lease", "find", "find_views"]

#: What libraries must give for INTERFACE: those of another version of these files are not used.
_NATIVE, _ENQUEUE = 3, 2

if TYPE_CHECKING:
    from mdhnp._enqueue import Enqueuer, Lease
    from mdhnp._native import Launcher, find, find_views
else:
    Enqueuer = Launcher = Lease = find = find_views = None
    with suppress(ImportError):
        from mdhnp import _native

        if _native.INTERFACE == _NATIVE:
            Launcher, find, find_views = _native.Launcher, _native.find, _native.find_views
    with suppress(ImportError):
        from mdhnp import _enqueue

        if _enqueue.INTERFACE == _ENQUEUE:
            Enqueuer, Lease = _enqueue.Enqueuer, _enqueue.Lease
