from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar
from typing import Any, Self

import numpy as np

INTERFACE: int

def find(
    entries: dict[Hashable, Any], what: Hashable, device: Hashable, mode: Hashable, operands: tuple[Any, ...]
) -> Any: ...
def repeat(
    entries: dict[Hashable, Any], what: Hashable, mode: Hashable, operands: tuple[Any, ...], kind: type
) -> Any: ...
def inside(elements: np.ndarray[Any, Any], count: int, threads: int, /) -> bool: ...
def group(
    numbers: np.ndarray[Any, Any], order: np.ndarray[Any, Any], begin: np.ndarray[Any, Any], threads: int, /
) -> bool: ...
def multiply_rows(*arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]: ...

class Launcher:
    def __new__(
        cls,
        functions: tuple[int, int, int, int],
        queue: int,
        lows: tuple[int, ...],
        launches: tuple[tuple[int, int, int], ...],
        bindings: tuple[tuple[int, int, int, bool], ...],
    ) -> Self: ...
    def launch(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> bool: ...
    def forget(self) -> None: ...

class Enqueuer:
    def __new__(
        cls,
        functions: tuple[int, int],
        queue: int,
        lows: tuple[int, ...],
        launches: tuple[tuple[int, int, int], ...],
        bindings: tuple[tuple[int, int, int, bool], ...],
        memory: tuple[
            tuple[tuple[list[Any], int, tuple[int, ...], np.dtype[Any]], ...],
            tuple[tuple[list[Any], int], ...],
            Callable[[int], Any],
        ],
        notes: tuple[str, str, list[Any], int, Callable[[int], None]],
    ) -> Self: ...
    def run(self, inputs: Sequence[Any], outputs: Sequence[Any] | None) -> Sequence[Any] | None: ...
    def forget(self) -> None: ...

class Method:
    def __new__(
        cls,
        function: Callable[..., Any],
        learn: Callable[..., Any],
        recipes: dict[Hashable, Any],
        numbers: bool,
        least: int,
        place: tuple[
            dict[Hashable, Any],
            type,
            Callable[..., Any],
            Any,
            ContextVar[Any],
            dict[str, Any],
            dict[str, Any],
            Callable[..., Any],
            dict[type, tuple[str, ...]],
        ],
    ) -> Self: ...
    def __call__(self, *arguments: Any, **options: Any) -> Any: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any: ...

class Lease(np.ndarray[Any, Any]):
    block: Any
    home: Any
