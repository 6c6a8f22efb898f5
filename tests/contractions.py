"""Random sums of products of any type, and random schedules that compute them by matrix instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from typing import Any

import numpy as np
from guards import guarded
from random_functions import Picker, Seeded
from schedules import schedule
from strategies import shuffled

from mdhnp.mdh import MdHom, cc, md_hom, pw
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.default import default
from mdhnp.schedule.gpu_matrices import matrix_schedules
from mdhnp.schedule.schedule import DeviceCaps, Schedule

__all__ = ["ALL_TYPES", "PECULIAR", "Contraction", "assert_close", "contraction", "halves", "matrix_schedule"]

Array = np.ndarray[Any, Any]

#: Most points of one that is run without a device.
_POINTS = 6000
#: Of the terms' magnitudes: what three products of parts leave out is up to some of them, too.
_ROUNDINGS = 8
#: Types of factors, the first with instructions; ">" tells that products are of another type than their factors.
_TYPES = ("f4", "f4", "f8", "f2", "c8", "c16", "i1", "u1", "i2", "i4")
ALL_TYPES = (*_TYPES, "i8", "i1>i4")
#: Types whose instructions have many terms: as many as several tiles have are drawn.
_WHOLE = ("i1", "u1", "i2", "i4")
#: Values at the ends of what types of floats hold, beside which others are usual: their products with these are finite.
PECULIAR: dict[str, tuple[float, ...]] = {
    "f2": (np.nan, np.inf, -np.inf, 60000.0, 6e-8, 2.0**-14, -1e-6, 0.0, -0.0),
    "f4": (np.nan, np.inf, -np.inf, 1e38, -3e37, 1e-45, 2.0**-126, -1.2e-38, 2.0**-103, 1e-30, 0.0, -0.0),
    "f8": (np.nan, np.inf, -np.inf, 1e307, 5e-324, 2.0**-1022, -1e-300, 0.0, -0.0),
}
#: Of so many candidates one or a few are drawn, of which that with the fewest work-items is taken.
_CANDIDATES, _DRAWN = 60, (1, 4)


@dataclass(frozen=True)
class Contraction:
    """A sum of products on arrays, the result in double precision, and the sum of its finite terms' magnitudes.

    Of whole numbers the result is exact.
    """

    mdhom: MdHom
    arrays: tuple[Array, ...]
    wanted: Array
    size: Array

    def assert_right(self, got: Array) -> None:
        """Assert that a result differs by a few roundings of its type only."""
        assert_close(got, self.wanted, self.size)


def assert_close(got: Array, exact: Array, size: Array) -> None:
    """Assert that sums of products are as exact as their type allows, and infinite or NaN where the exact ones are.

    Parameters
    ----------
    got : ndarray
        The sums.
    exact : ndarray
        The same in double precision.
    size : ndarray
        The sums of their finite terms' magnitudes: where they are beyond the type, sums depend on their order.
    """
    if got.dtype.kind in "iu":
        np.testing.assert_array_equal(got, exact)
        return
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        wanted = exact.astype(got.dtype)
        inside = size <= 0.5 * float(info.max)
        finite, other = inside & np.isfinite(wanted), inside & ~np.isfinite(wanted)
        # Each term that is below the type's normal numbers may be rounded apart.
        limit = _ROUNDINGS * float(info.eps) * size + 64 * float(info.smallest_subnormal)
        far = finite & ~(np.abs(got - exact) <= limit)
    assert not far.any(), f"{far.sum()} of {far.size} are off, as {got[far][0]} for {exact[far][0]} at {where(far)}"
    np.testing.assert_array_equal(got[other], wanted[other])


def where(mask: Array) -> tuple[int, ...]:
    """The first place where an array is true."""
    return tuple([int(n) for n in np.argwhere(mask)[0]])


def halves(a: Any, b: Any) -> Any:
    """A product of float16 as NumPy's products of matrices have it: in float32."""
    return a.astype(np.float32) * b.astype(np.float32)


