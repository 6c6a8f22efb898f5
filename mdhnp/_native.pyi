from collections.abc import Hashable, Sequence
from typing import Any, Self

INTERFACE: int

def find(
    entries: dict[Hashable, Any], what: Hashable, device: Hashable, mode: Hashable, operands: tuple[Any, ...]
) -> Any: ...
def find_views(
    entries: dict[Hashable, Any], what: Hashable, mode: Hashable, operands: tuple[Any, ...], kind: type
) -> tuple[Any, tuple[Any, ...], Any] | None: ...

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
