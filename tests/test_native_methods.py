"""Operators and methods of Arrays that are compiled: what they find again, and what they leave to Python."""

import inspect
from contextvars import ContextVar
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_native_enqueue import Block, Boxed, Entry, Plan, Recorder, compiled, leased

import mdhnp
from mdhnp import native
from mdhnp.calls.store import entries, key_of


class Settings:
    """What has the settings' place."""

    __slots__ = ("_process",)

    def __init__(self) -> None:
        self._process: Any = {"mode": "mode"}


class Called:
    """A method of a type that stands for Arrays, and what is asked of its parts."""

    def __init__(self, **entries: Any) -> None:
        self.opencl, self.asked, self.made, self.names = Recorder(), list[Any](), list[Any](), {"blocks": 0}
        self.plan, self.a, self.here = Plan(self.opencl), leased(Block(101)), SimpleNamespace(key=("here",))
        self.entry, self.settings, self.inside = Entry(self.plan.native), Settings(), ContextVar[Any]("inside")
        self.entries: Any = {key_of(("add",), ("here",), "mode", (self.a,)): self.entry}
        self.place = self.entries, Boxed, lambda *made: made, self.settings, self.inside, self.names
        self.native: Any = wraps(self.function)(native.Method(self.function, self.what_of, self.place))

    def function(self, one: Any, *others: Any, **options: Any) -> Any:
        """Add."""
        self.made.append((one, *others, *options))
        return Boxed(self.a, self.here)

    def what_of(self, rank: int) -> Any:
        self.asked.append(rank)
        return ("add",)

    def enqueues(self, *operands: Any, **options: Any) -> bool:
        before = len(self.made)
        assert type(self.native(*operands, **options)) is Boxed
        return len(self.made) == before


@compiled
def test_a_method_is_made_without_python_where_it_was_made_before() -> None:
    called = Called()
    x = Boxed(called.a, called.here)
    assert [called.enqueues(x) for _ in range(3)] == [False, True, True]
    assert called.asked == [1]
    assert not called.enqueues(x, 3)
    assert not called.enqueues(x, out=None)
    assert called.made[-1] == (x, "out")
    assert not called.enqueues(3, x)
    assert not called.enqueues(x, Boxed(called.a[1:], called.here))
    called.names["blocks"] = 1  # somebody looks on
    assert not called.enqueues(x)
    called.names["blocks"] = 0
    token = called.inside.set("settings of a block")
    assert not called.enqueues(x)
    called.inside.reset(token)
    called.settings._process = {"mode": "other"}
    assert not called.enqueues(x)
    called.settings._process = {"mode": "mode"}
    assert called.enqueues(x)
    assert called.asked == [1]


@compiled
def test_what_is_not_only_enqueued_is_run() -> None:
    called = Called()
    x, view = Boxed(called.a, called.here), np.zeros(3)
    assert not called.enqueues(x)
    called.entry.run = lambda views: view if views == (called.a,) else None
    called.opencl.fails = ("enqueue", 12)
    found = called.native(x)
    assert (found._view is view, found.device, found._copy) == (True, called.here, None)
    called.opencl.fails = ()
    called.entry.free = []
    assert called.enqueues(x)
    for results in ((view, view), 3.0):
        called.entry.run = lambda views, results=results: results
        assert called.native(x) == (results, called.here)
    for error, told in ((ValueError, False), (KeyboardInterrupt, True)):

        def fails(views: Any, error: type[BaseException] = error) -> Any:
            raise error

        called.entry.run = fails
        if told:
            with pytest.raises(error):
                called.native(x)
        else:  # the function says what is wrong
            assert not called.enqueues(x)


@compiled
def test_a_method_looks_like_its_function() -> None:
    called = Called()

    class Kind:
        add = called.native

    assert (Kind.add.__name__, Kind.add.__doc__, inspect.signature(Kind.add)) == (
        "function", "Add.", inspect.signature(called.function)
    )  # fmt: skip
    kind = Kind()
    assert type(kind.add(1)) is Boxed
    assert type(kind.add.__call__()) is Boxed
    assert called.made == [(kind, 1), (kind,)]
    assert called.asked == []


@compiled
def test_a_method_asks_once_what_is_never_made_again_and_not_of_what_fails() -> None:
    called = Called()
    called.native = native.Method(called.function, called.asked.append, called.place)
    x = Boxed(called.a, called.here)
    assert [called.enqueues(x) for _ in range(3)] == [False] * 3
    assert called.asked == [1]

    def fails(*operands: Any) -> Any:
        raise ValueError("no")

    failing = native.Method(fails, called.what_of, called.place)
    with pytest.raises(ValueError, match="no"):
        failing(x)
    assert called.asked == [1]
    many = Boxed(leased(Block(101))[:1].reshape((1,) * 9), called.here)
    assert not called.enqueues(many)
    assert called.asked == [1]


@compiled
@pytest.mark.parametrize(
    "place", [(), ({}, Boxed, 1, 1, 2, {}), ({}, 3, 1, 1, ContextVar("x"), {}), (1, Boxed, 1, 1, ContextVar("y"), {})]
)
def test_a_method_of_nonsense_is_refused(place: Any) -> None:
    with pytest.raises(TypeError):
        native.Method(print, print, place)


def test_operators_of_arrays_find_what_their_functions_call() -> None:
    """Else every call would be found twice, once in vain."""
    x = mdhnp.asarray(np.ones((2, 3)))
    for made in (lambda: x + x, lambda: x < -x, lambda: -x, lambda: x @ x.T, x.sum, x.max):
        made()
        before = len(entries)
        assert made().shape == made().shape
        assert len(entries) == before
    called = [key[0] for key in entries]
    for name, others in {"add": (x,), "less": (x,), "negative": (), "matmul": (x.T,), "sum": (), "max": ()}.items():
        getattr(mdhnp, name)(x, *others)
        assert getattr(mdhnp, name).what_of(2) in called