def _values(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    """Random numbers, of integers any of the type."""
    if np.dtype(dtype).kind in "iu":
        ends = np.iinfo(dtype)
        return rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)
    values: Array = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def _array(p: Picker, shape: tuple[int, ...], dtype: str, peculiar: bool) -> Array:
    """Random numbers that lie in any order in memory, backwards along some axes; among them some that are peculiar."""
    order = shuffled(p, range(len(shape)))
    values = _values(np.random.default_rng(p.integer(0, 1 << 30)), [shape[axis] for axis in order], dtype)
    for _ in range(p.choice((0, 1, 2, 9)) if peculiar else 0):
        values[tuple([p.integer(0, n - 1) for n in values.shape])] = p.choice(PECULIAR[dtype])
    array = guarded(values).transpose(np.argsort(order))
    # Turned twice: the shape is the same, the strides along the axis are negative.
    turned = tuple([slice(None, None, p.choice((1, 1, -1))) for _ in shape])
    return array[turned]


def contraction(seed: int, types: Sequence[str] = _TYPES, points: int = _POINTS, peculiar: bool = False) -> Contraction:
    """A random one of so many points at most: of labels, or a convolution along one axis."""
    p = Seeded(seed)
    dtype, make = p.choice(types), p.choice((_convolution, _labelled, _labelled, _labelled))
    while True:
        longer = 1 if points == _POINTS else p.choice((1, 2, 3, 5, 8))
        found = make(p, dtype, longer, peculiar)
        if prod(found.mdhom.extents) <= points:
            return found


def _terms(p: Picker, dtype: str) -> int:
    return p.integer(33, 70) if dtype[:2] in _WHOLE else p.integer(9, 41)


def _convolution(p: Picker, dtype: str, longer: int, peculiar: bool) -> Contraction:
    n, w, c, k, r = p.choice((2, 5)), p.integer(3, 11), _terms(p, dtype), p.integer(3, 9), p.choice((2, 3, 16))
    w, c, k = w * longer, c * longer, k * longer
    given, dtype = dtype, dtype[:2] if ">" in dtype else dtype
    window = "p+r"
    if p.integer(0, 1):  # channels first: a filter's last axes are one row, of whose terms there may be some in a tile
        arrays = _array(p, (n, c, w + r - 1), dtype, peculiar), _array(p, (k, c, r), dtype, peculiar)
        seen = np.lib.stride_tricks.sliding_window_view(arrays[0], r, axis=2)
        image, kernel, terms = "n,c,{}", "k,c,r", ("ncpr", "kcr")
    else:
        arrays = _array(p, (n, w + r - 1, c), dtype, peculiar), _array(p, (k, r, c), dtype, peculiar)
        seen = np.lib.stride_tricks.sliding_window_view(arrays[0], r, axis=1)
        image, kernel, terms = "n,{},c", "k,r,c", ("npcr", "krc")
    if p.integer(0, 1):  # the filter backwards: a tile may begin before the array
        window, seen = f"p-r+{r - 1}", seen[..., ::-1]
    views = f"I[{image.format(window)}], F[{kernel}] -> O[n,p,k]"
    return _made(given, views, "npk", "rc", (seen, arrays[1]), f"{','.join(terms)}->npk", arrays)


def _labelled(p: Picker, dtype: str, longer: int, peculiar: bool) -> Contraction:
    rows, columns = p.choice((("i", "x"), ("ij", "x"), ("i", "xy")))
    sums, batch = "kl"[: p.integer(1, 2)], "b"[: p.integer(0, 1)]
    extents = {"k": longer * _terms(p, dtype), "i": longer * p.integer(3, 20), "x": longer * p.integer(3, 17)}
    extents |= {d: p.integer(2, 3) for d in "bjyl"}
    terms = ["".join(shuffled(p, batch + some)) for some in (rows + sums, sums + columns, rows + columns)]
    # What arrays have beyond the extents is in no result, although a tile may reach it.
    sizes = [{**extents, "k": extents["k"] + p.choice((0, 0, 5, 16))} for _ in range(2)]
    shapes = [tuple([n[d] for d in term]) for n, term in zip(sizes, terms[:2], strict=True)]
    arrays = tuple([_array(p, shape, dtype.split(">", maxsplit=1)[0], peculiar) for shape in shapes])
    inside = [a[tuple([slice(extents[d]) for d in term])] for a, term in zip(arrays, terms[:2], strict=True)]
    views = "A[{}], B[{}] -> C[{}]".format(*map(",".join, terms))
    return _made(dtype, views, terms[2], sums, tuple(inside), "{},{}->{}".format(*terms), arrays, k=extents["k"])


