"""Random sums of products, and random schedules that compute them by matrix instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from typing import Any

import numpy as np
from guards import guarded
from random_functions import Picker, Seeded
from strategies import shuffled

from mdhnp.mdh import MdHom, cc, md_hom, pw
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.default import default
from mdhnp.schedule.gpu_matrices import matrix_schedules
from mdhnp.schedule.schedule import DeviceCaps, Schedule

__all__ = ["Contraction", "contraction", "halves", "matrix_schedule"]

Array = np.ndarray[Any, Any]

#: Most points of one that is run without a device.
_POINTS = 6000
#: Of the terms' magnitudes: what three products of parts leave out is up to some of them, too.
_ROUNDINGS = 8
#: Of so many candidates one or a few are drawn, of which that with the fewest work-items is taken.
_CANDIDATES, _DRAWN = 60, (1, 4)
#: Types whose instructions have many terms, and the size of their elements.
_BYTES = {"i1": 70.0, "u1": 70.0, "i2": 1e4, "i4": 1e9}
_COMPLEX = ("c8", "c16")


@dataclass(frozen=True)
class Contraction:
    """A sum of products on arrays, the result in double precision, and the sum of its terms' magnitudes."""

    mdhom: MdHom
    arrays: tuple[Array, ...]
    wanted: Array
    size: Array

    def assert_right(self, got: Array) -> None:
        """Assert that a result differs by a few roundings of its type only; integers by nothing."""
        if got.dtype.kind in "iu":
            np.testing.assert_array_equal(got, self.wanted.astype(got.dtype))
            return
        np.testing.assert_array_less(np.abs(got - self.wanted), _ROUNDINGS * np.finfo(got.dtype).eps * self.size)


def halves(a: Any, b: Any) -> Any:
    """A product of float16 as NumPy's products of matrices have it: in float32."""
    return a.astype(np.float32) * b.astype(np.float32)


def _array(p: Picker, shape: tuple[int, ...], dtype: str) -> Array:
    """Random numbers that lie in any order in memory, backwards along some axes."""
    order = shuffled(p, range(len(shape)))
    values = np.random.default_rng(p.integer(0, 1 << 30)).standard_normal([shape[axis] for axis in order])
    values = (values * _BYTES[dtype]).astype(np.int64) if dtype in _BYTES else values
    values = values * (0.6 + 0.8j) + values[::-1] if dtype in _COMPLEX else values
    array = guarded(values.astype(dtype)).transpose(np.argsort(order))
    # Turned twice: the shape is the same, the strides along the axis are negative.
    turned = tuple([slice(None, None, p.choice((1, 1, -1))) for _ in shape])
    return array[turned]


def contraction(seed: int) -> Contraction:
    """A random one: of labels, or a convolution along one axis."""
    p = Seeded(seed)
    dtype, make = (
        p.choice(("f4", "f4", "f8", "f2", *_BYTES, *_COMPLEX)),
        p.choice((_convolution, _labelled, _labelled, _labelled)),
    )
    while True:
        found = make(p, dtype)
        if prod(found.mdhom.extents) <= _POINTS:
            return found


def _terms(p: Picker, dtype: str) -> int:
    """As many terms as several tiles have."""
    return p.integer(33, 70) if dtype in _BYTES else p.integer(9, 41)


def _convolution(p: Picker, dtype: str) -> Contraction:
    n, w, c, k, r = p.choice((2, 5)), p.integer(3, 11), _terms(p, dtype), p.integer(3, 9), p.choice((2, 3, 16))
    window = "p+r"
    if p.integer(0, 1):  # channels first: a filter's last axes are one row, of whose terms there may be some in a tile
        arrays = _array(p, (n, c, w + r - 1), dtype), _array(p, (k, c, r), dtype)
        seen = np.lib.stride_tricks.sliding_window_view(arrays[0], r, axis=2)
        image, kernel, terms = "n,c,{}", "k,c,r", ("ncpr", "kcr")
    else:
        arrays = _array(p, (n, w + r - 1, c), dtype), _array(p, (k, r, c), dtype)
        seen = np.lib.stride_tricks.sliding_window_view(arrays[0], r, axis=1)
        image, kernel, terms = "n,{},c", "k,r,c", ("npcr", "krc")
    if p.integer(0, 1):  # the filter backwards: a tile may begin before the array
        window, seen = f"p-r+{r - 1}", seen[..., ::-1]
    views = f"I[{image.format(window)}], F[{kernel}] -> O[n,p,k]"
    return _made(dtype, views, "npk", "rc", (seen, arrays[1]), f"{','.join(terms)}->npk", arrays)


def _labelled(p: Picker, dtype: str) -> Contraction:
    rows, columns = p.choice((("i", "x"), ("ij", "x"), ("i", "xy")))
    sums, batch = "kl"[: p.integer(1, 2)], "b"[: p.integer(0, 1)]
    extents = {"k": _terms(p, dtype), "i": p.integer(3, 20), "x": p.integer(3, 17)}
    extents |= {d: p.integer(2, 3) for d in "bjyl"}
    terms = ["".join(shuffled(p, batch + some)) for some in (rows + sums, sums + columns, rows + columns)]
    # What arrays have beyond the extents is in no result, although a tile may reach it.
    longer = [{**extents, "k": extents["k"] + p.choice((0, 0, 5, 16))} for _ in range(2)]
    arrays = tuple([_array(p, tuple([n[d] for d in term]), dtype) for n, term in zip(longer, terms[:2], strict=True)])
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
    else:
        pattern = md_hom(np.multiply, combine, views)
    wide = np.int64 if dtype in _BYTES else np.complex128 if dtype in _COMPLEX else np.float64
    exact = [f.astype(wide) for f in factors]
    size = np.einsum(subscripts, *map(np.abs, exact))
    return Contraction(pattern.bind(*arrays, **extents), arrays, np.einsum(subscripts, *exact), size)


def matrix_schedule(p: Picker, h: MdHom, caps: DeviceCaps) -> Schedule:
    """A random one of those that are looked at by default, with whatever may be changed of it."""
    plain, found = default(h, replace(caps, atoms=())), list[Schedule]()
    for atom in shuffled(p, caps.atoms):
        if not found:
            made = matrix_schedules(AccessPattern(h), replace(caps, atoms=(atom,)), plain)
            found = [s for _, s in islice(made, _CANDIDATES)]
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
