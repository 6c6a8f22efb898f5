"""`patch`: NumPy's calls in code that one does not own run here.

While a block is open, in whatever thread, NumPy has switches in place of its functions; a switch calls ours in the
threads and tasks that are inside of a block, and NumPy's own in all others.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from types import ModuleType
from typing import Any

import numpy as np

from mdhnp import linalg
from mdhnp.calls.operands import routing
from mdhnp.frontend import (
    array_functions,  # noqa: F401 (which looks at NumPy's functions before ours replace them)
    gufuncs,
    products,
)
from mdhnp.frontend.einsum import einsum
from mdhnp.process import process

_OURS: dict[ModuleType, tuple[Callable[..., Any], ...]] = {
    np: (
        einsum, gufuncs.matmul, gufuncs.matvec, gufuncs.vecdot, gufuncs.vecmat,
        products.dot, products.inner, products.kron, products.outer, products.tensordot, products.trace, products.vdot,
    ),
    np.linalg: tuple(getattr(linalg, name) for name in linalg.__all__),
}  # fmt: skip


class _Switch:
    """Stands in a module for one of its functions, and has its attributes."""

    def __init__(self, numpys: Callable[..., Any], ours: Callable[..., Any]) -> None:
        update_wrapper(self, numpys, updated=())
        self._numpys, self._ours = numpys, ours

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self._ours if routing.get() else self._numpys)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpys, name)

    def __reduce__(self) -> str:
        return self._numpys.__name__  # pickled by name, as functions are


class _Switches:
    """The switches, which NumPy has while blocks are open."""

    def __init__(self) -> None:
        self.lock = process.lock()
        self.blocks = 0
        self.installed: list[tuple[ModuleType, str, _Switch]] = []

    def count(self, change: int) -> None:
        """Note that a block begins (1) or ends (-1): the first one installs the switches, the last one removes them."""
        with self.lock:
            before, self.blocks = self.blocks, self.blocks + change
            if not before:
                named = [(module, ours.__name__, ours) for module, functions in _OURS.items() for ours in functions]
                self.installed = [(module, name, _Switch(getattr(module, name), ours)) for module, name, ours in named]
                for module, name, switch in self.installed:
                    setattr(module, name, switch)
            elif not self.blocks:
                for module, name, switch in self.installed:
                    if getattr(module, name) is switch:  # else someone has put something in its place meanwhile
                        setattr(module, name, switch._numpys)


_switches = _Switches()


@contextmanager
def patch() -> Iterator[None]:
    """Route NumPy's calls to mdhnp inside a ``with`` block, in this thread or asynchronous task.

    Blocks nest, and several threads may enter and leave theirs in any order; threads outside of any block are left
    alone, also those that code inside of one starts. What kernels cannot compute goes to NumPy as always, counted by
    `fallback_counts`.

    Notes
    -----
    Routed are ``einsum``, ``matmul``, ``matvec``, ``vecdot``, ``vecmat``, ``dot``, ``vdot``, ``inner``, ``outer``,
    ``tensordot``, ``kron`` and ``trace`` of `numpy`, and ``matmul``, ``multi_dot``, ``outer``, ``tensordot``,
    ``trace`` and ``vecdot`` of `numpy.linalg`, where code looks them up in these modules when it calls them. Not
    routed are the operator ``@``, arrays' methods, and functions imported by name before.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> def somebody_elses(x):
    ...     return np.einsum("ni,nj->ij", x, x)
    >>> with mdhnp.patch():
    ...     somebody_elses(np.ones((5, 2)))
    array([[5., 5.],
           [5., 5.]])
    """
    _switches.count(1)
    token = routing.set(True)
    try:
        yield
    finally:
        _switches.count(-1)  # first: a token cannot be reset in another context, which a generator may be closed in
        routing.reset(token)
