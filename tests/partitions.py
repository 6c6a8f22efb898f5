"""What all tasks of a partition compute together, one after the other: what executors are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mdhnp.mdh import Cut, Partition, Prefix, Stack, Window
from mdhnp.mdh.cut import Read
from mdhnp.mdh.regions import read_region

__all__ = ["recombined"]


def recombined(parts: Cut | Partition, compute: Callable[..., Any], *arrays: Any) -> Any:
    """Compute all tasks by `compute`, which takes and gives what `interpret` does, and put their results together."""
    partition = parts.partition() if isinstance(parts, Cut) else parts
    found: list[tuple[Any, ...]] = []

    def read(one: Read) -> Any:
        match one:
            case Window(n, region):
                return read_region(arrays[n], region)
            case Stack(tasks, n):
                return np.stack([found[task][n] for task in tasks])
            case Prefix(task, n, at):
                return np.asarray(found[task][n][at])
        return np.asarray(one, np.int64)

    for task in partition.tasks:
        values = compute(task.mdhom, *map(read, task.reads))
        found.append(values if isinstance(values, tuple) else (values,))
    results = tuple([np.empty(v.shape, v.dtype) for v in partition.mdhom.outputs])
    last = partition.stages[-1]
    for task, values in zip(last, found[-len(last) :], strict=True):
        for result, region, value in zip(results, task.writes, values, strict=True):
            result[region] = value
    return results if len(results) > 1 else results[0]
