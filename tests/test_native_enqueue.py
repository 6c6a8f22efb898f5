"""The compiled functions for Arrays: finding an entry by views, enqueuing kernels on views of a device's memory."""

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mdhnp import native
from mdhnp.calls import entry as calls
from mdhnp.calls.store import find_views, key_of
from mdhnp.runtime import results
from mdhnp.runtime.results import lease

compiled = pytest.mark.skipif(native.Enqueuer is None, reason="the package was installed without a C compiler")

SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_uint, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int64))
ENQUEUE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t), ctypes.c_uint, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t),
)  # fmt: skip


class Recorder:
    """OpenCL's two functions, which write down what they are told, and fail where they shall."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.fails: Any = ()
        self._functions = SET(self._set), ENQUEUE(self._enqueue)
        self.addresses = tuple(ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._functions)

    def _set(self, kernel: int, index: int, size: int, value: Any) -> int:
        self.said.append(("set", kernel, index, size, value[0]))
        return -5 if self.fails == ("set", kernel, index) else 0

    def _enqueue(self, queue, kernel, rank, offset, sizes, groups, count, waits, event) -> int:  # type: ignore[no-untyped-def]
        assert (rank, offset, count, waits) == (1, None, 0, None)
        self.said.append(("enqueue", queue, kernel, sizes[0], groups[0], bool(event)))
        if self.fails == ("enqueue", kernel):
            return -5
        if event:
            event[0] = 77
        return 0

    def heard(self) -> list[Any]:
        said, self.said = self.said, []
        return said


class Block:
    """Memory that stands for a device's."""

    def __init__(self, handle: int, size: int = 1024) -> None:
        self.handle, self.serial, self.size, self.memory = handle, handle, size, (ctypes.c_char * size)()
        self.start = ctypes.addressof(self.memory)


def leased(block: Block, home: list[Any] | None = None) -> np.ndarray:
    return np.ndarray(100, np.float64, lease(block.memory, block, home))


class Plan:
    """Give one for two kernels, of one input, one output and one temporary, and what it is made of."""

    def __init__(self, opencl: Recorder, **changes: Any) -> None:
        self.opencl = opencl  # whose functions it calls
        self.free: list[Any] = []
        self.free_temporaries: list[Any] = []
        self.made: list[int] = []
        self.records: list[Any] = []
        self.events: list[int] = []
        given = {
            "functions": opencl.addresses, "queue": 5, "lows": (-8, 0, 0),
            "launches": ((11, 8, 2), (12, 6, 3)),
            "bindings": ((0, 0, 0, False), (0, 1, 2, False), (0, 2, 0, True), (1, 0, 2, False), (1, 1, 1, False),
                         (1, 2, 1, True)),
            "memory": (((self.free, 64, (2, 3), np.dtype(np.float32)),), ((self.free_temporaries, 128),), self.block),
            "notes": ("what", "/nowhere/", self.records, 3, self.put),
        }  # fmt: skip
        self.native = native.Enqueuer(*(given | changes).values())

    def block(self, size: int) -> Block:
        self.made.append(size)
        return Block(200 + len(self.made), size)

    def put(self, event: int) -> None:
        self.events.append(event)
        self.records.clear()


@compiled
def test_kernels_are_enqueued_on_buffers_and_offsets() -> None:
    opencl = Recorder()
    plan, a, out = Plan(opencl), leased(Block(101)), leased(Block(102))
    plan.free_temporaries.append(Block(103))
    sets = [("set", 11, 0, 8, 101), ("set", 11, 1, 8, 103), ("set", 11, 2, 8, 3 * 8 - 8)]
    more = [("set", 12, 0, 8, 103), ("set", 12, 1, 8, 102), ("set", 12, 2, 8, 5 * 8)]
    kernels = [("enqueue", 5, 11, 8, 2, False), ("enqueue", 5, 12, 6, 3, False)]
    outputs = [out[5:]]
    assert plan.native.run((a[3:],), outputs) is outputs
    assert opencl.heard() == sets + more + kernels
    # Only what changes is set again, of views of views, too.
    assert plan.native.run([np.broadcast_to(a[3:], (2, 97))[0][:50]], (out[6:].reshape(2, 47).T,)) is not None
    wide = [("set", 12, 2, 8, 6 * 8)]
    assert opencl.heard() == wide + kernels
    plan.records.clear()
    another = Block(104)
    another.handle = 101  # at the address of a buffer that is gone, perhaps
    assert plan.native.run([leased(another)[3:]], (out[6:],)) is not None
    assert opencl.heard() == sets[:1] + kernels
    assert plan.native.run([a[3:]], (out[6:],)) is not None
    assert opencl.heard() == sets[:1] + kernels
    for fails, said in (
        (("enqueue", 11), kernels[:1]),
        (("set", 12, 1), sets + more[:2]),
        (("enqueue", 12), sets + more[:2] + wide + kernels),
    ):
        opencl.fails = fails
        plan.records.clear()
        assert plan.native.run((a[3:],), (out[6:],)) is None
        assert opencl.heard() == said
        assert len(plan.free_temporaries) == 1
    opencl.fails = ()
    plan.records.clear()
    assert plan.native.run((a[3:],), (out[5:],)) is not None
    assert opencl.heard() == sets + more + kernels  # after a failure nobody knows what is set
    assert plan.made == []


