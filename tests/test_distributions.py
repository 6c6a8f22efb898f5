"""Distributions: who has which elements, what moves between devices, and what happens when one of them fails."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from several import KINDS, A, B, groups, machine, same

import mdhnp
from mdhnp.arrays.distribution import BlockDistribution
from mdhnp.distributed import exchange, executor, kernel, threads
from mdhnp.distributed.boxes import StridedBox, around, holds, split
from mdhnp.distributed.placement import seen as see
from mdhnp.distributed.spans import Span, beyond, hull, nbytes, spans_of
from mdhnp.runtime import relay, transfers
from mdhnp.runtime.devices import devices, find_target
from mdhnp.runtime.groups import Group
from mdhnp.warning import warn

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

# ---------------------------------------------------------------------------------------------------------------- boxes


@given(st.data())
def test_boxes_are_split_element_by_element(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 3))
    shape = tuple(data.draw(st.integers(1, 4)) for _ in range(rank))
    strides = tuple(2 * data.draw(st.sampled_from((-7, -4, -2, -1, 0, 1, 2, 3, 5, 12))) for _ in range(rank))
    box = StridedBox(data.draw(st.integers(-5, 5)) * 2, shape, strides, 2)
    periods, spans = data.draw(st.lists(st.integers(1, 4), max_size=2)), list[Span]()
    unit = 2
    for factor in periods:
        begin = data.draw(st.integers(0, factor)) * unit
        spans.insert(0, Span(begin, data.draw(st.integers(begin // unit, factor)) * unit, factor * unit))
        unit *= factor
    low = data.draw(st.integers(-20 * 2 // unit, 20 * 2 // unit)) * unit
    spans.insert(0, Span(low, low + data.draw(st.integers(0, 25 * 2 // unit)) * unit))
    places = np.full(shape, box.start) + sum(
        np.arange(n).reshape([-1 if a == b else 1 for b in range(rank)]) * s
        for a, (n, s) in enumerate(zip(shape, strides, strict=True))
    )
    along = [(places % s.period if s.period else places, s) for s in spans]
    inside = np.logical_and.reduce([(place >= s.begin) & (place + 2 <= s.end) for place, s in along])
    seen = np.zeros(shape, int)
    memory = np.arange(nbytes(tuple(spans)), dtype="u1").view("u2")
    kept = sorted({n for n in range(low, spans[0].end, 2) if all(s.begin <= n % s.period < s.end for s in spans[1:])})
    assert len(kept) == memory.size
    for regions, expected in zip(split(box, [box.whole], tuple(spans)), (True, False), strict=True):
        for region in regions:
            seen[region] += 1
            assert (inside[region] == expected).all()
            assert holds(tuple(spans), box, region) == expected
            if expected:
                assert [*see(memory.view("u1"), box.within(tuple(spans), region), memory.dtype).flat] == [
                    memory[kept.index(n)] for n in places[region].flat
                ]
    assert (seen == 1).all()


def test_spans_around_a_region_and_what_is_beyond_others() -> None:
    shape, whole = (6, 8, 5), {*range(6 * 8 * 5)}
    places = np.arange(6 * 8 * 5).reshape(shape)
    room, own = spans_of(shape, 1, (slice(1, 5), slice(0, 6), slice(0, 5)), (slice(2, 4), slice(2, 5), slice(0, 5)))
    held = lambda spans: {n for n in whole if all(s.begin <= (n % s.period if s.period else n) < s.end for s in spans)}  # noqa: E731
    assert held(room) == {*places[1:5, :6].flat}
    box = StridedBox(0, shape, (40, 5, 1), 1)
    wanted = hull(own, around(room, box, (slice(2, 5), slice(1, 4), slice(0, 5))))
    assert held(wanted) == {*places[2:5, 1:5].flat}
    lacking = [*beyond(wanted, own)]
    assert sorted(n for spans in lacking for n in held(spans)) == sorted(held(wanted) - held(own))
    assert sum(map(nbytes, lacking)) == len(held(wanted) - held(own))


# ------------------------------------------------------------------------------------------- what lies where, and moves


def _moved(compute: Callable[[], Any]) -> int:
    with exchange.watched() as seen:
        compute()
    return sum(each.nbytes for each in seen)


@pytest.mark.parametrize("several", ["apart", "mixed"], indirect=True)
def test_only_what_must_move_does(several: Group, cut_always: None) -> None:
    count = len(several.members)
    x = np.arange(60 * 8.0).reshape(60, 8)
    even = [1] * count
    a = mdhnp.distribute(x, weights=even)
    assert _moved(lambda: np.sin(a) + a * a) == 0
    assert _moved(lambda: a.sum(axis=1)) == 0
    assert _moved(lambda: a.sum(axis=0)) == (count - 1) * 8 * 8  # partial results
    assert _moved(lambda: mdhnp.distribute(a)) == 0
    assert _moved(lambda: mdhnp.distribute(a, "overlap")) == 2 * (count - 1) * 8 * 8
    assert _moved(lambda: mdhnp.distribute(a, "copy")) == (count - 1) * x.nbytes
    assert _moved(lambda: mdhnp.distribute(a, "single")) == x.nbytes - x.nbytes // count
    assert _moved(lambda: mdhnp.distribute(a, axis=1, weights=[1] + [0] * (count - 1))) == x.nbytes - x.nbytes // count
    assert _moved(lambda: mdhnp.stencil(a, np.ones((3, 1)), "nearest")) == 2 * (count - 1) * 8 * 8
    overlap = mdhnp.distribute(x, "overlap", weights=even)
    assert _moved(lambda: mdhnp.stencil(overlap, np.ones((3, 1)), "nearest")) == 0
    assert (
        _moved(lambda: mdhnp.stencil(overlap + 1, np.ones((3, 1)), "nearest")) == 2 * (count - 1) * 8 * 8
    )  # whose halos nobody has
    copy = mdhnp.distribute(x.T, "copy")
    assert _moved(lambda: a @ copy) == 0
    assert (a @ copy).distribution.sizes == a.distribution.sizes  # type: ignore[attr-defined]


#: A device for which all that moves takes as long as work, so that grids are worth it.
FAR = machine(operation=1e3, byte=1.0, asking=1e-3, moving=1e3, handing=1e-3)


@pytest.mark.parametrize("kind", ["block", "overlap"])
def test_blocks_along_several_axes(kind: str, cut_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "machines", lambda group: (FAR,) * 4)
    where = groups()["four"]()
    for shape, axes, parts in (
        ((9, 10), (0, 1), (2, 2)),
        ((9, 10), (1, 0), (2, 2)),
        ((2, 90), (0, -1), (1, 4)),
        ((5, 6, 7), (0, 2), (2, 2)),
        ((3, 3), (0, 1), (2, 2)),
        ((1, 1), (0, 1), None),
        ((0, 4), (0, 1), None),
    ):
        x = np.arange(np.prod(shape)).reshape(shape)
        a = mdhnp.distribute(x, kind, axes, devices=where, weights=(1,) * 4, halo=2)
        np.testing.assert_array_equal(a.numpy(), x)
        np.testing.assert_array_equal((a * 2).numpy(), x * 2)
        if parts is not None:
            now = a.distribution
            assert isinstance(now, BlockDistribution)
            assert tuple(map(len, now.sizes)) == tuple(n for n in parts if n > 1)
            assert mdhnp.distribute(a, kind, axes, halo=2, weights=(1,) * 4) is a
        for other in KINDS:
            for again in (0, (0, 1)):
                np.testing.assert_array_equal(mdhnp.distribute(a, other, again).numpy(), x)
        assert sum(part.size for part in a.parts) == x.size
    a = mdhnp.distribute(np.zeros((8, 6)), "block", (0, 1), devices=where, weights=(2, 1, 2, 1))
    assert a.distribution.sizes == ((4, 4), (4, 2))  # type: ignore[attr-defined]
    stencil = mdhnp.distribute(np.ones((64, 64)), "overlap", (0, 1), devices=where, weights=(1,) * 4)
    assert _moved(lambda: mdhnp.stencil(stencil, np.ones((3, 3)), "nearest")) == 0
    with pytest.raises(ValueError, match="axis is empty"):
        mdhnp.distribute(np.zeros((4, 6)), "block", (), devices=where)


def test_copies_are_combined_to_blocks_along_several_axes(cut_always: None) -> None:
    where = groups()["four"]()
    a = mdhnp.distribute(np.zeros((4, 6), int), "copy", devices=where)
    for n, part in enumerate(a.parts):
        part[...] = 10**n
    total = mdhnp.distribute(a, "block", (0, 1), combine="add")
    np.testing.assert_array_equal(total.numpy(), np.full((4, 6), 1111))
    assert total.distribution.axes == (0, 1)  # type: ignore[attr-defined]


def test_four_devices_are_a_grid(cut_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "machines", lambda group: (FAR,) * 4)
    where = groups()["four"]()
    x, y = np.random.default_rng(3).integers(-9, 9, (2, 21, 21))
    a, b = (mdhnp.distribute(v, devices=where, weights=(1,) * 4) for v in (x, y))
    product = a @ b
    assert product.distribution == BlockDistribution(where.labels, (0, 1), ((10, 11), (10, 11)))
    assert str(product.distribution).startswith("block along axes 0, 1: 10 × 10 on ")
    assert [part.shape for part in product.parts] == [(10, 10), (10, 11), (11, 10), (11, 11)]
    turned = product.T[1:]
    assert (turned.distribution.axes, turned.distribution.sizes) == ((1, 0), ((10, 11), (9, 11)))  # type: ignore[attr-defined]
    x = x @ y
    assert _moved(lambda: product + product.T.T) == 0
    np.testing.assert_array_equal((product.T + 1).numpy(), x.T + 1)
    np.testing.assert_array_equal(mdhnp.reshape(product, (63, 7)).numpy(), x.reshape(63, 7))
    product[3:17, 9:12] += product[4:18, 8:11]
    x[3:17, 9:12] += x[4:18, 8:11]
    np.testing.assert_array_equal(product.numpy(), x)
    np.testing.assert_array_equal(product.sum(axis=0).numpy(), x.sum(axis=0))
    np.testing.assert_array_equal(mdhnp.distribute(product, "block", 1).numpy(), x)
    np.testing.assert_array_equal(mdhnp.distribute(product, "copy").numpy(), x)
    for mode in ("constant", "nearest", "mirror", "wrap"):
        a, y, weights = product, x, np.arange(12).reshape(3, 4)
        for n in range(3):
            with exchange.watched() as seen:
                a = mdhnp.stencil(a, weights, mode)  # type: ignore[arg-type]
            y = mdhnp.stencil(y, weights, mode)  # type: ignore[arg-type]
            np.testing.assert_array_equal(a.numpy(), y)
            # Each device reads a row before and one after its block, and three columns beside it, and the corners.
            elements = 4 * 21 + 6 * 21 + 4 * 6 if mode == "wrap" else 2 * 21 + 3 * 21 + 6
            assert not n or sum(e.nbytes for e in seen) == 8 * elements


def test_distributions_are_shown(cut_always: None) -> None:
    where = find_target("cpu/2")
    names = [f"{d.name} ({d.runtime}) {n}" for n, d in enumerate(where.members)]
    a = mdhnp.distribute(np.ones((6, 4)), devices=where, weights=(2, 1))
    assert str(a.distribution) == f"block along axis 0: 4 on {names[0]}, 2 on {names[1]}"
    assert str(a.T.distribution) == f"block along axis 1: 4 on {names[0]}, 2 on {names[1]}"
    assert str(a[3:].distribution) == f"block along axis 0: 1 on {names[0]}, 2 on {names[1]}"
    assert str(mdhnp.distribute(a, "overlap").distribution).startswith("overlap of 1 along axis 0: 4 on")
    assert str(mdhnp.distribute(a, "copy").distribution) == f"copy on {names[0]}, {names[1]}"
    assert str(mdhnp.distribute(a, "single").distribution) == f"single on {names[0]}"
    plain = mdhnp.asarray(np.ones(3), device="cpu")
    assert str(plain.distribution) == f"single on {plain.device.name} ({plain.device.runtime})"
    assert plain.parts == (plain,)
    assert [p.shape for p in a.parts] == [(4, 4), (2, 4)]
    assert [p.device for p in a.parts] == list(where.members)
    apart = groups()["apart"]()
    seen = mdhnp.explain(lambda x: x.sum(axis=0), mdhnp.distribute(np.ones((60, 4)), devices=apart, weights=(1, 1)))
    assert "exchanged 32 bytes between devices, in 1 pieces" in str(seen)
    assert sum(e.nbytes for e in seen.exchanges) == 4 * 8
    assert mdhnp.memory_info(where).total == sum(mdhnp.memory_info(d).total for d in where.members)
    mdhnp.synchronize(where)


def test_parts_share_the_memory(several: Group) -> None:
    a = mdhnp.distribute(A, "overlap", halo=2)
    doubled = a + a
    for part in a.parts:
        part[...] = part * 2
    np.testing.assert_array_equal(a.numpy(), A * 2)
    np.testing.assert_array_equal(mdhnp.stencil(a, np.ones((5, 1)), "constant").numpy(),
                                  mdhnp.stencil(A * 2, np.ones((5, 1)), "constant"))  # fmt: skip
    np.testing.assert_array_equal(doubled.numpy(), A * 2)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_changed_apart_are_combined(several: Group, kind: str) -> None:
    a = mdhnp.distribute(np.zeros((7, 3), "i4"), "copy")
    for n, part in enumerate(a.parts):
        part[...] = np.arange(21).reshape(7, 3) * 10**n
    each = sum(10**n for n in range(len(several.members)))
    np.testing.assert_array_equal(mdhnp.distribute(a, kind, combine="add").numpy(), np.arange(21).reshape(7, 3) * each)
    left = mdhnp.distribute(a, kind, 1, combine=mdhnp.pw(lambda p, q: np.where(p > 50, p, q), commutative=False))
    want = np.arange(21).reshape(7, 3)
    for n in range(1, len(several.members)):
        want = np.where(want > 50, want, np.arange(21).reshape(7, 3) * 10**n)
    np.testing.assert_array_equal(left.numpy(), want)
    with pytest.raises(ValueError, match="combine is for arrays of which each device has a copy"):
        mdhnp.distribute(A, combine="add")


@pytest.mark.parametrize("kind", KINDS)
def test_what_some_devices_have_nothing_of_is_distributed_anew(several: Group, cut_always: None, kind: str) -> None:
    x = np.arange(10).reshape(2, 5)
    a = mdhnp.distribute(x) + 0  # on two devices
    assert isinstance(a.distribution, BlockDistribution)
    assert sorted(a.distribution.sizes[0]) == [0, 1, 1][-len(several.members) :]
    for axis in (0, 1):
        np.testing.assert_array_equal(mdhnp.distribute(a, kind, axis).numpy(), x)


def test_a_column_of_a_block_moves_without_what_is_beside() -> None:
    where = groups()["apart"]()
    x = np.arange(600 * 500).reshape(600, 500)
    a = mdhnp.distribute(x, devices=where, weights=(1, 1))
    with transfers.watched() as copies:
        column = mdhnp.distribute(a[:, 3], "single")
    assert sum(c.nbytes for c in copies if not c.to_device) == 300 * 8
    np.testing.assert_array_equal(column.numpy(), x[:, 3])


@pytest.mark.parametrize("mode", ["constant", "nearest", "reflect", "mirror", "wrap"])
def test_steps_of_an_iteration_exchange_halos_only(
    mode: Any, cut_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, weights = groups()["apart"](), np.array([[0, 1], [2, 0], [0, 1], [1, 0]])
    x = np.random.default_rng(1).integers(-3, 4, (19, 6))
    joined: list[int] = []
    monkeypatch.setattr(exchange, "gathered", lambda *a, do=exchange.gathered: joined.append(a[0].size) or do(*a))
    a = mdhnp.distribute(x, devices=where, weights=(1, 1))
    for n in range(5):
        x = mdhnp.stencil(x, weights, mode).copy()
        joined.clear()
        with exchange.watched() as seen:
            a = mdhnp.stencil(a, weights, mode)
        assert sum(e.nbytes for e in seen) == (2 if mode == "wrap" else 1) * 3 * 6 * 8
        assert not (n and joined)  # blocks at first, then results have room
        np.testing.assert_array_equal(a.numpy(), x)
        if n == 1:
            assert mdhnp.distribute(a) is a
            a[5:14, 1:] += 1  # also what others have as halos
            x[5:14, 1:] += 1
        if n == 2:
            for part in a.parts:
                part[...] = part * 2
            x *= 2


def test_rows_that_are_taken_one_by_one_share_kernels(
    several: Group, cut_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    described: list[int] = []
    monkeypatch.setattr(kernel, "_describe", lambda *given, do=kernel._describe: described.append(1) or do(*given))
    a = mdhnp.distribute(np.arange(30 * 6).reshape(30, 6), weights=[1] * len(several.members))
    for n in range(30):
        np.testing.assert_array_equal((a[n] * 3).numpy(), np.arange(6 * n, 6 * n + 6) * 3)
    assert len(described) <= 2 * len(several.members)


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_elements_than_devices(several: Group, cut_always: None, kind: str) -> None:
    for shape in ((), (0,), (1,), (2,), (1, 5), (0, 3), (3, 0)):
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        a = mdhnp.distribute(x, kind)
        assert a.distribution is not None
        for compute in (lambda v: v + 1, lambda v: v.sum(), lambda v: v[..., None] * 2, lambda v: v.T.copy()):
            same(compute(a).numpy(), np.asarray(compute(x)))
        assert sum(p.size for p in a.parts) in (x.size, x.size * len(several.members))


def test_ndarrays_are_distributed_where_there_is_no_cpu_device(pair: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdhnp.runtime.devices.devices", tuple)
    odd = np.frombuffer(b"x" + A.astype(">i8").tobytes(), np.uint8)[1:].view(">i8").reshape(A.shape)
    np.testing.assert_array_equal(mdhnp.distribute(odd, devices=pair).numpy(), A)
    with pytest.raises(TypeError, match="distribute: dtype <U1 is none"):
        mdhnp.distribute(["a", "b"], devices=pair)


def test_what_only_one_device_has_is_refused(several: Group) -> None:
    a = mdhnp.asarray(A)
    for name in ("queue", "buffer", "offset", "svm"):
        with pytest.raises(AttributeError, match=f"{name}: elements are on several devices; each of .parts"):
            getattr(a, name)
    with pytest.raises(AttributeError, match="changed: "):
        a.changed()
    for indexed in (lambda: a[np.array([1, 2])], lambda: a[a > 3], lambda: mdhnp.take(a, np.array([1]), axis=0)):
        with pytest.raises(TypeError, match=r"^(take: )?arrays on several devices cannot be indexed by arrays"):
            indexed()


def test_bad_arguments() -> None:
    a = np.ones((4, 4))
    for arguments, error, match in (
        ({"kind": "cyclic"}, ValueError, "kind 'cyclic' is none of block, copy"),
        ({"axis": 2}, np.exceptions.AxisError, "out of bounds"),
        ({"halo": -1}, ValueError, "halo is -1"),
        ({"weights": (1, 2, 3)}, ValueError, "3 weights for 2 devices"),
        ({"weights": (0, 0)}, ValueError, "are no shares"),
        ({"devices": "no such device"}, mdhnp.NoDeviceError, "no OpenCL device fits"),
        ({"devices": ["cpu", "cpu"]}, ValueError, "each named once"),
        ({"devices": "cpu/100000"}, mdhnp.NoDeviceError, "too few for 100000"),
        ({"devices": []}, ValueError, "one or more"),
    ):
        with pytest.raises(error, match=match):
            mdhnp.distribute(a, **{"devices": "cpu/2"} | arguments)
    with pytest.raises(TypeError), mdhnp.device("cpu/2"):
        mdhnp.asarray(a) + "text"


def test_specs_name_several_devices() -> None:
    with mdhnp.device("cpu:*") as found:
        assert set(found.members) == {d for d in devices() if d.kind == "cpu"}
    with mdhnp.device([devices()[0]]) as found:
        assert found is devices()[0]
    with mdhnp.device("cpu/2") as found, mdhnp.device("cpu/2") as again:
        assert found is again
        one, two = found.members
        assert (one.caps, one.identity) == (two.caps, two.identity)  # so that schedules serve both
        assert mdhnp.asarray(A).device is found


# ------------------------------------------------------------------------------------------------------------- failures


def _broken(device: Device, monkeypatch: pytest.MonkeyPatch, fail: Callable[[], None]) -> None:
    """Kernels fail on a device."""
    compute = kernel.DeviceCall.__call__

    def call(self: kernel.DeviceCall, where: Device, *given: Any) -> Any:
        if where is device:
            fail()
        return compute(self, where, *given)

    monkeypatch.setattr(kernel.DeviceCall, "__call__", call)


@pytest.mark.parametrize("number", [0, 1])
def test_a_device_that_fails_is_named(
    number: int, pair: Group, cut_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = mdhnp.distribute(A)
    device = pair.members[number]

    def fail() -> None:
        raise mdhnp.LaunchError("no power")

    def full() -> None:
        raise MemoryError("no room")

    def unable() -> None:
        raise TypeError("no doubles")

    for how, error in ((fail, RuntimeError), (full, MemoryError), (unable, TypeError)):
        with monkeypatch.context() as patch:
            _broken(device, patch, how)
            with pytest.raises(error, match=rf"\({device.runtime}\).*no (power|room|doubles)"):
                np.sin(a) + a
    same((a + a).numpy(), A + A)  # nothing hangs


@pytest.mark.parametrize("number", range(4))
def test_a_device_of_a_grid_that_fails_is_named_and_others_go_on(
    number: int, cut_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "machines", lambda group: (FAR,) * 4)
    where = groups()["four"]()
    x, y = np.random.default_rng(4).integers(-9, 9, (2, 21, 21))
    a, b = (mdhnp.distribute(v, axis=(0, 1), devices=where, weights=(1,) * 4) for v in (x, y))
    product = a @ b

    def fail() -> None:
        raise mdhnp.LaunchError("no power")

    with monkeypatch.context() as patch:
        _broken(where.members[number], patch, fail)
        for compute in (lambda: a @ b, lambda: product.sum(axis=1), lambda: mdhnp.stencil(product, np.ones((3, 3)))):
            with pytest.raises(RuntimeError, match=rf"^{re.escape(where.labels[number])}: LaunchError: no power$"):
                compute()
        for part in product.parts:
            if part.device is not where.members[number]:
                np.testing.assert_array_equal((part + part).numpy(), 2 * part.numpy())
    np.testing.assert_array_equal((a @ b).numpy(), x @ y)


def test_a_device_that_fails_when_another_one_reads_is_named(cut_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    where = groups()["apart"]()
    a, (first, _) = mdhnp.distribute(A, devices=where, weights=(1, 1)), where.members

    class Piece(relay.Piece):
        def __init__(self, device: Device, view: Any, after: Any) -> None:
            if device is first:
                raise mdhnp.LaunchError("no power")
            super().__init__(device, view, after)

    monkeypatch.setattr(relay, "Piece", Piece)
    with pytest.raises(RuntimeError, match=rf"^{re.escape(where.labels[0])}: LaunchError: no power$"):
        mdhnp.stencil(a, np.ones((3, 3)), "constant")


@pytest.mark.parametrize("several", ["unlike", "apart"], indirect=True)
def test_ctrl_c(several: Group, cut_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.ones((3, 3), int)
    a = mdhnp.stencil(mdhnp.distribute(A, weights=(1, 1)), weights, "nearest")
    done = threading.Event()

    def interrupt() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        done.wait(20)

    with monkeypatch.context() as patch:
        _broken(several.members[1], patch, interrupt)
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            mdhnp.stencil(a, weights, "nearest")
        assert time.monotonic() - begin < 15
        done.set()
    steps = mdhnp.stencil(mdhnp.stencil(A, weights, "nearest"), weights, "nearest")
    same(mdhnp.stencil(a, weights, "nearest").numpy(), steps)


def test_warnings_of_what_devices_do_are_about_the_user_s_line(several: Group) -> None:
    with pytest.warns(RuntimeWarning) as caught:
        threads.on_all(several.members, [partial(warn, f"{n} is slow") for n, _ in enumerate(several.members)])
    assert sorted(str(w.message) for w in caught) == [f"{n} is slow" for n, _ in enumerate(several.members)]
    assert {w.filename for w in caught} == {__file__}


def test_a_forked_child_is_told() -> None:
    code = """
