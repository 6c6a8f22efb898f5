"""The compiled code of repeat calls does what its twins in Python do; the package works without it."""

import ctypes
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mdhnp import native
from mdhnp.calls import store
from mdhnp.runtime.devices import Device

pytestmark = pytest.mark.whole

compiled = pytest.mark.skipif(native.Launcher is None, reason="the package was installed without a C compiler")


class Subclass(np.ndarray):
    pass


def unaligned(a: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype)


_I = np.arange(4)
VIEWS = {
    "as it is": lambda a: a,
    "reversed": lambda a: a[::-1] if a.ndim else a,
    "transposed": lambda a: a.T,
    "every second": lambda a: a[..., ::2] if a.ndim else a,
    "of other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "broadcast": lambda a: np.broadcast_to(a, (3, *a.shape)),
    "unaligned": unaligned,
    "a subclass": lambda a: a.view(Subclass),
    "a list": lambda a: a.tolist(),
    "a scalar": lambda a: a.dtype.type(0),
}
ARRAYS = hnp.arrays(
    st.one_of(hnp.boolean_dtypes(), hnp.integer_dtypes(endianness="="), hnp.floating_dtypes(endianness="=")),
    hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4),
)
OPERANDS = st.lists(st.builds(lambda a, view: VIEWS[view](a), ARRAYS, st.sampled_from(sorted(VIEWS))), max_size=4)


@compiled
@given(OPERANDS, st.booleans())
def test_a_plan_is_found_by_the_same_key(operands: list[Any], there: bool) -> None:
    given_: Any = ("einsum", object(), "auto", tuple(operands))
    plans: dict[Any, Any] = {}
    if there and all(isinstance(a, np.ndarray) for a in operands):
        plans[store.key_of(*given_)] = "the plan"
    assert native.find(plans, *given_) == store._find(plans, *given_)


@compiled
def test_a_search_keeps_nothing_alive() -> None:
    call, device, a = object(), object(), np.ones((300, 400))
    counts = [sys.getrefcount(o) for o in (call, device, a, None)]
    plans = {store.key_of(call, device, "auto", (a, a)): device}
    for _ in range(1000):
        assert native.find(plans, call, device, "auto", (a, a)) is device
        assert native.find({}, call, device, "auto", (a, a)) is None
        assert native.find(plans, call, device, "auto", (a, [])) is None
    del plans
    after = [sys.getrefcount(o) for o in (call, device, a, None)]
    assert after[:3] == counts[:3]
    assert abs(after[3] - counts[3]) < 100


@compiled
@pytest.mark.parametrize("arguments", [(), ({}, 1, 2, 3), ({}, 1, 2, 3, []), ([], 1, 2, 3, ())])
def test_a_search_for_anything_else_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        native.find(*arguments)
    with pytest.raises(TypeError, match="unhashable"):
        native.find({}, [], 1, 2, ())


