"""Least work: what only one factor of a product moves with is combined before the product, not inside of it.

An MDH applies its scalar function at every point of all its dimensions. Where that is a product of factors which
distributes over the combine operator, a reduced dimension of one factor alone can be combined first, into a temporary:

    ⊕ᵢ ⊕ⱼ f(x[i,j]) ⊗ g(y[i])  =  ⊕ᵢ (⊕ⱼ f(x[i,j])) ⊗ g(y[i])

If y has a dimension of its own, too, ``I * J * K`` applications become ``I * J + I * K + I``. `LAWS` are the pairs of ⊗
and ⊕ for which that holds. It must not know devices.

Source: Aji & McEliece, "The generalized distributive law", IEEE Transactions on Information Theory 46(2), 2000.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from mdhnp.cost import usual
from mdhnp.mdh.canonical import select_dims
from mdhnp.mdh.combine import CC
from mdhnp.mdh.function import Function, Instruction
from mdhnp.mdh.graph import Graph, Step, expanded
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.trace import Recorder
from mdhnp.mdh.views import Access, View, contiguous

#: Points that one core of a usual CPU multiplies and adds in the time of one more launch.
LAUNCH = round(usual("cpu", 1).launch * usual("cpu", 1).float32)


class Law(NamedTuple):
    """A product that may be taken out of a reduction."""

    #: The equation.
    name: str
    #: NumPy's functions that the scalar function and the combine operator are; of booleans, see `_OF_BOOLEANS`.
    product: str
    total: str
    #: From the scalar function and its factors (positions in its body) to whether the equation holds for its type;
    #: false where that is not known.
    condition: Callable[[Function, Sequence[int]], bool] = lambda scalar, factors: True


def _rounds_as_often(scalar: Function, factors: Sequence[int]) -> bool:
    """Sums of float16 are kept in float32 until they are complete; a temporary in float16 would be rounded before."""
    return scalar.dtypes[0] != np.float16


def _keeps_logarithms(scalar: Function, factors: Sequence[int]) -> bool:
    """Logarithms are no integers, nor kept in float16 until they are complete."""
    return scalar.dtypes[0].kind == "f" and _rounds_as_often(scalar, factors)


def _never_wraps(scalar: Function, factors: Sequence[int]) -> bool:
    """Rounding keeps floats in order, wrapping around does not: integers must be too small for it by their types.

    Nor does it keep complex numbers: where it makes real parts equal imaginary ones decide.
    """
    dtype = scalar.dtypes[0]
    if dtype.kind in "fc":
        return dtype.kind == "f"
    ranges = [_range(scalar, scalar.body[n]) for n in factors]
    info = np.iinfo(dtype)
    return info.min <= sum(low for low, _ in ranges) and sum(high for _, high in ranges) <= info.max


def _range(scalar: Function, step: Instruction) -> tuple[int, int]:
    """Bounds of an integer: its type's, or those of the type that it was converted from."""
    source = scalar.body[step.args[0]].dtype if step.op == "cast" else step.dtype
    if source == np.bool_:
        return 0, 1
    info = np.iinfo(source if source.kind in "iu" and np.can_cast(source, step.dtype) else step.dtype)
    return int(info.min), int(info.max)


#: Laws of semirings and lattices, then of operators that give back what they are given twice.
LAWS = (
    Law("(a + b) * c = a * c + b * c", "multiply", "add", _rounds_as_often),
    Law("min(a, b) + c = min(a + c, b + c)", "add", "minimum", _never_wraps),
    Law("max(a, b) + c = max(a + c, b + c)", "add", "maximum", _never_wraps),
    Law("log(exp(a) + exp(b)) + c = log(exp(a + c) + exp(b + c))", "add", "logaddexp", _keeps_logarithms),
    Law("min(max(a, b), c) = max(min(a, c), min(b, c))", "minimum", "maximum"),
    Law("max(min(a, b), c) = min(max(a, c), max(b, c))", "maximum", "minimum"),
    Law("(a or b) and c = (a and c) or (b and c)", "logical_and", "logical_or"),
    Law("(a and b) or c = (a or c) and (b or c)", "logical_or", "logical_and"),
    Law("(a | b) & c = (a & c) | (b & c)", "bitwise_and", "bitwise_or"),
    Law("(a & b) | c = (a | c) & (b | c)", "bitwise_or", "bitwise_and"),
    Law("min(min(a, b), c) = min(min(a, c), min(b, c))", "minimum", "minimum"),
    Law("max(max(a, b), c) = max(max(a, c), max(b, c))", "maximum", "maximum"),
    Law("(a and b) and c = (a and c) and (b and c)", "logical_and", "logical_and"),
    Law("(a or b) or c = (a or c) or (b or c)", "logical_or", "logical_or"),
)

