"""`patch`: NumPy's calls, and SciPy's filters, in code that one does not own run here.

While a block is open, in whatever thread, NumPy has switches in place of its functions; a switch calls ours in the
threads and tasks that are inside of a block, and NumPy's own in all others.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from mdhnp.calls.operands import routing
from mdhnp.calls.switches import Switches
from mdhnp.documentation import public
from mdhnp.frontend import (
    array_functions,  # noqa: F401 (which looks at NumPy's functions before ours replace them)
    gufuncs,
    linalg,
    products,
)
from mdhnp.frontend.einsum import einsum

Function = Callable[..., Any]

_OURS: dict[str, tuple[Function, ...]] = {
    "numpy": (
        einsum, gufuncs.matmul, gufuncs.matvec, gufuncs.vecdot, gufuncs.vecmat,
        products.dot, products.inner, products.kron, products.outer, products.tensordot, products.trace, products.vdot,
    ),
    "numpy.linalg": (
        linalg.matmul, linalg.multi_dot, linalg.outer, linalg.tensordot, linalg.trace, linalg.vecdot,
    ),
}  # fmt: skip


_FILTERS = ("correlate", "convolve", "gaussian_filter", "uniform_filter")


def _routed(ours: Function) -> Callable[[Function], Function]:
    def choose(numpys: Function) -> Function:
        def function(*args: Any, **kwargs: Any) -> Any:
            return (ours if routing.get() else numpys)(*args, **kwargs)

        return function

    return choose


def _routed_filter(name: str) -> Callable[[Function], Function]:
    """Import ours where SciPy was imported, before its functions are replaced."""

    def choose(scipys: Function) -> Function:
        ours = getattr(import_module("mdhnp.frontend.ndimage"), name)
        return _routed(ours)(scipys)

    return choose


_switches = Switches([
    *[(module, f.__name__, _routed(f)) for module, functions in _OURS.items() for f in functions],
    *[("scipy.ndimage", name, _routed_filter(name)) for name in _FILTERS],
])  # fmt: skip


@contextmanager
@public(
    """Route NumPy's calls to mdhnp inside a ``with`` block, in this thread or asynchronous task.

Blocks nest, and several threads may enter and leave theirs in any order; threads outside of any block are left alone,
also those that code inside of one starts. What kernels cannot compute goes to NumPy as always, counted by
:func:`mdhnp.fallback_counts`.""",
    yields="None: Nothing: the block's calls are the same as outside.",
    notes="""Routed are ``einsum``, ``matmul``, ``matvec``, ``vecdot``, ``vecmat``, ``dot``, ``vdot``, ``inner``,
``outer``, ``tensordot``, ``kron`` and ``trace`` of `numpy`, and ``matmul``, ``multi_dot``, ``outer``,
``tensordot``, ``trace`` and ``vecdot`` of `numpy.linalg`, where code looks them up in these modules when it
calls them. Not routed are the operator ``@``, arrays' methods, and functions imported by name before.

If `scipy.ndimage` was imported before, its ``correlate``, ``convolve``, ``gaussian_filter`` and ``uniform_filter`` are
routed, too, for real numbers where the result is of float32 or float64; SciPy computes the others. Sums of float32 are
computed in float32. NaN and infinity spread to a filter's neighbourhood only, not along the rest of a line as in
SciPy's ``uniform_filter``.""",
    example="""
>>> def somebody_elses(x):
...     return np.einsum("ni,nj->ij", x, x)
>>> with mdhnp.patch():
...     somebody_elses(np.ones((5, 2)))
array([[5., 5.],
       [5., 5.]])""",
    guard=False,
)
def patch() -> Iterator[None]:
    _switches.count(1)
    token = routing.set(True)
    try:
        yield
    finally:
        _switches.count(-1)  # first: a token cannot be reset in another context, which a generator may be closed in
        routing.reset(token)
