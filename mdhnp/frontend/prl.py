"""Probabilistic record linkage: from records and probabilities to an MDH over all pairs that keeps the best one.

`prl_records` turns values into codes; here weights, blocking and thresholds become the scalar function, the combine
operator and the finish. Knows nothing of schedules or devices.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.frontend.contraction import Arrays
from mdhnp.frontend.pairwise import stand_in
from mdhnp.frontend.prl_records import MISSING, column_names, columns, encode, probability, rows
from mdhnp.frontend.public import PAPER, public
from mdhnp.mdh import Affine, Function, MdHom, View, cc, index, pw, trace
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.trace import inlined
from mdhnp.mdh.views import contiguous

#: Positions of the fields of every set that pairs must agree in, if there are sets.
_Blocks = tuple[tuple[int, ...], ...] | None
#: Functions of a new and an existing value, by their fields' positions.
_Similarities = tuple[tuple[int, Function], ...]


@public(
    title="Attributes",
    index="ndarray of int: Its position in `existing`; the first of several with the same weight, -1 if there are no "
    "existing records.",
    weight="ndarray of float: Weight of the pair, in bits; ``-inf`` if there are no existing records.",
    status="ndarray of int8: 0 non-match, 1 possible match, 2 match.",
    example="""
>>> new, existing = {"name": ["ada"]}, {"name": ["alan", "ada"]}
>>> links = mdhnp.prl(new, existing, m=0.95, u={"name": 0.001}, thresholds=(0, 9))
>>> links.index, links.status
(array([1], dtype=int32), array([2], dtype=int8))""",
)
class Links(NamedTuple):
    """The best existing record of every new record."""

    index: npt.NDArray[Any]  # type: ignore[assignment]
    weight: npt.NDArray[Any]
    status: npt.NDArray[np.int8]


@public(
    """Find for every new record the existing record that most probably describes the same person or thing.

