"""Products with an operand of scipy.sparse: NumPy's of the same matrix with all its zeros."""

from __future__ import annotations

import operator
import re
from typing import Any

import numpy as np
import pytest
from guards import unwritten
from hypothesis import given as gives
from hypothesis import settings
from hypothesis import strategies as st
from ir_run import run
from ir_walk import walk_all
from random_functions import Seeded
from running import lowered
from schedules import CAPS, MATRICES, schedule
from sparse_cases import (
    CASES,
    FORMATS,
    RNG,
    M,
    N,
    check,
    full,
    listed,
    longer,
    matrix_of,
    sparse,
    stored_as,
    unsorted,
    whole,
)

import mdhnp
from mdhnp import Array, config, interpret, native, semiring
from mdhnp.calls.candidates import on_device
from mdhnp.calls.observe import observe
from mdhnp.codegen import generate
from mdhnp.codegen.generate import procedures
from mdhnp.runtime.devices import Device
from mdhnp.schedule.default import default

compiled = pytest.mark.skipif(native.multiply_rows is None, reason="the package was installed without a C compiler")


@pytest.mark.parametrize("host", ["auto", "never"])
@pytest.mark.parametrize("name", CASES)
def test_formats(name: str, host: Any, device: Device) -> None:
    with config(host=host):
        for form in FORMATS:
            matrix = stored_as(matrix_of(), form)
            got = check(CASES[name], matrix)
            if (" " + CASES[name].subscripts).endswith(("ij", "ji")):
                kept = {"csc": "csr", "csr": "csc"} if name == "sampled, transposed" else {}
                stored = form if form in ("csr", "csc", "coo", "bsr") else "csr"
                assert got.format == kept.get(stored, stored)
            else:
                assert type(got) is np.ndarray or isinstance(got, np.generic)


@pytest.mark.parametrize("host", ["auto", "never"])
@pytest.mark.parametrize("dtype", ["?", "i1", "f4", "D"])
@pytest.mark.parametrize("other", ["?", "u8", "f4", "F"])
def test_types_are_scipys(dtype: str, other: str, host: Any, device: Device) -> None:
    with config(host=host):
        for form in ("csr", "bsr"):
            matrix, x, y = stored_as(matrix_of(dtype=dtype), form), whole(N, 5, dtype=other), whole(4, M, dtype=other)
            for got, want in ((mdhnp.matmul(matrix, x), matrix @ x), (mdhnp.matmul(y, matrix), y @ matrix)):
                np.testing.assert_array_equal(got, want)
                assert got.dtype == want.dtype


def test_half_precision(device: Device) -> None:
    matrix, x = matrix_of(dtype="f4"), whole(N, 5, dtype="e")
    np.testing.assert_array_equal(mdhnp.matmul(matrix, x, dtype="e"), (matrix @ x.astype("f4")).astype("e"))
    for x in (whole(N, 5, dtype="f4"), whole(N, dtype="f4")):
        for form in FORMATS:
            assert mdhnp.matmul(stored_as(matrix, form), x, dtype="f8").dtype == np.float64


@pytest.mark.parametrize("host", ["auto", "never"])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("made", [listed, unsorted, longer], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["vector", "matrix", "columns kept", "quadratic", "sampled"])
def test_entries_as_they_are(name: str, made: Any, dtype: str, host: Any, device: Device) -> None:
    with config(host=host):
        check(CASES[name], made(dtype))


@pytest.mark.parametrize("shape", [(0, N), (M, 0), (M, N)])
@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij,ik->jk", "ij->", "ij,ij->ij"])
def test_without_entries(shape: tuple[int, int], subscripts: str, device: Device) -> None:
    rows, columns = shape
    others = {"jk": (columns, 3), "ik": (rows, 3), "ij": shape}
    given = [np.ones(others[term]) for term in subscripts.partition("->")[0].split(",")[1:]]
    got = mdhnp.einsum(subscripts, sparse.csr_array(shape), *given)
    np.testing.assert_array_equal(full(got), np.einsum(subscripts, np.zeros(shape), *given))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("ring", ["min_plus", "max_min", "log", "boolean"])
