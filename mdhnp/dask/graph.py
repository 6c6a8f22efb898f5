"""Graphs of MDHs on arrays of dask's: a layer of tasks for each step, whose results are arrays of dask's, too."""

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask._task_spec import Alias, GraphNode
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.utils import parse_bytes

from mdhnp.dask.blocks import Blocks
from mdhnp.dask.layer import Layer
from mdhnp.fusion.rewrite import apart
from mdhnp.mdh import Chain, Graph, MdHom, Rows, least_work

__all__ = ["lowered", "layer"]


def lowered(name: str, graph: Graph, arrays: Sequence[Any]) -> list[Any]:
    """Give the results of a graph of MDHs.

    Parameters
    ----------
    name : str
        What it is shown as.
    graph : Graph
        What is computed.
    arrays : sequence of dask.array.Array
        What it is given.

    Returns
    -------
    list of dask.array.Array
    """
    values = list(arrays)
    for h, inputs in least_work(graph).steps:
        read = [_shaped(values[p], v.shape) for p, v in zip(inputs, h.inputs, strict=True)]
        found = layer(name, h, read)
        if found is None:
            assert isinstance(h, Chain)
            found = lowered(name, Graph.ending(len(read), apart(h)), read)
        values += found
    return [values[r] for r in graph.results]


def _shaped(array: Any, shape: tuple[int, ...]) -> Any:
    """Give an array in another shape; those that dask cannot give at once by way of one axis."""
    if array.shape == shape:
        return array
    try:
        return array.reshape(shape)
    except NotImplementedError:
        return array.reshape(-1).reshape(shape)


def layer(name: str, h: MdHom, arrays: Sequence[Any]) -> list[Any] | None:
    """Give the results of one MDH; None for a chain that has to be taken apart before."""
    if isinstance(h, Chain) and not isinstance(h, Rows):
        return None
    blocks = [_blocks(a) for a in arrays]
    largest = max([parse_bytes(dask.config.get("array.chunk-size")), *map(_largest, arrays)])
    token = tokenize(repr(h), h.precision, largest, [a.name for a in arrays])
    made = Layer(f"{name}-{token}")
    results = made.rows(h, blocks) if isinstance(h, Rows) else made.compute(h, blocks, largest)
    if results is None:
        return None
    merged = HighLevelGraph.merge(*[a.dask for a in arrays])
    layers = {**merged.layers, made.name: MaterializedLayer(made.tasks)}
    needed = {**merged.dependencies, made.name: {n for a in arrays for n in a.__dask_layers__()}}
    names = [f"{name}-{n}-{token}" for n in range(len(results))]
    for each, found in zip(names, results, strict=True):
        aliases: dict[Any, GraphNode] = {}
        for index in np.ndindex(found.keys.shape):
            key = (each, *index)
            aliases[key] = Alias(key, found.keys.item(*index))
        layers[each], needed[each] = MaterializedLayer(aliases), {made.name}
    graph = HighLevelGraph(layers, needed)
    return [
        da.Array(graph, each, _chunks(found), dtype=view.dtype)
        for each, found, view in zip(names, results, h.outputs, strict=True)
    ]


def _largest(array: Any) -> int:
    """Bytes of an array's largest block."""
    return int(array.dtype.itemsize * prod([max(sizes) for sizes in array.chunks]))


def _blocks(array: Any) -> Blocks:
    keys = np.empty(array.numblocks, object)
    for index in np.ndindex(array.numblocks):
        keys[index] = (array.name, *index)
    return Blocks(keys, tuple([tuple(accumulate(each, initial=0)) for each in array.chunks]))


def _chunks(blocks: Blocks) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple(np.diff(ends).tolist()) for ends in blocks.ends])
