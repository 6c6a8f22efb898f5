"""Distributions: who has which elements, and what moves between devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from separate import separate
from several import FAR, KINDS, A, groups, same

import mdhnp
from mdhnp.arrays.distribution import BlockDistribution
from mdhnp.distributed import exchange, executor, jobs
from mdhnp.runtime import relay, transfers
from mdhnp.runtime.devices import devices, find_device, find_target
from mdhnp.runtime.groups import Group, group
from mdhnp.runtime.handle import Device


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


def test_a_grid_in_another_shape_is_distributed_anew() -> None:
    """It was taken for blocks, since each device has as many elements; it has a part of each row."""
    where = group([separate.__wrapped__(find_device("cpu")) for _ in range(4)])
    x = np.arange(16 * 16)
    a = mdhnp.distribute(x.reshape(16, 16), axis=(0, 1), devices=where, weights=(1,) * 4).reshape(-1)
    b = mdhnp.distribute(a)
    assert _moved(lambda: mdhnp.distribute(b)) == 0
    assert [part.shape for part in b.parts] == [(64,)] * 4
    np.testing.assert_array_equal(b.numpy(), x)


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


def test_what_several_devices_take_is_read_once(cut_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    where = group([separate.__wrapped__(find_device("cpu")) for _ in range(3)])
    x, y = np.random.default_rng(7).integers(-9, 9, (2, 21, 21))
    a, b = (mdhnp.distribute(v, devices=where, weights=(1, 1, 1)) for v in (x, y))
    reads, writes = list[Device](), list[Device]()

    class Piece(relay.Piece):
        def __init__(self, device: Device, *given: Any) -> None:
            reads.append(device)
            super().__init__(device, *given)

        def write(self, device: Device, *given: Any) -> None:
            writes.append(device)
            super().write(device, *given)

    monkeypatch.setattr(relay, "Piece", Piece)
    for _ in range(2):
        np.testing.assert_array_equal((a @ b).numpy(), x @ y)
        assert ({*reads}, len(reads), len(writes)) == ({*where.members}, 3, 6)
        reads.clear()
        writes.clear()


@pytest.mark.parametrize("mode", ["constant", "nearest", "reflect", "mirror", "wrap"])
def test_steps_of_an_iteration_exchange_halos_only(
    mode: Any, cut_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, weights = groups()["apart"](), np.array([[0, 1], [2, 0], [0, 1], [1, 0]])
    x = np.random.default_rng(1).integers(-3, 4, (19, 6))
    joined: list[int] = []
    copies = exchange._copies
    monkeypatch.setattr(exchange, "_copies", lambda one: joined.extend([1] * (one.route.holder is None)) or copies(one))
    a = mdhnp.distribute(x, devices=where, weights=(1, 1))
    for n in range(5):
        x = mdhnp.stencil(x, weights, mode).copy()
        joined.clear()
        with exchange.watched() as seen:
            a = mdhnp.stencil(a, weights, mode)
        assert sum(e.nbytes for e in seen) == (2 if mode == "wrap" else 1) * 3 * 6 * 8
        assert bool(joined) == (n == 0)  # blocks at first, then results have room
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
    monkeypatch.setattr(jobs, "_describe", lambda *given, do=jobs._describe: described.append(1) or do(*given))
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
