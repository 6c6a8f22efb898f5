"""`iterate`: what a skeleton gives is given to it again."""

from collections.abc import Callable
from operator import index as whole
from typing import Any

__all__ = ["Iterate"]


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
        if self.steps is not None and self.steps < 0:
            raise ValueError(f"iterate: steps is {steps}, which must not be negative")

    def __call__(self, *arrays: Any) -> Any:
        """Compute; without a single step the arrays are given back."""
        state: Any = arrays[0] if len(arrays) == 1 else arrays
        done = 0
        while self.steps is None or done < self.steps:
            before, state = state, self.function(*(state if isinstance(state, tuple) else (state,)))
            done += 1
            if self.until is not None and self.until(state, before):
                break
        return state
