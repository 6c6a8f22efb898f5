"""Operators and methods of Arrays that are compiled: what they find again, and what they leave to Python."""

import inspect
import pickle
import sys
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


class Parted:
    """What is made of parts."""

    def __init__(self, one: Any, other: Any, shape: Any = (3,)) -> None:
        self.one, self.other, self.shape = one, other, shape


class Called:
    """A method of a type that stands for Arrays, and what is asked of its parts."""

    def __init__(self, **entries: Any) -> None:
        self.opencl, self.asked, self.made, self.names = (
            Recorder(),
            list[Any](),
            list[Any](),
            {"blocks": 0, "learning": 0},
        )
        self.plan, self.a, self.here = Plan(self.opencl), leased(Block(101)), SimpleNamespace(key=("here",))
        self.entry, self.settings, self.inside = Entry(self.plan.native), Settings(), ContextVar[Any]("inside")
        self.entries: Any = {key_of(("add",), ("here",), "mode", (self.a,)): self.entry}
        self.devices: Any = {"devices": lambda: ("there",)}
        wrap: Any = lambda *made: made  # noqa: E731
        kept = self.settings, self.inside, self.names, self.devices
        self.place = self.entries, Boxed, wrap, *kept, self.constant, {Parted: ("shape", "one", "other")}
        self.native: Any = wraps(self.function)(self.method())

    def method(self, numbers: bool = False, least: int = 1) -> Any:
        return native.Method(self.function, self.learn, {}, numbers, least, self.place)

    def function(self, one: Any, *others: Any, **options: Any) -> Any:
        """Add."""
        self.made.append((one, *others, *options))
        return Boxed(self.a, self.here)

    def learn(self, recipes: Any, kind: Any, given: Any, *args: Any, **options: Any) -> Any:
        self.asked.append(kind)
        recipes[kind] = ("add",), False, tuple(range(len(given)))
        return self.function(*args, **options)

    def constant(self, number: Any, device: Any) -> Any:
        return number

    def enqueues(self, *operands: Any, **options: Any) -> bool:
        before = len(self.made)
        assert type(self.native(*operands, **options)) is Boxed
        return len(self.made) == before


@compiled
def test_a_method_is_made_without_python_where_it_was_made_before() -> None:
    called = Called()
    x = Boxed(called.a, called.here)
    assert [called.enqueues(x) for _ in range(4)] == [False, False, True, True]
    assert len(called.asked) == 1
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
    assert len(called.asked) == 1


@compiled
def test_what_is_not_only_enqueued_is_run() -> None:
    called = Called()
    x, view = Boxed(called.a, called.here), np.zeros(3)
    assert [called.enqueues(x) for _ in range(2)] == [False] * 2
    called.entry.run = lambda views: view if views == (called.a,) else None
    called.opencl.fails = ("enqueue", 12)
    found = called.native(x)
    assert (found._view is view, found.device, found._copy) == (True, called.here, None)
    called.opencl.fails = ()
    called.entry.free = []
    assert called.enqueues(x)
    called.entry.run = lambda views: (view, view)
    pair = called.native(x)
    assert type(pair) is tuple
    assert [(each._view is view, each.device) for each in pair] == [(True, called.here)] * 2
    for results in ((view, None), 3.0):
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


class OnHost:
    """A function of ndarrays, one of which was called before, and what computes instead of it."""

    def __init__(self) -> None:
        self.called, self.called_by_entry, self.counts = Called(), list[Any](), [0]
        self.a, entry = np.arange(3.0), Entry()
        entry.host, entry.run = (self.compute, self.counts), self.run
        self.entry: Any = entry
        self.called.entries[key_of(("add",), ("there",), "mode", (self.a,))] = entry

    def compute(self, *arrays: Any) -> Any:
        return arrays[0] * 2

    def run(self, arrays: Any) -> Any:
        self.called_by_entry.append(arrays)
        return 7

    def by_function(self, *operands: Any, **options: Any) -> bool:
        """Whether it computed what is asked for, of everything that may."""
        before = self.counts[0], len(self.called.made)
        self.called.native(*operands, **options)
        return (self.counts[0], len(self.called.made)) == (before[0] + 1, before[1])


