"""Runs generated kernels: finds devices, compiles programs, brings NumPy's arrays to kernels, launches, waits.

Takes :class:`mdhnp.codegen.program.Program` objects and arrays. It must not know where programs come from. Importing
this package loads nothing: its modules load OpenCL, but for `private.py`, `layout.py` and, until it is asked for
platforms, `discovery.py`. What loads it is an attribute for folders that may not import it: see :data:`LATE`.
"""

from importlib import import_module
from typing import Any

#: Modules by attributes of this package, imported when they are first asked for. The package adds `executor`, which
#: computes on several devices and keeps Arrays on them: it stands after calls, and nobody here knows what it is.
LATE = {"devices": "mdhnp.runtime.devices", "pending": "mdhnp.runtime.pending"}


def __getattr__(name: str) -> Any:
    if name not in LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = import_module(LATE[name])
    return found