def test_semirings(ring: str, format: str, device: Device) -> None:
    matrix, x = stored_as(matrix_of(share=0.5), format), abs(whole(N, 5))
    absent = {"min_plus": np.inf, "max_min": -np.inf, "log": -np.inf}.get(ring, 0)
    dense = matrix.toarray()
    if format == "bsr":  # whose entries are all of a block
        dense[sparse.bsr_array((np.ones_like(matrix.data), matrix.indices, matrix.indptr)).toarray() == 0] = absent
    else:
        dense[dense == 0] = absent
    over = getattr(semiring, ring)
    want = mdhnp.matmul(dense, x, semiring=over)
    np.testing.assert_allclose(mdhnp.matmul(matrix, x, semiring=over), want, 1e-14)
    np.testing.assert_allclose(mdhnp.einsum("ij,jk->ik", matrix, x, semiring=over), want, 1e-14)


def test_more_axes_than_two(device: Device) -> None:
    dense = whole(5, 6, 7) * (RNG.random((5, 6, 7)) < 0.2)
    b, c = whole(6, 4), whole(7, 4)
    if not hasattr(sparse.coo_array(dense[0]), "coords"):
        pytest.skip("this SciPy has no arrays of three axes")
    for subscripts, given in (
        ("ijk,jr,kr->ir", (b, c)),
        ("ijk,ir,kr->jr", (whole(5, 4), c)),
        ("ijk,k->ijk", (c[:, 0],)),
    ):
        got = mdhnp.einsum(subscripts, sparse.coo_array(dense), *given)
        np.testing.assert_array_equal(full(got), np.einsum(subscripts, dense, *given))


def test_arguments_of_numpys(device: Device) -> None:
    matrix, x = matrix_of(), whole(N, 5)
    out = np.empty((M, 5))
    assert mdhnp.matmul(matrix, x, out=out) is out
    np.testing.assert_array_equal(out, matrix @ x)
    got = mdhnp.einsum("ij,jk->ik", matrix, x, order="F", dtype="F", casting="same_kind")
    assert got.flags.f_contiguous
    assert got.dtype == np.complex64
    np.testing.assert_array_equal(got, out)
    blocks = mdhnp.einsum("ij,jk->ik", matrix.tobsr((3, 4)), x, order="F")
    np.testing.assert_array_equal(blocks, out)
    np.testing.assert_array_equal(mdhnp.matmul(sparse.csr_matrix(matrix), x), out)
    for order in ("c", "A", None):
        got = mdhnp.einsum("ij,kj->ki", matrix, x.T.copy(), order=order)
        assert got.flags.c_contiguous == (order is not None)
        np.testing.assert_array_equal(got, out.T)
    for f in (
        lambda **given: mdhnp.matmul(matrix, x, **given),
        lambda **given: mdhnp.einsum("ij,jk", matrix, x, **given),
    ):
        with pytest.raises(ValueError, match="order must be one of"):
            f(order="Z")


@pytest.mark.parametrize("optimize", ["quickest", ((0, 5),), 3])
def test_optimize_is_what_it_is_elsewhere(optimize: Any, device: Device) -> None:
    given = CASES["three"].given(matrix_of())
    with pytest.raises(Exception) as dense:
        mdhnp.einsum(CASES["three"].subscripts, *CASES["three"].given(matrix_of().toarray()), optimize=optimize)
    with pytest.raises(type(dense.value), match=re.escape(str(dense.value))):
        mdhnp.einsum(CASES["three"].subscripts, *given, optimize=optimize)


def test_arrays(device: Device) -> None:
    matrix, x = matrix_of(), whole(N, 5)
    got = mdhnp.matmul(matrix, mdhnp.asarray(x))
    assert type(got) is Array
    np.testing.assert_array_equal(got.numpy(), matrix @ x)
    np.testing.assert_array_equal(mdhnp.matmul(mdhnp.asarray(x).T, matrix.T).numpy(), x.T @ matrix.T)
    with pytest.raises(TypeError, match=r"einsum: a sparse result is where .* give a mdhnp\.SparseArray"):
        mdhnp.einsum("ij,j->ij", matrix, mdhnp.asarray(x[:, 0]))