@compiled
def test_a_function_of_ndarrays_is_numpys_where_that_is_all() -> None:
    on = OnHost()
    assert [on.by_function(on.a) for _ in range(4)] == [False, False, True, True]
    assert len(on.called.asked) == 1
    np.testing.assert_array_equal(on.called.native(on.a), [0, 2, 4])
    on.entry.host = (lambda a: np.array(5.0), on.counts)
    assert type(on.called.native(on.a)) is np.float64  # as NumPy's functions give it
    on.entry.host = (on.compute, on.counts)
    swapped, subclass, other = on.a.astype(">f8"), on.a.view(np.recarray), np.arange(4.0)
    for operands in ((swapped,), (subclass,), (other,), (on.a, on.a), (3.0,), ("text",), (on.a, 2)):
        assert not on.by_function(*operands), operands
    assert not on.by_function(on.a, out=None)
    on.called.devices["devices"] = lambda: ("elsewhere",)
    assert not on.by_function(on.a)
    on.called.devices["devices"] = None  # which fails
    assert not on.by_function(on.a)


@compiled
def test_calls_on_ndarrays_that_are_watched_are_told_one_in_several() -> None:
    on = OnHost()
    on.called.native(on.a), on.called.native(on.a)
    on.entry.unseen = 2
    assert [type(on.called.native(on.a)) for _ in range(3)] == [np.ndarray, np.ndarray, int]
    assert on.counts == [2]
    assert len(on.called_by_entry) == 1
    on.entry.host, on.entry.unseen = (on.compute, None), None  # as kernels have it: nobody counts
    assert type(on.called.native(on.a)) is np.ndarray
    assert on.counts == [2]
    on.entry.host = None
    assert on.called.native(on.a) == 7


@compiled
@pytest.mark.parametrize("host", ["host", None])
@pytest.mark.parametrize(("error", "told"), [(ValueError, False), (KeyboardInterrupt, True)])
def test_of_errors_on_ndarrays_the_function_says_what_is_wrong(host: Any, error: Any, told: bool) -> None:
    on = OnHost()
    on.called.native(on.a), on.called.native(on.a)

    def fails(*arrays: Any) -> Any:
        raise error

    on.entry.host, on.entry.run = host and (fails, on.counts), fails
    if told:
        with pytest.raises(error):
            on.called.native(on.a)
    else:
        before = len(on.called.made)
        assert type(on.called.native(on.a)) is Boxed
        assert len(on.called.made) == before + 1


@compiled
def test_what_a_string_comes_before_is_found_by_it() -> None:
    on = OnHost()

    def first(recipes: Any, kind: Any, given: Any, begin: str, *operands: Any) -> Any:
        recipes[kind] = (begin,), False, (0,)
        return on.called.function(begin, *operands)

    made = native.Method(on.called.function, first, {}, False, 1, on.called.place)
    on.called.entries[key_of(("i->",), ("there",), "mode", (on.a,))] = on.entry
    for begin, count in (("i->", 0), ("i->", 0), ("i->", 1), ("i", 1), ("i->", 2)):
        made(begin, on.a)
        assert on.counts == [count]


@compiled
def test_functions_are_pickled_by_their_names() -> None:
    assert pickle.loads(pickle.dumps(mdhnp.matmul)) is mdhnp.matmul
    assert repr(mdhnp.einsum).startswith("<function einsum")


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
def test_a_method_asks_once_also_what_is_never_made_again_and_what_fails() -> None:
    called = Called()
    x = Boxed(called.a, called.here)

    def never(recipes: Any, kind: Any, given: Any, *operands: Any) -> Any:
        called.asked.append(kind)
        recipes[kind] = None
        return called.function(*operands)

    called.native = native.Method(called.function, never, {}, False, 1, called.place)
    assert [called.enqueues(x) for _ in range(3)] == [False] * 3
    assert len(called.asked) == 1

    def fails(*operands: Any) -> Any:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            native.Method(fails, fails, {}, False, 1, called.place)(x)


