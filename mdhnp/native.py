"""What is compiled of the package (`compiled/`); None where it was installed without a C compiler."""

from contextlib import suppress
from typing import TYPE_CHECKING

__all__ = [
    "Enqueuer", "Launcher", "Lease", "Method", "find", "group", "inside", "multiply_rows", "repeat",
]  # fmt: skip

#: What the library must give for INTERFACE: that of another version of the sources is not used.
_INTERFACE = 12

if TYPE_CHECKING:
    from mdhnp._native import Enqueuer, Launcher, Lease, Method, find, group, inside, multiply_rows, repeat
else:
    Enqueuer = Launcher = Lease = Method = find = group = inside = multiply_rows = repeat = None
    with suppress(ImportError):
        from mdhnp import _native

        if _native.INTERFACE == _INTERFACE:
            Enqueuer, Launcher, Lease, Method = _native.Enqueuer, _native.Launcher, _native.Lease, _native.Method
            find, repeat = _native.find, _native.repeat
            group, inside, multiply_rows = _native.group, _native.inside, _native.multiply_rows
