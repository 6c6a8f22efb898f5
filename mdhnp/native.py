"""What is compiled from `_native.c`; None where the package was installed without a C compiler."""

from typing import TYPE_CHECKING

__all__ = ["Launcher", "find"]

#: What a library must give for INTERFACE: one of another version of `_native.c` is not used.
_INTERFACE = 2

if TYPE_CHECKING:
    from mdhnp._native import Launcher, find
else:
    Launcher = find = None
    try:
        from mdhnp import _native
    except ImportError:
        pass
    else:
        if _native.INTERFACE == _INTERFACE:
            Launcher, find = _native.Launcher, _native.find
