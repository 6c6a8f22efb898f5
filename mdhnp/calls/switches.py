"""What stands in NumPy's and SciPy's modules in place of their functions while blocks are open, in whatever thread.

A switch decides at each call which function makes it, as it is there for all threads.
"""

import sys
from collections.abc import Callable, Sequence
from functools import update_wrapper
from types import ModuleType
from typing import Any

from mdhnp.process import process

Function = Callable[..., Any]


class _Switch:
    """Stands in a module for one of its functions, and has its attributes."""

    def __init__(self, numpys: Function, choose: Callable[[Function], Function]) -> None:
        update_wrapper(self, numpys, updated=())
        self._numpys, self._chosen = numpys, choose(numpys)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._chosen(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpys, name)

    def __reduce__(self) -> str:
        return self._numpys.__name__  # pickled by name, as functions are


class Switches:
    """Switches, which NumPy has while blocks are open; a table says in which module, by which name, and what it calls.

    The last is a function that is given NumPy's. Modules that were not imported when the first block opens stay as
    they are.
    """

    def __init__(self, table: Sequence[tuple[str, str, Callable[[Function], Function]]]) -> None:
        self.table = table
        self.lock = process.lock()
        self.blocks = 0
        self.installed: list[tuple[ModuleType, str, _Switch]] = []

    def count(self, change: int) -> None:
        """Note that a block begins (1) or ends (-1): the first one installs the switches, the last one removes them."""
        with self.lock:
            before, self.blocks = self.blocks, self.blocks + change
            if not before:
                known = [(sys.modules.get(module), name, choose) for module, name, choose in self.table]
                self.installed = [
                    (m, name, _Switch(getattr(m, name), choose)) for m, name, choose in known if m and hasattr(m, name)
                ]
                for module, name, switch in self.installed:
                    setattr(module, name, switch)
            elif not self.blocks:
                for module, name, switch in self.installed:
                    if getattr(module, name) is switch:  # else someone has put something in its place meanwhile
                        setattr(module, name, switch._numpys)
