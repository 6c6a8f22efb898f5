"""Arrays read where elements of others say: by the definition, by kernels of any schedule, in parts, refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from guards import unwritten
from ir_run import run
from ir_walk import walk_all
from random_functions import Seeded
from running import execute, expected, lowered
from schedules import CAPS, MATRICES, schedule

import mdhnp
from mdhnp import config, native
from mdhnp.calls.entry import Entry, Start
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.plans import ByNumpy
from mdhnp.codegen import generate
from mdhnp.codegen.generate import procedures
from mdhnp.cost import NumpyWork
from mdhnp.mdh import MdHom, cc, check_indices, interpret, md_hom, ps, put_indices, pw
from mdhnp.mdh.regions import part_of
from mdhnp.runtime.devices import Device
from mdhnp.schedule.default import default

Array = Any
_RNG = np.random.default_rng(5)


class Reading(NamedTuple):
    """A pattern, arrays for it, and what NumPy makes of them."""

    scalar: Any
    combine: dict[str, Any]
    views: str
    arrays: Sequence[Array]
    by_numpy: Callable[..., Array]
    boundary: dict[str, str] | None = None
    extents: dict[str, int] = {}  # noqa: RUF012
    segments: dict[str, str] = {}  # noqa: RUF012

    def mdhom(self, arrays: Sequence[Array] | None = None) -> MdHom:
        made = md_hom(self.scalar, self.combine, self.views, boundary=self.boundary, segments=self.segments)
        return made.bind(*(self.arrays if arrays is None else arrays), **self.extents)


def _whole(*shape: int, dtype: str = "f4") -> Array:
    return _RNG.integers(-9, 9, shape).astype(dtype)


def _at(size: int, *shape: int, dtype: str = "i8") -> Array:
    """Indices of an axis of so many elements, also counted from its end."""
    return _RNG.integers(0 if dtype[0] == "u" else -size, size, shape).astype(dtype)


def _same(x: Any) -> Any:
    return x


_IJ = {"i": cc, "j": cc}
#: Rows of entries, of which some are empty, by where they begin; their columns.
_ROWS, _COLUMNS = np.array([0, 0, 3, 4, 4, 21, 30, 30]), _at(12, 30, dtype="i4") % 12
_OF_ROWS = {"k": "rows[i]:rows[i+1]"}


def _by_rows(function: Callable[[slice], Any]) -> Array:
    return np.stack([function(slice(*ends)) for ends in pairwise(_ROWS)])


READINGS = {
    "rows": Reading(_same, _IJ, "T[at[i],j] -> y[i,j]", (_whole(7, 21), _at(7, 13)), lambda t, at: t[at]),
    "columns": Reading(
        _same, _IJ, "T[i,at[j]] -> y[i,j]", (_whole(5, 9, dtype="f8"), _at(9, 35, dtype="i4")), lambda t, at: t[:, at]
    ),
    "elements": Reading(_same, {"i": cc}, "t[at[i]] -> y[i]", (_whole(19), _at(19, 43)), lambda t, at: t[at]),
    "of bytes": Reading(
        _same, {"i": cc}, "t[at[i]] -> y[i]", (_whole(200, dtype="?"), _at(200, 43, dtype="u1")), lambda t, at: t[at]
    ),
    "both axes": Reading(
        _same, _IJ, "T[a[i],b[j]] -> y[i,j]", (_whole(7, 9, dtype="i4"), _at(7, 4), _at(9, 18, dtype="u8")),
        lambda t, a, b: t[np.ix_(a, b)],
    ),
    "along an axis": Reading(
        _same, _IJ, "T[i,at[i,j]] -> y[i,j]", (_whole(6, 9, dtype="c8"), _at(9, 6, 17)),
        lambda t, at: np.take_along_axis(t, at, 1),
    ),
    "by a table": Reading(
        _same, {"i": cc, "j": cc, "k": cc}, "T[at[i,j],k] -> y[i,j,k]", (_whole(7, 5), _at(7, 6, 8)),
        lambda t, at: t[at],
    ),
    "of indices": Reading(
        _same, {"i": cc}, "t[p[q[i]]] -> y[i]", (_whole(11), _at(11, 8), _at(8, 37)), lambda t, p, q: t[p[q]]
    ),
    "strided": Reading(
        _same, _IJ, "T[at[i],j] -> y[i,j]", (_whole(14, 30)[::-2, ::3], _at(7, 26)[::2]), lambda t, at: t[at]
    ),
    "weights": Reading(
        np.multiply, {"k": pw("add")}, "v[k], x[at[k]] -> y[]", (_whole(61), _whole(12), _at(12, 61)),
        lambda v, x, at: v @ x[at],
    ),
    "rows of entries": Reading(
        np.multiply, {"i": cc, "k": pw("add")}, "v[i,k], x[at[i,k]] -> y[i]", (_whole(9, 5), _whole(12), _at(12, 9, 5)),
        lambda v, x, at: (v * x[at]).sum(1),
    ),
    "matrices of entries": Reading(
        np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "v[i,k], X[at[i,k],j] -> Y[i,j]",
        (_whole(9, 5), _whole(12, 17), _at(12, 9, 5)), lambda v, x, at: np.einsum("ik,ikj->ij", v, x[at]),
    ),
    "products": Reading(
        np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[at[i],k], B[k,j] -> C[i,j]",
        (_whole(9, 24, dtype="f8"), _at(9, 18), _whole(24, 16, dtype="f8")), lambda a, at, b: a[at] @ b,
    ),
    "stretches": Reading(
        _same, {"i": cc, "k": cc}, "a[first[i]+k] -> y[i,k]", (_whole(40), np.array([0, 22, 7, 7, -40, 13])),
        lambda a, first: np.stack([a[n : n + 18] for n in first % 40]), None, {"k": 18},
    ),
    "neighbours": Reading(
        lambda a, b: a - b, {"i": cc}, "a[at[i]+1], a[at[i]] -> y[i]", (_whole(30), _at(29, 33) % 29),
        lambda a, at: a[at + 1] - a[at],
    ),
    "with indices": Reading(
        lambda t, at: t * at, {"i": cc}, "t[at[i]], at[i] -> y[i]", (_whole(19, dtype="i8"), _at(19, 33)),
        lambda t, at: t[at] * at,
    ),
    "scanned": Reading(
        _same, {"i": ps("add")}, "t[at[i]] -> y[i]", (_whole(19), _at(19, 50)), lambda t, at: np.cumsum(t[at])
    ),
    "largest": Reading(
        _same, {"i": cc, "k": pw("max")}, "T[at[k],i] -> y[i]", (_whole(8, 21), _at(8, 11)), lambda t, at: t[at].max(0)
    ),
    "wrapped": Reading(
        _same, _IJ, "T[at[i],j] -> y[i,j]", (_whole(7, 21), _at(70, 13)), lambda t, at: t.take(at, 0, mode="wrap"),
        {"T": "wrap"},
    ),
    "clipped": Reading(
        _same, {"i": cc}, "t[at[i]] -> y[i]", (_whole(21), _at(70, 53)), lambda t, at: t.take(at, mode="clip"),
        {"t": "nearest"},
    ),
    "or nothing": Reading(
        _same, {"i": cc}, "t[at[i]] -> y[i]", (_whole(21), _at(70, 53)),
        lambda t, at: np.where((at >= 0) & (at < 21), t[at % 21], 0), {"t": "constant"},
    ),
    "sums of segments": Reading(
        _same, {"i": cc, "k": pw("add")}, "v[k] -> y[i]", (_whole(30), _ROWS),
        lambda v, rows: _by_rows(lambda row: v[row].sum()), segments=_OF_ROWS,
    ),
    "largest of segments": Reading(
        _same, {"i": cc, "j": cc, "k": pw("max")}, "V[k,j] -> Y[i,j]", (_whole(30, 20, dtype="i4"), _ROWS),
        lambda v, rows: _by_rows(lambda row: v[row].max(0, initial=np.iinfo("i4").min)), segments=_OF_ROWS,
    ),
    "sparse matrix": Reading(
        np.multiply, {"i": cc, "k": pw("add")}, "v[k], x[columns[k]] -> y[i]",
        (_whole(30), _whole(12), _COLUMNS, _ROWS),
        lambda v, x, columns, rows: _by_rows(lambda row: v[row] @ x[columns[row]]), segments=_OF_ROWS,
    ),
    "sparse by dense": Reading(
        np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "v[k], X[columns[k],j] -> Y[i,j]",
        (_whole(30, dtype="c8"), _whole(12, 37, dtype="c8"), _COLUMNS, _ROWS.astype("u4")),
        lambda v, x, columns, rows: _by_rows(lambda row: v[row] @ x[columns[row]]), segments=_OF_ROWS,
    ),
    "halves": Reading(
        _same, {"i": cc, "k": pw("add")}, "v[k] -> y[i]", (_whole(30), np.array([[0, 7], [30, 30], [7, 30]])),
        lambda v, ends: np.stack([v[b:e].sum() for b, e in ends]), segments={"k": "ends[i,0]:ends[i,1]"},
    ),
    "half precision": Reading(
        _same, _IJ, "T[at[i],j] -> y[i,j]", (_whole(7, 21, dtype="f2"), _at(7, 13)), lambda t, at: t[at]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READINGS)
def test_the_definition_is_numpys(name: str) -> None:
    r = READINGS[name]
    np.testing.assert_array_equal(interpret(r.mdhom(), *r.arrays), r.by_numpy(*r.arrays))


@pytest.mark.parametrize("name", READINGS)
def test_kernels_of_all_schedules(name: str, device: Device) -> None:
    r = READINGS[name]
    h, want = r.mdhom(), r.by_numpy(*r.arrays)
    steps = lowered(h)
    for seed in range(4):
        p = Seeded(seed)
        used = [schedule(p, s.mdhom) if seed else default(s.mdhom, device.caps) for s in steps]
        (got,) = execute(device, h, r.arrays, generate(steps, used, device.caps, default))
        np.testing.assert_array_equal(got, want, f"{used}")


@pytest.mark.parametrize("name", READINGS)
@pytest.mark.parametrize("caps", [CAPS, MATRICES], ids=["cpu", "gpu"])
def test_procedures_read_what_there_is(name: str, caps: Any) -> None:
    r = READINGS[name]
    h = r.mdhom()
    steps = lowered(h)
    for seed in range(4):
        p = Seeded(seed)
        used = [schedule(p, s.mdhom, caps) if seed else default(s.mdhom, caps) for s in steps]
        program, built = generate(steps, used, caps, default), procedures(steps, used, caps, default)
        walk_all(program, built, steps, steps=10**6)
        outputs = [unwritten(v.shape, v.dtype) for v in h.outputs]
        run(program, built, r.arrays, outputs)
        np.testing.assert_array_equal(outputs[0], expected(h, r.arrays)[0], f"{used}")


@pytest.mark.parametrize("name", READINGS)
@pytest.mark.parametrize("host", ["auto", "never"])
def test_calls(name: str, host: Any, device: Device) -> None:
    r = READINGS[name]
    made = mdhnp.md_hom(r.scalar, r.combine, r.views, boundary=r.boundary, segments=r.segments)
    with config(host=host):
        for _ in range(2):
            np.testing.assert_array_equal(made(*r.arrays, **r.extents), r.by_numpy(*r.arrays))
        on_device = [mdhnp.asarray(a) for a in r.arrays]
        for _ in range(2):
            np.testing.assert_array_equal(made(*on_device, **r.extents).numpy(), r.by_numpy(*r.arrays))


@pytest.mark.parametrize("name", READINGS)
def test_parts(name: str) -> None:
    r = READINGS[name]
    h = r.mdhom()
    want = r.by_numpy(*r.arrays)
    for d in h.dims("cc"):
        for begin, end in ((0, 2), (2, h.extents[d])):
            part = part_of(h, d, begin, end)
            got = interpret(part.mdhom, *part.reads(r.arrays))
            np.testing.assert_array_equal(got, want[part.outputs[0]])


@pytest.mark.parametrize(
    ("name", "number", "position", "value", "said"),
    [
        ("rows", 1, 4, 7, r"at: index 7 at position \(4,\) is out of bounds for axis 0 of T, which has 7 elements"),
        ("rows", 1, 0, -8, r"at: index -8 at position \(0,\)"),
        ("columns", 1, 34, 9, r"axis 1 of T, which has 9 elements"),
        ("both axes", 2, 3, 2**63 + 1, r"b: index \d+ at position \(3,\)"),
        ("along an axis", 1, (5, 2), 9, r"at position \(5, 2\)"),
        ("of indices", 1, 3, 11, "p: index 11 at position"),
        ("of indices", 2, 3, 8, r"q: index 8 at position \(3,\) is out of bounds for axis 0 of p"),
        ("stretches", 1, 2, 23, r"first: index 23 at position \(2,\) in first\[i\]\+k"),
        ("stretches", 1, 2, -17, "first: index -17"),
        ("neighbours", 1, 2, 29, r"at: index 29 at position \(2,\) in at\[i\]\+1"),
    ],
)
def test_indices_outside(name: str, number: int, position: Any, value: int, said: str, device: Device) -> None:
    r = READINGS[name]
    arrays = [a.copy() for a in r.arrays]
    if name == "of indices" and number == 1:
        arrays[2][0] = position
    arrays[number][position] = value
    with pytest.raises(IndexError, match=said):
        check_indices(r.mdhom(arrays), arrays)
    made = mdhnp.md_hom(r.scalar, r.combine, r.views)
    made(*r.arrays, **r.extents)
    for given in (arrays, [mdhnp.asarray(a) for a in arrays]):  # also in calls that are found again
        with pytest.raises(IndexError, match=f"md_hom: .*{said}" if "index" not in said[:3] else said):
            made(*given, **r.extents)


def test_in_fused_functions(device: Device) -> None:
    rows = mdhnp.md_hom(_same, _IJ, "T[at[i],j] -> y[i,j]")
    fused = mdhnp.fuse(lambda t, at, v: np.exp(rows(t * 2, at[1:]) / 9) @ v)
    t, at, v = _whole(7, 21), _at(7, 14), _whole(21)
    for given in ((t, at, v), tuple(map(mdhnp.asarray, (t, at, v)))):
        np.testing.assert_allclose(fused(*given), np.exp(t[at[1:]] * 2 / 9) @ v, 1e-5)
    with pytest.raises(IndexError, match="index 7"):
        fused(t, np.full_like(at, 7), v)
    with pytest.raises(ValueError, match="at: indices must be given"):
        mdhnp.fuse(lambda t, at: rows(t, at % 3))(t, at)


@pytest.mark.parametrize("name", READINGS)
def test_measurements_are_made_of_indices_that_there_are(name: str) -> None:
    r = READINGS[name]
    h, arrays = r.mdhom(), [np.full_like(a, 99) for a in r.arrays]
    put_indices(h, arrays, np.random.default_rng(0))
    check_indices(h, arrays)
    assert all([(a == a.dtype.type(99)).all() for n, a in enumerate(arrays) if n not in h.index_sources])
    for s in h.segments:
        assert np.diff(arrays[s.source].ravel()[:3]).any()


@pytest.mark.parametrize("name", ["rows", "matrices of entries", "weights"])
def test_on_several_devices(name: str, device: Device) -> None:
    r = READINGS[name]
    made = mdhnp.md_hom(r.scalar, r.combine, r.views)
    with mdhnp.device("cpu/2"), config(host="never"):
        np.testing.assert_array_equal(made(*r.arrays), r.by_numpy(*r.arrays))


@pytest.mark.parametrize(("number", "value"), [(0, -1), (7, 31), (4, 22)])
def test_segments_that_do_not_fit(number: int, value: int, device: Device) -> None:
    r = READINGS["sums of segments"]
    rows = _ROWS.copy()
    rows[number] = value
    made = mdhnp.md_hom(r.scalar, r.combine, r.views, segments=r.segments)
    with pytest.raises(ValueError, match=r"rows: segment . is of points from .* to .*, k has 30"):
        made(r.arrays[0], rows)


def test_elements_that_are_not_read_may_be_anything(device: Device) -> None:
    every_other = mdhnp.md_hom(_same, {"i": cc}, "t[at[2*i]] -> y[i]")
    t, at = np.arange(5.0), np.array([1, 99, 4, -99, 0])
    np.testing.assert_array_equal(every_other(t, at), t[at[::2]])


@pytest.mark.parametrize(
    ("views", "dtype", "error", "said"),
    [
        ("t[2*at[i]] -> y[i]", "i8", ValueError, "as it is, not several times as large"),
        ("t[at[i]+at[i]] -> y[i]", "i8", ValueError, "one element of another array, not several"),
        ("t[3-at[i]] -> y[i]", "i8", ValueError, "as it is"),
        ("t[at[i]] -> y[at[i]]", "i8", ValueError, "how many results at says where to put"),
        ("t[at[i]] -> y[i]", "f8", TypeError, "at: indices must be integers, not float64"),
        ("t[at[:]] -> y[i]", "i8", ValueError, "no element that could be an index"),
    ],
)
def test_what_is_refused(views: str, dtype: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        mdhnp.md_hom(_same, {"i": cc}, views)(np.ones(3), np.zeros(3, dtype))


@pytest.mark.parametrize(
    ("segments", "said"),
    [
        ({"i": "at[k]:at[k]"}, "i is no reduced dimension"),
        ({"l": "at[i]:at[i+1]"}, "'l' is none of the dimensions"),
        ({"k": "at[i]"}, "no pair of elements"),
        ({"k": "at[i]:ta[i]"}, "of two arrays"),
        ({"k": "at[i]:at[i"}, "is not a list of accesses"),
        ({"k": "at[k]:at[k]"}, "where points of concatenated dimensions are"),
    ],
)
def test_segments_that_mean_nothing(segments: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        mdhnp.md_hom(_same, {"i": cc, "k": pw("add")}, "t[k] -> y[i]", segments=segments)(
            np.ones(3), np.zeros(3, int), i=2
        )


def test_what_is_combined_behind_segments_must_commute() -> None:
    composed = pw(lambda a, b: (a[0] * b[0], a[0] * b[1] + a[1]), commutative=False, check=False, identity=(1, 0))
    x, z, at = np.full((6, 2), 2), np.arange(12).reshape(6, 2), np.array([0, 2, 2, 6])
    where = {"views": "x[i,k], z[i,k] -> y[j], w[j]", "segments": {"i": "at[j]:at[j+1]"}}
    outer, inner = (mdhnp.md_hom(lambda *x: x, {"j": cc} | dict.fromkeys(d, composed), **where) for d in ("ki", "ik"))
    np.testing.assert_array_equal(outer(x, z, at), interpret(outer.bind(x, z, at), x, z, at))
    with pytest.raises(ValueError, match=r"combine: k is combined before i, whose points are those of segments"):
        inner(x, z, at)


def test_printed() -> None:
    assert "md_hom(*, (++, + rows[i]:rows[i+1]))" in str(READINGS["sparse matrix"].mdhom())
    r = READINGS["of indices"]
    assert str(r.mdhom()) == "md_hom(id, (++,)) ∘ (t[p[q[i]]], p[q[i]], q[i]) -> y[i]"


@pytest.mark.parametrize("dtype", np.typecodes["AllInteger"])
def test_compiled_code_looks_at_indices_as_numpy_does(dtype: str) -> None:
    inside = native.inside
    if inside is None:
        pytest.skip("no compiled code")
    least = 0 if np.dtype(dtype).kind == "u" else -100
    given = _RNG.integers(least, 100, (7, 40_001)).astype(dtype)  # enough for two threads
    given[0, :2] = least, 99
    for threads in (1, 2, 9):
        assert inside(given, 100, threads)
        assert inside(given[:0], 0, threads)
        for place in (0, given.size // 2, given.size - 1):
            for wrong in (100, *([-101, np.iinfo(dtype).min] if least else [np.iinfo(dtype).max])):
                other = given.copy()
                other.flat[place] = wrong
                assert not inside(other, 100, threads)
    for refused in ((given[:, ::2], 100, 1), (given.astype(float), 100, 1), (given, 100.0, 1), (given, 100)):
        with pytest.raises(TypeError, match="inside takes an array of integers in C order"):
            inside(*refused)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        inside(given, 1 << 70, 1)


def test_what_kernels_need_before_them_is_not_done_for_numpy() -> None:
    x, looked = np.arange(3.0), list[int]()
    h = md_hom(_same, {"i": cc}, "x[i] -> y[i]").bind(x)
    function = NumpyFunction("numpy.negative", np.negative, NumpyWork("d", 0, 3, 48, 0))
    entry = Entry(Start(ByNumpy(h, (), "", function, [0])), None, None, lambda a: (looked.append(1), a)[1])
    np.testing.assert_array_equal(entry.run((x,)), -x)
    assert not looked
    entry.put(SimpleNamespace(run=lambda arrays: (arrays[0] + 1,)))
    np.testing.assert_array_equal(entry.run((x,)), x + 1)
    assert looked == [1]