def test_changed_in_place(device: Device) -> None:
    matrix, x = matrix_of(), whole(N)
    for _ in range(3):
        np.testing.assert_array_equal(mdhnp.matmul(matrix, x), matrix @ x)
        matrix.data[:] += 1
        matrix.indices[:] = matrix.indices[::-1].copy()


@compiled
@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("index", ["i4", "i8"])
def test_rows_are_multiplied_by_compiled_code(index: str, dtype: str) -> None:
    matrix = matrix_of(200, N, dtype=dtype)
    indices, begins = matrix.indices.astype(index), matrix.indptr.astype(index)
    for columns in ((), (0,), (1,), (3,), (16,), (37,)):
        for x in (whole(N, *columns, dtype=dtype), whole(2 * N, *columns, dtype=dtype)[::-2]):
            found = native.multiply_rows(matrix.data, x, indices, begins)
            np.testing.assert_array_equal(found, matrix @ x)
            assert found.dtype == dtype and found.shape == (200, *columns)
    empty = native.multiply_rows(matrix.data, whole(0, 3, dtype=dtype), indices, begins)
    np.testing.assert_array_equal(empty, np.zeros((200, 3)))
    good = (matrix.data, whole(N, 2, dtype=dtype), indices, begins)
    wrong = {
        0: [matrix.data.astype("D"), matrix.data[:, None], [1.0]], 1: [whole(N, dtype="i8"), good[1][None], 1.0],
        2: [indices.astype("u8"), indices.astype("i2"), indices.astype(">i8")], 3: [begins[:0], begins.astype("f8")],
    }  # fmt: skip
    for n, each in wrong.items():
        for operand in each:
            with pytest.raises(TypeError, match="multiply_rows takes elements"):
                native.multiply_rows(*good[:n], operand, *good[n + 1 :])
    with pytest.raises(TypeError, match="multiply_rows takes elements"):
        native.multiply_rows(*good[:3])


@compiled
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(("dtype", "by"), [("f8", "a loop over rows"), ("D", "scipy.sparse.csr_array.__matmul__")])
def test_who_computes_a_small_product(dtype: str, by: str, form: str, device: Device) -> None:
    matrix, x = matrix_of(dtype=dtype), whole(N, dtype=dtype)
    with config(host="auto"), observe() as seen:
        found = mdhnp.matmul(matrix, x) if form == "csr" else mdhnp.matmul(x, matrix.T)
    np.testing.assert_array_equal(found, matrix @ x if form == "csr" else x @ matrix.T)
    assert seen[0][0].function.name == by


@pytest.mark.parametrize("value", [-1, -(2**31), 2**31 - 1, N])
@pytest.mark.parametrize("host", ["never", pytest.param("auto", marks=compiled)])
@pytest.mark.parametrize("shape", [(N,), (N, 5), (N, 40)])
def test_wrong_indices_read_nothing_else(shape: tuple[int, ...], host: Any, value: int, device: Device) -> None:
    """Indices are not looked at, as SciPy does not: whatever they are, only elements of the arrays are read."""
    matrix, x = matrix_of(), whole(*shape)
    with config(host=host):
        want = mdhnp.matmul(matrix, x)
        first = int(np.flatnonzero(np.diff(matrix.indptr))[0])
        matrix.indices[matrix.indptr[first]] = value
        got = mdhnp.matmul(matrix, x)
        others = np.arange(M) != first
        np.testing.assert_array_equal(got[others], want[others])
        matrix.indptr[3], matrix.indptr[5] = value, -1 - value
        mdhnp.matmul(matrix, x)


@pytest.mark.parametrize(
    ("subscripts", "others", "error", "said"),
    [
        ("ij,jk->ik", (matrix_of(N, 4),), TypeError, r"einsum: operands 0 and 1 are sparse.*multiply by SciPy's @"),
        ("ij,jk->ijk", (whole(N, 4),), TypeError, "of its axes 'ij' one, or none, is kept, or all of them"),
        ("ii,i->i", (whole(M),), TypeError, r"its axes 'ii' have labels .* SciPy's \.diagonal"),
        ("ii->i", (), TypeError, r"its axes 'ii' have labels .* SciPy's \.diagonal"),
        ("ij,jk->ik", (whole(M, 4),), ValueError, "axis 'j' has"),
        ("ij,jk->ik", (whole(N),), ValueError, "operand 1 has 1 axes"),
        ("ij,jk->ik", (whole(N, 4).astype(object),), TypeError, "dtype object"),
    ],
)
def test_what_is_refused(subscripts: str, others: Any, error: type[Exception], said: str) -> None:
    matrix = matrix_of(M, M) if subscripts.startswith("ii") else matrix_of()
    with pytest.raises(error, match=said):
        mdhnp.einsum(subscripts, matrix, *others)


