from collections.abc import Hashable, Sequence
from typing import Any, Self

INTERFACE: int

def find_plan(
    plans: dict[Hashable, Any], call: Hashable, device: Hashable, host: Hashable, operands: tuple[Any, ...]
) -> Any: ...

class Launcher:
    def __new__(
        cls,
        functions: tuple[int, int, int, int],
        queue: int,
        lows: tuple[int, ...],
        launches: tuple[tuple[int, int, int], ...],
        bindings: tuple[tuple[int, int, int], ...],
    ) -> Self: ...
    def launch(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> bool: ...
    def forget(self) -> None: ...
