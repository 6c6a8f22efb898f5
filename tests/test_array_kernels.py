"""What kernels compute of every type, by each function of elements, reduction and scan: NumPy's values.

A kernel of its own for each function and type would take minutes to compile. So what the public functions describe is
put together: the MDHs of many functions of the same operands become one of many results.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import DTYPES
from namespace_calls import BINARY, ORDERING, UNARY
from running import execute, lowered
from separate import alternating, separate

import mdhnp
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.request import results
from mdhnp.codegen import generate
from mdhnp.frontend import generators, maps, places, reductions, scans
from mdhnp.frontend.map_reduce import computed_type
from mdhnp.mdh import MdHom
from mdhnp.mdh.combine import Combine, Operator
from mdhnp.mdh.function import Function, complex_expm1, identity_function, integer_power
from mdhnp.runtime.devices import Device
from mdhnp.schedule.check import check
from mdhnp.schedule.default import default
from mdhnp.schedule.schedule import Schedule

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 127.0, 1e-3, -7.0]

#: Functions that may give either of two zeros; NumPy's float16 next to 0 towards -0 is 0 before version 2.5, then -0.
OF_EITHER = {"fmax", "fmin", "maximum", "minimum", "max", "min", "clip", "nextafter of float16"}


def elements(dtype: Any, seed: int) -> np.ndarray:
    """Special elements, but of complex numbers (`test_arithmetic.py` has them), and ordinary ones."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        largest, smallest = (info.max, info.min) if dtype.itemsize < 8 else (100, -100)
        found = [*range(max(-5, info.min), 9), largest, max(smallest, info.min)]
        return np.array(found, dtype)
    if dtype.kind == "f":
        return np.concatenate([rng.permutation(SPECIAL), rng.standard_normal(9) * 3]).astype(dtype)
    return (rng.standard_normal(12) * 3 + 1j * rng.standard_normal(12)).astype(dtype)


def agree(found: Any, expected: Any, what: str) -> None:
    """Check type and values: floats but for rounding, zeros with their signs."""
    expected = np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype), what
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, expected, what)
        return
    digits = {"e": 2e-3, "f": 2e-6, "d": 1e-13, "F": 5e-6, "D": 1e-13}[expected.dtype.char]
    np.testing.assert_allclose(found, expected, rtol=digits, atol=digits, err_msg=what)
    if expected.dtype.kind == "f" and not {what, what.split(maxsplit=1)[0]} & OF_EITHER:
        zero = (expected == 0) & (found == 0)
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]), what)


def described(where: Device, names: Iterable[str], operands: Sequence[Any], **options: Any) -> list[Any]:
    """Give what calls of functions would compute: their MDHs, or steps."""

    def describe(what: Any, given: Any, **_: Any) -> Any:
        found = what[0].describe([x._view if isinstance(x, mdhnp.Array) else x for x in given], *what[1:])
        return found.mdhom if isinstance(found, Described) else found

    with pytest.MonkeyPatch.context() as patch:
        for module in (generators, maps, places, reductions, scans):
            patch.setattr(module, "call", describe)
        arrays = [mdhnp.asarray(x, device=where) for x in operands]
        return [getattr(mdhnp, name)(*arrays, **options) for name in names]


def together(parts: Sequence[MdHom]) -> MdHom:
    """Put MDHs over the same operands together, of which some may take fewer of them."""
    widest = max(parts, key=lambda h: len(h.inputs))
    assert all(h.inputs == widest.inputs[: len(h.inputs)] and h.extents == widest.extents for h in parts)
    parameters, given = widest.scalar.parameters, [h.scalar.dtypes for h in parts]
    scalar = _beside([h.scalar for h in parts], parameters, [[*range(len(parameters))]] * len(parts))
    operators = [h.operator for h in parts]
    if any(op is None for op in operators):
        return _replaced(widest, parts, scalar, widest.combine, None)
    places = _places(given)
    count = sum(map(len, given))
    both = [[*mine, *[count + p for p in mine]] for mine in places]
    function = _beside([op.function for op in operators], scalar.dtypes * 2, both)
    identity = tuple(literal for op in operators for literal in op.identity)
    operator = Operator("all", function, identity, all(op.commutative for op in operators))
    combine = tuple(Combine(c.kind, operator) if c.operator else c for c in widest.combine)
    finishes = [h.finish or identity_function(h.scalar.dtypes) for h in parts]
    after = [[*mine, *range(count, count + len(parameters))] for mine in places]
    finish = _beside(finishes, (*scalar.dtypes, *parameters), after)
    return _replaced(widest, parts, scalar, combine, finish)