#: What functions do with booleans.
_OF_BOOLEANS = {
    "multiply": "logical_and", "minimum": "logical_and", "bitwise_and": "logical_and",
    "add": "logical_or", "maximum": "logical_or", "bitwise_or": "logical_or",
}  # fmt: skip


def _meaning(function: str, dtype: np.dtype[Any]) -> str:
    return _OF_BOOLEANS.get(function, function) if dtype == np.bool_ else function


class _Leaf(NamedTuple):
    """An operand of the product: its position in the scalar function's body, the parameters and indices it needs."""

    position: int
    accesses: frozenset[int]
    indices: frozenset[int]


class _Factor(NamedTuple):
    """What of a product moves with the same dimensions."""

    #: Positions in the scalar function's body, whose product it is.
    leaves: tuple[int, ...]
    #: Parameters of the scalar function that it depends on.
    accesses: frozenset[int]
    #: Dimensions that it moves with, of more than one point.
    dims: frozenset[int]
    #: Those of them that are reduced, and that no other factor moves with.
    own: frozenset[int]


def least_work(graph: Graph) -> Graph:
    """Give a graph that computes the same with fewer applications of scalar functions, where that pays.

    In place of a step whose factors have dimensions of their own several are put, the last of which multiplies. That is
    done where at least half of a step's points go, and `LAUNCH` of them for each further step, in temporaries no larger
    than the largest array.

    Floats are rounded elsewhere, as NumPy's are when it sums before it multiplies. A sum of factors may overflow where
    no product does, and what products of infinities and zeros become is added up in another order.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, md_hom, pw
    >>> a, b = np.ones((100, 100)), np.ones((100, 100, 100))
    >>> h = md_hom(np.multiply, {"a": cc, "b": pw("add"), "c": pw("add"), "e": pw("add")}, "A[a,b], B[e,c,b] -> C[a]")
    >>> print(least_work(Graph.of(h.bind(a, b))))
    v2 = md_hom(id, (++, +, +)) ∘ (B[e,c,b]) -> T0[b] of v1
    v3 = md_hom(*, (++, +)) ∘ (A[a,b], T0[b]) -> C[a] of v0, v2
    give v3
    """
    return expanded(graph, _parts)


def distributes(scalar: Function, operator: str) -> bool:
    """Whether the parameters that a scalar function multiplies may be combined pair by pair, in any order.

    The function has one result; `operator` is NumPy's function that combines its values.
    """
    found = [scalar.body[leaf.position] for leaf in _leaves(scalar, operator)]
    sources = [scalar.body[step.args[0]] if step.op == "cast" else step for step in found]
    # Each a parameter, or one that is converted: then the product is associative, and commutative.
    positions = [s.position for s in sources if s.op == "param"]
    return len(positions) == len(sources) and sorted(positions) == list(range(len(scalar.parameters)))


