"""Calls counted by function. Without a lock, for which a signal handler's call, or a forked child's, would wait."""

__all__ = ["Count", "Counts"]


class Count:
    """Calls of one function."""

    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls = 0


class Counts:
    """Calls of all functions."""

    def __init__(self) -> None:
        self._counts: dict[str, Count] = {}

    def of(self, function: str) -> Count:
        """Give the count of one function, the same at every call."""
        return self._counts.setdefault(function, Count())

    def all(self) -> dict[str, int]:
        """Give the numbers as they are now."""
        return {function: count.calls for function, count in list(self._counts.items())}
