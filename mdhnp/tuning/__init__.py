"""Finds better schedules by measuring, and remembers them for good.

What users take from here is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mdhnp.schedule import LocalCopy, Schedule

__all__ = ["LocalCopy", "Schedule"]

_MODULES = {"LocalCopy": "mdhnp.schedule", "Schedule": "mdhnp.schedule"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
