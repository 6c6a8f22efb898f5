from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

INTERFACE: int

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

class Lease(np.ndarray[Any, Any]):
    block: Any
    home: Any
