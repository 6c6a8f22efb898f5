"""What a task does: it puts regions together from blocks, and makes the call that computes a part of them.

A task travels between processes, and there are many of them: equal ones are one object in a process, which has one
entry among calls and so one plan, and travel as the same few bytes. It must not know dask.
"""

import pickle
import zlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.request import results
from mdhnp.dask.blocks import Span
from mdhnp.mdh import Computation, unfused
from mdhnp.mdh.pattern import as_lying
from mdhnp.runtime.devices import device as use
from mdhnp.runtime.results import maker

Array = npt.NDArray[Any]


class Assembly(NamedTuple):
    """How an input of a call is made of blocks."""

    shape: tuple[int, ...]
    #: What of each block, and where that lies; None for one block as it is.
    pieces: tuple[tuple[tuple[Span, ...], tuple[Span, ...]], ...] | None = None

    @property
    def blocks(self) -> int:
        return 1 if self.pieces is None else len(self.pieces)


class PartComputation:
    """What equal parts compute, on C-contiguous arrays: one object in a process, which has one entry among calls."""

    def __init__(self, packed: bytes) -> None:
        self.mdhom: Computation = pickle.loads(zlib.decompress(packed))
        self._packed = packed

    @staticmethod
    def of(mdhom: Computation) -> "PartComputation":
        return _work(zlib.compress(pickle.dumps(mdhom, pickle.HIGHEST_PROTOCOL)))

    def compute(self, arrays: Sequence[Array]) -> Any:
        """Compute it, where this process's parts are computed; gives an array, or a tuple of several."""
        if len(self.mdhom.mdhoms) > 1:  # which say how arrays lie
            arrays = [np.asarray(a, order="C") for a in arrays]
        with use(_device[0]) if _device else nullcontext():
            return call((_PART, ref(self)), tuple(arrays), owners=(self,))

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as bytes, of which there is one object in this process, too."""
        return _work, (self._packed,)


@lru_cache(maxsize=4096)  # as many as a program with many graphs has at once; who holds one has it for longer
def _work(packed: bytes) -> PartComputation:
    return PartComputation(packed)


@dataclass(frozen=True)
class BlockTask:
    """Computes an MDH on what is read of blocks: from these to an array, or a tuple of several."""

    work: PartComputation
    reads: tuple[Assembly, ...]  # of each input

    def __call__(self, *blocks: Any) -> Any:
        """Compute."""
        rest = iter(blocks)
        arrays = [
            assembled(read, v.dtype, *[next(rest) for _ in range(read.blocks)])
            for read, v in zip(self.reads, self.work.mdhom.inputs, strict=True)
        ]
        return self.work.compute(arrays)


def assembled(read: Assembly, dtype: np.dtype[Any], *blocks: Any) -> Array:
    """Give a region of an array: a view where it lies in one block.

    TypeError or ValueError if a block is no ndarray, or has another type or shape than the array said.
    """
    given = [_array(block) for block in blocks]
    for a in given:
        if a.dtype != dtype:
            raise TypeError(
                f"a block has dtype {a.dtype}, but its array {dtype}; say so where it is made, as by dtype="
            )
    if read.pieces is None:
        return _shaped(given[0], read.shape)
    if len(given) == 1:
        return _taken(given[0], read.pieces[0][0]).reshape(read.shape)
    (found,) = maker([(read.shape, dtype)])()
    for block, (here, there) in zip(given, read.pieces, strict=True):
        found[_index(there)] = _taken(block, here)
    return found


def _taken(block: Array, here: tuple[Span, ...]) -> Array:
    """Take part of a block, which must be there."""
    return _shaped(block[_index(here)], tuple([end - begin for begin, end in here]))


def _shaped(block: Array, shape: tuple[int, ...]) -> Array:
    if block.shape != shape:
        raise ValueError(f"a block has {block.shape} elements where its array's chunk has {shape}")
    return block


def sliced(block: Any, here: tuple[Span, ...]) -> Array:
    """Give a copy of part of a block, so that the block need not stay nor travel."""
    return np.array(_taken(_array(block), here), order="C")


def _array(block: Any) -> Array:
    if isinstance(block, np.ndarray | np.generic | int):
        return np.asarray(block)
    raise TypeError(f"a block is a {type(block).__name__}, not an ndarray; convert it, as by x.map_blocks(np.asarray)")


def _index(spans: tuple[Span, ...]) -> Any:
    return (*[slice(*s) for s in spans], ...)


def _describe(arrays: Sequence[Array], made: "ref[PartComputation]") -> Described:
    known = made()
    assert known is not None  # it is being called
    h = known.mdhom
    if len(h.mdhoms) > 1:
        return Described(h, None, results, written=unfused(h))
    return Described(as_lying(h, arrays), None, results)


_PART = Routine("dask", _describe)

_device: list[Any] = []  # where this process's parts are computed, if anybody has said so


def use_device(device: Any) -> None:
    """Have this process compute parts on a device, as :func:`mdhnp.device` takes it; anywhere, for None."""
    _device[:] = [] if device is None else [device]
