"""Portions: what of a task is computed while its halo is on its way, and what afterwards, as data.

Takes a task, and what is asked about regions of its inputs. Pure: it must not know arrays, nor devices.
"""

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from mdhnp.mdh import MdHom, Task
from mdhnp.mdh.cut import cut
from mdhnp.mdh.regions import Region, part_of

#: Of the n-th input of a task, whether a region is there before anything was brought.
Known = Callable[[int, Region], bool]

#: Points of a border, at least: what is left are then as many as fill tiles, mostly, and need no guards.
LEAST = 1 << 21


class Portion(NamedTuple):
    """Some of a task's points."""

    mdhom: MdHom
    #: Of each input of the task what it reads, then numbers.
    reads: tuple[Region | int, ...]
    #: Of the task's only output.
    writes: Region


def portions(task: Task, dim: int, known: Known) -> tuple[Portion, ...]:
    """Give the points, along a dimension, that read what is known, then those before and behind them.

    None where all of them do, or where a border would be a quarter of the extent.
    """
    h = task.mdhom
    if not isinstance(h, MdHom) or len(h.outputs) != 1 or h.combine[dim].kind != "cc":
        return ()
    extent = h.extents[dim]

    def lacking(point: int) -> bool:
        regions = part_of(h, dim, point, point + 1).inputs
        return not all([known(n, region) for n, region in enumerate(regions)])

    most = extent // 4
    before = next((n for n in range(most) if not lacking(n)), most)
    behind = next((n for n in range(most) if not lacking(extent - 1 - n)), most)
    if before + behind == 0 or most in (before, behind):
        return ()
    step = 1
    while step * 2 <= extent // 16 and step * (prod(h.extents) // extent) < LEAST:
        step *= 2
    before, behind = (-(-n // step) * step for n in (before, behind))
    parts = cut(h, dim, (before, extent - before - behind, behind)).parts
    found = [Portion(p.mdhom.last, (*p.inputs, *p.begin), p.outputs[0]) for p in parts]
    inner = found.pop(1 if before else 0)
    if not all([known(n, each) for n, each in enumerate(inner.reads) if not isinstance(each, int)]):
        return ()  # nor is what lies between its first and its last point
    return (inner, *found)
