"""The other way round: from an MDH to the einsum that computes the same."""

import string
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from mdhnp.mdh.combine import Combine, cc, pw
from mdhnp.mdh.function import Function
from mdhnp.mdh.mdhom import MdHom
from mdhnp.mdh.trace import trace
from mdhnp.mdh.views import View


def subscripts(h: MdHom) -> str | None:
    """Give the subscripts with which ``numpy.einsum`` computes what an MDH does, or None if it cannot.

    It can if the products of all inputs, in their common type, are added, and each index is one dimension.
    """
    if len(h.outputs) != 1 or not h.inputs or h.finish is not None or h.rank > len(string.ascii_letters):
        return None
    result, dtypes = h.outputs[0].dtype, tuple(v.dtype for v in h.inputs)
    if h.scalar != _product(dtypes, result):
        return None
    operators = _combine(result)
    if not all([c in operators for c in h.combine]):
        return None
    *terms, output = [_term(view, h.extents) for view in (*h.inputs, *h.outputs)]
    if output is None or None in terms or len({dim for term in terms for dim in term or ""}) < h.rank:
        return None
    return f"{','.join([term or '' for term in terms])}->{output}"


def _term(view: View, extents: tuple[int, ...]) -> str | None:
    """Label a view's axes by the dimensions that walk along the whole of them."""
    if len(view.accesses) != 1:
        return None
    term = ""
    for index, size in zip(view.accesses[0], view.shape, strict=True):
        dim = index.dim()
        if dim is None or extents[dim] != size:
            return None
        term += string.ascii_letters[dim]
    return term


@lru_cache(maxsize=64)
def _combine(result: np.dtype[Any]) -> tuple[Combine, Combine]:
    """Give the operators of dimensions that are summed and of those that are kept."""
    return pw("or" if result == np.bool_ else "add").resolve([result]), cc.resolve([result])


@lru_cache(maxsize=256)
def _product(dtypes: tuple[np.dtype[Any], ...], result: np.dtype[Any]) -> Function | None:
    if np.result_type(*dtypes) != result:
        return None
    multiply = np.logical_and if result == np.bool_ else np.multiply
    return trace(lambda *x: reduce(multiply, [v.astype(result) for v in x]), dtypes)
