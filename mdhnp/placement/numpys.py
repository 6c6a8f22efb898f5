"""The NumPy function that computes an MDH, where there is one: a matrix product or an einsum.

Takes MDHs, gives functions of their inputs. It must not know devices, nor what anything costs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from mdhnp.mdh import MdHom
from mdhnp.mdh.subscripts import subscripts
from mdhnp.schedule.choices import Facts

__all__ = ["NumpyFunction", "dot", "einsum", "numpy_function"]

# `np.einsum` itself takes as long to call this as this takes for small arrays.
einsum: Callable[..., Any] = getattr(np._core.multiarray, "c_einsum", np.einsum)  # type: ignore[attr-defined]
dot = np.ndarray.dot


@dataclass(frozen=True)
class NumpyFunction:
    """A function of NumPy's in place of kernels.

    Attributes
    ----------
    name : str
        What it is, for people.
    compute : callable
        Takes the MDH's inputs, gives a new C-contiguous array or a scalar.
    product : bool
        Whether it is a matrix product, which BLAS computes for float32 and float64.
    elements : int
        Of the operands of a matrix product, and of its result.
    turned : int
        Elements of a product's right operand, that with the result's last dimension, if they lie along the sum.
    """

    name: str
    compute: Callable[..., Any] = field(repr=False, compare=False)
    product: bool = False
    elements: int = 0
    turned: int = 0


def numpy_function(h: MdHom) -> NumpyFunction | None:
    """Give the function that computes an MDH; None where NumPy has none.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> a = np.ones((3, 4))
    >>> sums = mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc, "j": mdhnp.pw("add")}, "A[i,j] -> O[i]")
    >>> numpy_function(sums.bind(a)).compute(a)
    array([4., 4., 4.])
    """
    text = subscripts(h)
    if text is None:
        return None
    operands = (*h.inputs, *h.outputs)
    product = _matrix_product(text) if len({v.dtype for v in operands}) == 1 else None
    if product is None or h.outputs[0].dtype.char not in "fd":
        return NumpyFunction(f'numpy.einsum("{text}")', _einsum(text, len(h.inputs)))
    return NumpyFunction("numpy.dot", product, True, sum(prod(v.shape) for v in operands), _turned(h))


def _matrix_product(text: str) -> Callable[[Any, Any], Any] | None:
    """Give the product of two matrices or vectors that an einsum is, if it is one."""
    operands, _, output = text.partition("->")
    terms = operands.split(",")
    if len(terms) != 2 or any(len(t) != len(set(t)) or len(t) > 2 for t in terms):
        return None
    common = set(terms[0]) & set(terms[1])
    kept = "".join(terms).translate({ord(c): None for c in common})
    if len(common) != 1 or common & set(output) or sorted(kept) != sorted(output):
        return None
    k = common.pop()
    if output != kept:  # the transpose of the product is the product of the transposes
        swapped = _matrix_product(f"{terms[1]},{terms[0]}->{output}")
        return None if swapped is None else lambda a, b: swapped(b, a)
    turn_a, turn_b = terms[0][-1] != k, terms[1][0] != k
    if turn_a:
        return (lambda a, b: dot(a.T, b.T)) if turn_b else lambda a, b: dot(a.T, b)
    return (lambda a, b: dot(a, b.T)) if turn_b else dot


def _turned(h: MdHom) -> int:
    """Elements of a product's right operand, that with the result's last dimension, if they lie along the sum."""
    if len(h.dims("cc")) < 2 or any(h.extents[d] == 1 for d in h.dims("cc")):
        return 0
    facts = Facts(h)
    (k,) = facts.combined
    last = min(facts.kept, key=lambda d: abs(facts.output_strides[d]))
    turned = (prod(v.shape) for v, s in zip(h.inputs, facts.strides, strict=True) if abs(s[k]) == 1 < abs(s[last]))
    return next(turned, 0)


def _einsum(text: str, operands: int) -> Callable[..., Any]:
    if operands == 1:  # NumPy gives some results as views
        return lambda a: np.array(einsum(text, a), order="C")
    return lambda *arrays: einsum(text, *arrays, order="C")
