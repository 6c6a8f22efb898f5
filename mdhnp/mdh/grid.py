"""Grids: an MDH cut along several dimensions at once, as one partition.

Parts of concatenated dimensions are boxes of points. What is reduced or scanned recombines within each box, as it does
where one dimension is cut: partial results of a box in a tree of their own, in the order of the points. All boxes do so
side by side, stage by stage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import prod

from mdhnp.mdh.cut import Cut, Partition, Prefix, Read, Stack, Task, Window, cut, sizes_of, whole
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.regions import within


def grid(h: Computation, sizes: Mapping[int, int | Sequence[int]], arity: int = 2) -> Partition:
    """Cut a computation along some dimensions, each in parts as :func:`cut` takes them.

    Concatenated and reduced ones, or concatenated and one scanned. Parts are numbered so that those along the last
    reduced dimension follow each other, then along the one before, and so on; concatenated ones come first, in the
    order in which they are given. One task combines partial results of at most `arity` neighbours.

    Raises what :func:`cut` does; ValueError, too, where a scanned dimension is cut and another one is reduced or
    scanned.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, interpret, md_hom, pw
    >>> a, b = np.arange(12.0).reshape(3, 4), np.ones((4, 5))
    >>> dims = {"i": cc, "j": cc, "k": pw("add")}
    >>> product = md_hom(np.multiply, dims, "A[i,k], B[k,j] -> C[i,j]").bind(a, b)
    >>> made = grid(product, {0: 2, 2: (1, 3)})
    >>> [[(task.part, task.mdhom.extents) for task in stage] for stage in made.stages]
    [[(0, (2, 5, 1)), (1, (2, 5, 3)), (2, (1, 5, 1)), (3, (1, 5, 3))], [(0, (2, 2, 5)), (2, (2, 1, 5))]]
    >>> np.array_equal(made.run(interpret, a, b), a @ b)
    True
    """
    combined = [dim for dim in sizes if h.last.combine[dim].kind != "cc"]
    partition = whole(h)
    for dim in sizes:
        if dim not in combined:
            (boxes,) = partition.stages
            partition = _refined(h, boxes, [cut(box.mdhom, dim, sizes[dim]).partition() for box in boxes])
    if combined:
        (boxes,) = partition.stages
        partition = _refined(h, boxes, [_combined(box.mdhom, {d: sizes[d] for d in combined}, arity) for box in boxes])
    return replace(partition, dims=tuple(sizes))


def _combined(h: Computation, sizes: Mapping[int, int | Sequence[int]], arity: int) -> Partition:
    """Give the partition of one box: cut along the first dimension, and each part along the others."""
    first, *others = sizes
    if others and any([h.last.combine[d].kind == "ps" for d in sizes]):
        shown = ", ".join([h.last.names[d] for d in sizes])
        raise ValueError(f"sizes: of {shown} one is scanned, which is cut alone")
    left = {d: sizes_of(h, d, sizes[d]) for d in others}

    def divide(part: MdHom, dim: int) -> Cut | None:
        uncut = dim in left and len(left[dim]) > 1 and part.extents[dim] == sum(left[dim])
        return cut(part, dim, left[dim]) if uncut else None

    made = cut(h, first, sizes[first]).partition(arity, divide)
    if _parts(made) != prod(map(len, left.values())) * len(sizes_of(h, first, sizes[first])):
        raise ValueError(f"sizes: not all of {', '.join([h.last.names[d] for d in sizes])} can be cut together")
    return made


def _refined(h: Computation, tasks: Sequence[Task], partitions: Sequence[Partition]) -> Partition:
    """Give the partition of tasks of one stage, each of which is cut again: all alike."""
    numbers: list[list[int]] = [[] for _ in tasks]
    parts = [*accumulate(map(_parts, partitions), initial=0)]
    stages, count = [], 0
    for stage in zip(*[p.stages for p in partitions], strict=True):
        placed = []
        for outer, inside, known, first in zip(tasks, stage, numbers, parts, strict=False):
            for task in inside:
                reads = tuple([_placed(read, outer, known) for read in task.reads])
                writes = tuple(map(within, outer.writes, task.writes)) if task.writes else ()
                placed.append(Task(task.mdhom, reads, writes, first + task.part))
            known += range(count, count + len(inside))
            count += len(inside)
        stages.append(tuple(placed))
    return Partition(h, (), tuple(stages))


def _parts(partition: Partition) -> int:
    return 1 + max([task.part for task in partition.tasks])


def _placed(read: Read, outer: Task, numbers: Sequence[int]) -> Read:
    """Give what a task reads that computes a part of another one, whose inputs are windows or numbers."""
    match read:
        case Window(n, region):
            given = outer.reads[n]
            return Window(given.input, within(given.region, region)) if isinstance(given, Window) else given
        case Stack(tasks, n):
            return Stack(tuple([numbers[task] for task in tasks]), n)
        case Prefix(task, n, at):
            return Prefix(numbers[task], n, at)
    return read
