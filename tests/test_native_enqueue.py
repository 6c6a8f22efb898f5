"""The compiled functions for Arrays: finding an entry by views, enqueuing kernels on views of a device's memory."""

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mdhnp import native
from mdhnp.calls.store import _find_views, key_of

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


class Lease(np.ndarray):
    """What a device's views are based on."""

    handle: int


def leased(handle: int) -> np.ndarray:
    lease = Lease((1024,), np.uint8, bytearray(1024))
    lease.handle = handle
    return np.ndarray(100, np.float64, lease)


def enqueuer(opencl: Recorder, **changes: Any) -> Any:
    """Give one for two kernels, of one input, one output and one block."""
    given = {
        "functions": opencl.addresses, "queue": 5, "lease": Lease, "lows": (-8, 0, 0),
        "launches": ((11, 8, 2), (12, 6, 3)),
        "bindings": ((0, 0, 0, False), (0, 1, 2, False), (0, 2, 0, True), (1, 0, 2, False), (1, 1, 1, False),
                     (1, 2, 1, True)),
    }  # fmt: skip
    return native.Enqueuer(*(given | changes).values())


@compiled
def test_kernels_are_enqueued_on_buffers_and_offsets() -> None:
    opencl = Recorder()
    a, out, block = leased(101), leased(102), SimpleNamespace(handle=103)
    made = enqueuer(opencl)
    sets = [("set", 11, 0, 8, 101), ("set", 11, 1, 8, 103), ("set", 11, 2, 8, 3 * 8 - 8)]
    more = [("set", 12, 0, 8, 103), ("set", 12, 1, 8, 102), ("set", 12, 2, 8, 5 * 8)]
    kernels = [("enqueue", 5, 11, 8, 2, False), ("enqueue", 5, 12, 6, 3, False)]
    assert made.enqueue((a[3:],), [out[5:]], (block,), False) == 0
    assert opencl.heard() == sets + more + kernels
    # Of offsets only those that change are set again, of views of views, too; buffers are, since theirs may be gone.
    assert made.enqueue([np.broadcast_to(a[3:], (2, 97))[0][:50]], (out[6:].reshape(2, 47).T,), (block,), True) == 77
    wide = [("set", 12, 2, 8, 6 * 8)]
    assert opencl.heard() == sets[:2] + more[:2] + wide + [kernels[0], (*kernels[1][:-1], True)]
    for fails, said in (
        (("enqueue", 11), sets[:2] + more[:2] + kernels[:1]),
        (("set", 12, 1), sets + more[:2]),
        (("enqueue", 12), sets + more[:2] + wide + kernels),
    ):
        opencl.fails = fails
        assert made.enqueue((a[3:],), (out[6:],), (block,), False) is None
        assert opencl.heard() == said
    opencl.fails = ()
    assert made.enqueue((a[3:],), (out[5:],), (block,), False) == 0
    assert opencl.heard() == sets + more + kernels  # after a failure nobody knows what is set


@compiled
@pytest.mark.parametrize(
    "arguments",
    [
        ((), (), ()),
        ((np.zeros(3),), (leased(1),), (SimpleNamespace(handle=3),)),  # no view of a device
        ((leased(1),), (leased(2),), (3,)),
        ((leased(1),), (leased(2),), ()),
        ((leased(1),), (leased(2),), (SimpleNamespace(handle=3),) * 2),
        ((leased(1), leased(1), leased(1), leased(1)), (leased(2),), ()),
        (1, 2, 3),
        ((1,), (leased(2),), (SimpleNamespace(handle=3),)),
    ],
)
def test_what_is_no_view_is_refused(arguments: tuple[Any, ...]) -> None:
    opencl = Recorder()
    made = enqueuer(opencl)
    with pytest.raises((TypeError, AttributeError)):
        made.enqueue(*arguments, False)
    with pytest.raises(TypeError):
        made.enqueue(*arguments)
    assert opencl.heard() == []


@compiled
@pytest.mark.parametrize(
    "changes",
    [
        {"functions": (0,)},
        {"lease": 1},
        {"lows": (1.5, 0, 0)},
        {"launches": ((1, 2),)},
        {"bindings": ((2, 0, 0, False),)},
        {"bindings": ((0, 0, 3, True),)},
        {"bindings": ((0, 0, 0),)},
    ],
)
def test_an_enqueuer_of_nonsense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        enqueuer(Recorder(), **changes)


class Boxed:
    """What stands for an Array."""

    def __init__(self, view: Any, device: Any) -> None:
        self._view, self.device = view, device


HERE, THERE = SimpleNamespace(key=("here",)), SimpleNamespace(key=("there",))
A, B = np.zeros((3, 4)), np.zeros(4, np.float32)
ENTRIES: Any = {key_of("what", ("here",), "mode", views): f"found {len(views)}" for views in ((A,), (A, B))}


@pytest.mark.parametrize(
    "find",
    [_find_views, pytest.param(native.find_views, marks=compiled, id="compiled")],
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
