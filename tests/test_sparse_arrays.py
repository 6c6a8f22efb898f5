"""SparseArrays: products, sums and patterns of entries that stay on a device, and what these are not for."""

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest
from sparse_cases import CASES, M, N, longer, matrix_of, sparse, stored_as, whole

import mdhnp
from mdhnp import Array, config, semiring
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Kernels
from mdhnp.runtime.devices import Device


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("count", [(), (5,)], ids=str)
def test_entries_stay_on_a_device(form: str, count: tuple[int, ...], where: Device, monkeypatch: Any) -> None:
    matrix = stored_as(matrix_of(), form)
    x = whole(*((N, *count) if form != "csc" else (*count, M)))
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


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("subscripts", ["ij,j->i", "ij,jk->ik", "ij,jk->ki", "ij,jkl->kil", "ij,jk,ik->ik"])
def test_long_rows_are_cut(subscripts: str, form: str, where: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_LONG": 4, "_TIMES": 1, "_PIECE": 4}.items():
        monkeypatch.setattr(f"mdhnp.arrays.sparse.{name}", value)
    matrix, short = matrix_of(), sparse.csr_array(np.eye(M, N))
    extents = {"i": M, "j": N, "k": 32, "l": 3}
    operands = [whole(*[extents[c] for c in term]) for term in subscripts.partition("->")[0].split(",")[1:]]
    if form == "csc":  # the columns of the matrix turned, which are its rows
        subscripts = subscripts.replace("ij,", "ji,")
    for each, pieces in ((matrix, 2), (short, 1), (matrix, 2)):
        want = np.einsum(subscripts.replace("ji,", "ij,"), each.toarray(), *operands)
        there = mdhnp.SparseArray(each.T.tocsc() if form == "csc" else stored_as(each, form))
        with config(host="never"), observe() as seen:
            found = mdhnp.einsum(subscripts, there, *map(mdhnp.asarray, operands))
        np.testing.assert_array_equal(found.numpy(), want)
        for _ in range(3):  # as it is found again
            again = mdhnp.einsum(subscripts, there, *map(mdhnp.asarray, operands))
            np.testing.assert_array_equal(again.numpy(), want)
        tropical = mdhnp.einsum(subscripts, there, *map(mdhnp.asarray, operands), semiring=semiring.min_plus)
        right = mdhnp.einsum(subscripts.replace("ji,", "ij,"), each, *operands, semiring=semiring.min_plus)
        if form != "bsr":  # whose blocks have more elements
            np.testing.assert_array_equal(tropical.numpy(), right)
        plans = [plan for plan, _ in seen if isinstance(plan, Kernels)]
        assert len(plans) == (pieces if where.own_memory and len(operands) == 1 else 1)


def test_semirings_of_entries_on_a_device(where: Device) -> None:
    matrix, x = matrix_of(), whole(N, 5)
    want = mdhnp.matmul(matrix, x, semiring=semiring.min_plus)
    found = mdhnp.matmul(mdhnp.SparseArray(matrix), x, semiring=semiring.min_plus)
    np.testing.assert_array_equal(found.numpy(), want)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("name", ["sum", "dot", "quadratic", "entries", "scaled", "sampled", "sampled, transposed"])
def test_sums_and_patterns_of_entries_on_a_device(name: str, form: str, where: Device) -> None:
    case, matrix = CASES[name], stored_as(longer("i4") if form == "csr" else matrix_of(), form)
    if (name, form) == ("sampled, transposed", "bsr"):
        return  # which is refused
    there = mdhnp.SparseArray(matrix)
    on = [there if x is None else mdhnp.asarray(x) for x in case.operands]
    for given in (on, case.given(there), on):
        found = mdhnp.einsum(case.subscripts, *given)
        if isinstance(found, mdhnp.SparseArray):
            assert found.device is where
            full = found.scipy().toarray()
        else:
            full = found.numpy()
        np.testing.assert_array_equal(full, case.dense(matrix.toarray()))


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_they_are_scipys_again(form: str, where: Device) -> None:
    matrix = stored_as(matrix_of(), form)
    there = mdhnp.SparseArray(matrix)
    again = there.scipy()
    assert (again.format, again.dtype, there.nnz) == (form, matrix.dtype, matrix.nnz)
    np.testing.assert_array_equal(again.toarray(), matrix.toarray())
    again.data[:] = 0  # a copy
    if form == "bsr":
        with pytest.raises(TypeError, match=r"^SparseArray\.T: blocks of .* are not transposed.*matrix\.T"):
            there.T  # noqa: B018
        return
    assert (there.T.format, there.T.shape) == (matrix.T.format, matrix.T.shape)
    np.testing.assert_array_equal(there.T.T.scipy().toarray(), matrix.toarray())
    x = whole(5, N) if form == "csr" else whole(M, 5)
    found = x @ there.T if form == "csr" else there.T @ x
    np.testing.assert_array_equal(found.numpy(), x @ matrix.T if form == "csr" else matrix.T @ x)


def test_what_entries_on_a_device_are_not_for(device: Device) -> None:
    there, x = mdhnp.SparseArray(matrix_of()), whole(M)
    with pytest.raises(TypeError, match=r"matmul: a SparseArray S in csr is for S @ x; for x @ S make .*\.tocsc\(\)"):
        mdhnp.matmul(x, there)
    with pytest.raises(TypeError, match=r"S in csc is for x @ S; for S @ x make .*\.tocsr\(\)"):
        mdhnp.SparseArray(matrix_of().tocsc()) @ whole(N)
    for elements in (np.asarray, mdhnp.asarray):
        with pytest.raises(TypeError, match=r"\.toarray\(\)"):
            elements(there)
    with pytest.raises(TypeError, match=r"asarray: a sparse .*mdhnp\.SparseArray.*\.toarray\(\)"):
        mdhnp.asarray(matrix_of(), dtype="f4")
    with pytest.raises(TypeError, match="a SparseArray in bsr has its axes in the same order"):
        mdhnp.einsum("ij,i->ji", mdhnp.SparseArray(stored_as(matrix_of(), "bsr")), x)
    assert not hasattr(there, "toarray")
    with pytest.raises(AttributeError, match=r"a SparseArray has no attribute 'toarray'; .* \.scipy\(\)"):
        there.toarray()
    for name in ("shape", "format", "data", "indices", "indptr", "nnz", "other"):
        with pytest.raises(AttributeError, match=f"^{name} of a SparseArray cannot be assigned"):
            setattr(there, name, getattr(there, name, None))
    with pytest.raises(AttributeError, match="data of a SparseArray cannot be"):
        del there.data
    for again in (copy.copy(there), pickle.loads(pickle.dumps(there))):
        assert (again.scipy() != there.scipy()).nnz == 0
    for f in (np.add, np.multiply):
        with pytest.raises(TypeError, match=rf"{f.__name__}: a SparseArray does not support ufuncs .*einsum"):
            f(there, x)
    for wrong, said in ((x, "not a ndarray"), (matrix_of().tocoo(), "not one of 2 axes in coo")):
        with pytest.raises(TypeError, match=f"SparseArray: matrix must be a sparse one in csr, csc or bsr.*{said}"):
            mdhnp.SparseArray(wrong)
    with pytest.raises(TypeError, match="dtype"):
        mdhnp.SparseArray(matrix_of(dtype="g"))
    with pytest.raises(ValueError, match="device must be a single one"):
        mdhnp.SparseArray(matrix_of(), device="cpu/2")


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_a_matrix_whose_indices_are_outside_is_not_held(form: str) -> None:
    matrix = stored_as(matrix_of(), form)
    matrix.indices = matrix.indices.copy()
    for wrong in (-1, 1000):
        matrix.indices[1] = wrong
        with pytest.raises(ValueError, match=r"^SparseArray: matrix: "):
            mdhnp.SparseArray(matrix)