def _parts(h: Computation) -> Sequence[Step] | None:
    """The steps that compute an MDH with the least work, a launch counted as so much of it."""
    if not isinstance(h, MdHom) or h.points <= LAUNCH:
        return None
    factors = _factors(h)
    largest = max([prod(v.shape) for v in (*h.inputs, *h.outputs)])
    small = [f for f in factors if f.own and _points(h, f.dims - f.own) <= largest]
    own = sorted(small, key=lambda f: -_points(h, f.own))
    if own:
        best = min([own[:n] for n in range(len(own) + 1)], key=lambda chosen: _work(h, chosen) + len(chosen) * LAUNCH)
        if best and 2 * _work(h, best) <= h.points:
            temporaries = [_temporary(h, f, f"T{n}") for n, f in enumerate(best)]
            before = [_before(h, f, view) for f, view in zip(best, temporaries, strict=True)]
            rest = [f for f in factors if f not in best]
            return *before, _after(h, rest, temporaries, _union([f.own for f in best]))
    return None


def _points(h: MdHom, dims: frozenset[int]) -> int:
    return prod([h.extents[d] for d in dims])


def _work(h: MdHom, chosen: Sequence[_Factor]) -> int:
    """Applications of scalar functions if these factors are combined before."""
    return sum([_points(h, f.dims) for f in chosen]) + h.points // prod([_points(h, f.own) for f in chosen])


def _factors(h: MdHom) -> tuple[_Factor, ...]:
    """The factors of the product that an MDH combines; none where no law is known to hold."""
    op = h.operator
    if op is None or not op.commutative or len(h.scalar.results) != 1 or h.nested or h.dims("ps") or 0 in h.extents:
        return ()
    if h.index_sources or any([v.boundary is not None for v in h.inputs]):
        return ()
    together: dict[frozenset[int], list[_Leaf]] = {}
    moved = [{d for index in h.inputs[n].accesses[a] for d in index.dims()} for n, a in h.accesses]
    long = {d for d, n in enumerate(h.extents) if n > 1}
    for leaf in _leaves(h.scalar, op.ufuncs[0]):
        dims = leaf.indices.union(*[moved[p] for p in leaf.accesses]) & long
        together.setdefault(dims, []).append(leaf)
    reduced = frozenset(h.dims("pw"))
    return tuple([_factor(leaves, dims, reduced - _union([other for other in together if other != dims]))
                  for dims, leaves in together.items()])  # fmt: skip


def _factor(leaves: Sequence[_Leaf], dims: frozenset[int], alone: frozenset[int]) -> _Factor:
    accesses = _union([leaf.accesses for leaf in leaves])
    # Without an access there is nothing to read: it is a number, or made of indices.
    return _Factor(tuple([n.position for n in leaves]), accesses, dims, dims & alone if accesses else frozenset())


def law_holds(scalar: Function, product: str, total: str, factors: Sequence[int] = ()) -> bool:
    """Whether a product of values that a scalar function gives, or its factors, distributes over a total.

    False where that is not known.
    """
    wanted = tuple([_meaning(function, scalar.dtypes[0]) for function in (product, total)])
    laws = [law for law in LAWS if (law.product, law.total) == wanted]
    return any([law.condition(scalar, factors or scalar.results * 2) for law in laws])


@lru_cache(maxsize=256)
def _leaves(scalar: Function, operator: str) -> tuple[_Leaf, ...]:
    """The operands of the product that a scalar function is; none where no law is known to hold."""
    last = scalar.body[scalar.results[0]]
    found = _operands(scalar, _meaning(last.op, last.dtype))
    if not law_holds(scalar, last.op, operator, found):
        return ()
    parts = [replace(scalar, results=(n,)) for n in found]
    return tuple([_Leaf(n, p.used_parameters(), p.used_indices()) for n, p in zip(found, parts, strict=True)])


def _operands(scalar: Function, product: str) -> list[int]:
    """The operands of a product of products, left to right; a product that is used several times is one of them."""
    uses = Counter(a for n in scalar.live() for a in scalar.body[n].args)
    found, pending = [], [scalar.results[0]]
    while pending:
        n = pending.pop()
        step = scalar.body[n]
        if _meaning(step.op, step.dtype) == product and uses[n] < 2:
            pending.extend(reversed(step.args))
        else:
            found.append(n)
    return found


