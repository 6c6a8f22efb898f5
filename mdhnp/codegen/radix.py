"""The program that sorts rows by digits, least significant first: three kernels a pass, see `opencl/radix.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mdhnp.codegen.opencl import radix
from mdhnp.codegen.program import Kernel, Program
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Items of a work-group: where some run together, and where each counts for itself.
_ITEMS, _ITEMS_ALONE = 256, 32
_DIGITS = 1 << radix.DIGIT
#: Bytes of keys of each item, of which there are 16 at most (the fastest of 8 to 20 on an H200: few stores of part of a
#: sector, and still five work-groups a compute unit).
_BYTES, _MOST = 64, 16


def work_group(caps: DeviceCaps) -> tuple[int, int]:
    """Give how many work-items run together, and are in a work-group."""
    return (caps.subgroup, _ITEMS) if caps.subgroup else (1, _ITEMS_ALONE)


def sorting(dtype: "np.dtype[Any]", rows: int, count: int, caps: DeviceCaps, *, values: bool, places: bool) -> Program:
    """Give the program that sorts rows of `count` elements each, equal ones in their order.

    The input is one array of rows, in C order. The outputs are the `values`, their `places` in the row, of int64, or
    both. There are at most 2^31 - 1 elements, and at least one.
    """
    lanes, items = work_group(caps)
    size = dtype.itemsize
    each = min(_BYTES // size, _MOST)
    tiles = -(-count // (items * each))
    source = radix.text(dtype, lanes, items, each, values=values, places=places, offsets=caps.offsets)
    exchanged = min(size - 1, 2)  # buffers that passes exchange
    keys, indices = [rows * count * size] * exchanged, [rows * count * 4] * (exchanged if places else 0)
    passes = _Passes(size, exchanged, values, places, caps)
    kernels = []
    for n in range(size):
        counting, moving = radix.names(n == 0, n == size - 1)
        kernels.append(Kernel(counting, rows * tiles * items, items, passes.counting(n)))
        kernels.append(Kernel("sum_counts", rows * _DIGITS * items, items, (_COUNTS, _TOTALS, _TILES)))
        kernels.append(Kernel(moving, rows * tiles * items, items, passes.moving(n)))
    totals = rows * _DIGITS * 4
    sizes = (count, tiles, *range(0, 8 * size, radix.DIGIT))
    return Program(source, tuple(kernels), (totals * tiles, totals, *keys, *indices), sizes)


_COUNTS, _TOTALS = Argument("temporary", 0), Argument("temporary", 1)
_COUNT, _TILES = Argument("size", 0), Argument("size", 1)


@dataclass(frozen=True)
class _Passes:
    """What kernels of each pass work on: the first pass reads the input, the last one writes the outputs."""

    number: int
    exchanged: int
    values: bool
    places: bool
    caps: DeviceCaps

    def counting(self, n: int) -> tuple[Argument, ...]:
        keys = self._keys(n)
        return (keys, _COUNTS, *self._sizes(n), *offsets([keys], self.caps))

    def moving(self, n: int) -> tuple[Argument, ...]:
        first, last = n == 0, n == self.number - 1
        given = radix.buffers(first, last, self.values, self.places)
        moved = Argument("output", 0) if last else Argument("temporary", 2 + n % 2)
        ordered = Argument("output", int(self.values)) if last else self._indices(n)
        arrays = [self._keys(n)]
        arrays += [moved] * given.moved + [self._indices(n - 1)] * given.places + [ordered] * given.moved_places
        return (*arrays, _COUNTS, _TOTALS, *self._sizes(n), *offsets(arrays, self.caps))

    def _keys(self, n: int) -> Argument:
        return Argument("temporary", 2 + (n - 1) % 2) if n else Argument("input", 0)

    def _indices(self, n: int) -> Argument:
        return Argument("temporary", 2 + self.exchanged + n % 2)

    def _sizes(self, n: int) -> tuple[Argument, ...]:
        return (_COUNT, _TILES, Argument("size", 2 + n))


def offsets(arrays: Sequence[Argument], caps: DeviceCaps) -> list[Argument]:
    """Give where in their buffers arrays begin that are no temporaries, if they may begin anywhere."""
    roles: dict[str, Literal["offset of input", "offset of output"]] = {
        "input": "offset of input", "output": "offset of output",
    }  # fmt: skip
    return [Argument(roles[a.role], a.position) for a in arrays if a.role in roles] if caps.offsets else []
