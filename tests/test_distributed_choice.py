"""Tests of how a call's work is shared among devices: what is cut, where, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from several import groups, machine

import mdhnp
from mdhnp.calls.store import forget
from mdhnp.distributed import exchange, executor
from mdhnp.distributed.choose import Operand, choose
from mdhnp.distributed.spans import NOTHING, StridedBox, stretch


def test_a_cut_follows_inputs_that_some_devices_have_nothing_of() -> None:
    a, row = np.empty((1000, 1000)), 8000
    negative = mdhnp.md_hom(np.negative, {"i": mdhnp.cc, "j": mdhnp.cc}, "a[i,j] -> b[i,j]").bind(a)
    usual = machine(operation=1e-12, byte=2e-11, asking=4e-5, moving=5e-11, handing=0.0)
    spans = (stretch(0, 300 * row), NOTHING, stretch(300 * row, 1000 * row))
    found = choose(negative, [Operand(StridedBox(0, a.shape, a.strides, 8), spans, spans)], (1, 1, 1), (usual,) * 3)
    assert (found.devices, [task.writes[0][0].stop for task in found.partition.tasks]) == ((0, 2), [300, 1000])


def test_a_boundary_that_wraps_costs_what_is_read_of_the_other_end() -> None:
    step = mdhnp.md_hom(lambda x, y: x + y, {"i": mdhnp.cc}, "x[i-2], x[i+1] -> y[i]", boundary={"x": "wrap"})
    h, ends = step.bind(np.zeros(20), i=20), (stretch(0, 80), stretch(80, 160))
    each = machine(operation=1e3, byte=0.0, asking=0.0, moving=1.0, handing=0.0)
    found = choose(h, [Operand(StridedBox(0, (20,), (8,), 8), ends, ends)], (1, 1), [each] * 2)
    assert found.partition.dims == (0,)
    assert found.price == 2 * (2 + 1) * 8 + 10 * 1e3  # each reads two before its block, and one after it


#: Half of a CPU's, as two threads of one process drive them.
HALF = machine(operation=1e-11, byte=5e-11, asking=4e-5, moving=1e-10, handing=2.5e-4)


def _halves(view: Any, kind: str) -> Operand:
    """Say what two devices have of an array in C order."""
    n = view.span_bytes
    whole = stretch(0, n)
    ends = {"block": (stretch(0, n // 2), stretch(n // 2, n)), "first": (whole, NOTHING), "copy": (whole, whole)}[kind]
    strides = tuple([s * view.dtype.itemsize for s in view.strides])
    return Operand(StridedBox(0, view.shape, strides, view.dtype.itemsize), ends, ends)


_SQUARES = {
    "map": (lambda x: 2 * x + 1, "ij", "x[i,j] -> y[i,j]", {}),
    "stencil": (lambda x, y: x + y, "ij", "x[i-1,j], x[i+1,j] -> y[i,j]", {"x": "wrap"}),
    "product": (lambda x, y: x * y, "ikj", "x[i,k], z[k,j] -> y[i,j]", {}),
    "sum": (lambda x: x, "ij", "x[i,j] -> y[i]", {}),
    "scan": (lambda x: x, "ij", "x[i,j] -> y[i,j]", {}),
}


@pytest.mark.parametrize(
    ("name", "n", "kind", "cut"),
    [
        ("map", 1024, "block", False),
        ("map", 1024, "copy", False),
        ("map", 1024, "first", False),
        ("map", 4096, "block", True),
        ("map", 4096, "copy", True),
        ("map", 4096, "first", False),  # to move half takes as long as to compute it
        ("map", 1600, "block", True),  # what is in between stays where it is
        ("map", 1600, "first", False),
        ("stencil", 1024, "block", False),
        ("stencil", 1600, "block", True),
        ("stencil", 1600, "first", False),
        ("product", 256, "block", False),
        ("product", 1024, "block", True),
        ("product", 1024, "first", True),
        ("sum", 1024, "block", False),
        ("sum", 4096, "block", True),
        ("scan", 256, "block", False),
        ("scan", 4096, "block", True),
    ],
)
def test_what_takes_less_than_handing_it_over_is_left_to_one_device(name: str, n: int, kind: str, cut: bool) -> None:
    function, dims, views, boundary = _SQUARES[name]
    last = {"product": mdhnp.pw("add"), "sum": mdhnp.pw("add"), "scan": mdhnp.ps("add")}.get(name, mdhnp.cc)
    combine = {d: last if d == ("k" if name == "product" else "j") else mdhnp.cc for d in dims}
    x = np.empty((n, n), np.float32)
    written = mdhnp.md_hom(function, combine, views, boundary=boundary)
    h = written.bind(*[x] * (2 if name == "product" else 1), **({"i": n, "j": n} if boundary else {}))
    operands = [_halves(v, kind) for v in h.inputs]
    assert bool(choose(h, operands, (1, 1), (HALF,) * 2).partition.dims) == cut
    cheap = replace(HALF, handing=0.0)
    assert choose(h, operands, (1, 1), (cheap,) * 2).partition.dims or kind == "first"


def test_each_device_is_handed_its_part_and_of_a_scan_a_total_too() -> None:
    free = machine(operation=0.0, byte=1e3, asking=0.0, moving=0.0, handing=0.0)
    each = tuple([replace(free, handing=seconds) for seconds in (1.0, 2.0, 4.0)])
    x = np.empty(30)
    for kind, handed in ((mdhnp.cc, 7.0), (mdhnp.pw("add"), 7.0), (mdhnp.ps("add"), 7.0 + 3.0)):
        h = mdhnp.md_hom(np.negative, {"i": kind}, f"x[i] -> y[{'' if kind.kind == 'pw' else 'i'}]").bind(x)
        operand = [_thirds(h.inputs[0].dtype.itemsize)]
        found, plain = (choose(h, operand, (1, 1, 1), rates) for rates in (each, (free,) * 3))
        assert (found.devices, found.price - plain.price) == ((0, 1, 2), handed)


def _thirds(itemsize: int) -> Operand:
    ends = tuple([stretch(10 * n * itemsize, 10 * (n + 1) * itemsize) for n in range(3)])
    return Operand(StridedBox(0, (30,), (itemsize,), itemsize), ends, ends)


def test_what_is_small_moves_to_one_device_once(monkeypatch: pytest.MonkeyPatch) -> None:
    where, weights = groups()["apart"](), np.array([[0, 1], [2, 0], [0, 1], [1, 0]])
    x = np.random.default_rng(1).integers(-3, 4, (20, 6))
    a = mdhnp.distribute(x, devices=where, weights=(1, 1))
    monkeypatch.setattr(executor, "machines", lambda group: (HALF,) * 2)
    forget()  # plans of the same calls that are cut
    moved = []
    for _ in range(4):
        x = mdhnp.stencil(x, weights, "wrap").copy()
        with exchange.watched() as seen:
            a = mdhnp.stencil(a, weights, "wrap")
        moved.append(sum(e.nbytes for e in seen))
        np.testing.assert_array_equal(a.numpy(), x)
    assert moved == [10 * 6 * 8, 0, 0, 0]
    forget()