@compiled
def test_results_are_in_free_blocks_or_new_ones() -> None:
    plan, a = Plan(Recorder()), leased(Block(101))
    (first,) = plan.native.run((a,), None)
    assert plan.made == [64, 128]
    assert (first.shape, first.dtype, first.flags.c_contiguous, first.flags.writeable) == (
        (2, 3),
        np.float32,
        True,
        False,
    )
    part, block = first[1:, ::2].T, first.base.block
    assert [b.size for b in plan.free_temporaries] == [128]
    del first
    assert plan.free == []
    del part
    assert plan.free == [block]
    (second,) = plan.native.run((a,), None)
    assert second.base.block is block
    assert plan.free == []
    assert plan.made == [64, 128]


@compiled
def test_callers_are_written_down_and_every_third_call_has_an_event() -> None:
    opencl = Recorder()
    plan, a = Plan(opencl), leased(Block(101))

    def call() -> Any:
        return plan.native.run((a,), None)

    for n in range(7):
        call()
        assert plan.events == [77] * ((n + 1) // 3)
        assert len(plan.records) == (n + 1) % 3
        assert [entry[-1] for entry in opencl.heard() if entry[0] == "enqueue"] == [False, n % 3 == 2]
    what, code, instruction = plan.records[0]
    assert (what, code) == ("what", call.__code__)
    assert any(begin <= instruction < end for begin, end, _ in code.co_lines())
    inside = Plan(opencl, notes=("what", __file__, plan.records, 9, plan.put))  # all of this file is the package
    inside.native.run((a,), None)
    assert plan.records[-1][1].co_filename != __file__


@compiled
def test_what_is_no_view_is_refused() -> None:
    opencl = Recorder()
    plan, a = Plan(opencl), leased(Block(101))
    for arguments in (
        ((), ()),
        ((np.zeros(3),), (a,)),  # no view of a device
        ((a,), (3,)),
        ((a,), ()),
        ((a, a), (a,)),
        (1, None),
        ((1,), None),
        ((a,),),
    ):
        with pytest.raises((TypeError, AttributeError)):
            plan.native.run(*arguments)
    assert opencl.heard() == []
    assert plan.records == []


@compiled
def test_what_fails_amid_a_call_leaves_no_block_behind() -> None:
    def none(size: int) -> Any:
        raise MemoryError(size)

    plan = Plan(Recorder())
    a, block = leased(Block(101)), Block(300, 64)
    plan.free.append(block)
    memory = ((plan.free, 64, (2, 3), np.dtype(np.float32)),), ((plan.free_temporaries, 128),), none
    with pytest.raises(MemoryError):
        Plan(Recorder(), memory=memory).native.run((a,), None)
    assert plan.free == [block]


@compiled
@pytest.mark.parametrize(
    "changes",
    [
        {"functions": (0,)},
        {"lows": (1.5, 0, 0)},
        {"launches": ((1, 2),)},
        {"bindings": ((2, 0, 0, False),)},
        {"bindings": ((0, 0, 3, True),)},
        {"bindings": ((0, 0, 0),)},
        {"memory": ((1,), (), print)},
        {"memory": ((), ((3, 4),), print)},
        {"notes": ()},
    ],
)
def test_an_enqueuer_of_nonsense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Plan(Recorder(), **changes)


@pytest.mark.parametrize("kind", [results._InPython, pytest.param(native.Lease, marks=compiled, id="compiled")])
def test_a_lease_goes_home_once(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "Lease", kind)
    home: list[Any] = []
    whole = lease(bytearray(8), "block", home)
    parts = [whole[2:], whole.copy(), np.ndarray(2, np.int32, whole)[1:]]
    assert [type(part) is kind for part in parts] == [True, True, False]
    del whole, parts[:2]
    assert home == []
    del parts
    assert home == ["block"]
    lease(bytearray(8), "somebody else's", None)
    with pytest.raises(AttributeError):
        np.ndarray.__new__(kind, 3).block  # noqa: B018


class Boxed:
    """What stands for an Array."""

    def __init__(self, view: Any, device: Any) -> None:
        self._view, self.device = view, device


class Entry:
    """What is found, and has kernels that results are but enqueued of."""

    unseen: int | None = None
    run: Any = None
    host: Any = None

    def __init__(self, *enqueuers: Any) -> None:
        self.free = [SimpleNamespace(enqueuer=e) for e in enqueuers]


@compiled
def test_a_call_that_only_enqueues_is_made_where_it_is_found() -> None:
    opencl = Recorder()
    plan, a, here = Plan(opencl), leased(Block(101)), SimpleNamespace(key=("here",))
    entry = Entry(plan.native)
    entries: Any = {key_of("what", ("here",), "mode", (a,)): entry}

    def repeat(operand: Any) -> Any:
        return native.repeat(entries, "what", "mode", (operand,), Boxed)

    made = repeat(Boxed(a, here))
    assert (type(made), made._view.shape, made.device, made._copy) == (Boxed, (2, 3), here, None)
    assert len(entry.free) == 1
    opencl.fails = ("enqueue", 12)
    assert repeat(Boxed(a, here)) == (entry, (a,), here)  # the caller has to see to it
    assert len(entry.free) == 1
    for other in (Entry(), Entry(None), SimpleNamespace(), SimpleNamespace(free=None)):
        entries[next(iter(entries))] = other
        assert repeat(Boxed(a, here))[0] is other
    assert repeat(Boxed(a[1:], here)) is None
    assert repeat(a) is None

    def none(size: int) -> Any:
        raise MemoryError(size)

    memory = ((plan.free, 64, (2, 3), np.dtype(np.float32)),), ((plan.free_temporaries, 128),), none
    del made
    plan.free.clear()
    entries[next(iter(entries))] = Entry(Plan(Recorder(), memory=memory).native)
    with pytest.raises(MemoryError):
        repeat(Boxed(a, here))


@compiled
def test_one_call_in_some_is_left_to_who_tells_the_watcher() -> None:
    plan, a, here = Plan(Recorder()), leased(Block(101)), SimpleNamespace(key=("here",))
    entry = Entry(plan.native)
    entry.unseen = 2
    entries: Any = {key_of("what", ("here",), "mode", (a,)): entry}

    def repeat() -> Any:
        return native.repeat(entries, "what", "mode", (Boxed(a, here),), Boxed)

    assert [type(repeat()) for _ in range(4)] == [Boxed, Boxed, tuple, tuple]
    assert len(plan.records) == 2

    told: list[Any] = []
    kernels = SimpleNamespace(run=lambda arrays: (np.zeros(3),), free=[1])
    watcher: Any = SimpleNamespace(saw=lambda *told_of: told.append(told_of[2:]), each=False)
    kept = calls.Entry(calls.Start(kernels, watcher), None, None)
    assert kept.free == [1]
    assert kept.unseen == calls._EACH - 1
    clock = iter(range(100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calls.time, "perf_counter", lambda: next(clock))
        kept.run(())
        kept.unseen = 0
        kept.run(())
    assert told == [(1, 1), (1, calls._EACH)]
    kept.put(kernels)
    assert kept.unseen is None


HERE, THERE = SimpleNamespace(key=("here",)), SimpleNamespace(key=("there",))
A, B = np.zeros((3, 4)), np.zeros(4, np.float32)
ENTRIES: Any = {key_of("what", ("here",), "mode", views): f"found {len(views)}" for views in ((A,), (A, B))}


@pytest.mark.parametrize(
    "find",
    [find_views, pytest.param(native.repeat, marks=compiled, id="compiled")],
)
def test_an_entry_is_found_by_views_on_one_device(find: Any) -> None:
    def found(*operands: Any, mode: str = "mode") -> Any:
        return find(ENTRIES, "what", mode, operands, Boxed)

    assert found(Boxed(A, HERE)) == ("found 1", (A,), HERE)
    entry, views, device = found(Boxed(A, HERE), Boxed(B, HERE))
    assert (entry, device) == ("found 2", HERE)
    assert views[0] is A
    assert views[1] is B
    assert found(Boxed(A, HERE), Boxed(B, THERE)) is None
    assert found(Boxed(A, THERE)) is None
    assert found(Boxed(A, HERE), B) is None
    assert found(Boxed(B, HERE)) is None
    assert found(Boxed(A.T, HERE)) is None
    assert found(Boxed(A, HERE), mode="other") is None
    assert found() is None
    assert found(A) is None
    assert found(Boxed(A.astype(">f8"), HERE)) is None


@compiled
@pytest.mark.parametrize("arguments", [(), ({}, 1, 2, 3, 4), (1, 1, 2, (), Boxed), ({}, 1, 2, [], Boxed)])
def test_what_cannot_be_looked_up_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        native.repeat(*arguments)
