"""`map` and `zip`: a function of one element of each array, at every place."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.mdh import cc
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.skeletons.skeleton import Shape, Skeleton, access, broadcast, customised, outputs, result_count

__all__ = ["Map", "Zip"]

_Structure = tuple[int, tuple[tuple[str, ...], ...]]


class Zip(Skeleton):
    """Apply a function to one element of each array: ``zip(f)(x, y)[i] = f(x[i], y[i])``.

    Arrays are broadcast as NumPy does, so that ``zip(f)(x, 2.0)`` takes a number along.

    Parameters
    ----------
    function : callable or str
        One value of each array to a value, or a tuple for several results: a NumPy ufunc, a Python function as
        :func:`mdhnp.md_hom` takes it, or OpenCL C text whose last function it is.
    results : dtype or sequence of dtype, optional
        What text gives that returns none of NumPy's types, or several results through pointers.

    Raises
    ------
    TypeError
        If the function is neither, or called with values that it cannot be recorded with.
    ValueError
        When called, if arrays cannot be broadcast, or text takes another number of values.

    Notes
    -----
    ``md_hom(f, (++, …, ++)) ∘ (A[i], B[i]) -> O[i]``. Source: Gorlatch & Steuwer, "Towards High-Level Programming for
    Systems with Many Cores", Section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp import skeletons
    >>> mult = skeletons.zip("float mult(float x, float y) { return x * y; }")
    >>> mult(np.array([1, 2], np.float32), np.array([3, 4], np.float32))
    array([3., 8.], dtype=float32)
    """

    def __init__(
        self,
        function: Callable[..., Any] | str,
        results: Sequence[npt.DTypeLike] | npt.DTypeLike | None = None,
    ) -> None:
        super().__init__()
        self.function = customised(function, type(self).__name__.lower())
        self.results = () if results is None else tuple(results) if isinstance(results, list | tuple) else (results,)

    def _structure(self, shapes: tuple[Shape, ...]) -> _Structure:
        return broadcast(shapes)

    def _make(self, structure: _Structure, dtypes: tuple[np.dtype[Any], ...]) -> Computation:
        rank, indices = structure
        dims = dimension_names(rank)
        inputs = ", ".join([access(f"A{n}", each) for n, each in enumerate(indices)])
        count = result_count(self.function, dtypes, self.results)
        views = f"{inputs} -> {outputs(count, dims)}"
        return md_hom(self.function, dict.fromkeys(dims, cc), views, results=self.results or None)


class Map(Zip):
    """Apply a function to every element of an array: ``map(f)(x)[i] = f(x[i])``. Parameters and errors as in `zip`.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp import skeletons
    >>> square = skeletons.map(lambda x: x * x)
    >>> square(np.array([[1, 2], [3, 4]]))
    array([[ 1,  4],
           [ 9, 16]])
    """

    def _structure(self, shapes: tuple[Shape, ...]) -> _Structure:
        if len(shapes) != 1:
            raise TypeError(f"map: takes one array, {len(shapes)} are given; use zip")
        return broadcast(shapes)
