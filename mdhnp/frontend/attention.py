"""Attention by name: a softmax of products, and the product of that with values, written as the graph that it is.

What one kernel computes of it without a matrix of scores is the business of rules and schedules. Takes array-likes,
gives new arrays. It must not know devices.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.operands import deliver
from mdhnp.cost import NumpyWork
from mdhnp.frontend.fuse import Fused, arrays_of, described
from mdhnp.frontend.map_reduce import one_number, operand, pointwise
from mdhnp.frontend.public import UNSUPPORTED, public
from mdhnp.mdh import MdHom, index, trace

NDArray = npt.NDArray[Any]

#: Scores that NumPy has in memory at a time, at most.
_SCORES = 1 << 20

#: How heads that share keys are given.
_GROUPED = "queries of (groups, heads, n, d), keys and values of (groups, 1, m, d)"


@public(
    "Weight values by how well keys fit to queries: scaled dot-product attention, ``softmax(scale * q @ k.T) @ v``.",
    q="array_like: Queries, of shape (..., n, d).",
    k="array_like: Keys, of shape (..., m, d). Leading axes (sequences, heads) are broadcast: grouped heads are "
    f"{_GROUPED}.",
    v="array_like: Values, of shape (..., m, e).",
    mask="array_like, optional: Broadcast to (..., n, m). Booleans: which keys count for which queries; floats are "
    "added to scores.",
    scale="float, optional: What products are multiplied by, by default ``1 / sqrt(d)``.",
    causal="bool: Whether for query i the keys 0 to i count only; beside a mask, those which both leave.",
    returns="ndarray or Array: Of shape (..., n, e), of the type that `q`, `k` and `v` have in common.",
    raises={
        "ValueError": "If shapes do not match, or there are no keys.",
        "TypeError": "If `q`, `k` and `v` are not of floats, or a mask is of neither booleans nor floats. "
        f"{UNSUPPORTED}",
    },
    notes="""A query for which no key counts gives NaN, as the formula does, and so does one with a NaN or an infinite
score among its own. float16 is computed in float32.

On CPUs no more than a tile of the scores is in memory at a time, where queries of all heads are 64 or more, of each 16
or more, and features a multiple of 16, 128 at most (512 of thousands of keys); of other features where that is
estimated to be cheaper. On NVIDIA's GPUs, from compute capability 8.0 on, scores never leave registers in float32 and
float16, where features are multiples of 8 (of 16), 128 at most, and local memory holds the tiles; of float16 weights
are rounded to that, too. Elsewhere a GPU's products are kernels of their own, between which all scores are in its
memory.

Source: Vaswani et al., "Attention Is All You Need", Section 3.2.1; Dao, Fu, Ermon, Rudra & Ré, "FlashAttention: Fast
and Memory-Efficient Exact Attention with IO-Awareness".""",
    example="""
>>> q, k, v = np.eye(2), np.eye(2), np.array([[1.0], [2.0]])
>>> mdhnp.attention(q, k, v, scale=100)
array([[1.],
       [2.]])
>>> mdhnp.attention(q, k, v, causal=True)[0]
array([1.])""",
)
def attention(
    q: Any, k: Any, v: Any, mask: Any = None, scale: float | None = None, causal: bool = False, *, schedule: Any = None,
) -> Any:  # fmt: skip
    arrays = [operand(x) for x in (q, k, v, *([] if mask is None else [mask]))]
    _check(*arrays)
    scale = arrays[0].shape[-1] ** -0.5 if scale is None else one_number("scale", scale)
    if any([type(x) is Array and x.device.passing for x in arrays]):
        return _formula(*arrays, scale=scale, left=_earlier if causal else None)
    return deliver("attention", call((_ATTENTION, scale, bool(causal)), tuple(arrays)))


def _check(q: Any, k: Any, v: Any, mask: Any = None) -> None:
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim < 2:
            raise ValueError(f"{name} has {x.ndim} axes, two or more are needed")
        if x.dtype.kind != "f":
            raise TypeError(f"{name} is of {x.dtype}, not of floats")
    if q.shape[-1] != k.shape[-1] or not q.shape[-1]:
        raise ValueError(f"q has {q.shape[-1]} features and k {k.shape[-1]}; they must have as many, one at least")
    if k.shape[-2] != v.shape[-2] or not k.shape[-2]:
        raise ValueError(f"k has {k.shape[-2]} keys and v {v.shape[-2]} values; there must be as many, one at least")
    try:
        batch = np.broadcast_shapes(*[x.shape[:-2] for x in (q, k, v)])
    except ValueError:
        shapes = ", ".join([f"{name} of shape {x.shape}" for name, x in (("q", q), ("k", k), ("v", v))])
        raise ValueError(
            f"leading axes, all but the last two, cannot be broadcast: {shapes}; grouped heads are {_GROUPED}"
        ) from None
    scores = (*batch, q.shape[-2], k.shape[-2])
    if mask is None:
        return
    if mask.dtype.kind not in "bf":
        raise TypeError(f"mask is of {mask.dtype}, neither of booleans nor of floats")
    leading = (1,) * (len(scores) - mask.ndim) + mask.shape
    if len(leading) > len(scores) or any([size not in (1, score) for size, score in zip(leading, scores, strict=True)]):
        raise ValueError(f"mask of shape {mask.shape} cannot be broadcast to the scores' {scores}")


