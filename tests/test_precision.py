"""The precision that calls and settings ask for: what it is part of, what it changes, and where it changes nothing."""

from dataclasses import replace

import numpy as np
import pytest

import mdhnp
from mdhnp.calls.observe import observe
from mdhnp.calls.store import entries
from mdhnp.codegen import generate
from mdhnp.frontend.contraction import contraction
from mdhnp.mdh import Stage, bounded, canonical, cc, family, fingerprint, md_hom, pw, stages
from mdhnp.schedule import IllegalSchedule
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.check import check
from mdhnp.schedule.default import default
from mdhnp.schedule.general import form
from mdhnp.schedule.gpu import product_candidates
from mdhnp.schedule.matrices import allowed, at_precision
from mdhnp.schedule.schedule import DeviceCaps
from mdhnp.schedule.split import split
from mdhnp.settings import config
from mdhnp.tuning.lookup import key_of

PRECISIONS = ("highest", "high", "default")
#: What MDHs ask for: "high" is another name of "highest".
LEVELS = ("highest", "default")
GPU = DeviceCaps(
    "gpu", "gpu", 132, 16, 255, 49136, 1024, 128 << 10, 50 << 20, True, 1 << 34, True,
    async_copies=True, atoms=tuple(ATOMS), subgroup=32,
)  # fmt: skip

PRODUCT = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")


def product(n=512, m=512, k=512, dtype=np.float32, other=None):
    return canonical(PRODUCT.bind(np.empty((n, k), dtype), np.empty((k, m), other or dtype)))


A, B = (np.random.default_rng(n).random((20, 20), np.float32) for n in range(2))

#: Everything that takes the argument.
CALLS = {
    "einsum": lambda **p: mdhnp.einsum("ij,jk->ik", A, B, **p),
    "einsum out": lambda **p: mdhnp.einsum("ij,jk->ik", A, B, out=np.empty((20, 20), np.float32), **p),
    "einsum chain": lambda **p: mdhnp.einsum("ij,jk,kl->il", A, B, A, **p),
    "matmul": lambda **p: mdhnp.matmul(A, B, **p),
    "matmul order": lambda **p: mdhnp.matmul(A, B, order="F", **p),
    "vecdot": lambda **p: mdhnp.vecdot(A, B, **p),
    "matvec": lambda **p: mdhnp.matvec(A, B[0], **p),
    "vecmat": lambda **p: mdhnp.vecmat(A[0], B, **p),
    "dot": lambda **p: mdhnp.dot(A, B, **p),
    "dot out": lambda **p: mdhnp.dot(A, B, np.empty((20, 20), np.float32), **p),
    "vdot": lambda **p: mdhnp.vdot(A, B, **p),
    "inner": lambda **p: mdhnp.inner(A, B, **p),
    "tensordot": lambda **p: mdhnp.tensordot(A, B, 1, **p),
    "gemv": lambda **p: mdhnp.gemv(A, B[0], **p),
    "gemm": lambda **p: mdhnp.gemm(A, B, **p),
    "gemm scaled": lambda **p: mdhnp.gemm(A, B, A, alpha=2, beta=3, trans_a=True, **p),
    "linalg.matmul": lambda **p: mdhnp.linalg.matmul(A, B, **p),
    "linalg.vecdot": lambda **p: mdhnp.linalg.vecdot(A, B, **p),
    "linalg.tensordot": lambda **p: mdhnp.linalg.tensordot(A, B, axes=1, **p),
    "linalg.multi_dot": lambda **p: mdhnp.linalg.multi_dot([A, B, A], **p),
    "linalg.multi_dot of two": lambda **p: mdhnp.linalg.multi_dot([A, B], **p),
    "linalg.multi_dot out": lambda **p: mdhnp.linalg.multi_dot([A, B, A], out=np.empty((20, 20), np.float32), **p),
}  # fmt: skip


def asked(run):
    """What the MDHs of a call ask for."""
    with observe() as seen:
        run()
    return {plan.mdhom.precision for plan, _ in seen}


@pytest.mark.parametrize("name", CALLS)
def test_calls_ask_for_what_they_say_and_else_for_what_the_settings_say(name):
    call = CALLS[name]
    assert asked(call) == {"highest"}
    assert asked(lambda: call(precision="default")) == {"default"}
    with config(precision="default"):
        assert asked(call) == {"default"}
        assert asked(lambda: call(precision="highest")) == {"highest"}


@pytest.mark.parametrize("name", CALLS)
def test_errors_name_the_argument_and_the_choices(name):
    with pytest.raises(ValueError, match=r"^\w+: precision: 'low' is none of 'highest', 'high', 'default'$"):
        CALLS[name](precision="low")


@pytest.mark.parametrize("name", CALLS)
def test_results_are_the_same_where_no_device_has_such_instructions(name):
    assert not any(device.caps.atoms for device in mdhnp.devices() if device.kind == "cpu")
    with mdhnp.device("cpu"):
        expected = CALLS[name]()
        for precision in PRECISIONS:
            np.testing.assert_array_equal(CALLS[name](precision=precision), expected)


def test_operators_and_protocols_ask_for_what_the_settings_say():
    with mdhnp.device("cpu"):
        a = mdhnp.asarray(A)
    for run in (lambda: a @ a, lambda: np.matmul(a, a), lambda: np.einsum("ij,jk", a, a), lambda: np.dot(a, a)):
        assert asked(run) == {"highest"}
        with config(precision="default"):
            assert asked(run) == {"default"}


