"""`stencil`: a function of every element's neighbours, SkelCL's map-overlap."""

from collections.abc import Callable, Sequence
from operator import index as whole
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.frontend.stencil import of_text
from mdhnp.frontend.stencil import stencil as computed
from mdhnp.mdh.ctext import returned_type

__all__ = ["Stencil"]


class Stencil:
    """Apply a function to the neighbours of every element, as :func:`mdhnp.stencil` does.

    Parameters
    ----------
    function : callable, str or array_like
        A function of the neighbours ``n``, where ``n[-1, 0]`` is one row up; OpenCL C text that takes one value for
        each of `offsets`; or weights.
    mode, cval
        What lies outside of an array, as :func:`mdhnp.stencil` takes them.
    offsets : sequence of (int or tuple of int), optional
        With text only: which neighbours its function takes, in order, one number an axis.
    results : dtype or sequence of dtype, optional
        What text gives that returns none of NumPy's types, or several results through pointers.

    Raises
    ------
    ValueError
        If text comes without offsets, or these without text; when called, as :func:`mdhnp.stencil`.
    TypeError, IndexError
        When called, as :func:`mdhnp.stencil`.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp import skeletons
    >>> slope = skeletons.stencil(lambda n: (n[1] - n[-1]) / 2, mode="nearest")
    >>> slope(np.array([1.0, 4.0, 9.0, 16.0]))
    array([1.5, 4. , 6. , 3.5])
    >>> text = "float slope(float left, float right) { return (right - left) / 2; }"
    >>> skeletons.stencil(text, mode="nearest", offsets=[-1, 1])(np.array([1, 4, 9, 16], np.float32))
    array([1.5, 4. , 6. , 3.5], dtype=float32)
    """

    def __init__(
        self,
        function: Callable[..., Any] | str | npt.ArrayLike,
        mode: str = "valid",
        cval: float = 0.0,
        *,
        offsets: Sequence[int | tuple[int, ...]] | None = None,
        results: Sequence[npt.DTypeLike] | npt.DTypeLike | None = None,
    ) -> None:
        if isinstance(function, str) != (offsets is not None):
            raise ValueError("stencil: OpenCL C text, and nothing else, takes offsets")
        self.function = function
        self.mode = mode
        self.cval = cval
        self.offsets = tuple([tuple(map(whole, o if isinstance(o, tuple | list) else (o,))) for o in offsets or ()])
        given = results if isinstance(results, list | tuple) else () if results is None else (results,)
        self.results = tuple([np.dtype(t) for t in given])
        if isinstance(function, str) and not given:
            known = returned_type(function)
            if known is None:
                raise ValueError("stencil: results, the types that OpenCL C text returns, must be given")
            self.results = (known,)

    def __call__(self, array: npt.ArrayLike) -> Any:
        """Compute."""
        if isinstance(self.function, str):
            return of_text(array, self.function, self.offsets, self.results, self.mode, self.cval)
        return computed(array, self.function, self.mode, self.cval)
