"""Parts of rows: MDHs that share rows are cut along these all at once, and each part is rows again.

What is needed of a row only never leaves the part that it is in. It must not know who computes parts.
"""

from dataclasses import replace

from mdhnp.mdh.graph import Graph, Step
from mdhnp.mdh.mdhom import MdHom, row_major
from mdhnp.mdh.pieces import Part, Region, piece
from mdhnp.mdh.rows import Rows, rows

__all__ = ["row_part"]


def row_part(h: Rows, dim: int, begin: int, end: int) -> Part | None:
    """Give rows as they are where a dimension runs from `begin` to before `end`; None where that is no rows.

    One row is none, nor is what reads other elements of one array in several of its MDHs, or asks for indices.

    Parameters
    ----------
    h : Rows
        The whole.
    dim : int
        A dimension of the last MDH's that all of them have.
    begin, end : int
        Which of its points.
    """
    graph, place = h.graph, h.along[-1].index(dim)
    pieces = [piece(s.mdhom, dims[place], begin, end) for s, dims in zip(graph.steps, h.along, strict=True)]
    regions: dict[int, Region] = {}
    for first, step, part in zip(graph.firsts, graph.steps, pieces, strict=True):
        pairs = zip(step.inputs, part.inputs, strict=True)
        if part.begin or any([regions.setdefault(p, region) != region for p, region in pairs]):
            return None
        regions.update(zip(range(first, first + len(part.outputs)), part.outputs, strict=True))
    steps = [
        Step(_between(part.mdhom, step, graph.given), step.inputs)
        for step, part in zip(graph.steps, pieces, strict=True)
    ]
    made = rows(Graph(graph.given, tuple(steps), graph.results))
    if made is None:
        return None
    return Part(made, tuple([regions[p] for p in range(graph.given)]), pieces[-1].outputs)


def _between(h: MdHom, step: Step, given: int) -> MdHom:
    """Give a part of a link; what links leave to each other is C-contiguous, whatever it is a part of."""
    inputs = [
        v if p < given else replace(v, strides=row_major(v.shape), offset=0)
        for p, v in zip(step.inputs, h.inputs, strict=True)
    ]
    outputs = [replace(v, strides=row_major(v.shape), offset=0) for v in h.outputs]
    return replace(h, inputs=tuple(inputs), outputs=tuple(outputs))
