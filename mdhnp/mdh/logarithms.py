"""Sums of numbers that are kept as logarithms, in two passes: ``log(sum(exp(x)))`` so that nothing overflows.

    logᵢ = m + log ∑ₖ exp(xᵢₖ - mᵢ)   where   mᵢ = maxₖ xᵢₖ

That takes one exponential a point. With `logaddexp` for an operator each point would take an exponential and a
logarithm, and so would most of a tuple (m, the sum scaled by it). It must not know devices.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from mdhnp.mdh.combine import extreme, pw
from mdhnp.mdh.function import Function, Instruction
from mdhnp.mdh.graph import Graph, Step, expanded
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.trace import Recorder, trace
from mdhnp.mdh.views import contiguous

_HALF, _SINGLE = np.dtype(np.float16), np.dtype(np.float32)


def log_sums(graph: Graph) -> Graph:
    """Give a graph that computes the same, with two steps in place of each that adds logarithms of numbers.

    Examples
    --------
    >>> h = md_hom(np.add, {"i": cc, "k": pw(np.logaddexp)}, "A[i,k], B[k] -> C[i]")
    >>> print(log_sums(Graph.of(h.bind(np.ones((2, 3)), np.ones(3)))))
    v2 = md_hom(x0 + x1, (++, max)) ∘ (A[i,k], B[k]) -> M[i] >> where(isfinite(x0), x0, 0.0) of v0, v1
    v3 = md_hom(exp(((x0 + x1) - x2)), (++, +)) ∘ (A[i,k], B[k], M[i]) -> C[i] >> (log(x0) + x3) of v0, v1, v2
    give v3
    """
    return expanded(graph, _passes)


def _passes(h: Computation) -> Sequence[Step] | None:
    if not isinstance(h, MdHom):
        return None
    every = tuple(range(len(h.inputs)))
    op = h.operator
    if op is None or op.ufuncs != ("logaddexp",) or h.finish is not None or h.nested or h.dims("ps"):
        return None
    largest, finite, rest, log = _functions(h.scalar)
    (dtype,) = largest.dtypes
    maximum, add = extreme("max", dtype), pw("add").resolve([dtype])
    (access,) = h.outputs[0].accesses
    result = contiguous("M", dtype, h.extents, tuple([d for index in access for d in index.dims()]))
    first = replace(
        h, scalar=largest, finish=finite, outputs=(result,),
        combine=tuple([maximum if c.kind == "pw" else c for c in h.combine]),
    )  # fmt: skip
    second = replace(
        h, scalar=rest, finish=log, inputs=(*h.inputs, result),
        combine=tuple([add if c.kind == "pw" else c for c in h.combine]),
    )  # fmt: skip
    return Step(first, every), Step(second, (*every, len(every)))


@lru_cache(maxsize=256)
def _functions(scalar: Function) -> tuple[Function, Function, Function, Function]:
    """What is compared, what becomes of the largest one, what is added, and what becomes of the sum.

    Where the largest one is infinite or NaN it is 0 that is subtracted: infinities less themselves would be NaN.
    """
    (result,) = scalar.dtypes
    dtype = _SINGLE if result == _HALF else result
    recorder = Recorder(scalar.body)
    value = recorder.add(scalar.body[scalar.results[0]]).astype(dtype)
    largest = Function(scalar.parameters, tuple(recorder.body), (value.number,), scalar.contract)
    parameters = (*scalar.parameters, dtype)
    top = recorder.add(Instruction("param", (), dtype, len(scalar.parameters)))
    exponential = np.exp(value - top)
    rest = Function(parameters, tuple(recorder.body), (exponential.number,), scalar.contract)
    finite = trace(lambda x, *_: np.where(np.isfinite(x), x, 0), [dtype, *scalar.parameters], [dtype])
    log = trace(lambda total, *x: np.log(total) + x[-1], [dtype, *parameters], [result])
    return largest, finite, rest, log
