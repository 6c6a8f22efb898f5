"""`stencil`: a function of every element's neighbours, SkelCL's map-overlap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index as whole
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.frontend import stencil as frontend
from mdhnp.frontend.public import public
from mdhnp.mdh.ctext import returned_type
from mdhnp.skeletons.skeleton import RESULTS, results_of


@dataclass(frozen=True, eq=False)
class Stencil:
    """A function of neighbours, or weights: call it on an array."""

    function: Callable[..., Any] | str | npt.ArrayLike
    mode: str
    cval: float
    offsets: tuple[tuple[int, ...], ...]
    results: tuple[np.dtype[Any], ...]

    def __call__(self, array: npt.ArrayLike) -> Any:
        """Compute."""
        if isinstance(self.function, str):
            return frontend.of_text(array, self.function, self.offsets, self.results, self.mode, self.cval)
        return frontend.stencil(array, self.function, self.mode, self.cval)


@public(
    "Apply a function to the neighbours of every element, as :func:`mdhnp.stencil` does.",
    function="callable, str or array_like: A function of the neighbours ``n``, where ``n[-1, 0]`` is one row up; "
    "OpenCL C text that takes one value for each of `offsets`; or weights.",
    mode="str: What lies outside of an array, as :func:`mdhnp.stencil` takes it.",
    cval='float: The value outside with ``mode="constant"``.',
    offsets="sequence of (int or tuple of int), optional: With text only: which neighbours its function takes, in "
    "order, one number an axis.",
    results=RESULTS,
    returns="Stencil: To be called on an array.",
    raises={
        "ValueError": "If text comes without offsets, or these without text; when called, as :func:`mdhnp.stencil`.",
        "TypeError": "When called, as :func:`mdhnp.stencil`.",
        "IndexError": "When called, as :func:`mdhnp.stencil`.",
    },
    example="""
>>> slope = mdhnp.skeletons.stencil(lambda n: (n[1] - n[-1]) / 2, mode="nearest")
>>> slope(np.array([1.0, 4.0, 9.0, 16.0]))
array([1.5, 4. , 6. , 3.5])
>>> text = "float slope(float left, float right) { return (right - left) / 2; }"
>>> mdhnp.skeletons.stencil(text, mode="nearest", offsets=[-1, 1])(np.array([1, 4, 9, 16], np.float32))
array([1.5, 4. , 6. , 3.5], dtype=float32)""",
)
def stencil(
    function: Callable[..., Any] | str | npt.ArrayLike,
    mode: str = "valid",
    cval: float = 0.0,
    *,
    offsets: Sequence[int | tuple[int, ...]] | None = None,
    results: Sequence[npt.DTypeLike] | npt.DTypeLike | None = None,
) -> Stencil:
    if isinstance(function, str) != (offsets is not None):
        raise ValueError("OpenCL C text, and nothing else, takes offsets")
    places = tuple([tuple(map(whole, o if isinstance(o, tuple | list) else (o,))) for o in offsets or ()])
    given = tuple([np.dtype(t) for t in results_of(results)])
    if isinstance(function, str) and not given:
        known = returned_type(function)
        if known is None:
            raise ValueError("results, the types that OpenCL C text returns, must be given")
        given = (known,)
    return Stencil(function, mode, cval, places, given)
