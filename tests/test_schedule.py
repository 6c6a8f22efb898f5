"""Schedules as data: JSON both ways, and every rule of `check` broken once."""

from __future__ import annotations

import json
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import KERNELS
from random_functions import Drawn
from schedules import CAPS, MATRICES, schedule
from strategies import case

from mdhnp.cost import weights
from mdhnp.mdh import MdHom, canonical, cc, md_hom, ps, pw, stages
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.check import check, local_memory
from mdhnp.schedule.default import default
from mdhnp.schedule.schedule import IllegalSchedule, LocalCopy, Schedule
from mdhnp.schedule.shared import shared


@st.composite
def scheduled(draw: Any) -> tuple[MdHom, Schedule]:
    """A random stage and a legal schedule for it."""
    picker = Drawn(draw)
    h = canonical(stages(case(picker, points=500).mdhom)[0].mdhom)
    return h, schedule(picker, h)


@pytest.mark.parametrize(
    ("shape", "combine"),
    [((100_000,), {"i": pw("add")}), ((17_000,), {"i": pw("max")}), ((1000, 100), {"i": pw("add"), "j": cc}),
     ((25_000, 4), {"i": pw("mul"), "j": cc}), ((2, 50_000), {"i": cc, "j": pw("add")})],
)  # fmt: skip
def test_a_gpu_reduces_up_to_100_000_elements_by_one_kernel(shape: tuple[int, ...], combine: dict[str, Any]) -> None:
    kept = ",".join([name for name, c in combine.items() if c is cc])
    h = md_hom(lambda x: x, combine, f"A[{','.join(combine)}] -> S[{kept}]").bind(np.zeros(shape, np.float32))
    h = canonical(stages(h)[0].mdhom)
    s = default(h, MATRICES)
    check(h, s, MATRICES)
    assert [s.num_wg[d] for d in h.dims("pw")] == [1]
    assert prod(s.num_wi) == 1024


def test_a_gpu_shares_work_that_takes_longer_than_a_launch() -> None:
    for function in (lambda x: np.sin(x) * np.exp(x) + np.log(x), lambda x: x):
        for n in (100_000, 140_000):
            h = md_hom(function, {"i": pw("add")}, "A[i] -> S[]").bind(np.zeros(n, np.float32))
            s = default(canonical(stages(h)[0].mdhom), MATRICES)
            assert (s.num_wg[0] == 1) == (n == 100_000 and len(h.scalar.body) < 4)


@given(scheduled())
def test_json_brings_every_schedule_back(drawn: tuple[MdHom, Schedule]) -> None:
    h, s = drawn
    again = Schedule.from_json(s.to_json())
    assert again == s
    assert hash(again) == hash(s)
    check(h, again, CAPS)


@pytest.mark.parametrize(
    ("filters", "channels", "taps"), [(3, 3, 3), (16, 3, 3), (64, 3, 3), (8, 2, 3), (32, 1, 5), (4, 4, 3), (8, 4, 5)]
)
def test_convolutions_of_few_channels_have_vectors(filters: int, channels: int, taps: int) -> None:
    """All terms times a register tile's rows may be more than can be written out."""
    dims = {d: cc for d in "kpq"} | {d: pw("add") for d in "crs"}
    f = md_hom(np.multiply, dims, "X[c,p+r-1,q+s-1], W[k,c,r,s] -> O[k,p,q]", boundary={"X": "constant"})
    x, w = np.empty((channels, 512, 512), np.float32), np.empty((filters, channels, taps, taps), np.float32)
    s = default(canonical(f.bind(x, w, p=512, q=512)), CAPS)
    assert s.vector_width == 16 and prod(s.private_tile) >= 16 * taps * taps


def _distances(m: Any, x: Any, y: Any, z: Any) -> Any:
    return m.exp(x - y) + m.exp(y - z)


