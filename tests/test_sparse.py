"""Products with an operand of scipy.sparse: NumPy's of the same matrix with all its zeros."""

from __future__ import annotations

import operator
import warnings
from typing import Any, NamedTuple

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

import mdhnp
from mdhnp import Array, config, interpret, semiring
from mdhnp.calls.observe import observe
from mdhnp.codegen import generate
from mdhnp.codegen.generate import procedures
from mdhnp.runtime.devices import Device
from mdhnp.schedule.default import default

sparse = pytest.importorskip("scipy.sparse")

_RNG = np.random.default_rng(11)
_M, _N = 12, 20


def _matrix(rows: int = _M, columns: int = _N, dtype: str = "f8", share: float = 0.3) -> Any:
    """A matrix with empty rows and columns, a long row, and entries that are whole numbers."""
    dense = _RNG.integers(1, 9, (rows, columns)) * (_RNG.random((rows, columns)) < share)
    dense[rows // 2], dense[:, columns // 2] = 3, 2
    dense[1::4], dense[:, ::5] = 0, 0
    return sparse.csr_array(dense.astype(dtype))


def _whole(*shape: int, dtype: str = "f8") -> Any:
    return _RNG.integers(-9, 9, shape).astype(dtype)


class Case(NamedTuple):
    """Subscripts, and operands, of which None is the matrix."""

    subscripts: str
    operands: tuple[Any, ...]

    def given(self, matrix: Any, dtype: str = "f8") -> list[Any]:
        return [matrix if x is None else x.astype(dtype) for x in self.operands]

    def dense(self, matrix: Any, dtype: str = "f8") -> Any:
        return np.einsum(self.subscripts, *self.given(matrix, dtype))


CASES = {
    "vector": Case("ij,j->i", (None, _whole(_N))),
    "from the left": Case("i,ij->j", (_whole(_M), None)),
    "matrix": Case("ij,jk->ik", (None, _whole(_N, 37))),
    "strided": Case("ij,jk->ik", (None, _whole(3 * _N, 40)[::-3, ::2])),
    "matrix from the left": Case("ki,ij->kj", (_whole(5, _M), None)),
    "transposed": Case("ij,jk->ki", (None, _whole(_N, 6))),
    "columns kept": Case("ij,ik->kj", (None, _whole(_M, 17))),
    "stack": Case("ij,ajk->aik", (None, _whole(3, _N, 4))),
    "sums of rows": Case("ij->i", (None,)),
    "sums of columns": Case("ij->j", (None,)),
    "sum": Case("ij->", (None,)),
    "dot": Case("ij,ij->", (None, _whole(_M, _N))),
    "quadratic": Case("i,ij,j->", (_whole(_M), None, _whole(_N))),
    "dots of rows": Case("ij,ij->i", (None, _whole(_M, _N))),
    "repeated": Case("ij,jk->ik", (None, _whole(1, 4))),
    "three": Case("ij,jr,ir->ir", (None, _whole(_N, 7), _whole(_M, 7))),
    "entries": Case("ij,ij->ij", (None, _whole(_M, _N))),
    "scaled": Case("i,ij->ij", (_whole(_M), None)),
    "sampled": Case("ij,ik,jk->ij", (None, _whole(_M, 17), _whole(_N, 17))),
    "sampled, transposed": Case("ij,ik,jk->ji", (None, _whole(_M, 3), _whole(_N, 3))),
}
FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dia", "dok"]


def _as(matrix: Any, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, of many diagonals
        return matrix.tobsr((3, 2)) if name == "bsr" else matrix.asformat(name)


def _full(result: Any) -> Any:
    return result.toarray() if sparse.issparse(result) else result


def _check(case: Case, matrix: Any, dtype: str = "f8") -> Any:
    got, want = mdhnp.einsum(case.subscripts, *case.given(matrix, dtype)), case.dense(matrix.toarray(), dtype)
    np.testing.assert_array_equal(_full(got), want)
    assert got.dtype == want.dtype
    return got


@pytest.mark.parametrize("host", ["auto", "never"])
@pytest.mark.parametrize("name", CASES)
def test_formats(name: str, host: Any, device: Device) -> None:
    with config(host=host):
        for form in FORMATS:
            matrix = _as(_matrix(), form)
            got = _check(CASES[name], matrix)
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
            matrix, x, y = _as(_matrix(dtype=dtype), form), _whole(_N, 5, dtype=other), _whole(4, _M, dtype=other)
            for got, want in ((mdhnp.matmul(matrix, x), matrix @ x), (mdhnp.matmul(y, matrix), y @ matrix)):
                np.testing.assert_array_equal(got, want)
                assert got.dtype == want.dtype


def test_half_precision(device: Device) -> None:
    matrix, x = _matrix(dtype="f4"), _whole(_N, 5, dtype="e")
    np.testing.assert_array_equal(mdhnp.matmul(matrix, x, dtype="e"), (matrix @ x.astype("f4")).astype("e"))
    for x in (_whole(_N, 5, dtype="f4"), _whole(_N, dtype="f4")):
        for form in FORMATS:
            assert mdhnp.matmul(_as(matrix, form), x, dtype="f8").dtype == np.float64


def _listed(dtype: str) -> Any:
    """Entries in no order, some of which are at one place."""
    rows, columns = _RNG.integers(0, _M, 70), _RNG.integers(0, _N, 70)
    return sparse.coo_array(
        (_RNG.integers(1, 9, 70).astype("f8"), (rows.astype(dtype), columns.astype(dtype))), (_M, _N)
    )


def _unsorted(dtype: str) -> Any:
    """The same in groups by rows."""
    listed = _listed(dtype)
    order = np.argsort(listed.row, kind="stable")
    offsets = np.searchsorted(listed.row[order], np.arange(_M + 1)).astype(dtype)
    made = sparse.csr_array((_M, _N))
    made.data, made.indices, made.indptr = listed.data[order], listed.col[order].astype(dtype), offsets
    return made


def _longer(dtype: str) -> Any:
    """Arrays that are longer than they need be."""
    made = _matrix()
    made.data, made.indices = np.append(made.data, [7.0, 7.0]), np.append(made.indices, [0, 1]).astype(dtype)
    made.indptr = made.indptr.astype(dtype)
    return made


@pytest.mark.parametrize("host", ["auto", "never"])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("made", [_listed, _unsorted, _longer], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["vector", "matrix", "columns kept", "quadratic", "sampled"])
def test_entries_as_they_are(name: str, made: Any, dtype: str, host: Any, device: Device) -> None:
    with config(host=host):
        _check(CASES[name], made(dtype))


@pytest.mark.parametrize("shape", [(0, _N), (_M, 0), (_M, _N)])
@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij,ik->jk", "ij->", "ij,ij->ij"])
def test_without_entries(shape: tuple[int, int], subscripts: str, device: Device) -> None:
    rows, columns = shape
    others = {"jk": (columns, 3), "ik": (rows, 3), "ij": shape}
    given = [np.ones(others[term]) for term in subscripts.partition("->")[0].split(",")[1:]]
    got = mdhnp.einsum(subscripts, sparse.csr_array(shape), *given)
    np.testing.assert_array_equal(_full(got), np.einsum(subscripts, np.zeros(shape), *given))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("ring", ["min_plus", "max_min", "log", "boolean"])
def test_semirings(ring: str, format: str, device: Device) -> None:
    matrix, x = _as(_matrix(share=0.5), format), abs(_whole(_N, 5))
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
    dense = _whole(5, 6, 7) * (_RNG.random((5, 6, 7)) < 0.2)
    b, c = _whole(6, 4), _whole(7, 4)
    if not hasattr(sparse.coo_array(dense[0]), "coords"):
        pytest.skip("this SciPy has no arrays of three axes")
    for subscripts, given in (
        ("ijk,jr,kr->ir", (b, c)),
        ("ijk,ir,kr->jr", (_whole(5, 4), c)),
        ("ijk,k->ijk", (c[:, 0],)),
    ):
        got = mdhnp.einsum(subscripts, sparse.coo_array(dense), *given)
        np.testing.assert_array_equal(_full(got), np.einsum(subscripts, dense, *given))


def test_arguments_of_numpys(device: Device) -> None:
    matrix, x = _matrix(), _whole(_N, 5)
    out = np.empty((_M, 5))
    assert mdhnp.matmul(matrix, x, out=out) is out
    np.testing.assert_array_equal(out, matrix @ x)
    got = mdhnp.einsum("ij,jk->ik", matrix, x, order="F", dtype="F", casting="same_kind")
    assert got.flags.f_contiguous
    assert got.dtype == np.complex64
    np.testing.assert_array_equal(got, out)
    blocks = mdhnp.einsum("ij,jk->ik", matrix.tobsr((3, 4)), x, order="F")
    np.testing.assert_array_equal(blocks, out)
    np.testing.assert_array_equal(mdhnp.matmul(sparse.csr_matrix(matrix), x), out)


def test_arrays(device: Device) -> None:
    matrix, x = _matrix(), _whole(_N, 5)
    got = mdhnp.matmul(matrix, mdhnp.asarray(x))
    assert type(got) is Array
    np.testing.assert_array_equal(got.numpy(), matrix @ x)
    np.testing.assert_array_equal(mdhnp.matmul(mdhnp.asarray(x).T, matrix.T).numpy(), x.T @ matrix.T)
    with pytest.raises(TypeError, match=r"einsum: a sparse result is where .* give a mdhnp\.SparseArray"):
        mdhnp.einsum("ij,j->ij", matrix, mdhnp.asarray(x[:, 0]))


def test_changed_in_place(device: Device) -> None:
    matrix, x = _matrix(), _whole(_N)
    for _ in range(3):
        np.testing.assert_array_equal(mdhnp.matmul(matrix, x), matrix @ x)
        matrix.data[:] += 1
        matrix.indices[:] = matrix.indices[::-1].copy()


@pytest.mark.parametrize("value", [-1, -(2**31), 2**31 - 1, _N])
def test_wrong_indices_read_nothing_else(value: int, device: Device) -> None:
    """Indices are not looked at, as SciPy does not: whatever they are, only elements of the arrays are read."""
    matrix, x = _matrix(), _whole(_N, 5)
    with config(host="never"):
        want = mdhnp.matmul(matrix, x)
        first = int(np.flatnonzero(np.diff(matrix.indptr))[0])
        matrix.indices[matrix.indptr[first]] = value
        got = mdhnp.matmul(matrix, x)
        others = np.arange(_M) != first
        np.testing.assert_array_equal(got[others], want[others])
        matrix.indptr[3], matrix.indptr[5] = value, -1 - value
        mdhnp.matmul(matrix, x)


@pytest.mark.parametrize(
    ("subscripts", "others", "error", "said"),
    [
        ("ij,jk->ik", (_matrix(_N, 4),), TypeError, r"einsum: operands 0 and 1 are sparse.*multiply by SciPy's @"),
        ("ij,jk->ijk", (_whole(_N, 4),), TypeError, "of its axes 'ij' one, or none, is kept, or all of them"),
        ("ii,i->i", (_whole(_M),), TypeError, "its axes have labels and extents of their own"),
        ("ij,jk->ik", (_whole(_M, 4),), ValueError, "axis 'j' has"),
        ("ij,jk->ik", (_whole(_N),), ValueError, "operand 1 has 1 axes"),
        ("ij,jk->ik", (_whole(_N, 4).astype(object),), TypeError, "dtype object"),
    ],
)
def test_what_is_refused(subscripts: str, others: Any, error: type[Exception], said: str) -> None:
    matrix = _matrix(_M, _M) if subscripts.startswith("ii") else _matrix()
    with pytest.raises(error, match=said):
        mdhnp.einsum(subscripts, matrix, *others)


#: Functions that take dense operands only, with what comes before a sparse one and after it.
DENSE = {
    "dot": ((_whole(4, _M),), ()), "inner": ((_whole(4, _N),), ()), "outer": ((_whole(4),), ()),
    "kron": ((_whole(4, 4),), ()), "vdot": ((_whole(4),), ()), "tensordot": ((_whole(4, _M),), ()),
    "gemm": ((_whole(4, _M),), ()), "gemv": ((), (_whole(_N),)), "vecdot": ((_whole(_N),), ()),
    "matvec": ((), (_whole(_N),)), "vecmat": ((_whole(_M),), ()), "trace": ((), ()), "take": ((), ([0],)),
    "attention": ((), (_whole(_M, _N), _whole(_M, _N))), "argkmin": ((), (2,)),
    "linalg.multi_dot": ((_whole(4, 4), _whole(4, _M)), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", DENSE)
def test_other_functions_say_which_ones_take_sparse_operands(name: str) -> None:
    before, after = DENSE[name]
    given = (*before, _matrix(), *after)
    with pytest.raises(TypeError, match=rf"operand {len(before)} is a sparse csr_array, which mdhnp.matmul and"):
        operator.attrgetter(name)(mdhnp)(*([given] if name == "linalg.multi_dot" else given))


def test_fused_functions_do_not_take_them() -> None:
    with pytest.raises(TypeError, match="argument 0 is a sparse csr_array, which the function may use as a variable"):
        mdhnp.fuse(lambda a, x: mdhnp.matmul(a, x) + 1)(_matrix(), _whole(_N))


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_repeated_or_no_ndarray_is_the_same_for_all_formats(form: str) -> None:
    matrix = _as(_matrix(), form)
    dense = matrix.toarray()
    for subscripts, other in (("ij,jk->ik", _whole(1, 50)), ("ij,ik->jk", _whole(1, 50)), ("ij,j->i", _whole(1))):
        np.testing.assert_array_equal(mdhnp.einsum(subscripts, matrix, other), np.einsum(subscripts, dense, other))
    with pytest.raises(TypeError, match="MaskedArray"):
        mdhnp.matmul(matrix, np.ma.masked_less(_whole(_N, 3), 1))


def test_operators_that_need_all_elements() -> None:
    matrix, x = _matrix(), _whole(_N)
    with pytest.raises(TypeError, match="argmin numbers all elements"):
        mdhnp.matmul(matrix, x, multiply=np.add, add="argmin")
    with pytest.raises(ValueError, match="no value for rows without entries"):
        mdhnp.matmul(matrix, x, add=lambda a, b: np.where(a * a > b * b, a, b))


@pytest.mark.parametrize("caps", [CAPS, MATRICES], ids=["cpu", "gpu"])
@pytest.mark.parametrize("name", ["vector", "matrix", "columns kept", "sampled", "scaled"])
@pytest.mark.parametrize("form", ["csr", "bsr"])
def test_procedures_read_what_there_is(form: str, name: str, caps: Any, device: Device) -> None:
    """The same of kernels of any schedule, also where some indices and offsets are wrong, for which last ones stand."""
    matrix = _as(_matrix(), form)
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


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("count", [(), (5,)], ids=str)
def test_entries_stay_on_a_device(form: str, count: tuple[int, ...], where: Device, monkeypatch: Any) -> None:
    matrix = _as(_matrix(), form)
    x = _whole(*((_N, *count) if form != "csc" else (*count, _M)))
    there = mdhnp.SparseArray(matrix)
    assert (there.shape, there.dtype, there.format, there.device) == (matrix.shape, matrix.dtype, form, where)
    given, want = (there, x) if form != "csc" else (x, there), matrix @ x if form != "csc" else x @ matrix
    arrays = [mdhnp.asarray(a) if a is x else a for a in given]
    with config(host="never"):
        got = [mdhnp.matmul(*given), operator.matmul(*given), mdhnp.matmul(*arrays), operator.matmul(*arrays)]
        with monkeypatch.context() as patched:
            if where.own_memory:
                patched.delattr(where.memory, "upload")  # all is there
            got.append(mdhnp.matmul(*arrays))
    for found in got:
        assert type(found) is Array and found.device is where
        np.testing.assert_array_equal(found.numpy(), want)


def test_semirings_of_entries_on_a_device(where: Device) -> None:
    matrix, x = _matrix(), _whole(_N, 5)
    want = mdhnp.matmul(matrix, x, semiring=semiring.min_plus)
    found = mdhnp.matmul(mdhnp.SparseArray(matrix), x, semiring=semiring.min_plus)
    np.testing.assert_array_equal(found.numpy(), want)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("name", ["sum", "dot", "quadratic", "entries", "scaled", "sampled", "sampled, transposed"])
def test_sums_and_patterns_of_entries_on_a_device(name: str, form: str, where: Device) -> None:
    case, matrix = CASES[name], _as(_longer("i4") if form == "csr" else _matrix(), form)
    if (name, form) == ("sampled, transposed", "bsr"):
        return  # which is refused
    there = mdhnp.SparseArray(matrix)
    on = [there if x is None else mdhnp.asarray(x) for x in case.operands]
    for given in (on, case.given(there), on):
        found = mdhnp.einsum(case.subscripts, *given)
        if isinstance(found, mdhnp.SparseArray):
            assert found.device is where
            made = getattr(sparse, f"{found.format}_array")
            parts = found.data.numpy(), found.indices.numpy(), found.indptr.numpy()
            full = made(parts, shape=found.shape).toarray()
        else:
            full = found.numpy()
        np.testing.assert_array_equal(full, case.dense(matrix.toarray()))


@settings(max_examples=40)
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


def test_what_entries_on_a_device_are_not_for(device: Device) -> None:
    there, x = mdhnp.SparseArray(_matrix()), _whole(_M)
    with pytest.raises(TypeError, match=r"matmul: a SparseArray S in csr is for S @ x; for x @ S make .*\.tocsc\(\)"):
        mdhnp.matmul(x, there)
    with pytest.raises(TypeError, match=r"S in csc is for x @ S; for S @ x make .*\.tocsr\(\)"):
        mdhnp.SparseArray(_matrix().tocsc()) @ _whole(_N)
    for elements in (np.asarray, mdhnp.asarray):
        with pytest.raises(TypeError, match=r"\.toarray\(\)"):
            elements(there)
    with pytest.raises(TypeError, match=r"asarray: a sparse .*mdhnp\.SparseArray.*\.toarray\(\)"):
        mdhnp.asarray(_matrix(), dtype="f4")
    with pytest.raises(TypeError, match="a SparseArray in bsr has its axes in the same order"):
        mdhnp.einsum("ij,i->ji", mdhnp.SparseArray(_as(_matrix(), "bsr")), x)
    with pytest.raises(TypeError, match="does not support ufuncs"):
        np.add(there, x)
    for wrong, said in ((x, "not a ndarray"), (_matrix().tocoo(), "not one of 2 axes in coo")):
        with pytest.raises(TypeError, match=f"SparseArray: matrix must be a sparse one in csr, csc or bsr.*{said}"):
            mdhnp.SparseArray(wrong)
    with pytest.raises(TypeError, match="dtype"):
        mdhnp.SparseArray(_matrix(dtype="g"))
    with pytest.raises(ValueError, match="device must be a single one"):
        mdhnp.SparseArray(_matrix(), device="cpu/2")


def test_in_fused_functions(device: Device) -> None:
    matrix, x = _matrix(), _whole(_N, 5)
    fused = mdhnp.fuse(lambda x: np.tanh(mdhnp.matmul(matrix, x * 2) / 50))
    for given in (x, mdhnp.asarray(x)):
        np.testing.assert_allclose(fused(given), np.tanh(matrix @ (x * 2) / 50), 1e-14)


@pytest.mark.parametrize("name", ["vector", "matrix", "matrix from the left", "dot", "sampled"])
def test_on_several_devices(name: str, device: Device) -> None:
    for form in ("csr", "coo", "bsr"):
        with mdhnp.device("cpu/2"), config(host="never"):
            _check(CASES[name], _as(_matrix(), form))


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_a_matrix_whose_indices_are_outside_is_not_held(form: str) -> None:
    matrix = _as(_matrix(), form)
    matrix.indices = matrix.indices.copy()
    for wrong in (-1, 1000):
        matrix.indices[1] = wrong
        with pytest.raises(ValueError, match=r"^SparseArray: matrix: "):
            mdhnp.SparseArray(matrix)
