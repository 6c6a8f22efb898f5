"""Several devices: every call gives what one device gives, however its arrays are distributed and its MDHs cut."""

from __future__ import annotations

import operator
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from guards import assert_same_bits
from hypothesis import given, note, settings
from hypothesis import strategies as st
from random_functions import Drawn
from separate import separate
from strategies import case

import mdhnp
from mdhnp.calls.store import forget
from mdhnp.distributed import exchange, plan, run
from mdhnp.distributed.boxes import Box, split
from mdhnp.distributed.choose import ways
from mdhnp.distributed.pays import pays
from mdhnp.distributed.plan import OnSeveral
from mdhnp.mdh import Graph, interpret
from mdhnp.runtime.devices import devices, find_place
from mdhnp.runtime.groups import Group, group, parts_of

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

KINDS = ("block", "copy", "overlap", "single")


def _groups() -> dict[str, Callable[[], Group]]:
    """Devices of unlike runtimes, parts of one CPU, and both kinds of memory side by side."""
    two = [d for d in devices() if d.runtime != "oclgrind"][:2]
    two = two if len(two) == 2 else list(parts_of(two[0], 2))
    shared = next(d for d in two[::-1] if not d.own_memory)  # on the host's memory: of a GPU and a CPU the second
    other = next(d for d in two if d is not shared)
    return {
        "unlike": lambda: group(two),
        "apart": lambda: group([separate(d) for d in two]),
        "mixed": lambda: group([shared, separate(other), separate(shared)]),
    }


@pytest.fixture(params=["unlike", "apart", "mixed"])
def several(request: pytest.FixtureRequest) -> Iterator[Group]:
    with mdhnp.device(_groups()[request.param]()) as found:
        yield found


@pytest.fixture
def pair() -> Iterator[Group]:
    with mdhnp.device(_groups()["unlike"]()) as found:
        yield found