def _places(given: Sequence[Sequence[Any]]) -> list[list[int]]:
    """The positions of each one's results among those of all."""
    ends = np.cumsum([len(types) for types in given]).tolist()
    return [[*range(end - len(types), end)] for types, end in zip(given, ends, strict=True)]


def _beside(functions: Sequence[Function], parameters: Any, positions: Sequence[Sequence[int]]) -> Function:
    """One function with the results of all; `positions` are those of each one's parameters among all."""
    body: list[Any] = []
    found: list[int] = []
    for f, mine in zip(functions, positions, strict=True):
        first = len(body)
        for step in f.body:
            moved = replace(step, args=tuple(a + first for a in step.args))
            body.append(replace(moved, position=mine[step.position]) if step.op == "param" else moved)
        found += [r + first for r in f.results]
    return Function(tuple(parameters), tuple(body), tuple(found))


def _replaced(widest: MdHom, parts: Sequence[MdHom], scalar: Function, combine: Any, finish: Any) -> MdHom:
    every = [view for h in parts for view in h.outputs]
    outputs = tuple(replace(view, name=f"O{n}") for n, view in enumerate(every))
    return replace(widest, scalar=scalar, combine=combine, finish=finish, outputs=outputs)


def computed(where: Device, parts: Sequence[MdHom], arrays: Sequence[Any]) -> Iterator[Any]:
    """Compute MDHs that calls gave, in one kernel."""
    h = together(parts)
    routine = Routine("together", lambda _: Described(h, None, results))
    found = call((routine,), tuple(mdhnp.asarray(x, device=where) for x in arrays))
    return (x.numpy() for x in (found if isinstance(found, tuple) else (found,)))


def reference(name: str, *operands: Any) -> Any:
    """Give what a function is to give: NumPy's, where it is not an error and not against the standard."""
    kinds = {x.dtype.kind for x in operands}
    if name == "pow" and np.result_type(*operands).kind == "i":
        return integer_power(*operands)
    if name == "expm1" and "c" in kinds:
        return complex_expm1(*operands)
    return getattr(np, name)(*operands)


def names_of(names: Iterable[str], dtype: Any) -> list[str]:
    """Those of the functions that take operands of a type, each under one name."""
    word = {"b": "booleans", "i": "integers", "u": "integers", "f": "floats", "c": "complex numbers"}[dtype.kind]
    found: dict[Callable[..., Any], str] = {}
    for name in sorted({*names} - ({"subtract"} if dtype.kind == "b" else set())):  # NumPy refuses that
        function = getattr(mdhnp, name)
        if word in next((line for line in function.__doc__.splitlines() if line.strip().startswith("Of ")), word):
            found.setdefault(function, name)
    return sorted(found.values())


@pytest.fixture(params=range(len(DTYPES)), ids=lambda n: str(DTYPES[n]))
def dtype(request: pytest.FixtureRequest) -> Any:
    return DTYPES[request.param]


@pytest.fixture
def place(device: Device, dtype: Any) -> Device:
    """Give the device, or for every other type one with memory of its own."""
    return alternating(device, DTYPES.index(dtype))


#: Functions of one operand, of two and of three; parts of complex numbers are views.
OF_OPERANDS = ({*UNARY} - {"real", "imag"}, {*BINARY, *ORDERING, "pow"}, {"where", "clip"})


@pytest.mark.parametrize("count", [1, 2, 3])
def test_functions_of_elements(place: Device, dtype: Any, count: int) -> None:
    names = names_of(OF_OPERANDS[count - 1], dtype)
    several = [elements(dtype, n).reshape([-1 if d == n else 1 for d in range(count)]) for n in range(count)]
    if dtype.kind == "c" and count == 2:
        several[1][several[1] == 0] = 1
    parts = described(place, names, several)
    for name, found in zip(names, computed(place, parts, several), strict=True):
        with np.errstate(all="ignore"):
            agree(found, reference(name, *several), f"{name} of {dtype}")