class Recorder:
    """OpenCL functions that write down what they are given."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.fails: tuple[Any, ...] = ()
        address, unsigned = ctypes.c_void_p, ctypes.c_uint
        sizes = ctypes.POINTER(ctypes.c_size_t)
        self._functions = (
            ctypes.CFUNCTYPE(ctypes.c_int, address, unsigned, address)(self._set),
            ctypes.CFUNCTYPE(
                ctypes.c_int,
                address,
                address,
                unsigned,
                sizes,
                sizes,
                sizes,
                unsigned,
                address,
                ctypes.POINTER(address),
            )(self._enqueue),
            ctypes.CFUNCTYPE(ctypes.c_int, unsigned, ctypes.POINTER(address))(self._wait),
            ctypes.CFUNCTYPE(ctypes.c_int, address)(self._release),
        )

    @property
    def addresses(self) -> tuple[int, int, int, int]:
        one, two, three, four = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._functions)
        return one, two, three, four

    def _set(self, kernel: int, index: int, address: int) -> int:
        self.said.append(("set", kernel, index, address))
        return self._status("set", kernel)

    def _enqueue(self, queue, kernel, dimensions, offset, global_size, local_size, waits, wait_list, event) -> int:
        assert (dimensions, bool(offset), waits, wait_list) == (1, False, 0, None)
        self.said.append(("enqueue", queue, kernel, global_size[0], local_size[0]))
        status = self._status("enqueue", kernel)
        if event and status == 0:
            event[0] = 77
        return status

    def _wait(self, count, events) -> int:
        self.said.append(("wait", count, events[0]))
        return self._status("wait", count)

    def _status(self, *what: Any) -> int:
        return -5 if what == self.fails else 0

    def _release(self, event: int) -> int:
        self.said.append(("release", event))
        return 0

    def heard(self) -> list[Any]:
        said, self.said = self.said, []
        return said


@compiled
def test_a_launch_sets_what_changed_and_waits_for_the_last_kernel() -> None:
    opencl = Recorder()
    a, b, out = np.zeros(9), np.zeros(9)[::-1], np.zeros(9)
    at = [x.__array_interface__["data"][0] for x in (a, b, out)]
    at[1] -= 64
    launcher = native.Launcher(
        opencl.addresses,
        5,
        (0, -64, 0),
        ((11, 8, 2), (12, 6, 3)),
        ((0, 0, 0, False), (0, 3, 2, False), (1, 1, 1, False), (1, 2, 2, False)),
    )
    everything = [("set", 11, 0, at[0]), ("set", 11, 3, at[2]), ("set", 12, 1, at[1]), ("set", 12, 2, at[2])]
    kernels = [("enqueue", 5, 11, 8, 2), ("enqueue", 5, 12, 6, 3), ("wait", 1, 77), ("release", 77)]
    assert launcher.launch((a, b), [out])
    assert opencl.heard() == everything + kernels
    assert launcher.launch([a, b], (out,))
    assert opencl.heard() == kernels
    assert launcher.launch((a, a[::-1]), (out,))
    assert opencl.heard() == [("set", 12, 1, at[0]), *kernels]
    launcher.forget()
    assert launcher.launch((a, b), (out,))
    assert opencl.heard() == everything + kernels
    for fails, said in (
        (("enqueue", 11), kernels[:1]),
        (("enqueue", 12), everything + kernels[:2]),
        (("set", 12), everything[:3]),
        (("wait", 1), everything + kernels),
    ):
        opencl.fails = fails
        assert not launcher.launch((a, b), (out,))
        assert opencl.heard() == said
    opencl.fails = ()
    assert launcher.launch((a, b), (out,))
    assert opencl.heard() == everything + kernels


@compiled
@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ((), ()),
        ((np.zeros(3),) * 2, (np.zeros(3),)),
        ((1,), (np.zeros(3),)),
        (1, 2),
        (np.zeros((1, 3)), (np.zeros(3),)),
    ],
)
def test_a_launch_on_anything_else_is_refused(inputs: Any, outputs: Any) -> None:
    opencl = Recorder()
    launcher = native.Launcher(opencl.addresses, 5, (0, 0), ((11, 8, 2),), ((0, 0, 0, False), (0, 1, 1, False)))
    with pytest.raises(TypeError):
        launcher.launch(inputs, outputs)
    with pytest.raises(TypeError):
        launcher.launch(inputs)  # type: ignore[call-arg]
    assert opencl.heard() == []


@compiled
@pytest.mark.parametrize(
    "arguments",
    [
        ((0, 0, 0), 5, (), (), ()),
        ((0, 0, 0, 0), 5, (1.5,), (), ()),
        ((0, 0, 0, 0), 5, (0,), ((1, 2),), ()),
        ((0, 0, 0, 0), 5, (0,), ((1, 2, 3),), ((1, 0, 0, False),)),
        ((0, 0, 0, 0), 5, (0,), ((1, 2, 3),), ((0, 0, 1, False),)),
    ],
)
def test_a_launcher_of_nonsense_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.Launcher(*arguments)


@compiled
@pytest.mark.parametrize(
    "arguments",
    [
        (), (_I, _I, 1), (_I, _I, _I[:0], 1), (_I, _I[:2], _I, 1), (_I[::2], _I[:2], _I, 1), (_I, _I, _I, 1.0),
        (_I.astype("i4"), _I, _I, 1), (_I.astype(">i8"), _I, _I, 1), (_I.reshape(2, 2), _I, _I, 1),
        (_I, [0] * 4, _I, 1), (_I, np.broadcast_to(_I[:1], 4), _I, 1),
    ],
    ids=str,
)  # fmt: skip
def test_other_numbers_than_of_pointers_size_in_c_order_are_not_grouped(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="group takes numbers"):
        native.group(*arguments)


def test_the_package_works_without_compiled_code(device: Device) -> None:
    program = f"""
import sys
sys.modules["mdhnp._native"] = None  # as where there is none
import numpy as np
import mdhnp
a, b = np.arange(12.0).reshape(3, 4), np.ones((4, 5))
assert mdhnp.native.find is None
with mdhnp.device({device.runtime!r}):
    for _ in range(3):
        assert (mdhnp.einsum("ij,jk->ik", a, b) == a @ b).all()
        assert (mdhnp.einsum("ij,jk->ik", a[::-1], b) == a[::-1] @ b).all()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
