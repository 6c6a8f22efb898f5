"""The program that sorts rows: by comparing, in a work-group, or in passes of three kernels, as they get longer.

Texts and how they work are in `opencl/short_rows.py` and `opencl/radix.py`. All keep equal elements in their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdhnp.codegen.opencl import radix, short_rows
from mdhnp.codegen.program import Kernel, Program
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Items of a work-group: where some run together, and where each counts for itself.
_ITEMS, _ITEMS_ALONE = 256, 32
_DIGITS = 1 << radix.DIGIT
#: Bytes of keys of each item, of which there are 16 at most (the fastest of 8 to 20 on an H200: few stores of part of a
#: sector, and still five work-groups a compute unit).
_BYTES, _MOST = 64, 16
#: So many counts of a digit one work-item sums, more a work-group.
_FEW_TILES = 32
#: Items of a work-group for one row hold multiples of so many elements, so that rows of many lengths have one text.
_STEP = 4
#: Rows of so many elements are sorted by comparing all with all (an H200, 2^24 float32: rows of 32 in 0.43 ms beside
#: 1.6 by digits, of 64 in 0.80 beside 0.84, of 128 in 1.6 beside 0.46).
_FEW = 64


def work_group(caps: DeviceCaps) -> tuple[int, int]:
    """Give how many work-items run together, and are in a work-group."""
    return (caps.subgroup, _ITEMS) if caps.subgroup else (1, _ITEMS_ALONE)


def sorting(
    dtype: "np.dtype[Any]",
    rows: int,
    count: int,
    caps: DeviceCaps,
    *,
    values: bool,
    places: bool,
    bits: int | None = None,
) -> Program:
    """Give the program that sorts rows of `count` elements each, equal ones in their order.

    The input is one array of rows, in C order. The outputs are the `values`, their `places` in the row, of int64, or
    both. There are at most 2^31 - 1 elements, and at least one. Where it is known that whole numbers differ in their
    last `bits` only, fewer passes sort them.
    """
    sort = _Sort(dtype, rows, count, caps, values, places, -(-(bits or 8 * dtype.itemsize) // radix.DIGIT))
    if count <= _FEW:
        return _comparing(sort)
    return _in_work_groups(sort) or _in_passes(sort)


@dataclass(frozen=True)
class _Sort:
    """What is sorted: rows of how many elements, for which results."""

    dtype: "np.dtype[Any]"
    rows: int
    count: int
    caps: DeviceCaps
    values: bool
    places: bool
    #: Digits that differ, each of which takes a pass.
    digits: int

    @property
    def wanted(self) -> dict[str, bool]:
        """What texts are told of results, and of the device."""
        return {"values": self.values, "places": self.places, "offsets": self.caps.offsets}

    @property
    def most(self) -> int:
        """The largest number of elements of a work-item."""
        return min(_BYTES // self.dtype.itemsize, _MOST)

    @property
    def arrays(self) -> list[Argument]:
        """What is given and wanted."""
        return [Argument("input", 0), *(Argument("output", n) for n in range(self.values + self.places))]


def _comparing(sort: _Sort) -> Program:
    """Give the program that compares all elements of each row with all."""
    _, items = work_group(sort.caps)
    source = short_rows.comparing(sort.dtype, items, **sort.wanted)
    return of_each(source, "compare", sort.arrays, sort.rows * sort.count, (sort.count, sort.rows), sort.caps)


def _in_work_groups(sort: _Sort) -> Program | None:
    """Give the program that sorts each row in a work-group, None if that has no room for one."""
    lanes, _ = work_group(sort.caps)
    items = max(lanes, _ITEMS_ALONE)
    while items * sort.most < sort.count:
        items *= 2
    each = -(-sort.count // (items * _STEP)) * _STEP
    room = short_rows.local_memory(sort.dtype, lanes, items, each, places=sort.places)
    if items > sort.caps.max_work_group or room > sort.caps.local_memory:
        return None
    source = short_rows.exchanging(sort.dtype, lanes, items, each, **sort.wanted)
    return one_kernel(source, "exchange", sort.arrays, (sort.rows * items, items), (sort.count,), sort.caps)


def _in_passes(sort: _Sort) -> Program:
    """Give the program that counts digits and moves elements, in a pass for each digit."""
    lanes, items = work_group(sort.caps)
    rows, count, size = sort.rows, sort.count, sort.dtype.itemsize
    tiles = -(-count // (items * sort.most))
    few = tiles <= _FEW_TILES
    source = radix.text(sort.dtype, lanes, items, sort.most, digits=sort.digits, few_tiles=few, **sort.wanted)
    passes = _Passes(sort)
    keys, indices = [rows * count * size] * passes.exchanged, [rows * count * 4] * (passes.exchanged * sort.places)
    summing = rows * _DIGITS * (1 if few else items)
    kernels = []
    for n in range(sort.digits):
        counting, moving = radix.names(n == 0, n == sort.digits - 1)
        kernels.append(Kernel(counting, rows * tiles * items, items, passes.counting(n)))
        kernels.append(Kernel("sum_counts", summing, items, (_COUNTS, _TOTALS, _TILES)))
        kernels.append(Kernel(moving, rows * tiles * items, items, passes.moving(n)))
    totals = rows * _DIGITS * 4
    sizes = (count, tiles, *range(0, sort.digits * radix.DIGIT, radix.DIGIT))
    return Program(source, tuple(kernels), (totals * tiles, totals, *keys, *indices), sizes)


_COUNTS, _TOTALS = Argument("temporary", 0), Argument("temporary", 1)
_COUNT, _TILES = Argument("size", 0), Argument("size", 1)


@dataclass(frozen=True)
class _Passes:
    """What kernels of each pass work on: the first pass reads the input, the last one writes the outputs."""

    sort: _Sort

    @property
    def exchanged(self) -> int:
        """Buffers that passes exchange, of keys, and of places."""
        return min(self.sort.digits - 1, 2)

    def counting(self, n: int) -> tuple[Argument, ...]:
        keys = self._keys(n)
        return (keys, _COUNTS, *self._sizes(n), *offsets([keys], self.sort.caps))

    def moving(self, n: int) -> tuple[Argument, ...]:
        sort, first, last = self.sort, n == 0, n == self.sort.digits - 1
        given = radix.buffers(first, last, sort.values, sort.places)
        moved = Argument("output", 0) if last else Argument("temporary", 2 + n % 2)
        ordered = Argument("output", int(sort.values)) if last else self._indices(n)
        arrays = [self._keys(n)]
        arrays += [moved] * given.moved + [self._indices(n - 1)] * given.places + [ordered] * given.moved_places
        return (*arrays, _COUNTS, _TOTALS, *self._sizes(n), *offsets(arrays, sort.caps))

    def _keys(self, n: int) -> Argument:
        return Argument("temporary", 2 + (n - 1) % 2) if n else Argument("input", 0)

    def _indices(self, n: int) -> Argument:
        return Argument("temporary", 2 + self.exchanged + n % 2)

    def _sizes(self, n: int) -> tuple[Argument, ...]:
        return (_COUNT, _TILES, Argument("size", 2 + n))


def one_kernel(
    source: str, name: str, arrays: Sequence[Argument], items: tuple[int, int], sizes: tuple[int, ...], caps: DeviceCaps
) -> Program:
    """Give the program of one kernel, which takes arrays and sizes; `items` are work-items, and those of a group."""
    arguments = (*arrays, *(Argument("size", n) for n in range(len(sizes))), *offsets(arrays, caps))
    return Program(source, (Kernel(name, *items, arguments),), (), sizes)


def of_each(
    source: str, name: str, arrays: Sequence[Argument], results: int, sizes: tuple[int, ...], caps: DeviceCaps
) -> Program:
    """Give the program of one kernel, each of whose work-items gives one of so many results."""
    _, items = work_group(caps)
    return one_kernel(source, name, arrays, (-(-results // items) * items, items), sizes, caps)


def offsets(arrays: Sequence[Argument], caps: DeviceCaps) -> list[Argument]:
    """Give where in their buffers arrays begin that are no temporaries, if they may begin anywhere."""
    return [a.offset for a in arrays if a.role != "temporary"] if caps.offsets else []
