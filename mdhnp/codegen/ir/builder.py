"""Makes a procedure's statements in order, and names what needs a name."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from mdhnp.codegen.ir.accesses import Accesses
from mdhnp.codegen.ir.index import Compare, Index, Limit, Var, open_tests, variable
from mdhnp.codegen.ir.statements import Assign, Body, Comment, Declare, For, If, Let, Scope, Stmt, Store, Test
from mdhnp.codegen.ir.values import Load, LoadRow, Register, Value


class Builder:
    """The statements of one kernel as they come."""

    def __init__(self, *, powers: bool = False) -> None:
        #: Whether exponentials of what was rounded may be made of powers of two, which round it once more.
        self.powers = powers
        #: Whether exponentials weigh terms of a sum, of which the largest weighs 1: then subnormal ones are nothing.
        self.weighs = False
        self._bodies: list[list[Stmt]] = [[]]
        #: Of each body the loads that have a name for all who need them.
        self._shared: list[dict[Load | LoadRow, Register]] = [{}]
        self._numbers: Counter[str] = Counter()

    def add(self, statement: Stmt) -> None:
        self._bodies[-1].append(statement)
        shared = self._shared[-1]
        if not isinstance(statement, Let) and not all(load.buffer.constant for load in shared):
            written = {a.buffer for a in Accesses().of(statement).accesses if a.how != "read"}
            self._shared[-1] = {load: name for load, name in shared.items() if load.buffer not in written}

    def body(self) -> Body:
        (found,) = self._bodies
        return tuple(found)

    @contextmanager
    def part(self) -> Iterator[list[Stmt]]:
        """Statements that the caller puts where they belong."""
        found: list[Stmt] = []
        self._bodies.append(found)
        self._shared.append({})
        yield found
        self._bodies.pop()
        self._shared.pop()

    def _number(self, stem: str) -> int:
        self._numbers[stem] += 1
        return self._numbers[stem] - 1

    @contextmanager
    def _inside(self, statement: Callable[[Body], Stmt]) -> Iterator[None]:
        with self.part() as body:
            yield
        self.add(statement(tuple(body)))

    @contextmanager
    def weighing(self, weighs: bool) -> Iterator[None]:
        """Statements whose exponentials weigh terms, if they do."""
        self.weighs = weighs
        yield
        self.weighs = False

    def block(self) -> AbstractContextManager[None]:
        return self._inside(Scope)

    def loop(self, var: Var, begin: Index | None, test: Compare, step: int = 1) -> AbstractContextManager[None]:
        """A loop that counts on; where it has no beginning, from the variable's value."""
        return self._inside(partial(For, var, begin, test, variable(var) + step))

    def up_to(self, var: Var, end: Index | int, step: int = 1) -> AbstractContextManager[None]:
        end = Index((), end) if isinstance(end, int) else end
        return self.loop(var, Index(), Compare(variable(var), "<", end), step)

    def doubling(self, var: Var, end: int) -> AbstractContextManager[None]:
        """A loop over the powers of two below the end."""
        here = variable(var)
        return self._inside(partial(For, var, Index((), 1), Compare(here, "<", Index((), end)), here * 2))

    def halving(self, var: Var, end: int) -> AbstractContextManager[None]:
        """The same, from the largest of them on."""
        here, first = variable(var), 1 << (end - 1).bit_length() - 1
        return self._inside(partial(For, var, Index((), first), Compare(here, ">", Index()), here // 2))

    def when(self, tests: Sequence[Test]) -> AbstractContextManager[object]:
        """What is done where all conditions hold; without conditions there is no body of its own."""
        known = [t.known if isinstance(t, Compare) else None for t in tests]
        if False in known:
            return self.part()
        unknown = tuple(dict.fromkeys([t for t, holds in zip(tests, known, strict=True) if not holds]))
        return self._inside(partial(If, unknown)) if unknown else nullcontext()

    def either(self, tests: Iterable[Compare], inside: Callable[[], None], border: Callable[[], None]) -> None:
        """Do `inside` where all conditions hold and `border` elsewhere; only one of them where that is known."""
        unknown = open_tests(tests)
        if unknown is None:
            border()
        elif not unknown:
            inside()
        else:
            with self.part() as first:
                inside()
            with self.part() as second:
                border()
            self.add(If(unknown, tuple(first), tuple(second)))

    def comment(self, text: str) -> None:
        self.add(Comment(text))

    def var(self, stem: str, low: Limit, high: Limit, *, agreed: bool = False) -> Var:
        """A variable for an index, with a number of its own."""
        return Var(stem, self._number(stem), low, high, agreed)

    def register(self, stem: str, dtype: np.dtype[Any], lanes: int = 1) -> Register:
        return Register(stem, self._number(stem), dtype, lanes)

    def let(self, var: Var, value: Index) -> Index:
        self.add(Let(var, value))
        return variable(var)

    def name(self, stem: str, value: Value) -> Register:
        register = self.register(stem, value.dtype, value.lanes)
        self.add(Let(register, value))
        return register

    def shared(self, stem: str, value: Value) -> Register:
        """Name a value; a load has the name that the same body has given it before, if it has.

        A body inside of another one, which may not run, shares nothing with that.
        """
        if not isinstance(value, Load | LoadRow):
            return self.name(stem, value)
        found = self._shared[-1].get(value)
        if found is None:
            found = self._shared[-1][value] = self.name(stem, value)
        return found

    def named(self, stem: str, value: Index) -> Index:
        """Name an index by a stem and a number, if it is more than a variable or number; it has the value's range."""
        if value.known is not None or value.is_variable:
            return value
        return self.let(self.var(stem, *value.range()), value)

    def declare(self, stem: str, value: Value) -> Register:
        """A variable that begins with a value."""
        register = self.register(stem, value.dtype, value.lanes)
        self.add(Declare(register, value))
        return register

    def assign(self, target: Register | Load, value: Value) -> None:
        """Give a variable, or an element of a buffer that holds values, a new value."""
        if isinstance(target, Load):
            self.add(Store(target.buffer, target.offset, value))
        else:
            self.add(Assign(target, value))

    def assign_all(self, targets: Iterable[Register | Load], values: Iterable[Value]) -> None:
        for target, value in zip(targets, values, strict=True):
            self.assign(target, value)
