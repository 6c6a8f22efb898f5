"""Long segments of sorted points in pieces: these are combined first, side by side, and then those of each segment.

Segments are as long as elements of an array say. Where one has most of all points, as many work-items as its other
dimensions have would combine it, one point after the other. Pieces are at most as long as the root of all points. How
long they are depends on nothing but shapes, so that results are the same bits in each call.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from mdhnp.mdh.graph import Graph, Step
from mdhnp.mdh.mdhom import Computation, MdHom, Segment
from mdhnp.mdh.scatter import INDEX, Sorting
from mdhnp.mdh.stages import combination, finish_inputs, partial
from mdhnp.mdh.views import Affine, View, contiguous, row_major

#: Points of which some work-items combine all without others waiting long; those of the shortest pieces.
_FEW, _SHORT = 4096, 64


def in_pieces(graph: Graph, sortings: Sequence[Sorting]) -> tuple[Graph, tuple[Sorting, ...]]:
    """Combine what is sorted in pieces: give the graph of that, and what makes its last inputs of the others.

    Steps stay as they are whose segments cannot be combined so, as those whose order of operands matters.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import md_hom, pw, scattered
    >>> sums = md_hom(lambda x: x, {"i": pw("add")}, "x[i] -> y[s[i]]")
    >>> small, sortings = scattered(sums.bind(np.ones(10**6), np.zeros(10**6, int), s=3))
    >>> graph, (sorting,) = in_pieces(Graph.of(small), sortings)
    >>> for step in graph.steps:
    ...     print(step.mdhom)
    md_hom(id, (++, + piece[p]:piece[p+1])) ∘ (x[order[i]], s[order[i]], order[i], piece[p], piece[p+1]) -> P0[p]
    md_hom(id, (+ first[j]:first[j+1], ++)) ∘ (P0[i], first[j], first[j+1]) -> y[j]
    >>> sorting.piece
    256
    """
    cut = tuple([s._replace(piece=_length(prod(s.shape))) for s in sortings])
    given = graph.given - sum([len(s.shapes) for s in sortings])
    place, pieces = list(range(given)), dict[int, tuple[int, int]]()
    for s, new in zip(sortings, cut, strict=True):
        begin = given + len(s.shapes) - 1
        place += range(given, begin + 1)
        given += len(new.shapes)
        if new.piece:
            pieces[begin] = (begin + 1, begin + 2)
    steps, values = list[Step](), given
    for step in graph.steps:
        inputs = tuple([place[p] for p in step.inputs])
        found = _of_two(step.mdhom, inputs, pieces, values) or [Step(step.mdhom, inputs)]
        steps += found
        values += sum([len(each.mdhom.outputs) for each in found])
        place += range(values - len(step.mdhom.outputs), values)
    return Graph(given, tuple(steps), tuple([place[r] for r in graph.results]), graph.parts), cut


def _length(points: int) -> int:
    """Points of a piece: a quarter of the root of all, about, since partial results are read faster than points."""
    return max(_SHORT, 1 << points.bit_length() // 2 - 2) if points >= _FEW else 0


def _of_two(h: Computation, inputs: tuple[int, ...], pieces: dict[int, tuple[int, int]], values: int) -> list[Step]:
    """The step of pieces, whose results have numbers from `values` on, and that of segments; none for other steps."""
    if not isinstance(h, MdHom) or len(h.segments) != 1 or inputs[h.segments[0].source] not in pieces:
        return []
    (dim, source, _, _), (row,) = h.segments[0], h.segmented(h.segments[0])
    first, piece = pieces[inputs[source]]
    return _steps(h, h.extents[row] + h.extents[dim] // _length(h.extents[dim]), inputs, (first, piece), values)


def segments_in_pieces(h: MdHom, count: int) -> Graph | None:
    """Combine segments in pieces, so many in all: which are segments' first ones, and where pieces begin, comes last.

    None where an MDH's segments cannot be combined so.
    """
    given = len(h.inputs)
    steps = _steps(h, count, tuple(range(given)), (given, given + 1), given + 2)
    return Graph.ending(given + 2, steps) if steps else None


def _steps(h: MdHom, count: int, inputs: tuple[int, ...], ends: tuple[int, int], values: int) -> list[Step]:
    (dim, source, _, _), (row,) = h.segments[0], h.segmented(h.segments[0])
    if not _is_free(h, row):
        return []
    first, piece = ends
    parts, whole = _parts(h, dim, row, count), _whole(h, dim, row, count)
    read = [piece if n == source else p for n, p in enumerate(inputs)]
    made = range(values, values + len(parts.outputs))
    return [Step(parts, tuple(read)), Step(whole, (*made, *[inputs[n] for n in finish_inputs(h)], first))]


def _is_free(h: MdHom, row: int) -> bool:
    """Whether parts of a row may be combined anyhow, by what knows nothing of the row, nor rounds its result."""
    used = [h.inputs[n].accesses[a] for n, a in [h.accesses[p] for p in h.scalar.used_parameters()]]
    moved = row in h.scalar.used_indices() or any([row in i.dims() for access in used for i in access])
    halves = any([t.char == "e" for t in h.scalar.dtypes])  # which are combined in float32
    return not (moved or halves or h.operator is None) and h.operator.commutative


def _parts(h: MdHom, dim: int, row: int, count: int) -> MdHom:
    """What combines the points of each piece, which takes the place of the row."""
    rows = partial(h, dim)
    source = h.segments[0].source
    inputs = [v.still((row,)) for v in h.inputs]
    inputs[source] = replace(h.inputs[source], name="piece", shape=(count + 1,))
    extents = tuple([count if d == row else n for d, n in enumerate(h.extents)])
    names = tuple(["p" if d == row else name for d, name in enumerate(h.names)])
    outputs = tuple([contiguous(v.name, v.dtype, extents, rows.dims("cc")) for v in rows.outputs])
    return replace(rows, extents=extents, inputs=tuple(inputs), outputs=outputs, names=names)


def _whole(h: MdHom, dim: int, row: int, count: int) -> MdHom:
    """What combines the pieces of each row."""
    combined = combination(h, dim, count)
    at = 1 + h.dims("cc").index(row)
    results = len(h.scalar.dtypes)
    stacks = [_without(v, at) for v in combined.inputs[:results]]
    ends = tuple([(Affine.of(at, combined.rank, n),) for n in (0, 1)])
    first = View("first", INDEX, (h.extents[row] + 1,), (1,), 0, ends)
    inputs = (*stacks, *combined.inputs[results:], first)
    scalar, finish = (
        None if f is None else f.substituted((*f.parameters, INDEX, INDEX)) for f in (combined.scalar, combined.finish)
    )
    assert scalar is not None
    segments = (Segment(0, len(inputs) - 1, (0, 1), trusted=h.segments[0].trusted),)
    return replace(combined, inputs=inputs, scalar=scalar, finish=finish, segments=segments)


def _without(v: View, axis: int) -> View:
    """The array without an axis."""
    shape = (*v.shape[:axis], *v.shape[axis + 1 :])
    (access,) = v.accesses
    return replace(v, shape=shape, strides=row_major(shape), accesses=((*access[:axis], *access[axis + 1 :]),))
