from collections.abc import Sequence
from typing import Any, Self

INTERFACE: int

class Enqueuer:
    def __new__(
        cls,
        functions: tuple[int, int],
        queue: int,
        lease: type,
        lows: tuple[int, ...],
        launches: tuple[tuple[int, int, int], ...],
        bindings: tuple[tuple[int, int, int, bool], ...],
    ) -> Self: ...
    def enqueue(
        self, inputs: Sequence[Any], outputs: Sequence[Any], blocks: tuple[Any, ...], with_event: bool
    ) -> int | None: ...
