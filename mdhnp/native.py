"""What is compiled from `_native.c`; None where the package was installed without a C compiler."""

from typing import TYPE_CHECKING

__all__ = ["Launcher", "find_plan"]

if TYPE_CHECKING:
    from mdhnp._native import Launcher, find_plan
else:
    try:
        from mdhnp._native import Launcher, find_plan
    except ImportError:
        Launcher = find_plan = None
