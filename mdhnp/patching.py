"""`patch`: NumPy's calls in code that one does not own run here.

While a block is open, in whatever thread, NumPy has switches in place of its functions; a switch calls ours in the
threads and tasks that are inside of a block, and NumPy's own in all others.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from mdhnp import linalg
from mdhnp.calls.operands import routing
from mdhnp.calls.switches import Switches
from mdhnp.frontend import (
    array_functions,  # noqa: F401 (which looks at NumPy's functions before ours replace them)
    gufuncs,
    products,
)
from mdhnp.frontend.einsum import einsum

_OURS: dict[ModuleType, tuple[Callable[..., Any], ...]] = {
    np: (
        einsum, gufuncs.matmul, gufuncs.matvec, gufuncs.vecdot, gufuncs.vecmat,
        products.dot, products.inner, products.kron, products.outer, products.tensordot, products.trace, products.vdot,
    ),
    np.linalg: tuple(getattr(linalg, name) for name in linalg.__all__),
}  # fmt: skip


def _routed(ours: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def choose(numpys: Callable[..., Any]) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            return (ours if routing.get() else numpys)(*args, **kwargs)

        return function

    return choose


_switches = Switches([(module, f.__name__, _routed(f)) for module, functions in _OURS.items() for f in functions])


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