@pytest.fixture
def cut_always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small calls are cut, too: work costs so much that it is shared wherever that can be, among equals."""
    monkeypatch.setattr("mdhnp.distributed.choose._OPERATION", 1e6)
    monkeypatch.setattr(plan, "weights", lambda group: (1.0,) * len(group.members))
    forget()  # plans of the same calls that are not cut
    yield
    forget()


# --------------------------------------------------------------------------------------------------------- boxes


@given(st.data())
def test_boxes_are_split_element_by_element(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 3))
    shape = tuple(data.draw(st.integers(1, 4)) for _ in range(rank))
    strides = tuple(2 * data.draw(st.sampled_from((-7, -4, -2, -1, 0, 1, 2, 3, 5, 12))) for _ in range(rank))
    box = Box(data.draw(st.integers(-5, 5)) * 2, shape, strides, 2)
    low = data.draw(st.integers(-20, 20)) * 2
    high = low + data.draw(st.integers(0, 25)) * 2
    places = np.full(shape, box.start) + sum(
        np.arange(n).reshape([-1 if a == b else 1 for b in range(rank)]) * s
        for a, (n, s) in enumerate(zip(shape, strides, strict=True))
    )
    inside = (places >= low) & (places + 2 <= high)
    seen = np.zeros(shape, int)
    for regions, expected in zip(split(box, [box.whole], low, high), (True, False), strict=True):
        for region in regions:
            key = tuple(slice(*ends) for ends in region)
            seen[key] += 1
            assert (inside[key] == expected).all()
    assert (seen == 1).all()


# --------------------------------------------------------------------------------------------------------- random MDHs


@st.composite
def computed(draw: Any, where: Group, points: int) -> tuple[Any, list[np.ndarray[Any, Any]], list[mdhnp.Array]]:
    """A random MDH, its arrays, and these as Arrays that are distributed at random."""
    one = case(Drawn(draw), points)
    arrays = []
    for a in one.arrays:
        kind, axis = draw(st.sampled_from(KINDS)), draw(st.integers(0, max(a.ndim - 1, 0)))
        shares = draw(st.lists(st.integers(0, 3), min_size=len(where.members), max_size=len(where.members)).filter(any))
        arrays.append(mdhnp.distribute(a, kind, axis, devices=where, weights=shares, halo=draw(st.integers(0, 2))))
    note(f"{one.mdhom}\n  extents {one.mdhom.extents}, {[str(a.distribution) for a in arrays]}")
    return one.mdhom, list(one.arrays), arrays


def _check_random(data: st.DataObject, where: Group, points: int) -> None:
    h, arrays, given_ = data.draw(computed(where, points))

    def chosen(h: Any, operands: Any, weights: Any) -> Any:
        found = list(ways(h, operands, weights))
        one = found[data.draw(st.integers(0, len(found) - 1), label="way")]
        note(f"  cut {None if one.cut is None else (one.cut.dim, [p.mdhom.extents for p in one.cut.parts])}")
        return one

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "choose", chosen)
        found = OnSeveral(where, Graph.of(h), "test", mdhnp.config.mode).run([a._view for a in given_])
    expected = interpret(h, *arrays)
    for n, (view, want) in enumerate(zip(found, expected if type(expected) is tuple else (expected,), strict=True)):
        assert_same_bits(np.asarray(where.memory.download(where, view)), np.asarray(want), f"output {n}")


@settings(max_examples=12)
@given(st.data())
def test_random_cuts_of_random_mdhs_on_devices(data: st.DataObject) -> None:
    names = sorted(_groups())
    _check_random(data, _groups()[data.draw(st.sampled_from(names))](), 300)


@settings(max_examples=150)
@given(st.data())
def test_random_cuts_of_random_mdhs_by_definition(data: st.DataObject) -> None:
    def by_definition(self: plan.Kernel, device: Device, arrays: Any) -> tuple[mdhnp.Array, ...]:
        plain = [np.asarray(mdhnp.arrays.array.make(a, device).numpy()) for a in arrays]
        found = interpret(self.mdhom, *plain)
        return tuple([mdhnp.asarray(f, device=device) for f in (found if type(found) is tuple else (found,))])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan.Kernel, "__call__", by_definition)
        _check_random(data, _groups()[data.draw(st.sampled_from(["unlike", "mixed"]))](), 400)


# --------------------------------------------------------------------------------------------------------- every call

RNG = np.random.default_rng(5)
A, B = RNG.integers(-9, 9, (13, 7)), RNG.integers(-9, 9, (7, 11))
F, G = RNG.standard_normal((13, 7)), RNG.standard_normal((7, 11)).astype("f4")

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "matmul": (mdhnp.matmul, (A, B)),
    "matmul of floats": (operator.matmul, (F, G)),
    "matmul of a stack": (mdhnp.matmul, (A[:12].reshape(3, 4, 7), B)),
    "einsum": (lambda a, b: mdhnp.einsum("ij,jk->ki", a, b), (A, B)),
    "einsum of three": (lambda a, b: mdhnp.einsum("ij,jk,ij->k", a, b, a), (A, B)),
    "a trace": (lambda a: mdhnp.einsum("ii", a[:7]), (A,)),
    "tensordot": (lambda a, b: mdhnp.tensordot(a, b, axes=(1, 0)), (A, B)),
    "dot": (lambda a: mdhnp.dot(a[0], a[1]), (A,)),
    "vecdot": (lambda a: mdhnp.vecdot(a, a[::-1]), (A,)),
    "gemv": (lambda a, b: mdhnp.gemv(a, b[0]), (F, F)),
    "add": (operator.add, (A, A)),
    "broadcast": (lambda a, b: a * b[:, 0], (A, B)),
    "a number": (lambda a: 3 - a, (A,)),
    "of NumPy's": (lambda a: np.maximum(a, 2), (A,)),
    "transposed": (lambda a: a.T + a.T[0], (A,)),
    "turned": (lambda a: a[::-2] + 1, (A,)),
    "exp": (mdhnp.exp, (F,)),
    "where": (lambda a: mdhnp.where(a > 0, a, -a), (F,)),
    "astype": (lambda a: a.astype("f4"), (A,)),
    "complex": (lambda a: ((a + 2j * a) @ a.T).imag, (A,)),
    "sum": (mdhnp.sum, (A,)),
    "sum along the first": (lambda a: a.sum(axis=0), (A,)),
    "sum along the last": (lambda a: a.sum(axis=1), (A,)),
    "sum of float16": (lambda a: a.astype("f2").sum(axis=0), (A,)),
    "max": (lambda a: a.max(axis=0), (A,)),
    "argmax": (lambda a: mdhnp.argmax(a, axis=0), (A,)),
    "mean": (lambda a: mdhnp.mean(a, axis=0), (A,)),
    "var": (lambda a: mdhnp.var(a, axis=1), (F,)),
    "any": (lambda a: mdhnp.any(a > 7), (A,)),
    "cumulative sum": (lambda a: mdhnp.cumulative_sum(a, axis=0), (A,)),
    "cumulative sum, flat": (lambda a: a.cumsum(), (A,)),
    "cumulative product": (lambda a: mdhnp.cumulative_prod(a[:, :2], axis=1), (A,)),
    "stencil": (lambda a: mdhnp.stencil(a, np.ones((3, 3))), (A,)),
    "stencil that wraps": (lambda a: mdhnp.stencil(a, np.arange(15.0).reshape(5, 3), "wrap"), (A,)),
    "stencil of a function": (lambda a: mdhnp.stencil(a, _neighbours, "mirror"), (A,)),
    "reshape": (lambda a: mdhnp.reshape(a, (7, 13)) + 1, (A,)),
    "concat": (lambda a: mdhnp.concat([a, a[::-1]], axis=0), (A,)),
    "stack": (lambda a: mdhnp.stack([a, a + 1], axis=1), (A,)),
    "pad": (lambda a: mdhnp.pad(a, 2, mode="edge"), (A,)),
    "tril": (mdhnp.tril, (A,)),
    "assignment": (lambda a: _assigned(a), (A,)),  # noqa: PLW0108 (it stands below)
    "out": (lambda a, b: np.matmul(a, b, out=mdhnp.zeros((13, 11), dtype=a.dtype, device=a.device)), (A, B)),
    "copy": (lambda a: a.copy(), (A,)),
    "nothing": (lambda a: a[:0] @ a.T, (A,)),
    "nothing summed": (lambda a: a[:, :0].sum(axis=1), (A,)),
    "one element": (lambda a: a[:1, :1] + a[0, 0], (A,)),
    "md_hom": (lambda a, b: _SHORTEST(a, b), (A, B)),  # noqa: PLW0108
    "allpairs": (lambda a: mdhnp.skeletons.allpairs("add", lambda x, y: abs(x - y))(a, a.T), (A,)),
    "fused": (lambda a: _SOFTMAX(a), (F,)),  # noqa: PLW0108
}


def _same(found: Any, expected: Any) -> None:
    for one, other in zip(*[x if type(x) is tuple else (x,) for x in (found, expected)], strict=True):
        got, want = (x.numpy() if type(x) is mdhnp.Array else np.asarray(x) for x in (one, other))
        assert (type(one), got.shape, got.dtype) == (type(other), want.shape, want.dtype)
        if got.dtype.kind in "fc":
            near = 64 * np.finfo(got.dtype).eps
            np.testing.assert_allclose(got, want, rtol=near, atol=near * max(np.abs(want).max(initial=0), 1))
        else:
            np.testing.assert_array_equal(got, want)


def _neighbours(n: Any) -> Any:
    return n[-1, 0] - 2 * n[0, 2] + n[3, 0]


def _assigned(a: Any) -> Any:
    a = a.copy()
    a[2:9:3, 1:] = a[:3, 0:1]
    a[:, 0] += 5
    a[a > 7] = 0
    return a


_SHORTEST = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")
_SOFTMAX = mdhnp.fuse(lambda x: np.exp(x - x.max(axis=1, keepdims=True)) / np.exp(x).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_every_call_gives_what_one_device_gives(name: str, kind: str, pair: Group, cut_always: None) -> None:
    function, given_ = CALLS[name]
    with mdhnp.device(pair.members[0]):
        expected = function(*[mdhnp.asarray(a) for a in given_])
    with mdhnp.config(host="auto"):  # NumPy computes parts that it can, without compiling
        for axis in (0, 1):
            _same(function(*[mdhnp.distribute(a, kind, axis) for a in given_]), expected)


def test_calls_on_memory_apart(several: Group, cut_always: None) -> None:
    for name in (
        "matmul",
        "sum along the first",
        "cumulative sum",
        "stencil that wraps",
        "assignment",
        "concat",
        "out",
    ):
        function, given_ = CALLS[name]
        with mdhnp.device(several.members[0]):
            expected = function(*[mdhnp.asarray(a) for a in given_])
        for kind in ("block", "overlap"):
            _same(function(*[mdhnp.distribute(a, kind) for a in given_]), expected)


def test_views_are_those_of_numpy(several: Group) -> None:
    a = mdhnp.asarray(A)
    for key in ((slice(2, 9, 3), None, 1), (Ellipsis, slice(None, None, -1)), (slice(0, 0),), 3):
        assert (a[key].shape, a[key].strides) == (A[key].shape, A[key].strides)
        np.testing.assert_array_equal(a[key].numpy(), A[key])
    wide = mdhnp.broadcast_to(a[0], (5, 7))
    np.testing.assert_array_equal(wide.numpy(), np.broadcast_to(A[0], (5, 7)))
    with pytest.raises(ValueError, match="read-only"):
        wide[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        wide[1:][0] = 1
    assert mdhnp.asarray(A[:0]).strides == A[:0].strides


def test_arrays_of_one_device_and_ndarrays_beside(several: Group) -> None:
    a, b = mdhnp.distribute(A), mdhnp.asarray(B, device=several.members[1])
    for first, second in ((a, b), (a, B), (A, mdhnp.distribute(B, "copy"))):
        np.testing.assert_array_equal(np.asarray((first @ second).numpy()), A @ B)


HOST: dict[str, Callable[[], Any]] = {
    "matmul": lambda: mdhnp.matmul(A, B),
    "reduction": lambda: mdhnp.sum(A, axis=0),
    "scan": lambda: mdhnp.cumulative_sum(A, axis=0),
    "stencil": lambda: mdhnp.stencil(A, np.ones((3, 3)), "wrap"),
    "fused": lambda: _SOFTMAX(F),
    "md_hom": lambda: _SHORTEST(A, B),
    "prl": lambda: tuple(mdhnp.prl({"x": A[:, 0], "y": A[:, 1]}, {"x": A[::-1, 0], "y": A[::-1, 1]}, m=0.9)),
}


@pytest.mark.parametrize("name", HOST)
def test_ndarrays_in_and_out(name: str, several: Group, cut_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdhnp.distributed.made.pays", lambda graph, group: True)
    used = []
    monkeypatch.setattr(run, "on_all", lambda devices, jobs, do=run.on_all: used.extend(devices) or do(devices, jobs))
    found = HOST[name]()
    assert len(set(used)) > 1
    with mdhnp.device(several.members[0]):
        _same(found, HOST[name]())


def test_ndarrays_are_left_to_one_device_where_that_is_sooner(pair: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan.OnSeveral, "run", None)
    np.testing.assert_array_equal(mdhnp.matmul(A[:5], B), A[:5] @ B)


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


def test_distributions_are_shown(cut_always: None) -> None:
    where = find_place("cpu/2")
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
    apart = _groups()["apart"]()
    seen = mdhnp.explain(lambda x: x.sum(axis=0), mdhnp.distribute(np.ones((6, 4)), devices=apart, weights=(1, 1)))
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
def test_fewer_elements_than_devices(several: Group, cut_always: None, kind: str) -> None:
    for shape in ((), (0,), (1,), (2,), (1, 5), (0, 3), (3, 0)):
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        a = mdhnp.distribute(x, kind)
        assert a.distribution is not None
        for compute in (lambda v: v + 1, lambda v: v.sum(), lambda v: v[..., None] * 2, lambda v: v.T.copy()):
            _same(compute(a).numpy(), np.asarray(compute(x)))
        assert sum(p.size for p in a.parts) in (x.size, x.size * len(several.members))


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


# --------------------------------------------------------------------------------------------------------- failures


def _broken(device: Device, monkeypatch: pytest.MonkeyPatch, fail: Callable[[], None]) -> None:
    """Kernels fail on a device."""
    compute = plan.Kernel.__call__

    def call(self: plan.Kernel, where: Device, arrays: Any) -> Any:
        if where is device:
            fail()
        return compute(self, where, arrays)

    monkeypatch.setattr(plan.Kernel, "__call__", call)


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

    for how, error in ((fail, RuntimeError), (full, MemoryError)):
        with monkeypatch.context() as patch:
            _broken(device, patch, how)
            with pytest.raises(error, match=rf"\({device.runtime}\).*no (power|room)"):
                np.sin(a) + a
    _same((a + a).numpy(), A + A)  # nothing hangs


def test_ctrl_c(pair: Group, cut_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    a = mdhnp.distribute(A, weights=(1, 1))
    done = threading.Event()

    def interrupt() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        done.wait(20)

    with monkeypatch.context() as patch:
        _broken(pair.members[1], patch, interrupt)
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            a + a
        assert time.monotonic() - begin < 15
        done.set()
    _same((a + a).numpy(), A + A)


def test_a_forked_child_is_told() -> None:
    code = """
import os, numpy as np, mdhnp
with mdhnp.device("cpu/2"):
    a = mdhnp.distribute(np.ones((1000, 1000)))
    (a @ a).numpy()
child = os.fork()
if not child:
    try:
        a @ a
    except (mdhnp.NoDeviceError, RuntimeError) as error:
        os._exit(7 if "forked" in str(error) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_threads_share_distributed_arrays(pair: Group, cut_always: None) -> None:
    a, b = mdhnp.distribute(A), mdhnp.distribute(B, "overlap")
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                with mdhnp.device(pair):
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


def test_ndarrays_are_cut_where_kernels_take_long() -> None:
    where = group([separate(d) for d in find_place("cpu/2").members])
    a = np.empty((2048, 2048), np.float32)
    assert pays(Graph.of(_SHORTEST.bind(a, a)), where)
    sums = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc}, "a[i,j], b[i,j] -> c[i,j]").bind(a, a)
    assert not pays(Graph.of(sums), where)