Fellegi and Sunter's weights: a field adds ``log2(m / u(x))`` to a pair's weight where both records agree in it, and
``log2((1 - m) / (1 - u(x)))`` where they differ; x is the *new* record's value.""",
    new="structured ndarray or mapping of str to array_like: Records: named columns of one length each, text or "
    "numbers or dates (anything with ``keys()`` and ``[name]`` will do, such as a pandas DataFrame). Values agree if "
    "they are equal.",
    existing="structured ndarray or mapping of str to array_like: Likewise.",
    m="float or mapping of field to float: Probability that a field agrees in records of the same person.",
    u="mapping of field to (float or mapping of value to float), optional: Probability that it agrees by chance: one a "
    "field, or one a value. Without one, a value's relative frequency in `existing` (n records), kept between "
    "``1/(n+1)`` and ``n/(n+1)``.",
    default_u="float or mapping of field to float, optional: Chance probability of a missing value, and of values that "
    "a field's mapping in `u` does not list (which may list None). Without one, their relative frequency as above.",
    weights="mapping of field to (float, float), optional: Weights of one's own, in bits, where a field agrees and "
    "where it differs, in place of those of `m` and `u`.",
    similarity="mapping of field to callable, optional: How much two values of a field of numbers agree, between 0 and "
    "1: a function of the new and the existing value, as :func:`mdhnp.md_hom` takes it (operators, NumPy's ufuncs, "
    "``np.where``). A field's weight is then as much of the way from differing to agreeing; missing values agree or "
    "differ as ever. Text has to be encoded before, by codes that the function compares.",
    fields="sequence of str, optional: Columns to compare; by default those of `m` and `weights`, or if `m` is one "
    "number, all of `new`.",
    missing='callable or collection, optional: Values, or a test for values, that count as missing; besides None, "", '
    "NaN, NaT and masked ones, which always do. A missing value agrees with a missing value only.",
    blocking="iterable of field sets, optional: A pair that does not agree in all fields of at least one of the sets "
    "scores 0. Each set is a field's name or a collection of names.",
    thresholds="(float, float): Weights below the first mean no match, above the second a match, else a possible "
    "match. In bits.",
    dtype="dtype: The type, float32 or float64, in which weights are summed, field by field, and in which "
    "`similarity` gets values.",
    returns="Links: Three arrays, one element a new record: index, weight and status.",
    raises={
        "KeyError": "If `new` or `existing` lacks a column.",
        "ValueError": "If a probability is not strictly between 0 and 1, a field in `m`, `u`, `default_u`, `weights`, "
        "`similarity` or `blocking` is not compared or has neither `m` nor `weights`, columns differ in length or hold "
        "text on one side and numbers on the other, weights are not two finite numbers, a similarity gives several "
        "values, or the thresholds are not in order (or not positive, with blocking).",
        "TypeError": "If records have no named columns, `dtype` is another, or a field with a similarity holds "
        "anything but numbers.",
    },
    notes=f"""An MDH ``md_hom(weight, (++, max_w)) ∘ (N[i], E[j]) -> (index, weight, status)[i]``. Source: {PAPER} IV-C;
Fellegi & Sunter, "A Theory for Record Linkage", 1969.

Values are encoded as whole numbers in time linear in the number of records; then all pairs are compared. Many new
records in one call are cheaper than one call each.""",
    example="""
>>> new = {"name": ["ada", "alan"], "born": [1815, 1912]}
>>> existing = {"name": ["grace", "alan", "ada"], "born": [1906, 1912, 1815]}
>>> links = mdhnp.prl(new, existing, m=0.95, u={"name": 0.001, "born": 0.01}, thresholds=(0, 12))
>>> links.index
array([2, 1], dtype=int32)
>>> links.weight.round(1), links.status
(array([16.5, 16.5], dtype=float32), array([2, 2], dtype=int8))
>>> near = {"born": lambda a, b: np.maximum(0, 1 - np.abs(a - b) / 5)}
>>> close = mdhnp.prl({"born": [1910]}, existing, m={}, weights={"born": (10, -5)}, similarity=near)
>>> close.index, close.weight
(array([1], dtype=int32), array([4.], dtype=float32))""",
)
def prl(
    new: Any, existing: Any, *, m: float | Mapping[str, float],
    u: Mapping[str, float | Mapping[Any, float]] | None = None, default_u: float | Mapping[str, float] | None = None,
    weights: Mapping[str, tuple[float, float]] | None = None,
    similarity: Mapping[str, Callable[[Any, Any], Any]] | None = None, fields: Sequence[str] | None = None,
    missing: Callable[[Any], bool] | Collection[Any] | None = None,
    blocking: Iterable[str | Collection[str]] | None = None, thresholds: tuple[float, float] = (15.0, 45.0),
    dtype: npt.DTypeLike = np.float32, schedule: Any = None,
) -> Links:  # fmt: skip
    arrays, what = _asked(
        new, existing, m, u, default_u, weights, similarity, fields, missing, blocking, thresholds, dtype
    )
    return Links(*arrays) if what is None else call((_PRL, *what), arrays)


def described(*args: Any, **options: Any) -> tuple[tuple[npt.NDArray[Any], ...], MdHom | None]:
    """Give encoded records, and the MDH that links them; or the links themselves, and None, where there are no pairs.

    Parameters are those of :func:`prl`.
    """
    arrays, what = _asked(**_arguments(args, options))
    return arrays, None if what is None else _pairs(arrays, *what, _place(arrays[1].shape[1]))


def outlined(
    counts: tuple[int, int], *args: Any, **options: Any
) -> tuple[tuple[str, ...], tuple[npt.NDArray[Any], ...], MdHom]:
    """Give the fields that are compared, outlines of encoded records, and what links them, for other record counts.

    Records that are given show the types; parameters are those of :func:`prl`.
    """
    asked = _arguments(args, options)
    names = _field_names(asked["fields"], asked["m"], asked["weights"] or {}, asked["new"])
    arrays, what = _asked(**asked)
    assert what is not None
    # Encoded records have the axis of records last: new ones, existing ones, both weights of new ones; values of both.
    extents = (counts[0], counts[1], counts[0], counts[0], 2, *counts)
    outlines = tuple([stand_in((*a.shape[:-1], n), a.dtype) for a, n in zip(arrays, extents, strict=False)])
    return names, outlines, _pairs(outlines, *what, _place(counts[1]))


