"""Halos move while the inside is computed: what borders are, what waits for what, and what happens if that fails."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from several import failed_event, groups, machine, need_failures_told

import mdhnp
from mdhnp.distributed import executor
from mdhnp.distributed.choose import in_pieces
from mdhnp.distributed.room import pieces_of, rooms_of
from mdhnp.mdh import cc, cut, interpret, md_hom, pw
from mdhnp.mdh.views import BOUNDARIES
from mdhnp.runtime import marks, transfers
from mdhnp.runtime.devices import devices
from mdhnp.tuning import background

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdhnp.runtime.devices import Device
    from mdhnp.runtime.groups import Group

WEIGHTS = np.array([[0, 1], [2, 0], [0, 1], [1, 0]])


# -------------------------------------------------------------------------------------------------------------- borders


def _rows(regions: Any, extent: int) -> set[int]:
    return {row % extent for region in regions for row in range(region[0].start, region[0].stop)}


@given(st.data())
def test_borders_are_what_neighbours_read_and_what_reads_of_them(data: st.DataObject) -> None:
    offsets = data.draw(st.lists(st.integers(-3, 3), min_size=1, max_size=4, unique=True))
    mode = data.draw(st.sampled_from(sorted(BOUNDARIES)))
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=2, max_size=4))
    x = np.random.default_rng(sum(sizes)).integers(-9, 9, (sum(sizes), 2))
    views = ", ".join(f"x[i+({n}),j]" for n in offsets)
    step = md_hom(lambda *a: sum(a[1:], 3 * a[0]), {"i": cc, "j": cc}, f"{views} -> y[i,j]", boundary={"x": mode})
    made = cut(step.bind(x, i=len(x)), 0, sizes)
    if rooms_of(made) is None:
        return
    parts = pieces_of(made)
    note(f"{[[p.outputs[0][0] for p in pieces] for pieces in parts]}")
    found = np.full_like(x, 99)
    for part, pieces in zip(made.parts, parts, strict=True):
        for piece in pieces:
            found[piece.outputs[0]] = interpret(piece.mdhom, *piece.reads([x]))
        assert sum(p.mdhom.points for p in pieces) == part.mdhom.points
    np.testing.assert_array_equal(found, interpret(made.mdhom, x))
    for n, pieces in enumerate(parts):
        if len(pieces) == 1:
            continue
        *borders, inside = pieces
        mine, early = _rows([made.parts[n].outputs[0]], len(x)), _rows([p.outputs[0] for p in borders], len(x))
        others = _rows([p.inputs[0] for m, p in enumerate(made.parts) if m != n], len(x))
        assert others & mine <= early
        if min(sizes) >= max(map(abs, offsets)):
            assert _rows(inside.inputs, len(x)) <= mine


@pytest.mark.parametrize(
    ("rows", "width", "mode", "enqueued", "waited"),
    [
        (64, 3, "wrap", False, False),
        (1024, 3, "wrap", True, False),
        (1024, 9, "wrap", True, False),  # of long work, but little to join
        (1024, 9, "nearest", True, False),
        (4096, 3, "wrap", True, True),
        (4096, 3, "nearest", True, True),
    ],
)
def test_pieces_pay_where_halos_come_meanwhile_or_what_is_joined_is_large(
    rows: int, width: int, mode: Any, enqueued: bool, waited: bool
) -> None:
    x = np.empty((rows, rows), np.float32)
    views = ", ".join(f"x[i+({n}),j]" for n in range(-(width // 2), width // 2 + 1))
    step = md_hom(lambda *a: sum(a[1:], a[0]), {"i": cc, "j": cc}, f"{views} -> y[i,j]", boundary={"x": mode})
    made = cut(step.bind(x, i=rows, j=rows), 0, 2)
    core = machine(operation=1e-10, byte=5e-11, asking=4e-5, moving=1e-10, handing=3e-4)
    for part, pieces in zip(made.parts, pieces_of(made), strict=True):
        assert len(pieces) == (3 if mode == "wrap" else 2)
        assert in_pieces(part, len(pieces), core, enqueued=True) == enqueued
        assert in_pieces(part, len(pieces), core, enqueued=False) == waited


# ------------------------------------------------------------------------------------------------- what waits for what


@pytest.fixture
def apart(cut_always: None) -> Group:
    """Two devices, each with memory of its own."""
    return groups()["apart"]()


class _Held:
    """Insides of parts wait until they are let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[Any] = []
        self._all = threading.Barrier(2)  # what is distributed at first waits for all that was enqueued
        monkeypatch.setattr(executor, "mark", self._mark)

    def _mark(self, device: Device) -> marks.Mark:
        found = marks.mark(device)
        self._all.wait(20)
        self.events.append(cl.UserEvent(device.context))
        cl.enqueue_barrier(device.queue, wait_for=[self.events[-1]])
        return found

    def let_go(self) -> None:
        """Have the insides begin."""
        while self.events:
            self.events.pop(0).set_status(cl.command_execution_status.COMPLETE)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Held]:
    """Hold insides back, for 20 seconds at most."""
    found = _Held(monkeypatch)
    timer = threading.Timer(20, found.let_go)
    timer.start()
    yield found
    timer.cancel()
    found.let_go()


