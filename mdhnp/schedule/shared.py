"""Which values of its scalar function a map computes for several points: an unrolled private tile needs them once.

Stencils that follow each other in one map compute what the first one gives anew for each neighbour that the second one
reads: what that reads on the left of a point is what it reads in the middle of another.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.cost import weights
from mdhnp.mdh import MdHom

Floats = npt.NDArray[np.float64]
Shift = tuple[int, ...]


class Shared(NamedTuple):
    """A function of neighbours that a map computes in several places of each point's surroundings."""

    #: Simple operations of one place.
    weight: float
    #: How far the places lie from an element that the arrays have at the point, in each dimension.
    places: tuple[Shift, ...]

    def computed(self, private_tile: Floats, d: int) -> Floats:
        """Places of all points of each private tile, where points along a dimension compute what they share once."""
        rows = defaultdict[Shift, list[int]](list)
        for place in sorted(self.places):
            rows[(*place[:d], *place[d + 1 :])].append(place[d])
        length = private_tile[:, d]
        along = sum([length + sum([np.minimum(length, b - a) for a, b in pairwise(row)]) for row in rows.values()])
        return np.asarray(along * np.prod(private_tile, axis=1) / length)


@lru_cache(maxsize=256)
def shared(h: MdHom) -> tuple[Shared, ...]:
    """Return what a map computes in several places; nothing for an MDH that combines."""
    if h.combined or any([view.indirect for view in h.inputs]) or sum([len(view.accesses) for view in h.inputs]) < 2:
        return ()
    function, cost = h.scalar, weights(h.scalar)
    elements = [_element(n, access, h.rank) for n, view in enumerate(h.inputs) for access in view.accesses]
    # A product that is added is one instruction with the sum.
    sums = [function.body[n].args for n in cost if function.body[n].op in ("add", "subtract")]
    added = {a for arguments in sums for a in arguments if function.body[a].op == "multiply"}
    formulas, places = dict[int, tuple[Any, Shift | None]](), defaultdict[Any, dict[Shift, float]](dict)
    for n in cost:
        step = function.body[n]
        if step.op in ("param", "index"):
            formulas[n] = elements[step.position] if step.op == "param" else (step, (0,) * h.rank)
            continue
        arguments = [formulas[a] for a in step.args]
        here = next((place for _, place in arguments if place is not None), None)
        relative = [(formula, _distance(place, here)) for formula, place in arguments]
        formula = hash((step.op, step.position, step.literal, str(step.dtype), *relative))
        formulas[n] = formula, here
        if here is not None and n not in added:
            places[formula][here] = cost[n]
    return tuple([Shared(max(each.values()), tuple(each)) for each in places.values() if len(each) > 1])


def _element(n: int, access: Sequence[Any], rank: int) -> tuple[Any, Shift | None]:
    """Give what an access reads as an element at a place: where each of its indices is one dimension's, shifted."""
    place = [0] * rank
    for index in access:
        dims = index.dims()
        if dims and (len(dims) > 1 or index.coefficients[dims[0]] != 1 or index.more):
            return (n, tuple(access)), None
        if dims:
            place[dims[0]] = index.constant
    return (n, tuple([index.dims() or index.constant for index in access])), tuple(place)


def _distance(place: Shift | None, origin: Shift | None) -> Shift | None:
    return None if place is None or origin is None else tuple([a - b for a, b in zip(place, origin, strict=True)])
