"""Graphs of MDHs on arrays of dask's: a layer of tasks for each step, whose results are arrays of dask's, too.

Which tasks these are is found once for all calls that differ in nothing but the arrays; each call names them anew.
"""

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from threading import Lock
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask._task_spec import Alias, GraphNode, Task, TaskRef
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.utils import parse_bytes

from mdhnp.dask.blocks import BlockedArray
from mdhnp.dask.layer import Layer, Node
from mdhnp.fusion.least_work import least_work
from mdhnp.fusion.rewrite import apart
from mdhnp.mdh import Computation, Graph


def lowered(name: str, graph: Graph, arrays: Sequence[Any]) -> list[Any]:
    """Give the results of a graph of MDHs on arrays of dask's, as such; tasks are shown by the name."""
    graph, values = least_work(graph), list(arrays)
    for h, inputs in graph.steps:
        read = [_shaped(values[p], v.shape) for p, v in zip(inputs, h.inputs, strict=True)]
        found = layer(name, h, read)
        values += lowered(name, apart(h), read) if found is None else found
    return graph.results_of(values)


def _shaped(array: Any, shape: tuple[int, ...]) -> Any:
    """Give an array in another shape; those that dask cannot give at once by way of one axis."""
    if array.shape == shape:
        return array
    try:
        return array.reshape(shape)
    except NotImplementedError:
        return array.reshape(-1).reshape(shape)


def layer(name: str, h: Computation, arrays: Sequence[Any]) -> list[Any] | None:
    """Give the results of one step; None for what is fused and has to be taken apart before."""
    places = {a.name: n for n, a in enumerate({a.name: a for a in arrays}.values())}
    blocks = tuple([(places[a.name], tuple([tuple(accumulate(each, initial=0)) for each in a.chunks])) for a in arrays])
    sizes = [a.dtype.itemsize * prod(map(max, a.chunks)) for a in arrays]  # of their largest blocks, in bytes
    largest = max([parse_bytes(dask.config.get("array.chunk-size")), *sizes])
    text = repr(h)
    found = _planned(text, h, blocks, largest)
    if found is None:
        return None
    token = tokenize(text, h.precision, largest, [a.name for a in arrays])
    own = f"{name}-{token}"
    merged = HighLevelGraph.merge(*[a.dask for a in arrays])
    keys = [(f"{name}{task.kind}-{token}", n) for n, task in enumerate(found.tasks)]
    layers = {**merged.layers, own: MaterializedLayer(_named(found.tasks, keys, [*places]))}
    needed = {**merged.dependencies, own: {n for a in arrays for n in a.__dask_layers__()}}
    names = [f"{name}-{n}-{token}" for n in range(len(found.results))]
    for each, result in zip(names, found.results, strict=True):
        aliases: dict[Any, GraphNode] = {}
        for index in np.ndindex(result.keys.shape):
            key = (each, *index)
            aliases[key] = Alias(key, keys[result.keys.item(*index)])
        layers[each], needed[each] = MaterializedLayer(aliases), {own}
    graph = HighLevelGraph(layers, needed)
    return [
        da.Array(graph, each, tuple([tuple(np.diff(ends).tolist()) for ends in result.ends]), dtype=view.dtype)
        for each, result, view in zip(names, found.results, h.outputs, strict=True)
    ]


class _Plan(NamedTuple):
    """The tasks of an MDH on blocks of whatever arrays, and its results."""

    tasks: Sequence[Node]
    results: tuple[BlockedArray, ...]


#: By what decides them, in the order of their last use: equal calls on other arrays have equal tasks.
_plans: dict[Any, _Plan | None] = {}
_planning = Lock()
#: Tasks that are kept for later calls, of all plans together; of 10,000 tasks they take some 10 MB.
_KEPT = 1 << 16


def _planned(
    text: str, h: Computation, inputs: Sequence[tuple[int, tuple[tuple[int, ...], ...]]], largest: int
) -> _Plan | None:
    """Give the tasks that compute a step; None for what is fused and has to be taken apart before."""
    key = text, h.precision, inputs, largest
    with _planning:
        known = key in _plans
        found = _plans.pop(key, None)
    if not known:
        made = Layer()
        blocks = []
        for place, ends in inputs:
            keys = np.empty([len(each) - 1 for each in ends], object)
            for index in np.ndindex(keys.shape):
                keys[index] = (place, *index)
            blocks.append(BlockedArray(keys, ends))
        results = made.compute(h, blocks, largest)
        found = None if results is None else _Plan(made.tasks, results)
    with _planning:
        _plans[key] = found
        while sum([len(p.tasks) if p else 1 for p in _plans.values()]) > _KEPT:
            del _plans[next(iter(_plans))]
    return found


def _named(tasks: Sequence[Node], keys: Sequence[Any], arrays: Sequence[str]) -> dict[Any, GraphNode]:
    """Give tasks their keys, and those of the blocks that they read."""

    def named(x: Any) -> Any:
        if type(x) is not TaskRef:
            return x
        key: Any = x.key
        return TaskRef(keys[key] if isinstance(key, int) else (arrays[key[0]], *key[1:]))

    pairs = zip(keys, tasks, strict=True)
    return {key: Task(key, task.function, *map(named, task.args)) for key, task in pairs}
