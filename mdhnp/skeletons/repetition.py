"""`iterate`: what a skeleton gives is given to it again."""

from collections.abc import Callable
from operator import index as whole
from typing import Any

from mdhnp.frontend.computation import Computation
from mdhnp.frontend.fuse import Fused, are_arrays
from mdhnp.frontend.public import public
from mdhnp.skeletons.overlap import Stencil
from mdhnp.skeletons.skeleton import Skeleton

#: Steps that are computed as one.
_TOGETHER = 8
#: Bytes that steps read, one by one, in the time that it takes to compile several as one.
_LONG = 1 << 32


class Iteration:
    """A function to be applied to its own result: call it on arrays."""

    def __init__(
        self, function: Callable[..., Any], steps: int | None, until: Callable[[Any, Any], Any] | None
    ) -> None:
        self.function, self.steps, self.until = function, steps, until
        self._eight = Fused(self._repeated)
        self._bytes = 0

    def __call__(self, *arrays: Any) -> Any:
        """Compute; without a single step the arrays are given back."""
        state: Any = arrays[0] if len(arrays) == 1 else arrays
        done = 0
        for _ in range(self._eights(arrays)):
            state, done = self._eight(*_several(state)), done + _TOGETHER
        while self.steps is None or done < self.steps:
            before, state = state, self.function(*_several(state))
            done += 1
            if self.until is not None and self.until(state, before):
                break
        return state

    def __repr__(self) -> str:
        return f"iterate({self.function!r}, steps={self.steps}, until={self.until!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return iterate, (self.function, self.steps, self.until)

    def _eights(self, arrays: tuple[Any, ...]) -> int:
        """How often several steps are taken as one: once those taken one by one, and those to be, are worth that."""
        if (
            self.until is not None
            or self.steps is None
            or not (isinstance(self.function, _KNOWN) and are_arrays(arrays))
        ):
            return 0
        self._bytes += self.steps * sum([a.nbytes for a in arrays])
        return self.steps // _TOGETHER if self._bytes > _LONG else 0

    def _repeated(self, *arrays: Any) -> Any:
        state: Any = arrays[0] if len(arrays) == 1 else arrays
        for _ in range(_TOGETHER):
            state = self.function(*_several(state))
        return state


#: What can be called on arrays that have no values yet, and does nothing else.
_KNOWN = (Skeleton, Stencil, Computation, Fused)


def _several(state: Any) -> tuple[Any, ...]:
    return state if isinstance(state, tuple) else (state,)


@public(
    "Apply a function to its own result, some number of times or until that is good enough.",
    function="callable: Of arrays, to as many arrays (a tuple of several): a skeleton, a computation, or any Python "
    "function.",
    steps="int, optional: How often, or with `until`, how often at most.",
    until="callable, optional: Of the result and the one before, after each step: whether to stop.",
    returns="Iteration: To be called on arrays.",
    raises={
        "TypeError": "If `function` is none, or `steps` is no whole number.",
        "ValueError": "If there are neither `steps` nor `until`, or `steps` is negative.",
    },
    notes="""Skeletons, computations and fused functions are repeated a fixed number of times by eight steps at once as
soon as calls have taken about as long as it takes to compile these (see :func:`mdhnp.fuse`): maps then become one, and
stencils are computed tile by tile, so that most steps stay in the caches.

Source: Steuwer, "Generating Performance Portable OpenCL Code From High-Level Functional Expressions".""",
    example="""
>>> halve = mdhnp.skeletons.map(lambda x: x / 2)
>>> mdhnp.skeletons.iterate(halve, 3)(np.array([8.0, 16.0]))
array([1., 2.])
>>> mdhnp.skeletons.iterate(halve, until=lambda new, old: old.max() - new.max() < 1)(np.array([8.0, 16.0]))
array([0.25, 0.5 ])""",
)
def iterate(
    function: Callable[..., Any], steps: int | None = None, until: Callable[[Any, Any], Any] | None = None
) -> Iteration:
    if not callable(function):
        raise TypeError(f"{function!r} is no function")
    if steps is None and until is None:
        raise ValueError("pass steps, until, or both")
    if steps is not None and whole(steps) < 0:
        raise ValueError(f"steps is {steps}, which must not be negative")
    return Iteration(function, None if steps is None else whole(steps), until)