@compiled
def test_kinds_are_told_by_all_but_elements_extents_and_numbers_that_are_operands() -> None:
    called = Called()
    x, other = Boxed(called.a, called.here), Boxed(called.a[1:], called.here)
    kinds: Any = [
        ((x,), {}), ((x, 1), {}), ((x, True), {}), ((x, 1.0), {}), ((x, 1j), {}), ((x, None), {}), ((x, ...), {}),
        ((x, "1"), {}), ((x, (1,)), {}), ((x, [1]), {}), ((x, (1, 2)), {}), ((x, ((1,), 2)), {}), ((x, slice(1)), {}),
        ((x, slice(1, None)), {}), ((x, float), {}), ((x, np.dtype("f4")), {}), ((x, x), {}), ((x, [x]), {}),
        ((x, other), {}),        ((x,), {"axis": 1}), ((x,), {"place": 1}), ((x, 2), {}),
        ((Boxed(called.a.view(np.int32), called.here),), {}), ((Boxed(called.a[None], called.here),), {}),
    ]  # fmt: skip
    for args, options in kinds * 2:
        called.native(*args, **options)
    assert len(called.asked) == len({*called.asked}) == len(kinds)
    called.native(other)
    called.native(other, x)
    nobody_s: Any = (
        (x, object()),
        (x, called.a),
        (x, {}),
        (3,),
        (x, *range(20)),
        (x, (((((1,),),),),)),
        (x, np.int64(1)),
    )
    for args in nobody_s * 2:
        called.native(*args)
    assert len(called.asked) == len(kinds)
    numbers, pairs = called.method(numbers=True), called.method(least=2)
    for number in (1, 2, 1.0, 3.0, True, False):
        numbers(x, number)
    for other in (1, x) * 2:
        pairs(x, other)
    assert len(called.asked) == len(kinds) + 4


@compiled
def test_parts_stand_for_what_is_made_of_them() -> None:
    called, taken = Called(), list[Any]()
    one, other, x = (Boxed(called.a, called.here) for _ in range(3))

    def learn(recipes: Any, kind: Any, given: Any, *args: Any) -> Any:
        taken.append(given)
        recipes[kind] = ("add",), False, (3,)
        return called.function(*args)

    made = native.Method(called.function, learn, {}, False, 1, called.place)
    parted = Parted(one, other)
    for _ in range(2):
        made(parted, x)
    assert [[a is b for a, b in zip(given, (3, one, other, x), strict=True)] for given in taken] == [[True] * 4]
    called.made.clear()
    held = sys.getrefcount(one)
    for _ in range(5):
        made(Parted(one, other), x)
    assert called.made == []
    assert sys.getrefcount(one) == held
    others: Any = [Parted(one, other, (4,)), Parted(one, 3), Parted(3, other), Parted(one, one)]
    for each in others * 2:
        made(each, x)
    assert len(called.made) == 2 * len(others)
    assert len(taken) == 1 + len(others)
    broken: Any = [Parted(one, other, {3}), Parted(one, called.a), parted]
    del parted.one
    for each in broken * 2:
        made(each, x)
    assert len(taken) == 1 + len(others)


@compiled
@pytest.mark.parametrize(
    "place",
    [
        (),
        ({}, Boxed, 1, 1, 2, {}, {}, 1, {}),
        ({}, 3, 1, 1, ContextVar("x"), {}, {}, 1, {}),
        (1, Boxed, 1, 1, ContextVar("y"), {}, {}, 1, {}),
        ({}, Boxed, 1, 1, ContextVar("z"), {}, 1, 1, {}),
        ({}, Boxed, 1, 1, ContextVar("u"), {}, {}, 1, 1),
    ],
)
def test_a_method_of_nonsense_is_refused(place: Any) -> None:
    with pytest.raises(TypeError):
        native.Method(print, print, {}, False, 1, place)


def test_operators_of_arrays_find_what_their_functions_call() -> None:
    """Else every call would be found twice, once in vain."""
    x = mdhnp.asarray(np.ones((2, 3)))
    for made in (lambda: x + x, lambda: x < -x, lambda: -x, lambda: x @ x.T, x.sum, x.max):
        made()
        before = len(entries)
        assert made().shape == made().shape
        assert len(entries) == before
