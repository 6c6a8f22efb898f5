"""`iterate`: what a skeleton gives is given to it again."""

from collections.abc import Callable
from operator import index as whole
from typing import Any

from mdhnp.frontend.computation import Computation
from mdhnp.frontend.fuse import Fused, are_arrays
from mdhnp.skeletons.overlap import Stencil
from mdhnp.skeletons.skeleton import Skeleton

__all__ = ["Iterate"]

#: Steps that are computed as one.
_TOGETHER = 8
#: Bytes that steps read, one by one, in the time that it takes to compile several as one.
_LONG = 1 << 32


class Iterate:
    """Apply a function to its own result, some number of times or until that is good enough.

    Parameters
    ----------
    function : callable
        Of arrays, to as many arrays (a tuple of several): a skeleton, a computation, or any Python function.
    steps : int, optional
        How often, or with `until`, how often at most.
    until : callable, optional
        Of the result and the one before, after each step: whether to stop.

    Raises
    ------
    TypeError
        If `function` is none, or `steps` is no whole number.
    ValueError
        If there are neither `steps` nor `until`, or `steps` is negative.

    Notes
    -----
    Skeletons, computations and fused functions are repeated a fixed number of times by eight steps at once as soon as
    calls have taken about as long as it takes to compile these (see :func:`mdhnp.fuse`): maps then become one, and
    stencils are computed tile by tile, so that most steps stay in the caches.

    Source: Steuwer, "Generating Performance Portable OpenCL Code From High-Level Functional Expressions".

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp import skeletons
    >>> halve = skeletons.map(lambda x: x / 2)
    >>> skeletons.iterate(halve, 3)(np.array([8.0, 16.0]))
    array([1., 2.])
    >>> skeletons.iterate(halve, until=lambda new, old: old.max() - new.max() < 1)(np.array([8.0, 16.0]))
    array([0.25, 0.5 ])
    """

    def __init__(
        self, function: Callable[..., Any], steps: int | None = None, until: Callable[[Any, Any], Any] | None = None
    ) -> None:
        if not callable(function):
            raise TypeError(f"iterate: {function!r} is no function")
        if steps is None and until is None:
            raise ValueError("iterate: pass steps, until, or both")
        self.function = function
        self.steps = None if steps is None else whole(steps)
        self.until = until
        self._eight = Fused(self._repeated)
        self._bytes = 0
        if self.steps is not None and self.steps < 0:
            raise ValueError(f"iterate: steps is {steps}, which must not be negative")

    def __call__(self, *arrays: Any) -> Any:
        """Compute; without a single step the arrays are given back."""
        state: Any = arrays[0] if len(arrays) == 1 else arrays
        done = 0
        if self._is_long(arrays):
            assert self.steps is not None
            while done + _TOGETHER <= self.steps:
                state, done = self._eight(*_several(state)), done + _TOGETHER
        while self.steps is None or done < self.steps:
            before, state = state, self.function(*_several(state))
            done += 1
            if self.until is not None and self.until(state, before):
                break
        return state

    def _is_long(self, arrays: tuple[Any, ...]) -> bool:
        """Whether steps that have been taken one by one, and those to be taken, are worth compiling several as one."""
        known = isinstance(self.function, _KNOWN) and are_arrays(arrays)
        if self.until is not None or self.steps is None or not known:
            return False
        self._bytes += self.steps * sum([a.nbytes for a in arrays])
        return self._bytes > _LONG

    def _repeated(self, *arrays: Any) -> Any:
        state: Any = arrays[0] if len(arrays) == 1 else arrays
        for _ in range(_TOGETHER):
            state = self.function(*_several(state))
        return state


#: What can be called on arrays that have no values yet, and does nothing else.
_KNOWN = (Skeleton, Stencil, Computation, Fused)


def _several(state: Any) -> tuple[Any, ...]:
    return state if isinstance(state, tuple) else (state,)
