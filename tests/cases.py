"""The one list of calls that the frontend's tests are made of: subscripts and shapes, memory layouts, types.

Extents are small, and divide no tile or work-group size.
"""

from collections.abc import Callable, Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

#: Subscripts and the operands' shapes, all of them good.
EINSUM: list[tuple[str, tuple[Shape, ...]]] = [
    # one operand: copies, transposes, sums, diagonals, traces
    ("", ((),)),
    ("->", ((),)),
    ("i", ((5,),)),
    ("i->", ((257,),)),
    ("ij", ((3, 5),)),
    ("ji", ((3, 5),)),
    ("ij->ji", ((7, 13),)),
    ("ijk->kij", ((3, 5, 7),)),
    ("ijkl->ljik", ((2, 3, 5, 7),)),
    ("ij->i", ((7, 33),)),
    ("ij->j", ((33, 7),)),
    ("ij->", ((11, 13),)),
    ("ijk->j", ((5, 7, 11),)),
    ("ii", ((7, 7),)),
    ("ii->i", ((7, 7),)),
    ("iij->j", ((5, 5, 3),)),
    ("iji->ij", ((4, 3, 4),)),
    ("iii->i", ((3, 3, 3),)),
    ("ijij->ij", ((3, 4, 3, 4),)),
    ("ijij->", ((3, 4, 3, 4),)),
    ("Ba", ((2, 3),)),
    # vectors
    ("i,i", ((129,), (129,))),
    ("i,i->", ((1,), (1,))),
    ("i,i->i", ((17,), (17,))),
    ("i,j", ((3,), (5,))),
    ("i,j->ji", ((3,), (5,))),
    ("i,j->", ((3,), (5,))),
    ("i,j->i", ((3,), (5,))),
    # matrix and vector
    ("ij,j", ((7, 33), (33,))),
    ("ij,j->i", ((1, 9), (9,))),
    ("ij,i->j", ((33, 7), (33,))),
    ("j,ij->i", ((5,), (3, 5))),
    ("ij,j->ij", ((3, 5), (5,))),
    ("ii,i->i", ((4, 4), (4,))),
    ("ij,j->", ((6, 7), (7,))),
    # matrices, in every transposition
    ("ij,jk", ((5, 7), (7, 3))),
    ("ij,jk->ik", ((17, 33), (33, 19))),
    ("ji,jk->ik", ((7, 5), (7, 3))),
    ("ij,kj->ik", ((5, 7), (3, 7))),
    ("ji,kj->ik", ((7, 5), (3, 7))),
    ("ij,jk->ki", ((5, 7), (7, 3))),
    ("ab,cb->ca", ((5, 7), (3, 7))),
    (" ij , jk -> ik ", ((2, 3), (3, 4))),
    ("ij,ij", ((5, 7), (5, 7))),
    ("ij,ji", ((5, 7), (7, 5))),
    ("ij,ij->ij", ((5, 7), (5, 7))),
    ("ij,ji->ij", ((5, 7), (7, 5))),
    ("ij,ij->i", ((5, 7), (5, 7))),
    ("ij,kl->ijkl", ((2, 3), (5, 2))),
    ("ij,kl->ik", ((2, 3), (5, 2))),
    ("ii,jj->ij", ((3, 3), (4, 4))),
    ("ii,jj", ((3, 3), (4, 4))),
    # stacks
    ("bij,bjk->bik", ((3, 5, 7), (3, 7, 2))),
    ("bij,bkj->bik", ((3, 5, 7), (3, 2, 7))),
    ("bij,jk->bik", ((3, 5, 7), (7, 2))),
    ("ij,bjk->bik", ((5, 7), (3, 7, 2))),
    ("bij,bjk->ik", ((3, 5, 7), (3, 7, 2))),
    ("bhqd,bhkd->bhqk", ((2, 3, 5, 4), (2, 3, 7, 4))),
    # contractions, several of the TCCG list
    ("aebf,dfce->abcd", ((3, 4, 2, 5), (3, 5, 2, 4))),
    ("abcde,efbad->cf", ((2, 3, 4, 2, 3), (3, 5, 3, 2, 2))),
    ("dbea,ec->abcd", ((3, 2, 5, 4), (5, 3))),
    ("gdab,efgc->abcdef", ((3, 2, 2, 3), (2, 2, 3, 2))),
    ("ijk,jil->kl", ((3, 4, 5), (4, 3, 2))),
    ("abc,abc->", ((3, 4, 5), (3, 4, 5))),
    ("iij,jk->ik", ((3, 3, 4), (4, 5))),
    # ellipses and broadcast extents
    ("...", ((3, 4),)),
    ("...->...", ((3, 4),)),
    ("...i->...", ((3, 4, 5),)),
    ("i...->...", ((3, 4, 5),)),
    ("i...->i...", ((3, 4, 5),)),
    ("...ii->...i", ((2, 3, 3),)),
    ("...ij,...jk->...ik", ((2, 3, 4, 5), (3, 5, 2))),
    ("...ij,...jk", ((2, 1, 4, 5), (3, 5, 2))),
    ("...ij,jk->...ik", ((3, 4, 5), (5, 2))),
    ("i...,j...->ij...", ((3, 4), (2, 1))),
    ("...,...", ((3, 1), (1, 4))),
    ("...,...->...", ((), (3,))),
    ("i...i,...->i...", ((3, 2, 3), (2,))),
    ("ij,jk->ik", ((3, 1), (4, 5))),
    ("ij,ij->ij", ((3, 1), (1, 4))),
    ("ij,ij", ((3, 1), (1, 4))),
    (",i->i", ((), (5,))),
    (",", ((), ())),
    # nothing
    ("i->i", ((0,),)),
    ("ij->i", ((3, 0),)),
    ("ij,jk->ik", ((3, 0), (0, 4))),
    ("ij,jk->ik", ((0, 3), (3, 4))),
    ("ij,j->i", ((3, 0), (1,))),
    # several operands
    ("i,i,i->i", ((5,), (5,), (5,))),
    ("ij,jk,kl", ((3, 4), (4, 5), (5, 2))),
    ("ij,jk,kl->il", ((3, 4), (4, 5), (5, 2))),
    ("i,ij,j->", ((3,), (3, 4), (4,))),
    ("ij,ik,il->jkl", ((5, 2), (5, 3), (5, 4))),
    ("ab,bc,cd,de->ae", ((2, 3), (3, 4), (4, 3), (3, 2))),
    ("...ij,...jk,k->...i", ((2, 3, 4), (4, 5), (5,))),
    ("i,j,k->kji", ((2,), (3,), (4,))),
    ("ea,fb,abcd,gc,hd->efgh", ((2, 3), (3, 2), (3, 2, 2, 3), (2, 2), (2, 3))),
    (",ij,jk", ((), (2, 3), (3, 2))),
    ("ij,j,ij->i", ((3, 1), (4,), (1, 4))),
]

