"""Halos: how much room is beside results, what an iteration exchanges, and what happens if that fails."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from several import groups

import mdhnp
from mdhnp import native
from mdhnp.calls.plans import Kernels
from mdhnp.distributed import exchange, jobs
from mdhnp.distributed.choose import halos
from mdhnp.distributed.jobs import portions
from mdhnp.mdh import Window, cc, grid, index, interpret, md_hom, pw
from mdhnp.mdh.regions import read_region
from mdhnp.mdh.views import BOUNDARIES
from mdhnp.runtime import relay, transfers
from mdhnp.runtime.devices import devices
from mdhnp.tuning import background

if TYPE_CHECKING:
    from mdhnp.runtime.groups import Group

WEIGHTS = np.array([[0, 1], [2, 0], [0, 1], [1, 0]])


# ----------------------------------------------------------------------------------------------------------------- room


@given(st.data())
def test_parts_read_their_elements_and_what_there_is_room_for(data: st.DataObject) -> None:
    offsets = data.draw(st.lists(st.integers(-3, 3), min_size=1, max_size=4, unique=True))
    mode = data.draw(st.sampled_from(sorted(BOUNDARIES)))
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=2, max_size=4))
    x = np.random.default_rng(sum(sizes)).integers(-9, 9, (sum(sizes), 2))
    views = ", ".join(f"x[i+({n}),j]" for n in offsets)
    step = md_hom(lambda *a: sum(a[1:], 3 * a[0]), {"i": cc, "j": cc}, f"{views} -> y[i,j]", boundary={"x": mode})
    made = grid(step.bind(x, i=len(x)), {0: sizes})
    found = halos(made)
    if found is None:
        return
    note(f"{found}")
    for task, (room, columns) in zip(made.tasks, found, strict=True):
        assert isinstance(task.reads[0], Window)
        (read, _), (own, whole) = task.reads[0].region, task.writes[0]
        around = [row % len(x) for row in range(room.start, room.stop)]
        assert {row % len(x) for row in range(read.start, read.stop)} <= {*around}
        assert room.start <= own.start < own.stop <= room.stop
        assert columns == whole


# ------------------------------------------------------------------------------------------------------------- portions


@given(st.data())
def test_portions_are_all_points_once_and_the_first_reads_what_is_known(data: st.DataObject) -> None:
    offsets = data.draw(st.lists(st.integers(-3, 3), min_size=1, max_size=4, unique=True))
    mode, sizes = data.draw(st.sampled_from(sorted(BOUNDARIES))), data.draw(st.lists(st.integers(1, 80), min_size=2))
    x = np.random.default_rng(sum(sizes)).integers(-9, 9, (sum(sizes), 2))
    views = ", ".join(f"x[i+({n}),j]" for n in offsets)
    step = md_hom(lambda i, *a: sum(a, i), {"i": cc, "j": cc}, f"{views} -> y[i,j]", boundary={"x": mode})
    if data.draw(st.booleans()):  # a number more, where a part begins
        step = md_hom(lambda *a: sum(a, index(0)), {"i": cc, "j": cc}, f"{views} -> y[i,j]", boundary={"x": mode})
    for task in grid(step.bind(x, i=len(x)), {0: sizes}).tasks:
        given = [read_region(x, r.region) if isinstance(r, Window) else np.asarray(r) for r in task.reads]
        low, high = data.draw(st.integers(0, 3)), len(given[0]) - data.draw(st.integers(0, 3))
        known = lambda n, region: n > 0 or (low <= region[0].start and region[0].stop <= high)  # noqa: B023, E731
        found = np.full(task.mdhom.outputs[0].shape, 10**6)
        parts = portions(task, 0, known)
        for number, part in enumerate(parts):
            arrays = [each.copy() for each in given]
            if not number:
                arrays[0][:low], arrays[0][high:] = 10**6, 10**6
            reads = [np.asarray(r) if isinstance(r, int) else arrays[n][r] for n, r in enumerate(part.reads)]
            assert (found[part.writes] == 10**6).all()
            found[part.writes] = interpret(part.mdhom, *reads)
        if parts:
            np.testing.assert_array_equal(found, interpret(task.mdhom, *given))


# ----------------------------------------------------------------------------------------------------------- iterations


@pytest.mark.parametrize("mode", ["constant", "nearest", "reflect", "mirror", "wrap"])
def test_an_iteration_exchanges_halos_and_copies_nothing_else(mode: Any, several: Group, cut_always: None) -> None:
    x, count = np.random.default_rng(1).integers(-3, 4, (19, 6)), len(several.members)
    a = mdhnp.stencil(mdhnp.distribute(x, devices=several, weights=(1,) * count), WEIGHTS, mode)
    x = mdhnp.stencil(x, WEIGHTS, mode)
    with exchange.watched() as moved:
        for _ in range(3):
            a, x = mdhnp.stencil(a, WEIGHTS, mode), mdhnp.stencil(x, WEIGHTS, mode)
    copies = [one.nbytes for one in moved]
    row, ends = x.strides[0], 2 * count if mode == "wrap" else 2 * (count - 1)
    assert (sum(copies), len(copies)) == (
        3 * ends * 3 // 2 * row,
        3 * ends,
    )  # two rows before a block, and one after it
    np.testing.assert_array_equal(a.numpy(), x)


@pytest.mark.parametrize("large", [0, 1 << 20])
def test_what_needs_no_halo_is_launched_before_one_arrives(
    large: int, apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def noted(owner: Any, name: str, what: str) -> None:
        do = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given: seen.append(what) or do(*given))

    monkeypatch.setattr(jobs, "LARGE_HALO", large)
    monkeypatch.setattr(jobs, "LONG", np.inf)
    x = np.random.default_rng(8).integers(-3, 4, (31, 6))
    a = mdhnp.distribute(x, devices=apart, weights=(1, 1))
    for _ in range(2):
        a, x = mdhnp.stencil(a, WEIGHTS, "nearest"), mdhnp.stencil(x, WEIGHTS, "nearest")
    noted(jobs.DeviceCall, "__call__", "kernel")
    noted(relay.Piece, "write", "halo")
    for _ in range(2):
        seen.clear()
        a, x = mdhnp.stencil(a, WEIGHTS, "nearest"), mdhnp.stencil(x, WEIGHTS, "nearest")
        assert seen == [*["kernel"] * (0 if large else 2), "halo", "kernel", "halo", "kernel"]
    np.testing.assert_array_equal(a.numpy(), x)


@pytest.mark.parametrize("mode", ["nearest", "wrap"])
def test_halos_of_elements_that_were_put_in_are_fetched_anew(mode: Any, several: Group, cut_always: None) -> None:
    x, even = np.random.default_rng(2).integers(-3, 4, (19, 6)), (1,) * len(several.members)
    a = mdhnp.stencil(mdhnp.distribute(x, devices=several, weights=even), WEIGHTS, mode)
    mdhnp.stencil(a, WEIGHTS, mode)  # which fills the room beside
    a[...] = mdhnp.distribute(x, devices=several, weights=even)
    np.testing.assert_array_equal(mdhnp.stencil(a, WEIGHTS, mode).numpy(), mdhnp.stencil(x, WEIGHTS, mode))


@pytest.fixture
def apart(cut_always: None) -> Group:
    """Two devices, each with memory of its own."""
    return groups()["apart"]()


def test_kernels_that_put_their_results_into_room_are_searched(apart: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    monkeypatch.setattr(jobs, "LONG", np.inf)
    monkeypatch.setattr(background, "submit", lambda job, *_: searched.append(str(job.mdhom)) or True)
    x = np.random.default_rng(5).integers(-3, 4, (19, 6))
    with mdhnp.config(tuning="background", host="never"):
        a = mdhnp.distribute(x, devices=apart, weights=(1, 1))
        for _ in range(3):
            a = mdhnp.stencil(a, WEIGHTS, "nearest")
        assert len(searched) == 2  # one on each device
        b, c = (mdhnp.asarray(each, device=apart.members[0]) for each in (x, x[:4]))
        b[3:7] = c  # which a kernel does, too
    assert len(searched) == 2


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
        jobs.DeviceCall(h, "test")(device, [a._view], b._view)
    np.testing.assert_array_equal(b.numpy(), x if finish is None else 3 * x)
    assert len(searched) == (finish is not None)


@pytest.mark.skipif(native.repeat is None, reason="without compiled code Python launches")
@pytest.mark.parametrize("settings", [{}, {"precision": "highest"}])
@pytest.mark.parametrize("name", ["new memory", "room for halos", "given memory"])
def test_repeated_calls_of_a_single_result_are_launched_by_compiled_code(
    name: str, settings: dict[str, Any], apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[Any] = []
    do = Kernels.run
    monkeypatch.setattr(Kernels, "run", lambda self, arrays: launched.append(self) or do(self, arrays))
    x = np.random.default_rng(12).integers(-3, 4, (18, 6))
    with mdhnp.config(host="never", specialise="always", tuning="off", **settings):
        a = mdhnp.distribute(x, devices=apart, weights=(1, 1))
        part = a.parts[0]
        target = mdhnp.zeros(part.shape, dtype=x.dtype, device=part.device)

        def put() -> mdhnp.Array:
            target[...] = part + 1
            return target

        call, count, expected = {
            "new memory": (lambda: mdhnp.einsum("ij->i", a), 2, x.sum(axis=1)),
            "room for halos": (lambda: mdhnp.stencil(a, WEIGHTS, "nearest"), 2, mdhnp.stencil(x, WEIGHTS, "nearest")),
            "given memory": (put, 2, x[:9] + 1),
        }[name]
        launched.clear()
        call()
        assert len(launched) == count  # what is new
        for _ in range(3):
            np.testing.assert_array_equal(call().numpy(), expected)
    assert len(launched) == count


def test_what_goes_into_memory_that_is_there_is_computed_by_kernels() -> None:
    a, b = np.random.default_rng(10).integers(-3, 4, (2, 5, 5))
    product = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "a[i,k], b[j,k] -> c[i,j]").bind(a, b)
    device = next(d for d in devices() if not d.own_memory)
    found = np.zeros((9, 5), a.dtype)
    with mdhnp.config(host="auto"):  # with which NumPy computes what is so small
        jobs.DeviceCall(product, "test")(device, [a, b], found[2:7])
    np.testing.assert_array_equal(found, np.pad(a @ b.T, ((2, 2), (0, 0))))


# ------------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("where", ["kernel", "halo"])
def test_a_device_that_fails_amid_an_iteration_is_named(
    number: int, where: str, apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(3).integers(-3, 4, (19, 6))
    a, device = mdhnp.distribute(x, devices=apart, weights=(1, 1)), apart.members[number]
    for _ in range(2):
        a, x = mdhnp.stencil(a, WEIGHTS, "nearest"), mdhnp.stencil(x, WEIGHTS, "nearest")
    owner, name = (jobs.DeviceCall, "__call__") if where == "kernel" else (relay.Piece, "__init__")

    do = getattr(owner, name)

    def failing(*given: Any) -> Any:
        if any(each is device for each in given):
            raise mdhnp.LaunchError("no power")
        return do(*given)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing)
        with pytest.raises(
            RuntimeError, match=rf"^{re.escape(device.name)} \({device.runtime}\)( \d)?: LaunchError: no"
        ):
            mdhnp.stencil(a, WEIGHTS, "nearest")
    np.testing.assert_array_equal(mdhnp.stencil(a, WEIGHTS, "nearest").numpy(), mdhnp.stencil(x, WEIGHTS, "nearest"))


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

    def losing(queue: Any, destination: Any, *given: Any, do: Any = cl.enqueue_copy, **keywords: Any) -> Any:
        to_device = queue in (device.queue, device.queue_of("sending")) and isinstance(destination, cl.Buffer)
        if not to_device or lost:
            return do(queue, destination, *given, **keywords)
        lost.append(cl.UserEvent(device.context))
        threading.Timer(0.2, lost[0].set_status, [cl.status_code.OUT_OF_RESOURCES]).start()
        return do(queue, destination, *given, **keywords | {"wait_for": [*keywords.get("wait_for", ()), *lost]})

    with monkeypatch.context() as patch:
        patch.setattr(transfers, "LARGE", 1 if large else transfers.LARGE)
        patch.setattr(cl, "enqueue_copy", losing)
        with pytest.raises(RuntimeError, match=rf"^{re.escape(device.name)} \({device.runtime}\)( \d)?: LaunchError: "):
            mdhnp.stencil(a, WEIGHTS, "nearest").numpy()  # at the latest: calls do not wait for what is sent
    assert lost
    np.testing.assert_array_equal(mdhnp.stencil(a, WEIGHTS, "nearest").numpy(), mdhnp.stencil(x, WEIGHTS, "nearest"))