def rows(dtype: Any) -> Any:
    """Rows of special elements, and of small whole numbers."""
    nan, inf = np.nan, np.inf
    special: list[Any] = [[0, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1]]
    if dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        special += [[least, most, 3, most], [most, least, 1, least], [least] * 4, [most] * 4]
    elif dtype.kind in "fc":
        special += [
            [1, nan, 3, nan], [nan] * 4, [-inf] * 4, [inf] * 4, [inf, nan, -inf, 0], [0, -0.0, 0, -0.0], [2, 3, 3, 1],
            [2, 1, 1, 3], [-1, -2, -1, -2], [0, 0, nan, 0],
        ]  # fmt: skip
    if dtype.kind == "c":
        special += [[1 + 2j, 1 + 3j, 1 + 1j, 0 + 9j], [complex(0, nan), complex(9, inf), 3, complex(nan, 0)]]
    ordinary = np.random.default_rng(0).integers(0 if dtype.kind in "ub" else -2, 4, (5, 4))
    return np.concatenate([np.array(special, dtype), ordinary.astype(dtype)])


@pytest.mark.parametrize("width", [2, 4, 8])
def test_places_of_booleans_in_vectors(device: Device, width: int) -> None:
    """All rows of eight; the vectors of a row are combined to one, then to single booleans."""
    x = np.array([[bool(n >> place & 1) for place in range(8)] for n in range(256)])
    for name, h in zip(("argmax", "argmin"), described(device, ("argmax", "argmin"), [x], axis=1), strict=True):
        (stage,) = lowered(h)
        plain = Schedule.plain(stage.mdhom.extents, 1)
        s = replace(
            plain, num_wg=(256, 1), local_tile=(1, 8), private_tile=(1, width), vector_dim=1, vector_width=width,
            results="private", combine_on="local",
        )  # fmt: skip
        check(stage.mdhom, s, device.caps)
        (found,) = execute(device, h, [x], generate([stage], [s], device.caps, default))
        np.testing.assert_array_equal(found, getattr(np, name)(x, axis=1))


REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "count_nonzero", "argmax", "argmin", "mean"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions(place: Device, dtype: Any) -> None:
    x = rows(dtype)
    arrays = x, reductions._number(x.shape[1], dtype)
    for name, found in zip(REDUCTIONS, computed(place, described(place, REDUCTIONS, [x], axis=1), arrays), strict=True):
        agree(found, getattr(np, name)(x, axis=1), f"{name} of {dtype}")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_variances(place: Device, dtype: Any) -> None:
    """The second of two steps, from the mean."""
    x = rows(dtype)
    parts = [graph.steps[1].mdhom for graph in described(place, ["var", "std"], [x], axis=1, correction=1)]
    middle = np.mean(x, axis=1, keepdims=True, dtype=computed_type(dtype))
    arrays = x, middle, reductions._number(x.shape[1] - 1, dtype)
    for name, found in zip(("var", "std"), computed(place, parts, arrays), strict=True):
        agree(found, getattr(np, name)(x, axis=1, correction=1), f"{name} of {dtype}")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scans(place: Device, dtype: Any) -> None:
    """Of complex numbers finite ones: infinity times the complex 1 that products begin with is NaN in part."""
    x, names = rows(dtype), ["cumulative_sum", "cumulative_prod"]
    x = x[np.isfinite(x).all(axis=1)] if dtype.kind == "c" else x
    for name, found in zip(names, computed(place, described(place, names, [x], axis=1), [x]), strict=True):
        agree(found, getattr(np, name)(x, axis=1), f"{name} of {dtype}")


def test_triangles(device: Device, dtype: Any) -> None:
    x, names = rows(dtype), ["tril", "triu"]
    parts = described(separate(device), names, [x], k=1)
    for name, found in zip(names, computed(separate(device), parts, [x, np.array(1)]), strict=True):
        agree(found, getattr(np, name)(x, 1), f"{name} of {dtype}")
