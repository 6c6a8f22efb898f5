"""Rows in parts: several MDHs after each other that share rows are cut along these, and stay one task for each part.

A softmax is one, or an attention: where blocks hold whole rows, what is needed of a row only never leaves the task that
computes it. It must not know keys, nor tasks.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from mdhnp.dask.sizes import Ends
from mdhnp.mdh import Cut, Graph, MdHom, Part, Rows, Step, rows
from mdhnp.mdh.mdhom import row_major
from mdhnp.mdh.pieces import Region, piece

__all__ = ["cut_rows", "plain", "shared_ends"]


def plain(h: MdHom) -> MdHom:
    """Give an MDH on arrays that are C-contiguous, as blocks and what is put together of them are."""
    inputs, outputs = (
        tuple([replace(v, strides=row_major(v.shape), offset=0) for v in views]) for views in (h.inputs, h.outputs)
    )
    return replace(h, inputs=inputs, outputs=outputs)


def shared_ends(h: Rows, blocks: Sequence[Sequence[Ends]]) -> tuple[Ends, ...] | None:
    """Give where dimensions are cut, if blocks end so along each axis of each input; None where rows would be.

    Also where blocks of several inputs disagree.
    """
    found: dict[int, Ends] = {}
    for n, step in enumerate(h.graph.steps):
        last = dict(zip(h.along[n], h.along[-1], strict=True))
        for p, v in zip(step.inputs, step.mdhom.inputs, strict=True):
            for axis, ends in enumerate(blocks[p] if p < h.graph.given else ()):
                dims = {access[axis].dim() for access in v.accesses}
                dim = last.get(dims.pop() or 0) if len(dims) == 1 and None not in dims else None
                if (dim is None and ends) or (dim is not None and found.setdefault(dim, ends) != ends):
                    return None
    return tuple([found.get(d, ()) for d in range(h.rank)])


def cut_rows(h: Rows, dim: int, sizes: Sequence[int]) -> Cut | None:
    """Cut rows along a dimension that all of their MDHs have; None where parts are no rows."""
    ends = [*accumulate(sizes, initial=0)]
    parts = [_part(h, dim, begin, end) for begin, end in pairwise(ends)]
    return None if None in parts else Cut(h, dim, tuple([p for p in parts if p is not None]))


def _part(h: Rows, dim: int, begin: int, end: int) -> Part | None:
    graph, place = h.graph, h.along[-1].index(dim)
    pieces = [piece(s.mdhom, dims[place], begin, end) for s, dims in zip(graph.steps, h.along, strict=True)]
    regions: dict[int, Region] = {}
    for first, step, part in zip(graph.firsts, graph.steps, pieces, strict=True):
        pairs = zip(step.inputs, part.inputs, strict=True)
        if part.begin or any([regions.setdefault(p, region) != region for p, region in pairs]):
            return None
        regions.update(zip(range(first, first + len(part.outputs)), part.outputs, strict=True))
    steps = [Step(plain(part.mdhom), step.inputs) for step, part in zip(graph.steps, pieces, strict=True)]
    made = rows(Graph(graph.given, tuple(steps), graph.results))
    if made is None:
        return None
    return Part(made, tuple([regions[p] for p in range(graph.given)]), pieces[-1].outputs)