def _arguments(args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    given = signature(prl).bind(*args, **options)
    given.apply_defaults()
    if given.arguments.pop("schedule") is not None:
        raise TypeError("schedule: records are not linked by one kernel here")
    return given.arguments


def _asked(
    new: Any, existing: Any, m: Any, u: Any, default_u: Any, weights: Any, similarity: Any, fields: Any, missing: Any,
    blocking: Any, thresholds: Any, dtype: Any,
) -> tuple[tuple[npt.NDArray[Any], ...], tuple[_Blocks, _Similarities] | None]:  # fmt: skip
    """Read arguments, and encode records: gives arrays, and what is computed of them."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise TypeError(f"dtype: {kind} is neither float32 nor float64")
    own = weights or {}
    names = _field_names(fields, m, own, new)
    _check_known(own, names, "weights")
    agreement = dict.fromkeys(own, 0.5) | _by_field(m, names, "m")
    if absent := [name for name in names if name not in agreement]:
        raise ValueError(f"m: no probability for field {absent[0]!r}")
    defaults = {} if default_u is None else _by_field(default_u, names, "default_u")
    _check_known(u or {}, names, "u")
    blocks = None if blocking is None else _blocks(blocking, names)
    limits = _thresholds(thresholds, blocks is not None, kind)
    alike = _similarities(similarity or {}, names, kind)
    left, right = columns(new, names, "new"), columns(existing, names, "existing")
    records = encode(left, right, names, u or {}, defaults, missing)
    count, other = records.new.shape[1], records.existing.shape[1]
    if count == 0 or other == 0:
        return Links(np.full(count, -1, _place(other)), np.full(count, -np.inf, kind), np.zeros(count, np.int8)), None
    rate = np.array([[agreement[name]] for name in names])
    agree, differ = rows(len(names), count, kind), rows(len(names), count, kind)
    agree[:], differ[:] = np.log2(rate / records.chance), np.log2((1 - rate) / (1 - records.chance))
    for name, pair in own.items():
        numbers = np.asarray(pair, dtype=np.float64)
        if numbers.shape != (2,) or not np.isfinite(numbers).all():
            raise ValueError(f"weights[{name!r}]: {pair!r} are not two finite numbers, for agreeing and for differing")
        agree[names.index(name)], differ[names.index(name)] = numbers
    values = [_values(side, alike, names, kind) for side in (left, right)] if alike else []
    arrays = (records.new, records.existing, agree, differ, limits, *values)
    return arrays, (blocks, alike)


def _describe(arrays: Arrays, blocks: _Blocks, alike: _Similarities) -> Described:
    return Described(_pairs(arrays, blocks, alike, _place(arrays[1].shape[1])), None, lambda found: Links(*found))


def _place(existing: int) -> np.dtype[Any]:
    """Give the type of existing records' positions."""
    return np.dtype(np.int32 if existing <= np.iinfo(np.int32).max else np.int64)


_PRL = Routine("prl", _describe)


def _pairs(arrays: Arrays, blocks: _Blocks, similarities: _Similarities, place: np.dtype[Any]) -> MdHom:
    """Compare all pairs of new (i) and existing (j) records and keep the heaviest."""
    new, existing, agree, differ, limits, *columns = arrays
    count = len(new)
    kind = agree.dtype

    def weight(*values: Any) -> Any:
        rows = [values[n * count : (n + 1) * count] for n in range(4)]
        same = [a == b for a, b in zip(rows[0], rows[1], strict=True)]
        terms = [np.where(s, a, d) for s, a, d in zip(same, rows[2], rows[3], strict=True)]
        own = values[4 * count + 2 :]
        for (f, similar), left, right in zip(similarities, own, own[len(similarities) :], strict=False):
            part = inlined(similar, [left, right])[0].astype(kind)
            known = np.logical_and(rows[0][f] != MISSING, rows[1][f] != MISSING)
            terms[f] = np.where(known, rows[2][f] * part + rows[3][f] * (1 - part), terms[f])
        total = reduce(np.add, terms)
        if blocks is not None:
            alike = [reduce(np.logical_and, [same[f] for f in block]) for block in blocks]
            total = np.where(reduce(np.logical_or, alike), total, kind.type(0))
        return total, index(1).astype(place)

    def finish(total: Any, best: Any, *values: Any) -> Any:
        low, high = values[4 * count : 4 * count + 2]
        status = np.where(total > high, np.int8(2), np.where(total < low, np.int8(0), np.int8(1)))
        return best, total, status

    def column(name: str, array: npt.NDArray[Any], dim: int) -> View:
        """Read all fields of a dimension's record."""
        return array_view(name, array, tuple([(Affine((0, 0), f), Affine.of(dim, 2)) for f in range(len(array))]))

    inputs = (
        column("N", new, 0), column("E", existing, 1), column("A", agree, 0), column("D", differ, 0),
        array_view("T", limits, ((Affine((0, 0), 0),), (Affine((0, 0), 1),))), *map(column, "VW", columns, (0, 1)),
    )  # fmt: skip
    parameters = [view.dtype for view in inputs for _ in view.accesses]
    scalar = trace(weight, parameters, what="prl")
    heaviest = pw(_heavier, identity=(-math.inf, np.iinfo(place).max), name="max_w")
    last = trace(finish, [*scalar.dtypes, *parameters], what="prl")
    extents = (new.shape[1], existing.shape[1])
    outputs = tuple(contiguous(n, t, extents, (0,)) for n, t in zip(Links._fields, last.dtypes, strict=True))
    combine = (cc.resolve(scalar.dtypes), heaviest.resolve(scalar.dtypes))
    return MdHom(extents, combine, scalar, inputs, outputs, last, ("i", "j"))


def _heavier(left: Any, right: Any) -> Any:
    """Keep the larger weight, the earlier record where they are equal, so that operands may be exchanged."""
    earlier = np.logical_and(right[0] == left[0], right[1] < left[1])
    take = np.logical_or(right[0] > left[0], earlier)
    return np.where(take, right[0], left[0]), np.where(take, right[1], left[1])


def _field_names(
    fields: Sequence[str] | None, m: float | Mapping[str, float], weights: Mapping[str, Any], new: Any
) -> tuple[str, ...]:
    if isinstance(fields, str):
        fields = (fields,)
    elif fields is None:
        fields = tuple(dict.fromkeys((*m, *weights))) if isinstance(m, Mapping) else column_names(new, "new")
    names = tuple(fields)
    if not names or len(set(names)) < len(names):
        raise ValueError(f"fields: {list(names)} are none, or some twice")
    return names


def _by_field(given: float | Mapping[str, float], names: Sequence[str], argument: str) -> dict[str, float]:
    """Check that there is a probability a field."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, probability(given, argument))
    _check_known(given, names, argument)
    return {name: probability(value, f"{argument}[{name!r}]") for name, value in given.items()}


def _check_known(given: Iterable[str], names: Sequence[str], argument: str) -> None:
    for name in given:
        if name not in names:
            raise ValueError(f"{argument}: {name!r} is none of the fields {', '.join(map(str, names))}")


def _similarities(
    given: Mapping[str, Callable[[Any, Any], Any]], names: Sequence[str], kind: np.dtype[Any]
) -> _Similarities:
    """Trace the functions, by their fields' positions."""
    _check_known(given, names, "similarity")
    found = [(names.index(name), trace(given[name], [kind, kind], what=f"similarity[{name!r}]")) for name in given]
    for f, function in found:
        if len(function.results) != 1:
            raise ValueError(f"similarity[{names[f]!r}]: gives {len(function.results)} values, one is needed")
    return tuple(sorted(found, key=lambda pair: pair[0]))


def _values(
    columns_: Arrays, similarities: _Similarities, names: Sequence[str], kind: np.dtype[Any]
) -> npt.NDArray[Any]:
    for f, _ in similarities:
        if columns_[f].dtype.kind not in "biuf":
            raise TypeError(f"similarity: field {names[f]!r} holds {columns_[f].dtype}; encode it as numbers first")
    return np.stack([np.ma.getdata(columns_[f]).astype(kind) for f, _ in similarities])


def _blocks(blocking: Iterable[str | Collection[str]], names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Positions of the fields of every set."""
    given_sets = (blocking,) if isinstance(blocking, str) else blocking
    sets = [(given,) if isinstance(given, str) else tuple(given) for given in given_sets]
    if not sets or not all(sets):
        raise ValueError("blocking: there must be a set of fields, and a field in each; None compares all pairs")
    for given in sets:
        _check_known(given, names, "blocking")
    return tuple(tuple(sorted({names.index(name) for name in given})) for given in sets)


def _thresholds(thresholds: Sequence[float], blocked: bool, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    limits = np.asarray(thresholds, dtype=kind)
    if limits.shape != (2,) or not limits[0] <= limits[1]:
        raise ValueError(f"thresholds: {thresholds!r} are not two numbers in order")
    if blocked and not limits[0] > 0:
        raise ValueError(f"thresholds: {thresholds!r} must be positive with blocking, where pairs left out score 0")
    return limits
