"""Collects lines of C with their indentation, and names what needs a name."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from mdhnp.codegen.ctypes import Value, value_type

__all__ = ["Writer", "advance"]

_BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"


class Writer:
    """Text of one kernel as it grows."""

    def __init__(self, *, barrier_first: bool = False) -> None:
        self._barrier_first = barrier_first
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
        """Write ``head {``, the lines of the body indented, and `tail`.

        A loop with a barrier in it ends with one: its next round may overwrite what this one reads from local memory.
        On CPUs it begins with one as well: LLVM merges what stands before a body's first barrier and after its last one
        into the loop's test, where PoCL cannot cut the loop for its work-items any more.
        """
        self.line(f"{head} {{" if head else "{")
        self._depth += 1
        begin = len(self._lines)
        yield
        body = [text.lstrip() for text in self._lines[begin:]]
        if head.startswith("for") and _BARRIER in body:
            if self._barrier_first and body[0] != _BARRIER:
                self._lines.insert(begin, "  " * self._depth + _BARRIER)
            if body[-1] != _BARRIER:
                self.barrier()
        self._depth -= 1
        self.line(tail)

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Write the ``else`` of a block closed with ``} else {``."""
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    def either(self, tests: Sequence[str], inside: Callable[[], None], border: Callable[[], None]) -> None:
        """Write `inside` for where all tests hold and `border` for elsewhere; only one of them where that is known.

        A test is "1" or "0" where it is known to hold or not.
        """
        open_tests = [t for t in tests if t != "1"]
        if "0" in open_tests:
            border()
        elif not open_tests:
            inside()
        else:
            with self.block(f"if ({' && '.join(dict.fromkeys(open_tests))})", "} else {"):
                inside()
            with self.otherwise():
                border()

    def barrier(self) -> None:
        """Let all work-items of a group wait for each other; never inside of a branch, which PoCL miscompiles."""
        self.line(_BARRIER)

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


def advance(name: str, step: int) -> str:
    """Write a loop's step."""
    return f"++{name}" if step == 1 else f"{name} += {step}"