def _made(
    dtype: str, views: str, kept: str, summed: str, factors: tuple[Array, ...], subscripts: str,
    arrays: tuple[Array, ...], **extents: int,
) -> Contraction:  # fmt: skip
    combine = {d: cc for d in kept} | {d: pw("add") for d in summed}
    if dtype == "f2":  # as NumPy computes it: in float32, rounded once
        pattern = md_hom(halves, combine, views, finish=lambda total, a, b: total.astype(np.float16))
    elif ">" in dtype:
        pattern = md_hom(lambda a, b: a.astype(np.int32) * b.astype(np.int32), combine, views)
    else:
        pattern = md_hom(np.multiply, combine, views)
    h = pattern.bind(*arrays, **extents)
    (result,) = h.outputs
    # Whole numbers modulo 2^64, and so modulo the size of their type.
    wide = {"i": np.int64, "u": np.int64, "c": np.complex128}.get(result.dtype.kind, np.float64)
    exact = [f.astype(wide) for f in factors]
    with np.errstate(all="ignore"):
        wanted = np.einsum(subscripts, *exact)
        size = np.einsum(subscripts, *[np.abs(np.where(np.isfinite(f), f, 0)) for f in exact])
        return Contraction(h, arrays, wanted.astype(result.dtype) if wide is np.int64 else wanted, size)


def matrix_schedule(p: Picker, h: MdHom, caps: DeviceCaps) -> Schedule:
    """A random one of those that are looked at by default, with whatever may be changed of it; where no instruction
    computes it, any one."""
    plain, found = default(h, replace(caps, atoms=())), list[Schedule]()
    for atom in shuffled(p, caps.atoms):
        if not found:
            made = matrix_schedules(AccessPattern(h), replace(caps, atoms=(atom,)), plain)
            found = [s for _, s in islice(made, _CANDIDATES)]
    if not found:
        return schedule(p, h, caps)
    s = min([p.choice(found) for _ in range(p.choice(_DRAWN))], key=lambda s: s.work_groups * s.work_items)
    for change in _changes(p, h, s):
        changed = replace(s, **change)
        s = changed if is_legal(h, changed, caps) else s
    return s


def _changes(p: Picker, h: MdHom, s: Schedule) -> Iterator[dict[str, Any]]:
    """Changes that may all be made, in order; each may be illegal."""
    kept, combined = list(h.dims("cc")), list(h.dims("pw"))
    for name in ("item_order", "group_order", "local_order", "private_order"):
        yield {name: tuple(shuffled(p, range(h.rank)))}
    yield {"global_order": (*shuffled(p, kept), *shuffled(p, combined))}
    copies = s.local_copies
    orders = [copy and replace(copy, order=tuple(shuffled(p, copy.order))) for copy in copies]
    yield {"local_copies": p.choice((copies, tuple(orders)))}
    copies = tuple([copy and replace(copy, pad=p.choice((copy.pad, 0, 1, 4, 8))) for copy in copies])
    yield {"local_copies": copies}
    yield {"stages": p.integer(2, 4)}
    yield {"combine_on": p.choice(("local", "global")), "combine_every": 1}
    yield {"combine_every": p.integer(1, 4)}
    others = [d for d in combined if d not in s.atom_dims]
    tiles = tuple([p.integer(1, h.extents[d]) if d in others else t for d, t in enumerate(s.local_tile)])
    yield {"local_tile": tiles, "num_wg": _groups(h, tiles, [s.num_wg[d] if d in kept else 1 for d in range(h.rank)])}
    wanted = [p.choice((1, 2, 3)) if d in combined else p.choice((s.num_wg[d], 2)) for d in range(h.rank)]
    yield {"num_wg": _groups(h, tiles, wanted)}


def _groups(h: MdHom, tiles: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """At most so many work-groups, each with a tile."""
    many = [-(-n // t) for n, t in zip(h.extents, tiles, strict=True)]
    return tuple([-(-n // -(-n // min(n, w))) for n, w in zip(many, wanted, strict=True)])
