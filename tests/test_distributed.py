"""Calls on several devices give what one device gives, however arrays are distributed and MDHs cut."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from guards import assert_same_bits
from hypothesis import given, note, settings
from hypothesis import strategies as st
from random_functions import Drawn, Seeded
from rows import random_rows
from separate import separate
from several import KINDS, A, B, F, G, groups, machine, same
from strategies import case

import mdhnp
from mdhnp.calls.observe import observe
from mdhnp.distributed import exchange, executor, jobs, machines, threads
from mdhnp.distributed.choose import grids, lines
from mdhnp.distributed.executor import Distributed
from mdhnp.distributed.machines import pays
from mdhnp.mdh import Graph, Rows, interpret
from mdhnp.runtime.devices import find_target
from mdhnp.runtime.groups import Group, group

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

# ---------------------------------------------------------------------------------------------------------- random MDHs


@st.composite
def computed(draw: Any, where: Group, points: int) -> tuple[Any, list[np.ndarray[Any, Any]], list[mdhnp.Array]]:
    """A random MDH, its arrays, and these as Arrays that are distributed at random."""
    one = case(Drawn(draw), points, in_ring=draw(st.booleans()))
    arrays = []
    for a in one.arrays:
        kind, axis = draw(st.sampled_from(KINDS)), draw(st.integers(0, max(a.ndim - 1, 0)))
        shares = draw(st.lists(st.integers(0, 3), min_size=len(where.members), max_size=len(where.members)).filter(any))
        arrays.append(mdhnp.distribute(a, kind, axis, devices=where, weights=shares, halo=draw(st.integers(0, 2))))
    note(f"{one.mdhom}\n  extents {one.mdhom.extents}, {[str(a.distribution) for a in arrays]}")
    return one.mdhom, list(one.arrays), arrays


def _check_random(data: st.DataObject, where: Group, points: int) -> None:
    h, arrays, given_ = data.draw(computed(where, points))

    def chosen(h: Any, *what: Any) -> Any:
        found = [*lines(h, *what), *grids(h, *what)]
        one = found[data.draw(st.integers(0, len(found) - 1), label="way")]
        note(f"  cut {one.partition.dims}, {[[t.mdhom.extents for t in stage] for stage in one.partition.stages]}")
        return one

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "choose", chosen)
        found = Distributed(where, Graph.of(h), "test", mdhnp.config.mode).run([a._view for a in given_])
    expected = interpret(h, *arrays)
    for n, (view, want) in enumerate(zip(found, expected if type(expected) is tuple else (expected,), strict=True)):
        assert_same_bits(np.asarray(where.memory.download(where, view)), np.asarray(want), f"output {n}")


@settings(max_examples=12)
@given(st.data())
def test_random_cuts_of_random_mdhs_on_devices(data: st.DataObject) -> None:
    names = sorted(groups())
    _check_random(data, groups()[data.draw(st.sampled_from(names))](), 300)


@settings(max_examples=150)
@given(st.data())
def test_random_cuts_of_random_mdhs_by_definition(data: st.DataObject) -> None:
    def by_definition(self: jobs.DeviceCall, device: Device, arrays: Any, into: Any = None) -> tuple[mdhnp.Array, ...]:
        plain = [np.asarray(mdhnp.arrays.array.make(a, device).numpy()) for a in arrays]
        found = interpret(self.mdhom, *plain)
        if into is not None:
            mdhnp.arrays.array.make(into, device)[...] = found
        return tuple([mdhnp.asarray(f, device=device) for f in (found if type(found) is tuple else (found,))])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs.DeviceCall, "__call__", by_definition)
        _check_random(data, groups()[data.draw(st.sampled_from(["unlike", "mixed"]))](), 400)


# ----------------------------------------------------------------------------------------------------------- every call

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
    "text of rows": (lambda a, b: _WALKED(a, b), (A, B)),  # noqa: PLW0108
    "fused": (lambda a: _SOFTMAX(a), (F,)),  # noqa: PLW0108
    "fused list": (lambda *x: _PRODUCTS(*x), (A, A + 1, A + 2, A - 3)),  # noqa: PLW0108
}


def _neighbours(n: Any) -> Any:
    return n[-1, 0] - 2 * n[0, 2] + n[3, 0]


def _assigned(a: Any) -> Any:
    a = a.copy()
    a[2:9:3, 1:] = a[:3, 0:1]
    a[:, 0] += 5
    a[a > 7] = 0
    return a


_SHORTEST = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")
_WALKED = mdhnp.skeletons.allpairs("""
    long f(const global long *row, int d, int across, const global long *column, int e, int down) {
        long value = 0;
        for (int k = 0; k < d; ++k)
            value = 2 * value + row[k * across] * column[k * down];
        return value;
    }""")
_PRODUCTS = mdhnp.fuse(lambda *x: (*[a.T @ a for a in x], *[x[0][n : n + 4].sum() for n in (0, 4, 8)]))
_SOFTMAX = mdhnp.fuse(lambda x: np.exp(x - x.max(axis=1, keepdims=True)) / np.exp(x).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_every_call_gives_what_one_device_gives(name: str, kind: str, pair: Group, cut_always: None) -> None:
    function, given_ = CALLS[name]
    with mdhnp.device(pair.members[0]):
        expected = function(*[mdhnp.asarray(a) for a in given_])
    with mdhnp.config(host="auto"):  # NumPy computes parts that it can, without compiling
        for axis in (0, 1):
            same(function(*[mdhnp.distribute(a, kind, axis) for a in given_]), expected)


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
            same(function(*[mdhnp.distribute(a, kind) for a in given_]), expected)


# ----------------------------------------------------------------------------------------------------------------- rows


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _normed(x: Any, scale: Any, shift: Any) -> Any:
    around = x - x.mean(axis=1, keepdims=True)
    return around / np.sqrt((around * around).mean(axis=1, keepdims=True) + 1e-5) * scale + shift


_WIDE = np.random.default_rng(6).standard_normal((96, 40)).astype("f4")
ROWS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax": (_softmax, (_WIDE,)),
    "softmax of planes": (_softmax, (_WIDE.reshape(2, 48, 40),)),
    "layer norm": (_normed, (_WIDE, _WIDE[0], _WIDE[1])),
    "logarithms of sums": (lambda x: np.log(np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1)), (_WIDE,)),
    "a batch": (lambda x: _softmax(x.reshape(96, 2, 20)), (_WIDE,)),
    "largest differences": (lambda x, y: np.abs(x - x.mean(axis=1, keepdims=True) - y).max(axis=1), (_WIDE, 2 * _WIDE)),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_device_computes_its_rows_by_one_kernel(name: str, several: Group, cut_always: None) -> None:
    function, arrays = mdhnp.fuse(ROWS[name][0]), ROWS[name][1]
    with mdhnp.device(several.members[0]):
        expected = function(*[mdhnp.asarray(a) for a in arrays])
    axis = int(name == "softmax of planes")
    even = [1] * len(several.members)
    given_ = [mdhnp.distribute(a, "block" if a.ndim > 1 else "copy", axis * (a.ndim > 1), weights=even) for a in arrays]
    with observe() as seen, exchange.watched() as moved:
        found = function(*given_)
    same(found, expected)
    assert found.distribution.axes == (axis,)
    plans = [plan for plan, _ in seen]
    assert {plan.devices for plan in plans} == {(device,) for device in several.members}
    assert [len(plan.program.kernels) for plan in plans] == [1] * len(several.members)
    assert not moved
    assert mdhnp.explain(function, *given_).summary.count("kernels ") == len(several.members)


def test_rows_that_lie_in_several_pieces_are_computed_mdh_by_mdh(
    several: Group, cut_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = mdhnp.fuse(_softmax)
    far = machine(operation=1e3, byte=1e3, asking=1e-3, moving=1e5, handing=1e-3)
    monkeypatch.setattr(executor, "machines", lambda group: (far,) * len(group.members))
    for x, axis in ((_WIDE, 1), (_WIDE[: len(several.members)], 0)):  # or only one on each device
        with mdhnp.device(several.members[0]):
            expected = function(mdhnp.asarray(x))
        with observe() as seen:
            same(function(mdhnp.distribute(x, axis=axis)), expected)
        assert Rows not in {type(plan.mdhom) for plan, _ in seen}


@pytest.mark.parametrize("seed", range(30))
def test_random_rows_on_devices(seed: int, cut_always: None) -> None:
    p = Seeded(seed)
    where = groups()[p.choice(sorted(groups()))]()
    h, arrays = random_rows(p, 9, in_ring=seed % 2 > 0)
    given_ = [mdhnp.distribute(a, p.choice(KINDS), p.integer(0, a.ndim - 1), devices=where) for a in arrays]
    found = Distributed(where, executor.steps_of(Graph.of(h)), "test", mdhnp.config.mode).run([a._view for a in given_])
    expected = interpret(h, *arrays)
    for n, (view, want) in enumerate(zip(found, expected if type(expected) is tuple else (expected,), strict=True)):
        assert_same_bits(np.asarray(where.memory.download(where, view)), np.asarray(want), f"output {n}")


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
    monkeypatch.setattr("mdhnp.distributed.executor.pays", lambda graph, group: True)
    used = []
    monkeypatch.setattr(
        threads, "on_all", lambda devices, jobs, do=threads.on_all: used.extend(devices) or do(devices, jobs)
    )
    found = HOST[name]()
    assert len(set(used)) > 1
    with mdhnp.device(several.members[0]):
        same(found, HOST[name]())


def test_ndarrays_are_left_to_one_device_where_that_is_sooner(pair: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor.Distributed, "run", None)
    np.testing.assert_array_equal(mdhnp.matmul(A[:5], B), A[:5] @ B)


def test_ndarrays_are_cut_where_kernels_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "_handing", lambda group: 1e-4)  # not measured: others may use the machine
    where = group([separate(d) for d in find_target("cpu/2").members])
    a = np.empty((2048, 2048), np.float32)
    assert pays(Graph.of(_SHORTEST.bind(a, a)), where)
    sums = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc}, "a[i,j], b[i,j] -> c[i,j]").bind(a, a)
    assert not pays(Graph.of(sums), where)


def test_what_handing_over_takes_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    where = group([separate(d) for d in find_target("cpu/2").members])
    a = np.empty((2048, 2048), np.float32)
    handed: list[int] = []

    def watched(devices: Any, jobs: Any, do: Any = threads.in_turn) -> Any:
        handed.append(len(jobs))
        return do(devices, jobs)

    monkeypatch.setattr(machines, "_handing", cache(machines._handing.__wrapped__))
    monkeypatch.setattr(machines, "_RUNS", 1)
    monkeypatch.setattr(machines, "median", lambda times: 3.0)
    monkeypatch.setattr(threads, "in_turn", watched)
    for _ in range(2):
        assert not pays(Graph.of(_SHORTEST.bind(a, a)), where)
    assert handed == [2]