#: Types that kernels compute with.
DTYPES = tuple(
    map(
        np.dtype,
        ("?", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "f2", "f4", "f8", "c8", "c16"),
    )
)

#: Different types of two operands.
MIXED = (
    "f4 f8", "f8 i4", "f4 i4", "i8 u8", "i1 u1", "? f4", "? i2", "u4 i4", "f4 i2", "i8 ?", "u1 f8", "f2 f4", "? f2",
    "f2 i1", "u2 f2", "f2 f8", "c8 f4", "f8 c8", "c8 c16", "c8 i4", "i2 c8", "c16 ?", "f2 c8",
)  # fmt: skip


def values(rng: np.random.Generator, shape: Shape, dtype: Any = np.float32) -> Array:
    """Random elements: of an integer's whole range, so that products wrap."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.4
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    numbers = rng.standard_normal(shape)
    return (numbers + 1j * rng.standard_normal(shape) if dtype.kind == "c" else numbers).astype(dtype)


def _misaligned(a: Array) -> Array:
    memory = np.empty(a.nbytes + 1, np.uint8)
    moved = memory[1:].view(a.dtype).reshape(a.shape)
    moved[...] = a
    return moved


def _stepped(a: Array) -> Array:
    wide = np.zeros([2 * n + 1 for n in a.shape], a.dtype)
    part = wide[(..., *(slice(1, 2 * n + 1, 2) for n in a.shape))]
    part[...] = a
    return part


def _field(a: Array) -> Array:
    """In records of a stride that is no multiple of the element; complex numbers are aligned all the same."""
    records = np.zeros(a.shape, [("key", np.float32), ("value", a.dtype)])
    records["value"] = a
    return records["value"]


#: Ways to keep an array in memory: each gives an array of the same shape and type, the elements need not be the same.
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "contiguous": lambda a: a,
    "fortran": lambda a: np.array(a, order="F"),
    "reversed": lambda a: a[(slice(None, None, -1),) * a.ndim] if a.ndim else a,
    "stepped": _stepped,
    "repeated": lambda a: np.broadcast_to(a[:1], a.shape) if a.ndim and a.size else a,
    "transposed": lambda a: np.ascontiguousarray(a.swapaxes(0, -1)).swapaxes(0, -1) if a.ndim else a,
    "misaligned": _misaligned,
    "field": _field,
    "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
}


def operands(shapes: Sequence[Shape], dtypes: Sequence[Any], first_layout: int = 0, step: int = 0) -> list[Array]:
    """Arrays for a case, always the same ones; each operand `step` layouts on from the one before it."""
    rng = np.random.default_rng(7)
    names = list(LAYOUTS)
    return [
        LAYOUTS[names[(first_layout + n * step) % len(names)]](values(rng, shape, dtypes[n % len(dtypes)]))
        for n, shape in enumerate(shapes)
    ]


def magnitude(a: Array) -> Array:
    """Absolute values in float64, which integers' smallest ones have, too."""
    return np.abs(a if a.dtype.kind == "c" else a.astype(np.float64)).astype(np.float64)