@pytest.mark.parametrize(
    ("function", "accesses", "dim"),
    [
        (lambda x, y, z: _distances(np, x, y, z), [(0, 0), (1, 0), (2, 0)], 0),
        (lambda x, y, z: _distances(np, x, y, z), [(0, 0), (0, 1), (0, 2)], 1),
        (lambda x, y, z: _distances(np, x, y, z), [(0, 0), (2, 0), (4, 0)], 0),
        (lambda x, y, z, w: np.sqrt(np.cos(x) / np.cos(y)) / np.sqrt(np.cos(z) / np.cos(w)),
         [(0, 0), (1, 0), (3, 0), (4, 0)], 0),
        (lambda x, y, z: x / y / z, [(0, 0), (1, 0), (2, 0)], 0),
    ],
)  # fmt: skip
def test_unrolled_points_compute_once_what_they_share(function: Any, accesses: list[tuple[int, int]], dim: int) -> None:
    """Beside all formulas of a tile's points, with the elements that they read, each counted once."""
    views = ", ".join([f"A[i+{a},j+{b}]" for a, b in accesses])
    h = md_hom(function, {"i": cc, "j": cc}, f"{views} -> B[i,j]").bind(np.zeros((70, 70), np.float32), i=60, j=60)
    body, each = h.scalar.body, weights(h.scalar)

    def formula(n: int, i: int, j: int) -> Any:
        step = body[n]
        if step.op == "param":
            return accesses[step.position][0] + i, accesses[step.position][1] + j
        return (step.op, step.literal, *[formula(a, i, j) for a in step.args])

    for p in (1, 2, 3, 7):
        tile = (p, 2) if dim == 0 else (2, p)
        points = [(i, j) for i in range(tile[0]) for j in range(tile[1])]
        once = {formula(n, i, j): weight for n, weight in each.items() for i, j in points}
        again = sum(
            [v.weight * (len(v.places) * 2 * p - v.computed(np.array([tile], float), dim)[0]) for v in shared(h)]
        )
        assert sum(once.values()) == sum(each.values()) * 2 * p - again


def test_json_keeps_the_second_schedule() -> None:
    s = replace(Schedule.plain((3, 4), 1), second=Schedule.plain((2, 3), 1))
    assert Schedule.from_json(s.to_json()).second == Schedule.plain((2, 3), 1)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "1", '{"num_wg":[1]}'])
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Schedule.from_json(text)


def test_unknown_fields_are_refused() -> None:
    fields = json.loads(Schedule.plain((3,), 1).to_json())
    with pytest.raises(ValueError):
        Schedule.from_json(json.dumps({**fields, "colour": 1}))


@pytest.mark.parametrize("name", KERNELS)
def test_named_kernels_are_legal(name: str) -> None:
    KERNELS[name].program()


def _stage(h: MdHom) -> MdHom:
    (stage,) = stages(h)
    return canonical(stage.mdhom)


def _first(a: Any, b: Any) -> Any:
    return np.where(a != 0, a, b)


M = np.ones((7, 9), "f4")
V = np.ones(9, "f4")
GEMM = _stage(
    md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]").bind(M, np.ones((9, 11), "f4"))
)
FINISHED = _stage(
    md_hom(
        lambda a, x, y: a * x, {"i": cc, "k": pw("add")}, "A[i,k], x[k], y[i] -> z[i]", finish=lambda t, a, x, y: t + y
    ).bind(M, V, np.ones(7, "f4"))
)
WIDER = _stage(
    md_hom(np.multiply, {"i": cc, "k": pw("add")}, "A[i,k], x[k] -> z[i]", finish=lambda t, a, x: t.astype("f8")).bind(
        M, V
    )
)
ORDERED = _stage(md_hom(lambda x: x, {"i": cc, "k": pw(_first, commutative=False)}, "A[i,k] -> y[i]").bind(M))
NO_IDENTITY = _stage(md_hom(lambda x: x, {"i": cc, "k": pw(np.fmax)}, "A[i,k] -> y[i]").bind(M))
ROWS = _stage(md_hom(lambda x: x, {"i": cc, "k": pw("add")}, "A[i,k] -> y[i]").bind(np.ones((7, 300), "f4")))
SCAN = _stage(md_hom(lambda x: x, {"i": cc, "k": ps("add")}, "A[i,k] -> y[i,k]").bind(M))
SCAN_NO_IDENTITY = _stage(md_hom(lambda x: x, {"i": cc, "k": ps(np.fmax)}, "A[i,k] -> y[i,k]").bind(M))
STENCIL = _stage(md_hom(np.add, {"i": cc, "j": cc}, "A[i,j], A[i,j+1] -> y[i,j]").bind(M))
DIAGONAL = _stage(md_hom(np.add, {"i": cc, "j": cc}, "A[i,j], A[j,i] -> y[i,j]").bind(np.ones((7, 7), "f4")))
SCALAR = _stage(md_hom(np.add, {"i": cc}, "a[], x[i] -> y[i]").bind(np.float32(1), V))
TEXT = _stage(
    md_hom("float f(float a) { return a; }", {"i": cc}, "x[i] -> y[i]", results=np.float32).bind(np.ones(8, "f4"))
)
DOUBLE = _stage(md_hom(np.add, {"i": cc}, "x[i], y[i] -> z[i]").bind(np.ones(9), np.ones(9)))
MIXED = canonical(md_hom(lambda x: x, {"i": pw("add"), "j": pw("max")}, "A[i,j] -> y[]", nested=True).bind(M))
TWO_ORDERED = canonical(
    md_hom(lambda x: x, {"i": pw(_first, commutative=False), "j": pw(_first, commutative=False)}, "A[j,i] -> y[]").bind(
        M
    )
)
SCAN_AND_SUM = canonical(md_hom(lambda x: x, {"i": ps("add"), "j": pw("add")}, "A[i,j] -> y[i]").bind(M))


def _products(
    views: str, *shapes: tuple[int, ...], scalar: Any = np.multiply, add: str = "add", dtype: str = "f4"
) -> MdHom:
    combine = {"i": cc, "j": cc, "k": pw(add)} | ({"l": pw(add)} if "l" in views else {})
    return _stage(md_hom(scalar, combine, views).bind(*(np.ones(shape, dtype) for shape in shapes)))


_TWO = ((7, 20), (20, 11))
LONG = _products("A[i,k], B[k,j] -> C[i,j]", *_TWO)
ADDED = _products("A[i,k], B[k,j] -> C[i,j]", *_TWO, scalar=np.add)
SHIFTED = _products("A[i,k], B[k,j] -> C[i,j]", *_TWO, scalar=lambda a, b: (a + 1) * b)
LARGEST = _products("A[i,k], B[k,j] -> C[i,j]", *_TWO, add="max")
BESIDE = _products("A[i,j,k], B[k,j] -> C[i,j]", (7, 11, 20), (20, 11))
DOUBLES = _products("A[i,k], B[k,j] -> C[i,j]", *_TWO, dtype="f8")
TWO_SUMS = _products("A[i,k,l], B[l,k,j] -> C[i,j]", (7, 20, 3), (3, 20, 11))
SLIDING = _products("A[i+k], B[k,j] -> C[i,j]", (26,), (20, 11))
EVEN = _products("A[i+k], B[k,j] -> C[i,j]", (30,), (24, 11))
WRAPPED = _stage(
    md_hom(np.multiply, {"i": cc, "k": pw("add")}, "x[i+k-1], w[k] -> y[i]", boundary={"x": "wrap"}).bind(V, V[:5], i=9)
)

REGISTERS: dict[str, Any] = {"results": "private", "local_tile": (1, 9)}
#: A legal schedule of a matrix instruction, and its device.
ATOM: dict[str, Any] = dict(
    num_wg=(1, 2, 1), num_wi=(8, 4, 1), local_tile=(7, 8, 8), private_tile=(2, 2, 8), vector_dim=1, vector_width=2,
    results="private", local_copies=(LocalCopy((0, 1)),) * 2, stages=2, atom="3xtf32", atom_dims=(0, 1, 2),
    combine_on="local",
)  # fmt: skip
HAS: dict[str, Any] = {"atoms": tuple(ATOMS)}
#: The same with another sum.
_TWICE = ATOM | dict(
    num_wg=(1, 2, 1, 1), num_wi=(8, 4, 1, 1), local_tile=(7, 8, 8, 3), private_tile=(2, 2, 8, 1),
    local_copies=(LocalCopy((0, 1, 2)),) * 2,
)  # fmt: skip
_AHEAD: dict[str, Any] = dict(results="private", local_tile=(1, 1, 4), local_copies=(LocalCopy((0, 1)), None), stages=2)
#: What some of the rules below are broken in.
STAGED = [
    (LONG, _AHEAD), (LONG, ATOM), (LONG, ATOM | {"num_wg": (1, 2, 2)}), (TWO_SUMS, _TWICE),
    (DOUBLES, ATOM | {"atom": "f64 of 16 rows", "combine_on": "global"}),
    (EVEN, ATOM | {"local_copies": (LocalCopy((0,)), LocalCopy((0, 1)))}),
]  # fmt: skip

#: Rule, MDH, what of the plain schedule breaks it, what of the device.
BROKEN: list[tuple[str, MdHom, dict[str, Any], dict[str, Any]]] = [
    ("num_wg: 2 values for 3", GEMM, {"num_wg": (1, 1)}, {}),
    ("num_wi: all must be at least 1", GEMM, {"num_wi": (1, 0, 1)}, {}),
    ("local_tile: all must be at least 1", GEMM, {"local_tile": (0, 1, 1)}, {}),
    ("private_tile: all must be at least 1", GEMM, {"private_tile": (1, 1, -1)}, {}),
    *((f"{o}: must be a permutation", GEMM, {o: (0, 1, 1)}, {}) for o in (
        "global_order", "local_order", "private_order", "group_order", "item_order")),
    ("local_copies: one for each of 2", GEMM, {"local_copies": (None,)}, {}),
    ("private_copies: one for each of 2", GEMM, {"private_copies": (True, True, True)}, {}),
    ("results: 'registers' is none", GEMM, {"results": "registers"}, {}),
    ("combine_on: 'private' is none", GEMM, {"combine_on": "private"}, {}),
    ("local_tile: 8 in dimension 0 of extent 7", GEMM, {"local_tile": (8, 11, 9)}, {}),
    ("num_wg: 2 work-groups in dimension 0, some without", GEMM, {"num_wg": (2, 1, 1)}, {}),
    ("num_wg: 4 work-groups in dimension 2, some without", GEMM, {"num_wg": (1, 1, 4), "local_tile": (7, 11, 2)}, {}),
    ("private_tile: larger than the local tile", GEMM,
     {"num_wi": (2, 1, 1), "private_tile": (4, 1, 1), "local_tile": (3, 11, 9)}, {}),
    ("local_tile: not a multiple", GEMM, {"num_wi": (2, 1, 1), "local_tile": (3, 11, 9)}, {}),
    ("num_wi: 14 work-items, the device allows 8", GEMM, {"num_wi": (7, 2, 1)}, {"max_work_group": 8}),
    ("private_tile: 693 points to unroll", GEMM, {"private_tile": (7, 11, 9)}, {}),
    ("vector_width: 3 is none", GEMM, {"vector_dim": 1, "vector_width": 3}, {}),
    ("vector_dim: -1 is no dimension", GEMM, {"vector_width": 4}, {}),
    ("private_tile: no multiple of the vector width", GEMM,
     {"vector_dim": 1, "vector_width": 4, "private_tile": (1, 6, 1)}, {}),
    ("vector_width: OpenCL C text", TEXT, {"vector_dim": 0, "vector_width": 4, "private_tile": (4,)}, {}),
    ("vector_dim: a scanned dimension", SCAN,
     {"vector_dim": 1, "vector_width": 2, "private_tile": (1, 2), "local_tile": (1, 9)}, {}),
    ("vector_dim: an operator that does not commute", ORDERED,
     {"vector_dim": 1, "vector_width": 2, "private_tile": (1, 2)}, {}),
    ("vector_dim: an operator without identity", NO_IDENTITY,
     {"vector_dim": 1, "vector_width": 2, "private_tile": (1, 2)}, {}),
    ("local_copies: input 0 is one element", SCALAR, {"local_copies": (LocalCopy(()), None)}, {}),
    ("local_copies: input 0 needs an order", GEMM, {"local_copies": (LocalCopy((0, 0)), None)}, {}),
    ("local_copies: the accesses of input 0 move differently", DIAGONAL, {"local_copies": (LocalCopy((0, 1)),)}, {}),
    ("local_copies: input 0 blocks an axis twice", GEMM, {"local_copies": (LocalCopy((0, 1), (0, 0)), None)}, {}),
    ("local_copies: axis 1 of input 0 is not indexed by one", STENCIL,
     {"local_copies": (LocalCopy((0, 1), (1,)),)}, {}),
    ("local_copies: axis 1 of input 0 can be blocked for one", GEMM,
     {"local_copies": (LocalCopy((0, 1), (1,)), None)}, {}),
    ("local_copies: axis 0 of input 0 can be blocked for one", GEMM,
     {"local_copies": (LocalCopy((0, 1), (0,)), None), "num_wi": (7, 1, 1)}, {}),
    ("local_copies: inputs read at the end", FINISHED, {"local_copies": (None, None, LocalCopy((0,)))}, {}),
    ("global_order: combined dimensions must be innermost", GEMM,
     {"results": "local", "global_order": (2, 0, 1), "local_tile": (7, 11, 3)}, {}),
    ("results: kept in registers, so dimension 0", GEMM, {"results": "private", "local_tile": (7, 1, 9)}, {}),
    ("combine_on: work-items share results", GEMM, {"num_wi": (1, 1, 3)}, {}),
    ("results: cannot wait in the output where they are finished", FINISHED, {"local_tile": (7, 3)}, {}),
    ("results: cannot wait in the output where they are finished", WIDER, {"local_tile": (7, 3)}, {}),
    ("results: an operator without identity", NO_IDENTITY, {"local_tile": (7, 3)}, {}),
    ("local_tile: dimension 1 is combined in order", ORDERED, {"num_wi": (1, 3), "combine_on": "local"}, {}),
    ("combine_on: dimension 1 is combined in order", ORDERED, REGISTERS | {"num_wi": (1, 3), "local_tile": (1, 3)}, {}),
    ("num_wi: scanning with several work-items", SCAN_NO_IDENTITY, {"num_wi": (1, 3), "local_tile": (1, 3)}, {}),
    ("stage: a scan is a stage of its own", SCAN_AND_SUM, {"results": "private"}, {}),
    ("stage: several operators", MIXED, {}, {}),
    ("stage: a reduction in order", TWO_ORDERED, {}, {}),
    ("local memory: 252 bytes, the device has 251", GEMM, {"local_copies": (LocalCopy((0, 1)), None)},
     {"local_memory": 251}),
    ("float64: the device has no double", DOUBLE, {}, {"fp64": False}),
    ("local_copies: input 0 has pad -1", GEMM, {"local_copies": (LocalCopy((0, 1), pad=-1), None)}, {}),
    ("local_copies: input 0 has pad 1", GEMM, {"local_copies": (LocalCopy((0, 1), (0,), 1), None)}, {}),
    ("local_copies: input 0 has pad False", GEMM, {"local_copies": (LocalCopy((0, 1), pad=False), None)}, {}),
    # tiles that are copied ahead
    ("stages: 0 is no number", GEMM, {"stages": 0}, {}),
    ("combine_every: 0 is no number", GEMM, {"combine_every": 0}, {}),
    ("combine_every: several local tiles", LONG, _AHEAD | {"combine_every": 2}, {}),
    ("local_tile: more than 512 additions", LONG, _AHEAD | {"combine_on": "local", "combine_every": 129}, {}),
    ("local_tile: more than 128 additions", ROWS,
     {"results": "private", "local_tile": (1, 129), "combine_on": "local"}, {}),
    ("combine_every: the atom's sums are short", LONG, ATOM | {"combine_every": 2}, HAS),
    ("stages: results do not stay in registers", LONG, _AHEAD | {"results": "local"}, {}),
    ("stages: results do not stay in registers", SCAN,
     {"results": "private", "local_tile": (1, 3), "local_copies": (LocalCopy((0, 1)),), "stages": 2}, {}),
    ("stages: no input with a local copy moves", LONG, _AHEAD | {"local_copies": (None, None)}, {}),
    ("stages: no input with a local copy moves", LONG, _AHEAD | {"local_tile": (1, 1, 20)}, {}),
    ("stages: work-items share results", LONG, _AHEAD | {"num_wi": (1, 1, 4)}, {}),
    ("stages: operands are combined in order", ORDERED,
     {"results": "private", "local_tile": (1, 3), "local_copies": (LocalCopy((0, 1)),), "stages": 2}, {}),
    ("stages: outside of input 0 is something else than 0", WRAPPED,
     {"results": "private", "local_tile": (1, 2), "local_copies": (LocalCopy((0,)), None), "stages": 2}, {}),
    ("stages: the tile of input 0 is blocked", LONG, _AHEAD | {"local_copies": (LocalCopy((0, 1), (0,)), None)}, {}),
    ("stages: 70 elements of input 0 for 1 work-items", LONG,
     _AHEAD | {"local_tile": (7, 1, 10), "private_tile": (7, 1, 1)}, {}),
    # matrix instructions
    ("atom: 'mma' is none of", LONG, ATOM | {"atom": "mma"}, HAS),
    ("atom_dims: (0, 1) are not", LONG, ATOM | {"atom_dims": (0, 1)}, HAS),
    ("atom_dims: (0, 1, 1) are not", LONG, ATOM | {"atom_dims": (0, 1, 1)}, HAS),
    ("atom_dims: (0, 1, 3) are not", LONG, ATOM | {"atom_dims": (0, 1, 3)}, HAS),
    ("atom_dims: (0, 1, 2) are not", LONG, ATOM | {"atom": ""}, HAS),
    ("atom: the device has no 3xtf32", LONG, ATOM, {"atoms": ("tf32", "f64")}),
    ("atom_dims: rows and columns are no concatenated", LONG, ATOM | {"atom_dims": (0, 2, 1)}, HAS),
    *(("atom: no sum of products", h, ATOM, HAS) for h in (ADDED, SHIFTED, LARGEST)),
    ("atom: no sum of products", BESIDE, ATOM | {"local_copies": (LocalCopy((0, 1, 2)), LocalCopy((0, 1)))}, HAS),
    ("atom: 3xtf32 is for float32", DOUBLES, ATOM, HAS),
    ("atom: tf32 is for float16", LONG, ATOM | {"atom": "tf32"}, HAS),
    ("atom: its operands are tiles that are copied ahead", LONG,
     ATOM | {"local_copies": (None, LocalCopy((0, 1)))}, HAS),
    ("atom: its operands are tiles that are copied ahead", LONG, ATOM | {"stages": 1}, HAS),
    ("num_wi: no multiples of 8", LONG, ATOM | {"num_wi": (4, 4, 1), "private_tile": (4, 2, 8)}, HAS),
    ("num_wi: no multiples of 8", LONG, ATOM | {"num_wi": (8, 2, 1), "private_tile": (2, 4, 8)}, HAS),
    ("vector_dim: an atom's lanes have pairs", LONG, ATOM | {"vector_dim": -1, "vector_width": 1}, HAS),
    ("vector_dim: an atom's lanes have pairs", LONG, ATOM | {"vector_dim": 0}, HAS),
    ("vector_dim: an atom's lanes have pairs", LONG,
     ATOM | {"vector_width": 4, "private_tile": (2, 4, 8), "local_tile": (7, 11, 8), "num_wg": (1, 1, 1)}, HAS),
    ("private_tile: 8 lanes' rows are no multiple of 16", LONG, ATOM | {"private_tile": (1, 2, 8)}, HAS),
    ("private_tile: an atom has 8 terms", LONG, ATOM | {"private_tile": (2, 2, 4)}, HAS),
    ("private_tile: an atom has 8 terms", LONG, ATOM | {"local_tile": (7, 8, 12)}, HAS),
    ("private_tile: only the atom's terms are unrolled", TWO_SUMS, _TWICE | {"private_tile": (2, 2, 8, 3)}, HAS),
    ("combine_on: the atom's sums are short", LONG, ATOM | {"combine_on": "global"}, HAS),
    ("local_tile: partial along the atom's terms", SLIDING,
     ATOM | {"local_copies": (LocalCopy((0,)), LocalCopy((0, 1)))}, HAS),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "h", "changes", "limits"), BROKEN, ids=[f"{n}-{b[0]}" for n, b in enumerate(BROKEN)])
