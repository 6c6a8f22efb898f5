"""Cores of NumPy's generalized ufuncs: which axes of operands they are, by which labels, and where a result's go.

The last axes of an operand are its core, a vector or a matrix, unless `axes` says which ones; those before them are a
stack, and broadcast.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple

from mdhnp.frontend.contraction import ELLIPSIS, Terms
from mdhnp.frontend.products import integer

__all__ = ["CORES", "cores_of", "labelled", "places_of", "whole_axes"]

Array = npt.NDArray[Any]

#: Labels of the operands' cores; the result has all but k. A vector may stand for a matrix in `matmul` only.
CORES: dict[str, Terms] = {
    "matmul": ("ik", "kj"), "vecdot": ("k", "k"), "matvec": ("ik", "k"), "vecmat": ("k", "kj"),
}  # fmt: skip


def cores_of(function: str, ndims: Sequence[int]) -> Terms:
    """Give the labels of the operands' cores: for `matmul` a vector's own, and a matrix's else."""
    cores = CORES[function]
    if function == "matmul":
        cores = cores[0][-max(ndims[0], 1) :], cores[1][: max(ndims[1], 1)]
    for n, (ndim, core) in enumerate(zip(ndims, cores, strict=True)):
        if ndim < len(core):
            raise ValueError(f"operand {n} has {ndim} axes, {len(core)} or more are needed")
    return cores


def whole_axes(axes: Any) -> Any:
    """Give `axes` as tuples of integers, which have a hash."""
    if axes is None:
        return None
    if not isinstance(axes, list):
        raise TypeError(f"axes must be a list, not {type(axes).__name__}")
    whole = partial(integer, "axes")
    return tuple([tuple(map(whole, entry)) if isinstance(entry, tuple) else whole(entry) for entry in axes])


def places_of(
    cores: Terms, ndims: Sequence[int], axes: Sequence[Any] | None, keepdims: bool
) -> tuple[tuple[int, ...], ...]:
    """Say where the axes of the operands' cores are, and where those of the result's core shall go."""
    kept = len("".join(cores).replace("k", "")) + keepdims
    counts = [*map(len, cores), kept]
    if axes is None:
        return tuple(tuple(range(-count, 0)) for count in counts)
    if len(axes) == 2 and kept == keepdims:
        axes = [*axes, -1 if keepdims else ()]  # as NumPy: the axis that is kept is the last one
    if len(axes) != 3:
        raise ValueError(f"axes has {len(axes)} entries, one for each operand and the result is needed")
    stacked = max(ndim - len(core) for ndim, core in zip(ndims, cores, strict=True))
    entries = [entry if isinstance(entry, tuple) else (entry,) for entry in axes]
    for n, (entry, count) in enumerate(zip(entries, counts, strict=True)):
        if len(entry) != count:
            raise np.exceptions.AxisError(f"axes: entry {n} names {len(entry)} axes, the core has {count}")
    return tuple(
        normalize_axis_tuple(entry, ndim, "axes") for entry, ndim in zip(entries, [*ndims, stacked + kept], strict=True)
    )


def labelled(cores: Terms, arrays: Sequence[Array]) -> tuple[Terms, str]:
    """Give the labels of the operands, whose cores are their last axes, and of the result."""
    sizes = [a.shape[a.ndim - len(core) + core.index("k")] for a, core in zip(arrays, cores, strict=True)]
    if sizes[0] != sizes[1]:
        shapes = " and ".join(str(a.shape) for a in arrays)
        raise ValueError(f"operands of shapes {shapes} do not match: {sizes[0]} and {sizes[1]} elements")
    stacks = [a.ndim - len(core) for a, core in zip(arrays, cores, strict=True)]
    most = max(stacks)
    terms = tuple(ELLIPSIS[most - n : most] + core for n, core in zip(stacks, cores, strict=True))
    return terms, ELLIPSIS[:most] + "".join(cores).replace("k", "")