def test_entries_are_apart_and_found_again():
    a, b = (np.ones((7, n), np.float32) for n in (11, 3))
    before = len(entries)
    for _ in range(3):
        for precision in (None, *PRECISIONS):
            mdhnp.matmul(a.T, b, precision=precision)
        with config(precision="default"):
            mdhnp.matmul(a.T, b)
    assert len(entries) - before == len(LEVELS)


_WIDE, _ROUNDED = "3xtf32 of warpgroups", "tf32 of warpgroups"


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("f4", "f4"), {"highest": {"3xtf32", _WIDE}, "default": {"tf32", "3xtf32", _WIDE, _ROUNDED}}),
        (("f2", "f4"), {"highest": set(), "default": {"tf32", _ROUNDED}}),
        (("f8", "f8"), {precision: {"f64", "f64 of 16 rows", "f64 of 16 terms"} for precision in LEVELS}),
        (("f4", "f8"), {precision: set() for precision in LEVELS}),
        (("c8", "c8"), {"highest": {"3xtf32", _WIDE}, "default": {"tf32", "3xtf32", _WIDE, _ROUNDED}}),
        (("i1", "i1"), {precision: {"s8", "s8 of warpgroups"} for precision in LEVELS}),
        (("i1", "u1"), {precision: set() for precision in LEVELS}),
        (("i4", "i4"), {precision: {"u8 of 32 bits"} for precision in LEVELS}),
        (("i8", "i8"), {precision: set() for precision in LEVELS}),
    ],
)
def test_instructions_that_are_exact_enough(types, expected):
    h = canonical(stages(product(dtype=types[0], other=types[1]))[0].mdhom)
    for precision, names in expected.items():
        at = at_precision(h, precision)
        assert {atom.name for atom in allowed(at)} == names
        # What changes nothing is not asked for, so that plans and tuned schedules are shared.
        assert at.precision == ("default" if names != expected["highest"] else "highest")


def test_it_survives_all_that_makes_other_mdhs_of_one():
    h = at_precision(product(), "default")
    halves = at_precision(PRODUCT.bind(np.empty((8, 8), np.float16), np.empty((8, 8), np.float32)), "default")
    part, _ = split(h, replace(default(h, GPU), num_wg=(1, 1, 2)))
    piece = bounded(at_precision(product(4096, 16, 16), "default"), 1 << 17)[0].mdhom
    others = [canonical(h), canonical(h, ones=True), form(h), part, piece, stages(halves)[0].mdhom]
    assert {other.precision for other in others} == {"default"}


def test_keys_are_apart_but_of_the_highest_what_they_were():
    exact, rounded = product(4, 5, 6), at_precision(product(4, 5, 6), "default")
    assert exact != rounded
    assert fingerprint(exact) == "6d89d6457c85adc725934b1b0bd314fd"
    assert family(exact) == "48c1228ceee3cdbb2dead4688af7cb2f"
    assert fingerprint(exact) != fingerprint(rounded)
    assert family(exact) != family(rounded)


def test_schedules_are_shared_on_devices_without_such_instructions():
    device = next(d for d in mdhnp.devices() if d.kind == "cpu")
    exact, rounded = product(), at_precision(product(), "default")
    assert key_of(exact, device) == key_of(rounded, device)
    assert default(exact, device.caps) == default(rounded, device.caps)


@pytest.mark.parametrize("sizes", [(512, 512, 512), (1000, 1000, 1000), (64, 2048, 2048), (107, 173, 3393)])
def test_default_schedules_use_one_product_where_it_is_exact_enough(sizes):
    used = {precision: default(at_precision(product(*sizes), precision), GPU) for precision in LEVELS}
    assert [used[p].atom.removesuffix(" of warpgroups") for p in LEVELS] == ["3xtf32", "tf32"]
    with pytest.raises(IllegalSchedule, match=f"atom: {used['default'].atom} is for float16, and rounds float32"):
        check(product(*sizes), used["default"], GPU)
    check(at_precision(product(*sizes), "default"), used["highest"], GPU)


@pytest.mark.parametrize(("types", "rounded"), [(("f4", "f4"), "ab"), (("f2", "f4"), "b"), (("f2", "f2"), "")])
def test_kernels_round_what_the_unit_would_cut_off(types, rounded):
    a, b = (np.empty((512, 512), dtype) for dtype in types)
    (stage,) = stages(at_precision(contraction(("ik", "kj"), "ij", (a, b)), "default"))
    stage = Stage(canonical(stage.mdhom), stage.inputs, stage.outputs)
    s = product_candidates(stage.mdhom, GPU, 1)[0]
    assert s.atom.removesuffix(" of warpgroups") == ("tf32" if "f4" in types else "f16")
    text = generate([stage], [s], GPU, default).source
    assert {letter for letter in "ab" if f"{letter}_rounded" in text} == {*rounded}


def test_explanations_say_it_where_it_is_not_the_highest():
    assert "\nprecision default\n" in mdhnp.explain(mdhnp.matmul, A, B, precision="default").summary
    assert "precision" not in mdhnp.explain(mdhnp.matmul, A, B).summary


def test_an_mdh_refuses_another():
    with pytest.raises(ValueError, match="precision: 'low' is none of 'highest', 'default'"):
        replace(product(), precision="low")
