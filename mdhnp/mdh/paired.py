"""Sums of products of integers with half as many products: two terms by one product of sums.

    a₀ b₀ + a₁ b₁  =  (a₀ + b₁) (a₁ + b₀) − a₀ a₁ − b₀ b₁

What is subtracted belongs to one factor alone, and is summed once for all that the factor is multiplied by. Integers
wrap around, so that results are the same bits; floats would be rounded elsewhere.

Source: Winograd, "A new algorithm for inner product", IEEE Transactions on Computers C-17(7), 1968.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from mdhnp.mdh.canonical import select_dims
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.stages import Argument, Stage
from mdhnp.mdh.trace import trace
from mdhnp.mdh.views import View, contiguous

#: Bytes of integers whose product takes processors much longer than their sum.
_BYTES = 8
#: Points, results that share each factor, and terms of a sum from which on less is added than saved; more terms than
#: these are summed tile by tile, which leaves no place to subtract. Measured on an Intel Xeon with AVX-512.
_POINTS, _SHARED, _TERMS = 1 << 22, 32, range(48, 4097)


def paired(h: Computation) -> tuple[Stage, ...]:
    """Give the stages that compute sums of products of integers of 64 bits from pairs of terms; none of anything else.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, md_hom, pw
    >>> a = np.ones((200, 200), int)
    >>> h = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]").bind(a, a)
    >>> sums, _, products = paired(h)
    >>> print(sums.mdhom)
    md_hom(*, (++, +)) ∘ (A[i,k], A[i,k+100]) -> T0[i]
    >>> print(products.mdhom.scalar, "at", products.mdhom.extents)
    ((x0 + x3) * (x1 + x2)) at (200, 200, 100)
    """
    if not isinstance(h, MdHom) or h.points < _POINTS or not _is_product(h):
        return ()
    moved = [{d for d in range(h.rank) if view.depends_on(d)} for view in h.inputs]
    reduced, shared = {*h.dims("pw")}, moved[0] & moved[1]
    # The odd term of a sum is added at the end, where nothing else is summed.
    able = [d for d in reduced if h.extents[d] in _TERMS and (h.extents[d] % 2 == 0 or len(reduced) == 1)]
    again = [prod(h.extents[d] for d in each - shared) for each in moved]
    if not able or not reduced <= shared or min(again) < _SHARED:
        return ()
    d = max(able, key=lambda k: h.extents[k])
    half, odd = divmod(h.extents[d], 2)
    extents = tuple([half if k == d else n for k, n in enumerate(h.extents)])
    halves = [[view.moved(d, start) for start in (0, half)] for view in h.inputs]
    kept = [tuple([k for k in h.dims("cc") if k in each]) for each in moved]
    sums = [contiguous(f"T{n}", h.inputs[n].dtype, extents, dims) for n, dims in enumerate(kept)]
    last = [view.moved(d, 2 * half).still((d,)) for view in h.inputs * odd]
    inputs = (*halves[0], *halves[1], *sums, *last)
    types = [v.dtype for v in inputs]
    scalar, finish = trace(_product_of_sums, types), trace(_less_own_products, types[:1] + types)
    whole = replace(h, extents=extents, inputs=inputs, scalar=scalar, finish=finish)
    before = [
        Stage(_alone(h, extents, halves[n], sums[n], dims), (Argument("input", n),) * 2, (Argument("temporary", n),))
        for n, dims in enumerate(moved)
    ]
    given, made = ([Argument(role, n) for n in (0, 1)] for role in ("input", "temporary"))
    arguments = (given[0], given[0], given[1], given[1], *made, *given * odd)
    return (*before, Stage(whole, arguments, (Argument("output", 0),)))


def _alone(h: MdHom, extents: tuple[int, ...], pair: Sequence[View], result: View, dims: Collection[int]) -> MdHom:
    """Give the MDH that sums the products of pairs of terms of one factor, which the dimensions `dims` move."""
    shorter = tuple([n if d in dims else 1 for d, n in enumerate(extents)])
    scalar = trace(np.multiply, [v.dtype for v in pair])
    sums = replace(h, extents=shorter, inputs=tuple(pair), scalar=scalar, outputs=(result,))
    return select_dims(sums, sorted(dims))


def _is_product(h: MdHom) -> bool:
    """Whether an MDH multiplies two integers of 64 bits at each point, adds the products, and does nothing else."""
    f, views = h.scalar, (*h.inputs, *h.outputs)
    last = f.body[f.results[0]]
    plain = h.operator is not None and all(h.operator.adds) and h.finish is None and not (h.dims("ps") or h.segments)
    return (
        plain and h.accesses == ((0, 0), (1, 0)) and len(f.results) == 1 and last.op == "multiply"
        and {f.body[a].op for a in last.args} == {"param"} and last.args[0] != last.args[1]
        and {*f.parameters} == {last.dtype} and last.dtype.kind in "iu" and last.dtype.itemsize == _BYTES
        and len({v.dtype for v in views}) == 1 and not any([v.boundary or v.indirect or v.slices for v in views])
    )  # fmt: skip


def _product_of_sums(a: Any, other_a: Any, b: Any, other_b: Any, *rest: Any) -> Any:
    return (a + other_b) * (other_a + b)


def _less_own_products(total: Any, *read: Any) -> Any:
    """Subtract what belongs to one factor alone, and add the product of the last terms if there are any."""
    total = total - read[4] - read[5]
    return total + read[6] * read[7] if read[6:] else total
