"""What computes on several devices, and keeps Arrays on them: it stands after calls, which ask for it here.

It must not know what that is; who registers it says how it is loaded, when it is first needed.
"""

from collections.abc import Callable
from typing import Any

_loaders: list[Callable[[], Any]] = []


def register(load: Callable[[], Any]) -> None:
    _loaders[:] = [load]


def several() -> Any:
    return _loaders[0]()
