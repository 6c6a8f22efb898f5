"""Record linkage on arrays of dask's: values are encoded by looking at all of them, pairs are compared in parts.

Columns that are arrays of dask's are brought together and encoded by one task, so that no record is in the graph; what
else is given is encoded at once.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np

from mdhnp.dask.graph import lowered
from mdhnp.documentation import public
from mdhnp.frontend.prl import Links, described, outlined
from mdhnp.frontend.prl_records import column_names, columns
from mdhnp.mdh import Graph, MdHom

Columns = dict[str, Any]


@public(
    "Find for every new record the existing one that most probably describes the same person or thing.",
    new="mapping of str to array_like: Records as :func:`mdhnp.prl` takes them. Where columns are arrays of dask's, a "
    "task computes and encodes them; it holds all values of all fields that are compared. Others are encoded at once, "
    "and are part of the graph, which is too much for the schedulers of `distributed` from some 10 MB on.",
    existing="",
    chunks="(int, int): New and existing records that one task compares, at most.",
    options="As for :func:`mdhnp.prl`, which has the errors and the source, too.",
    returns="Links: Three arrays of dask's, one element a new record: index, weight and status.",
    raises={
        "ValueError": "If `chunks` are not two positive numbers, the sizes of an array's chunks are not known, or "
        "columns that are arrays of dask's differ in length.",
    },
    example="""
>>> import mdhnp.dask
>>> new, existing = {"name": ["ada", "alan"]}, {"name": ["grace", "alan", "ada"]}
>>> links = mdhnp.dask.prl(new, existing, m=0.95, u={"name": 0.001}, thresholds=(0, 9), chunks=(1, 2))
>>> links.index.compute()
array([2, 1], dtype=int32)""",
    guard=False,
)
def prl(new: Any, existing: Any, *, chunks: tuple[int, int] = (1 << 16, 1 << 16), **options: Any) -> Links:
    if np.shape(chunks) != (2,) or min(chunks) < 1:
        raise ValueError(f"chunks: {chunks!r} are not two numbers of records, of new and of existing ones")
    sides = [{f: side[f] for f in column_names(side, what)} for side, what in ((new, "new"), (existing, "existing"))]
    if any([isinstance(c, da.Array) for side in sides for c in side.values()]):
        arrays, pairs = _by_a_task(sides[0], sides[1], options)
    else:
        found, pairs = described(new, existing, **options)
        arrays = list(found)
    if pairs is None:
        return Links(*map(da.asarray, arrays))
    sizes = dict(zip("NEADTVW", (chunks[0], chunks[1], chunks[0], chunks[0], 2, chunks[0], chunks[1]), strict=True))
    blocks = [_in_blocks(a, sizes[v.name]) for v, a in zip(pairs.inputs, arrays, strict=True)]
    return Links(*lowered("prl", Graph.of(pairs), blocks))


def _in_blocks(array: Any, size: int) -> Any:
    chunks = (*array.shape[:-1], size)
    return array.rechunk(chunks) if isinstance(array, da.Array) else da.from_array(array, chunks=chunks)


def _by_a_task(new: Columns, existing: Columns, options: dict[str, Any]) -> tuple[list[Any], MdHom | None]:
    """Have columns encoded by a task; gives arrays of dask's, and the MDH that links the records."""
    counts = len(next(iter(new.values()))), len(next(iter(existing.values())))
    if 0 in counts:  # which has its own result, and no pairs
        plain = [{f: np.asarray(c) for f, c in side.items()} for side in (new, existing)]
        found, pairs = described(*plain, **options)
        return list(found), pairs
    names, outlines, pairs = outlined(counts, _first(new), _first(existing), **options)
    sides = [_checked(new, names, counts[0], "new"), _checked(existing, names, counts[1], "existing")]
    arrays = dask.delayed(partial(_encoded, options), pure=True, nout=len(outlines))(*sides)
    return [da.from_delayed(a, o.shape, o.dtype) for a, o in zip(arrays, outlines, strict=True)], pairs


def _encoded(options: dict[str, Any], new: Columns, existing: Columns) -> tuple[Any, ...]:
    return described(new, existing, **options)[0]


def _first(side: Columns) -> Columns:
    """Give one record of the types of all."""
    return {f: np.zeros((1,) * c.ndim, c.dtype) if isinstance(c, da.Array) else c[:1] for f, c in side.items()}


def _checked(side: Columns, names: Sequence[str], count: int, argument: str) -> Columns:
    """Give the columns that are compared, those that are no arrays as such."""
    for name in names:
        if len(side[name]) != count:
            first = next(iter(side))
            raise ValueError(f"{argument}: column {name!r} has {len(side[name])} records, {first!r} has {count}")
    return {f: side[f] if isinstance(side[f], da.Array) else columns(side, [f], argument)[0] for f in names}
