"""Jobs for the helper process that do what the tests of it need."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Job:
    """What to do, by name, and with what."""

    name: str
    value: Any = None
    urgent: bool = False
    limit: float = 60.0

    def run(self) -> Any:
        return getattr(self, f"_{self.name}")()

    def _give(self) -> Any:
        return self.value

    def _process(self) -> Any:
        return os.getpid()

    def _nice(self) -> Any:
        return os.nice(0)

    def _fail(self) -> Any:
        raise ValueError(self.value)

    def _exit(self) -> Any:
        os._exit(3)

    def _signal(self) -> Any:
        os.kill(os.getpid(), self.value)

    def _hang(self) -> Any:
        time.sleep(3600)

    def _once(self) -> Any:
        """Stay, the first time, and be seen there."""
        try:
            with open(self.value, "x", encoding="ascii") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return os.getpid()
        return self._hang()

    def _unpicklable(self) -> Any:
        return lambda: None

    def _crash(self) -> Any:
        ctypes.string_at(0)

    def _compile(self) -> Any:
        """Stay in C, as a compiler does, and be seen there."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open(self.value, "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        ctypes.CDLL(None).sleep(3600)