def assert_same(result: Any, expected: Any, size: Any, terms: int = 1) -> None:
    """Assert NumPy's type, shape, dtype and values; floats within rounding of sums of `terms` terms of a size."""
    assert type(result) is type(expected)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype.newbyteorder("=")
    if result.dtype.kind not in "fc":
        np.testing.assert_array_equal(result, expected)
    else:
        # Of float16 only the result is rounded; a complex product is a sum.
        rounded = 2 if result.dtype == np.float16 else 4 + terms
        allowed = np.finfo(result.dtype).eps * rounded * np.asarray(size, np.float64)
        error = np.abs(np.asarray(result, np.clongdouble) - expected)
        worst = np.max(error - allowed, initial=-np.inf)
        assert worst <= 0, f"{worst} beyond what rounding explains"


def subscripts(rng: np.random.Generator, largest: int) -> tuple[str, list[Shape]]:
    """Draw an einsum of up to four operands of up to three axes, and shapes of fewer than so many elements an axis."""
    labels = ascii_lowercase[: rng.integers(2, 8)]
    sizes = {c: int(rng.integers(2, largest)) for c in labels}
    terms = ["".join(rng.permutation(list(labels))[: rng.integers(1, 4)]) for _ in range(rng.integers(1, 5))]
    terms = list({frozenset(t): t for t in terms}.values())  # opt_einsum's "optimal" mistakes operands of equal labels
    every = sorted(set("".join(terms)))
    output = "".join(rng.permutation(every)[: rng.integers(0, min(3, len(every)) + 1)])
    return f"{','.join(terms)}->{output}", [tuple(sizes[c] for c in t) for t in terms]