def _temporary(h: MdHom, factor: _Factor, name: str) -> View:
    """What a factor gives, its axes in the order in which its first array has them in memory."""
    places = [h.accesses[p] for p in sorted(factor.accesses)]
    accesses = [(h.inputs[n], h.inputs[n].accesses[a]) for n, a in places]
    steps = next((view.linear(access).coefficients for view, access in accesses if access), (0,) * h.rank)
    kept = sorted(factor.dims - factor.own, key=lambda d: (-abs(steps[d]), d))
    return contiguous(name, h.scalar.dtypes[0], h.extents, tuple(kept))


def _before(h: MdHom, factor: _Factor, result: View) -> Step:
    inputs = _inputs(h, factor.accesses)
    extents = tuple([n if d in factor.dims else 1 for d, n in enumerate(h.extents)])
    combine = tuple([c if d in factor.own else CC for d, c in enumerate(h.combine)])
    scalar = _product(h.scalar, factor.leaves, factor.accesses, _types(inputs))
    mdhom = MdHom(extents, combine, scalar, tuple(inputs.values()), (result,), None, h.names, checked=False)
    return Step(select_dims(mdhom, sorted(factor.dims)), tuple(inputs))


def _after(h: MdHom, factors: Sequence[_Factor], temporaries: Sequence[View], done: frozenset[int]) -> Step:
    """The product of the other factors and the temporaries, and what is done with it."""
    asked = h.finish.used_parameters() if h.finish is not None else frozenset[int]()
    accesses = _union([f.accesses for f in factors]) | {p - 1 for p in asked if p}
    inputs = _inputs(h, accesses) | dict(enumerate(temporaries, len(h.inputs)))
    extents = tuple([1 if d in done else n for d, n in enumerate(h.extents)])
    types = _types(inputs)
    scalar = _product(h.scalar, tuple([n for f in factors for n in f.leaves]), accesses, types)
    finish = None if h.finish is None else _finish(h.finish, accesses, types)
    mdhom = MdHom(extents, h.combine, scalar, tuple(inputs.values()), h.outputs, finish, h.names, checked=False)
    return Step(select_dims(mdhom, [d for d in range(h.rank) if d not in done]), tuple(inputs))


def _inputs(h: MdHom, accesses: frozenset[int]) -> dict[int, View]:
    kept: dict[int, list[Access]] = {}
    for p in sorted(accesses):
        n, a = h.accesses[p]
        kept.setdefault(n, []).append(h.inputs[n].accesses[a])
    views = {n: (h.inputs[n], tuple(some)) for n, some in kept.items()}
    return {n: v if v.accesses == some else replace(v, accesses=some) for n, (v, some) in views.items()}


def _types(inputs: Mapping[int, View]) -> tuple[np.dtype[Any], ...]:
    return tuple([v.dtype for v in inputs.values() for _ in v.accesses])


@lru_cache(maxsize=256)
def _product(
    scalar: Function, leaves: tuple[int, ...], accesses: frozenset[int], types: tuple[np.dtype[Any], ...]
) -> Function:
    """Multiply parts of a scalar function, then all parameters that are none of its accesses."""
    recorder = Recorder()
    given = recorder.parameters(types)
    read = dict(zip(sorted(accesses), given, strict=False))
    factors = [n for leaf in leaves for n in recorder.paste(replace(scalar, results=(leaf,)), read)]
    factors += given[len(read) :]
    last = scalar.body[scalar.results[0]]
    result = reduce(lambda a, b: recorder.add(replace(last, args=(a, b))).number, factors)
    return Function(types, tuple(recorder.body), (result,), scalar.contract)


def _finish(finish: Function, accesses: frozenset[int], types: tuple[np.dtype[Any], ...]) -> Function:
    """`finish` for renumbered accesses; they follow the combined result."""
    recorder = Recorder()
    parameters = (finish.parameters[0], *types)
    combined, *read = recorder.parameters(parameters)
    given = {0: combined} | {p + 1: n for p, n in zip(sorted(accesses), read, strict=False)}
    results = recorder.paste(finish, given)
    return Function(parameters, tuple(recorder.body), results, finish.contract)


def _union(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset[int]().union(*sets)