@pytest.mark.parametrize("mode", ["constant", "nearest", "reflect", "mirror", "wrap"])
def test_halos_do_not_wait_for_the_inside(mode: Any, apart: Group, held: _Held) -> None:
    x = np.random.default_rng(1).integers(-3, 4, (19, 6))
    a = mdhnp.stencil(mdhnp.distribute(x, devices=apart, weights=(1, 1)), WEIGHTS, mode)
    assert len(held.events) == 2
    if mode != "wrap":  # rows of the other end are put into new memory, which kernels before may still use
        a = mdhnp.stencil(a, WEIGHTS, mode)
        assert len(held.events) == 4  # else it has waited for 20 s
        x = mdhnp.stencil(x, WEIGHTS, mode)
    held.let_go()
    np.testing.assert_array_equal(a.numpy(), mdhnp.stencil(x, WEIGHTS, mode))


def test_elements_that_are_put_in_are_waited_for(apart: Group, held: _Held) -> None:
    x = np.random.default_rng(2).integers(-3, 4, (19, 6))
    new, a = (mdhnp.distribute(each, devices=apart, weights=(1, 1)) for each in (x, x))
    a = mdhnp.stencil(a, WEIGHTS, "nearest")
    a[...] = new
    threading.Timer(0.3, held.let_go).start()  # until then borders are as they were before
    b = mdhnp.stencil(a, WEIGHTS, "nearest")
    held.let_go()
    np.testing.assert_array_equal(b.numpy(), mdhnp.stencil(x, WEIGHTS, "nearest"))