import os, numpy as np, mdhnp
with mdhnp.device("cpu/2"):
    a = mdhnp.distribute(np.ones((100, 100)), weights=(1, 1))
    (a @ a).numpy()
child = os.fork()
if not child:
    def told(what):
        try:
            what()
        except (mdhnp.NoDeviceError, RuntimeError) as error:
            return "forked" in str(error)

    # parts that there were, and others
    os._exit(7 if told(lambda: a @ a) and told(lambda: mdhnp.device("cpu/1").__enter__()) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_threads_name_the_same_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_parts", "_groups"):
        monkeypatch.setattr(f"mdhnp.runtime.groups.{name}", {})
    together = threading.Barrier(8)

    def find(_: int) -> Group:
        together.wait(60)
        found: Any = find_target("cpu/2")
        return found

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(find, range(8)))) == 1


def test_threads_share_distributed_arrays(several: Group, cut_always: None) -> None:
    a, b = mdhnp.distribute(A), mdhnp.distribute(B, "overlap")
    steps, weights = [A], np.ones((3, 3), A.dtype)
    for _ in range(2):
        steps.append(mdhnp.stencil(steps[-1], weights, "nearest"))
    smoothed = [mdhnp.stencil(a, weights, "nearest") for _ in range(5)]  # whose halos come with the first who asks
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for smooth in smoothed:
                with mdhnp.device(several):
                    np.testing.assert_array_equal(mdhnp.stencil(smooth, weights, "nearest").numpy(), steps[2])
                    np.testing.assert_array_equal((a @ b).numpy(), A @ B)
                    np.testing.assert_array_equal(b.sum(axis=0).numpy(), B.sum(axis=0))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed
