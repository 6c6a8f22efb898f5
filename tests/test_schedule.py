"""Schedules as data: JSON both ways, and every rule of `check` broken once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import KERNELS
from random_functions import Drawn
from schedules import CAPS, schedule
from strategies import case

from mdhnp.mdh import MdHom, canonical, cc, md_hom, ps, pw, stages
from mdhnp.schedule.check import IllegalSchedule, check, local_memory
from mdhnp.schedule.schedule import LocalCopy, Schedule


@st.composite
def scheduled(draw: Any) -> tuple[MdHom, Schedule]:
    """A random stage and a legal schedule for it."""
    picker = Drawn(draw)
    h = canonical(stages(case(picker, points=500).mdhom)[0].mdhom)
    return h, schedule(picker, h)


@given(scheduled())
def test_json_brings_every_schedule_back(drawn: tuple[MdHom, Schedule]) -> None:
    h, s = drawn
    again = Schedule.from_json(s.to_json())
    assert again == s
    assert hash(again) == hash(s)
    check(h, again, CAPS)


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

REGISTERS: dict[str, Any] = {"results": "private", "local_tile": (1, 9)}

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
]  # fmt: skip


@pytest.mark.parametrize(("rule", "h", "changes", "limits"), BROKEN, ids=[f"{n}-{b[0]}" for n, b in enumerate(BROKEN)])
def test_every_rule_is_checked(rule: str, h: MdHom, changes: dict[str, Any], limits: dict[str, Any]) -> None:
    s = replace(Schedule.plain(h.extents, len(h.inputs)), **changes)
    with pytest.raises(IllegalSchedule) as raised:
        check(h, s, replace(CAPS, **limits))
    assert str(raised.value).startswith(rule)


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
    if h.dims("ps"):
        return
    caps = replace(CAPS, subgroup=subgroup)
    source = generate([replace(stage, mdhom=h)], [s], caps, small).source.split("void mdh_1(")[0]
    sizes = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4, "long": 8, "ulong": 8}
    sizes["double"] = 8
    total = 0
    for kind, lanes, count in re.findall(r"^ *(?:volatile )?__local ([a-z]+)(\d*) \w+\[(\d+)\];", source, re.M):
        total += sizes[kind] * int(lanes or 1) * int(count)
    assert total <= local_memory(h, s, caps)
