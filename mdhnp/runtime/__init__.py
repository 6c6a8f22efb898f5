"""Runs generated kernels: finds devices, compiles programs, brings NumPy's arrays to kernels, launches, waits.

Takes :class:`mdhnp.codegen.program.Program` objects and arrays. It must not know where programs come from. Importing
this package loads nothing: its modules load OpenCL, but for `private.py`, `executors.py`, `layout.py` and, until it
is asked for platforms, `discovery.py`. Folders that stand before `calls` reach those that load it as attributes,
`runtime.devices` and `runtime.pending`, which are imported when they are first asked for.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name not in ("devices", "pending"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")  # which makes it an attribute
