"""Collects lines of C with their indentation, and names what needs a name."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from mdhnp.codegen.ctypes import Value, value_type

__all__ = ["Writer"]


class Writer:
    """Text of one kernel as it grows."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._names: Counter[str] = Counter()
        #: Variables that hold the results of the latest call of a C text function with several results.
        self.returned: list[str] = []

    def line(self, text: str = "") -> None:
        """Write one line."""
        self._lines.append("  " * self._depth + text if text else "")

    @contextmanager
    def block(self, head: str = "", tail: str = "}") -> Iterator[None]:
        """Write ``head {``, the lines of the body indented, and `tail`."""
        self.line(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line(tail)

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Write the ``else`` of a block closed with ``} else {``."""
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    def fresh(self, prefix: str) -> str:
        """A name not used before: the prefix and a number."""
        self._names[prefix] += 1
        return f"{prefix}{self._names[prefix] - 1}"

    def declare(self, prefix: str, value: Value) -> Value:
        """Name a value: write its declaration, give the variable."""
        name = self.fresh(prefix)
        self.line(f"const {value_type(value.dtype, value.lanes)} {name} = {value.text};")
        return Value(name, value.dtype, value.lanes)

    def text(self) -> str:
        """All lines."""
        return "\n".join(self._lines) + "\n"