#: Functions that take dense operands only, with what comes before a sparse one and after it.
DENSE = {
    "dot": ((whole(4, M),), ()), "inner": ((whole(4, N),), ()), "outer": ((whole(4),), ()),
    "kron": ((whole(4, 4),), ()), "vdot": ((whole(4),), ()), "tensordot": ((whole(4, M),), ()),
    "gemm": ((whole(4, M),), ()), "gemv": ((), (whole(N),)), "vecdot": ((whole(N),), ()),
    "matvec": ((), (whole(N),)), "vecmat": ((whole(M),), ()), "trace": ((), ()), "take": ((), ([0],)),
    "attention": ((), (whole(M, N), whole(M, N))), "argkmin": ((), (2,)),
    "linalg.multi_dot": ((whole(4, 4), whole(4, M)), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", DENSE)
def test_other_functions_say_which_ones_take_sparse_operands(name: str) -> None:
    before, after = DENSE[name]
    given = (*before, matrix_of(), *after)
    with pytest.raises(TypeError, match=rf"operand {len(before)} is a sparse csr_array, which mdhnp.matmul and"):
        operator.attrgetter(name)(mdhnp)(*([given] if name == "linalg.multi_dot" else given))


def test_fused_functions_do_not_take_them() -> None:
    with pytest.raises(TypeError, match="argument 0 is a sparse csr_array, which the function may use as a variable"):
        mdhnp.fuse(lambda a, x: mdhnp.matmul(a, x) + 1)(matrix_of(), whole(N))


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_repeated_or_no_ndarray_is_the_same_for_all_formats(form: str) -> None:
    matrix = stored_as(matrix_of(), form)
    dense = matrix.toarray()
    for subscripts, other in (("ij,jk->ik", whole(1, 50)), ("ij,ik->jk", whole(1, 50)), ("ij,j->i", whole(1))):
        np.testing.assert_array_equal(mdhnp.einsum(subscripts, matrix, other), np.einsum(subscripts, dense, other))
    with pytest.raises(TypeError, match="MaskedArray"):
        mdhnp.matmul(matrix, np.ma.masked_less(whole(N, 3), 1))


def test_operators_that_need_all_elements() -> None:
    matrix, x = matrix_of(), whole(N)
    with pytest.raises(TypeError, match="argmin numbers all elements"):
        mdhnp.matmul(matrix, x, multiply=np.add, add="argmin")
    with pytest.raises(ValueError, match="no value for rows without entries"):
        mdhnp.matmul(matrix, x, add=lambda a, b: np.where(a * a > b * b, a, b))


@pytest.mark.parametrize("caps", [CAPS, MATRICES], ids=["cpu", "gpu"])
@pytest.mark.parametrize("name", ["vector", "matrix", "columns kept", "sampled", "scaled"])
@pytest.mark.parametrize("form", ["csr", "bsr"])
def test_procedures_read_what_there_is(form: str, name: str, caps: Any, device: Device) -> None:
    """The same of kernels of any schedule, also where some indices and offsets are wrong, for which last ones stand."""
    matrix = stored_as(matrix_of(), form)
    with config(host="never"), observe() as seen:
        mdhnp.einsum(CASES[name].subscripts, *CASES[name].given(matrix))
    ((plan, arrays),) = seen
    h, steps = plan.mdhom, lowered(plan.mdhom)
    for seed in range(4):
        given = [a.copy() for a in arrays]
        for number in h.index_sources if seed > 1 else ():
            given[number][seed::5] = 2**30 if seed == 2 else -(2**31)
        p = Seeded(seed)
        used = [schedule(p, s.mdhom, caps) if seed else default(s.mdhom, caps) for s in steps]
        program, built = generate(steps, used, caps, default), procedures(steps, used, caps, default)
        walk_all(program, built, steps, steps=10**6)
        outputs = [unwritten(v.shape, v.dtype) for v in h.outputs]
        run(program, built, given, outputs)
        np.testing.assert_array_equal(outputs[0], interpret(h, *given), f"{used}")


@settings(max_examples=16)
@gives(st.data())
def test_any_entries_are_scipys(data: Any) -> None:
    """Any rows, empty ones and all, entries in any order and several at one place, of both types of indices."""
    rows, columns, k = (data.draw(st.integers(1, n), name) for n, name in ((40, "rows"), (30, "columns"), (40, "k")))
    index = data.draw(st.sampled_from(["i4", "i8"]), "index")
    lengths = np.asarray(data.draw(st.lists(st.sampled_from([0, 0, 1, 3, 200]), min_size=rows, max_size=rows)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99), "seed"))
    matrix = sparse.csr_array((rows, columns))
    count = int(lengths.sum())
    matrix.indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    matrix.indices, matrix.data = rng.integers(0, columns, count).astype(index), rng.integers(-9, 9, count).astype("f8")
    form, host = data.draw(st.sampled_from(["csr", "csc", "coo"])), data.draw(st.sampled_from(["auto", "never"]))
    x, y = rng.integers(-9, 9, (columns, k)).astype("f8"), rng.integers(-9, 9, (k, rows)).astype("f8")
    x = x[:, 0] if data.draw(st.booleans(), "vector") else x
    given = matrix.asformat(form)
    with config(host=host):
        np.testing.assert_array_equal(mdhnp.matmul(given, x), matrix @ x)
        np.testing.assert_array_equal(mdhnp.matmul(y, given), y @ matrix)
        np.testing.assert_array_equal(mdhnp.einsum("ij->i", given), matrix.sum(1))
        np.testing.assert_array_equal(mdhnp.einsum("ij->j", given), matrix.sum(0))
        if form != "coo":
            there, value = mdhnp.SparseArray(given), mdhnp.asarray(x if form == "csr" else y)
            found = mdhnp.matmul(there, value) if form == "csr" else mdhnp.matmul(value, there)
            np.testing.assert_array_equal(found.numpy(), matrix @ x if form == "csr" else y @ matrix)


def test_in_fused_functions(device: Device) -> None:
    matrix, x = matrix_of(), whole(N, 5)
    fused = mdhnp.fuse(lambda x: np.tanh(mdhnp.matmul(matrix, x * 2) / 50))
    for given in (x, mdhnp.asarray(x)):
        np.testing.assert_allclose(fused(given), np.tanh(matrix @ (x * 2) / 50), 1e-14)


@pytest.mark.parametrize("name", ["vector", "matrix", "matrix from the left", "dot", "sampled"])
def test_on_several_devices(name: str, device: Device) -> None:
    for form in ("csr", "coo", "bsr"):
        with mdhnp.device("cpu/2"), config(host="never"):
            check(CASES[name], stored_as(matrix_of(), form))


def test_estimates_count_each_entry_once(device: Device) -> None:
    count = 10_000
    matrix = sparse.csr_array((np.ones(count), np.arange(count), np.arange(count + 1)), shape=(count, count))
    with config(host="never"), observe() as seen:
        mdhnp.matmul(matrix, np.ones(count))
    found = on_device(seen[0][0].mdhom, device, large=False)
    assert found is not None
    assert found.seconds < 0.01


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_one_row_gives_an_axis(form: str, device: Device) -> None:
    a = stored_as(sparse.coo_array(np.ones((1, 5))), form)
    for given in (("ij,j->i", a, np.ones(5)), ("ji,j->i", a.T, np.ones(5)), ("ij,jk->ki", a, np.ones((5, 1)))):
        found = mdhnp.einsum(*given)
        assert found.shape == (1, 1)[: found.ndim] and found.ndim == len(given[0].partition(">")[2])
        np.testing.assert_array_equal(found, np.full(found.shape, 5))