def test_every_rule_is_checked(rule: str, h: MdHom, changes: dict[str, Any], limits: dict[str, Any]) -> None:
    s = replace(Schedule.plain(h.extents, len(h.inputs)), **changes)
    with pytest.raises(IllegalSchedule) as raised:
        check(h, s, replace(CAPS, **limits))
    assert str(raised.value).startswith(rule)


@pytest.mark.parametrize(("h", "changes"), STAGED)
def test_what_the_rules_of_stages_and_atoms_are_broken_in_is_legal(h: MdHom, changes: dict[str, Any]) -> None:
    check(h, replace(Schedule.plain(h.extents, len(h.inputs)), **changes), replace(CAPS, **HAS))


@pytest.mark.parametrize("h", [GEMM, FINISHED, WIDER, ORDERED, NO_IDENTITY, STENCIL, DIAGONAL, SCALAR, TEXT, DOUBLE])
def test_the_plain_schedule_is_legal(h: MdHom) -> None:
    check(h, Schedule.plain(h.extents, len(h.inputs)), CAPS)


@given(scheduled(), st.sampled_from([0, 2, 4]))
def test_local_memory_is_what_the_kernel_declares(drawn: tuple[MdHom, Schedule], subgroup: int) -> None:
    """`local_memory` must never say less than the text, or a legal schedule could fail on the device."""
    import re

    from mdhnp.codegen import generate
    from mdhnp.mdh import stages as split

    h, s = drawn
    (stage,) = split(h)
    small = lambda m, _: Schedule.plain(m.extents, len(m.inputs))  # noqa: E731
    caps = replace(CAPS, subgroup=subgroup)
    kernels = generate([replace(stage, mdhom=h)], [s], caps, small).source.split("__kernel ")
    # A scan is the last kernel, and the others are smaller; a split reduction is the first.
    source = kernels[-1 if h.dims("ps") else 1]
    sizes = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4, "long": 8, "ulong": 8}
    sizes["double"] = 8
    total = 0
    for kind, lanes, count in re.findall(r"^ *(?:volatile )?__local ([a-z]+)(\d*) \w+\[(\d+)\];", source, re.M):
        total += sizes[kind] * int(lanes or 1) * int(count)
    assert total <= local_memory(h, s, caps)