def test_kernels_that_put_their_results_into_room_are_searched(apart: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    monkeypatch.setattr(background, "submit", lambda job, *_: searched.append(str(job.mdhom)) or True)
    x = np.random.default_rng(5).integers(-3, 4, (19, 6))
    with mdhnp.config(tuning="background", host="never"):
        a = mdhnp.distribute(x, devices=apart, weights=(1, 1))
        for _ in range(3):
            a = mdhnp.stencil(a, WEIGHTS, "nearest")
        assert len(searched) == 2 * 2  # the border and the inside of each device
        b, c = (mdhnp.asarray(each, device=apart.members[0]) for each in (x, x[:4]))
        b[3:7] = c  # which a kernel does, too
    assert len(searched) == 2 * 2


@pytest.mark.parametrize("finish", [None, lambda total, value: 3 * total])
def test_a_kernel_that_computes_at_the_end_only_is_searched(
    finish: Any, apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []
    monkeypatch.setattr(background, "submit", lambda job, *_: searched.append(str(job.mdhom)) or True)
    x, device = np.random.default_rng(9).integers(-3, 4, (19, 6)), apart.members[0]
    h = md_hom(lambda v: v, {"i": cc, "j": cc}, "x[i,j] -> y[i,j]", finish=finish).bind(x)
    a, b = (mdhnp.asarray(each, device=device) for each in (x, np.zeros_like(x)))
    with mdhnp.config(tuning="background", host="never"):
        executor.Kernel(h, "test")(device, [a._view], b._view)
    np.testing.assert_array_equal(b.numpy(), x if finish is None else 3 * x)
    assert len(searched) == (finish is not None)


def test_what_goes_into_memory_that_is_there_is_computed_by_kernels() -> None:
    a, b = np.random.default_rng(10).integers(-3, 4, (2, 5, 5))
    product = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "a[i,k], b[j,k] -> c[i,j]").bind(a, b)
    device = next(d for d in devices() if not d.own_memory)
    found = np.zeros((9, 5), a.dtype)
    with mdhnp.config(host="auto"):  # with which NumPy computes what is so small
        executor.Kernel(product, "test")(device, [a, b], found[2:7])
    np.testing.assert_array_equal(found, np.pad(a @ b.T, ((2, 2), (0, 0))))


# ------------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("at", range(3))
def test_a_device_that_fails_amid_an_iteration_is_named(
    number: int, at: int, apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(3).integers(-3, 4, (19, 6))
    a, device = mdhnp.distribute(x, devices=apart, weights=(1, 1)), apart.members[number]
    for _ in range(2):
        a, x = mdhnp.stencil(a, WEIGHTS, "nearest"), mdhnp.stencil(x, WEIGHTS, "nearest")
    calls: list[executor.Kernel] = []

    def failing(self: executor.Kernel, where: Device, *given: Any, do: Any = executor.Kernel.__call__) -> Any:
        calls.append(self) if where is device else None
        if where is device and len(calls) == at:
            raise mdhnp.LaunchError("no power")
        return do(self, where, *given)

    def lost(where: Device, *given: Any, do: Any = marks.download) -> Any:
        if where is device:
            raise mdhnp.LaunchError("no power")
        return do(where, *given)

    with monkeypatch.context() as patch:
        if at:  # a border, or the inside
            patch.setattr(executor.Kernel, "__call__", failing)
        else:
            patch.setattr(marks, "download", lost)
        with pytest.raises(RuntimeError, match=rf"^{re.escape(device.name)} \({device.runtime}\): LaunchError: no po"):
            mdhnp.stencil(a, WEIGHTS, "nearest")
    np.testing.assert_array_equal(mdhnp.stencil(a, WEIGHTS, "nearest").numpy(), mdhnp.stencil(x, WEIGHTS, "nearest"))


@pytest.mark.parametrize("number", [0, 1])
def test_borders_that_fail_on_the_device_are_an_error_of_who_reads_them(
    number: int, apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(4).integers(-3, 4, (19, 6))
    device = apart.members[number]
    need_failures_told(device)

    def failed(where: Device) -> marks.Mark:
        return marks.Mark(failed_event(where)) if where is device else marks.mark(where)

    start = mdhnp.distribute(x, devices=apart, weights=(1, 1))
    with monkeypatch.context() as patch:
        patch.setattr(executor, "mark", failed)
        a = mdhnp.stencil(start, WEIGHTS, "nearest")
    with pytest.raises(RuntimeError, match=rf"^{re.escape(device.name)} \({device.runtime}\): LaunchError: "):
        mdhnp.stencil(a, WEIGHTS, "nearest")
    np.testing.assert_array_equal(
        mdhnp.stencil(start, WEIGHTS, "nearest").numpy(), mdhnp.stencil(x, WEIGHTS, "nearest")
    )


@pytest.mark.parametrize("large", [False, True])
def test_halos_that_fail_on_their_way_are_an_error_and_nothing_waits_for_them(
    large: bool, apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = next((d for d in apart.members if d.runtime == "pocl"), None)
    if device is None:
        pytest.skip("other runtimes than PoCL go on after an event that failed")
    x = np.random.default_rng(11).integers(-3, 4, (19, 6))
    a = mdhnp.stencil(mdhnp.distribute(x, devices=apart, weights=(1, 1)), WEIGHTS, "nearest")
    x = mdhnp.stencil(x, WEIGHTS, "nearest")
    lost: list[cl.UserEvent] = []

    def losing(queue: Any, *given: Any, do: Any = cl.enqueue_copy, **keywords: Any) -> Any:
        if queue != device.sending_queue or lost:
            return do(queue, *given, **keywords)
        lost.append(cl.UserEvent(device.context))
        threading.Timer(0.2, lost[0].set_status, [cl.status_code.OUT_OF_RESOURCES]).start()
        return do(queue, *given, **keywords, wait_for=lost)

    with monkeypatch.context() as patch:
        patch.setattr(transfers, "LARGE", 1 if large else transfers.LARGE)
        patch.setattr(cl, "enqueue_copy", losing)
        with pytest.raises(RuntimeError, match=rf"^{re.escape(device.name)} \({device.runtime}\): LaunchError: "):
            mdhnp.stencil(a, WEIGHTS, "nearest")
    np.testing.assert_array_equal(mdhnp.stencil(a, WEIGHTS, "nearest").numpy(), mdhnp.stencil(x, WEIGHTS, "nearest"))