def _formula(
    q: Any, k: Any, v: Any, mask: Any = None, *, scale: float, left: Callable[[Any], Any] | None = None
) -> Any:
    """What is computed, as NumPy has it: of arrays that have values, or are traced; `left` are scores that count."""
    given = np.result_type(q.dtype, k.dtype, v.dtype)
    computed = np.dtype(np.float32) if given.char == "e" else given
    q, k, v = (x.astype(computed, copy=False) for x in (q, k, v))
    by = computed.type(scale)
    # Products of float16 are exact in float32: of numbers as they are given.
    scores = q @ k.swapaxes(-1, -2) * by if given.char == "e" else (q * by) @ k.swapaxes(-1, -2)
    if mask is not None and mask.dtype == np.bool_:
        scores = np.where(mask, scores, computed.type(-inf))
    elif mask is not None:
        scores = scores + mask.astype(computed, copy=False)
    scores = scores if left is None else left(scores)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return ((powers @ v) / powers.sum(axis=-1, keepdims=True)).astype(given, copy=False)


def _earlier(scores: Any) -> Any:
    """Scores of which those of later keys than the query are -inf."""
    return call((_EARLIER,), (scores,))


def _describe_earlier(arrays: Sequence[NDArray]) -> MdHom:
    rank, (dtype,) = arrays[0].ndim, [a.dtype for a in arrays]
    scalar = trace(lambda s: np.where(index(rank - 1) <= index(rank - 2), s, dtype.type(-inf)), [dtype])
    return pointwise(scalar, arrays)


@lru_cache(maxsize=64)
def _traced(scale: float, causal: bool) -> Fused:
    """A function of the arrays alone, which is traced."""

    def attention(*arrays: Any) -> Any:
        return _formula(*arrays, scale=scale, left=_earlier if causal else None)

    return Fused(attention)


def _describe(arrays: Sequence[NDArray], scale: float, causal: bool) -> Described:
    """Describe a call: one step where rules made one of it, which a host's function computes, too."""
    found = described(_traced(scale, causal), arrays, arrays_of(len(arrays)))
    (step, *others) = found.graph.steps
    if others or [v.shape for v in step.mdhom.inputs] != [arrays[p].shape for p in step.inputs]:
        return found
    order = step.inputs
    q, k, v = arrays[:3]
    scores = prod(np.broadcast_shapes(q.shape[:-2], k.shape[:-2])) * q.shape[-2] * k.shape[-2]
    moved = sum([a.nbytes for a in arrays]) + 3 * scores * q.itemsize
    work = NumpyWork(step.mdhom.outputs[0].dtype.char, scores * (q.shape[-1] + v.shape[-1]), 5 * scores, moved, 0)

    def by_numpy(*given: NDArray) -> NDArray:
        return _by_numpy(*[given[order.index(p)] for p in range(len(given))], scale, causal)

    numpy = NumpyFunction("attention by blocks of queries", by_numpy, work)
    return Described(step.mdhom, lambda given: tuple([given[p] for p in order]), found.give, numpy=numpy)


def _by_numpy(*given: Any) -> NDArray:
    """Compute some queries of one head at a time, so that few scores are in memory."""
    *arrays, scale, causal = given
    q, k, v, *masks = [np.asarray(a) for a in arrays]
    batch, (n, m) = np.broadcast_shapes(*[x.shape[:-2] for x in (q, k, v)]), (q.shape[-2], k.shape[-2])
    q, k, v = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (q, k, v))
    masks = [np.broadcast_to(x, (*batch, n, m)) for x in masks]
    out = np.empty((*batch, n, v.shape[-1]), np.result_type(q, k, v))
    rows = max(_SCORES // m, 1)
    with np.errstate(all="ignore"):
        for head in np.ndindex(batch):
            for begin in range(0, n, rows):
                some = slice(begin, begin + rows)
                left = partial(_earlier_by_numpy, begin) if causal else None  # of queries from there on
                each = [x[head][some] for x in masks]
                out[head][some] = _formula(q[head][some], k[head], v[head], *each, scale=scale, left=left)
    return out


def _earlier_by_numpy(begin: int, scores: NDArray) -> NDArray:
    n, m = scores.shape
    return np.where(np.tri(n, m, begin, dtype=bool), scores, scores.dtype.type(-inf))


_ATTENTION, _EARLIER = Routine("attention", _describe, _by_numpy), Routine("attention", _describe_earlier)
