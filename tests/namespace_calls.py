"""How to draw the arguments of every function that the namespace offers: name -> strategy of (arguments, options).

Arrays, types, shapes and axes are those of Hypothesis's array API strategies for mdhnp; some arguments are wrong on
purpose. Elements are any where each is computed on its own, else small whole numbers, whose sums are exact.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import mdhnp

__all__ = ["CALLS"]

xps = make_strategies_namespace(mdhnp)

#: Strategies of a call's arguments.
Call = st.SearchStrategy[tuple[tuple[Any, ...], dict[str, Any]]]

ANY, REAL = xps.scalar_dtypes(), xps.boolean_dtypes() | xps.real_dtypes()
SHAPES = xps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
WITH_AXES = xps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3)  # kernels compute means of others
LINES = xps.array_shapes(min_dims=1, max_dims=1, min_side=0, max_side=3)
STACKS = xps.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=3)
FLAGS = st.booleans()


def elements(dtype: Any, lowest: int | None) -> st.SearchStrategy[Any]:
    """Small whole numbers of a type, or with `lowest` None any."""
    kind = np.dtype(dtype).kind
    if lowest is None or kind == "b":
        return xps.from_dtype(dtype)
    whole = st.integers(max(lowest, 0) if kind == "u" else lowest, 4)
    return whole if kind in "iu" else whole.map(float) if kind == "f" else st.builds(complex, whole, whole)


@st.composite
def arrays(draw: Any, shapes: Any = SHAPES, types: Any = ANY, lowest: int | None = -4) -> mdhnp.Array:
    """An Array of any layout."""
    shape, dtype, way = draw(shapes), draw(types), draw(st.sampled_from(["C", "F", "reversed"]))
    x = draw(xps.arrays(dtype, shape[::-1] if way == "F" else shape, elements=elements(dtype, lowest)))
    return {"C": lambda: x, "F": lambda: x.T, "reversed": lambda: mdhnp.flip(x)}[way]()


def given(*parts: Any, **options: Any) -> Call:
    """Arguments that do not depend on each other."""
    return st.tuples(st.tuples(*parts), st.fixed_dictionaries(options))


def several(shapes: Any, types: Any = ANY, lowest: int | None = -4) -> st.SearchStrategy[Any]:
    """One Array of each of the shapes that are drawn."""
    return shapes.flatmap(lambda found: st.tuples(*[arrays(st.just(s), types, lowest) for s in found]))


def broadcast(count: int) -> st.SearchStrategy[Any]:
    """Shapes that are broadcast, and now and then some that are not."""
    alike = xps.mutually_broadcastable_shapes(count, max_dims=3, max_side=3).map(lambda found: found.input_shapes)
    return st.one_of(alike, alike, alike, st.tuples(*[SHAPES] * count))


def axes(x: mdhnp.Array, beyond: int = 0) -> st.SearchStrategy[int]:
    """An axis, of `beyond` further ones, or one that there is not; of arrays without axes NumPy takes 0 for one."""
    return st.sampled_from([*range(-x.ndim - beyond, x.ndim + beyond), max(x.ndim + beyond, 1)])


NUMBERS = st.booleans() | st.integers(-2, 300) | st.floats(width=32)


@st.composite
def pairs(draw: Any, types: Any = ANY, second: int | None = None) -> Any:
    """Two operands of elementwise functions, of which one may be a number; `second` is the second one's lowest."""
    shapes = draw(broadcast(2))
    x1, x2 = (draw(arrays(st.just(s), types, lowest)) for s, lowest in zip(shapes, (None, second), strict=True))
    way = draw(st.sampled_from(["both", "both", "left", "right"]))
    return (draw(NUMBERS) if way == "right" else x1, draw(NUMBERS) if way == "left" else x2), {}


@st.composite
def bounds(draw: Any) -> Any:
    """Arguments of `clip`: bounds of the operand's type, or numbers of its kind."""
    dtype = draw(xps.real_dtypes())
    shapes = draw(xps.mutually_broadcastable_shapes(3, max_dims=3, max_side=3)).input_shapes
    number = st.integers(-9, 300) if np.dtype(dtype).kind in "iu" else st.floats(-9, 9)
    x, *limits = (draw(arrays(st.just(s), st.just(dtype))) for s in shapes)
    return (x, *(draw(st.sampled_from([None, limit, draw(number)])) for limit in limits)), {}


@st.composite
def reduced(draw: Any, shapes: Any = SHAPES, several: bool = True, **options: Any) -> Any:
    """An Array, along which axes, and whether they stay."""
    x = draw(arrays(shapes))
    some = st.none() | axes(x) | (xps.valid_tuple_axes(x.ndim) if several else st.nothing())
    return (x,), {"axis": draw(some), "keepdims": draw(FLAGS)} | {k: draw(v) for k, v in options.items()}


@st.composite
def along(draw: Any, *, none: bool = False, beyond: int = 0, **options: Any) -> Any:
    """An Array, and an axis."""
    x = draw(arrays())
    axis = draw(axes(x, beyond) | (st.none() if none else st.nothing()))
    return (x,), {"axis": axis} | {k: draw(v) for k, v in options.items()}


@st.composite
def ordered(draw: Any) -> Any:
    """An Array of elements of which some are equal or NaN, and an axis; each order of equal ones is another one."""
    x = draw(arrays(lowest=None) | arrays())
    return (x,), {"axis": draw(axes(x)), "stable": True}


@st.composite
def named(draw: Any, *, like: bool) -> Any:
    """An Array, indices along an axis, of which now and then one is outside, and the axis."""
    x = draw(arrays(WITH_AXES))
    axis = draw(axes(x))
    n = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    count = draw(st.integers(0, 3))
    shape = tuple([count if d == axis % x.ndim else m for d, m in enumerate(x.shape)]) if like else (count,)
    dtype = draw(st.sampled_from([mdhnp.int8, mdhnp.int32, mdhnp.int64]))
    low, high = -n - draw(FLAGS), n - 1 + draw(FLAGS)
    indices = draw(xps.arrays(dtype, shape, elements=st.integers(low, max(low, high))))
    return (x, indices), {"axis": axis}


@st.composite
def differences(draw: Any) -> Any:
    x = draw(arrays(xps.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3)))
    ends = st.fixed_dictionaries({}, optional={"prepend": st.just(x), "append": st.just(x)})
    return (x,), {"axis": draw(axes(x)), "n": draw(st.integers(-1, 3))} | draw(ends)


@st.composite
def with_axes(draw: Any, *positions: Any) -> Any:
    """An Array, and axes of it by position: `each` one, or `all` in some order."""
    x = draw(arrays())
    order = st.permutations(range(x.ndim)).map(tuple)
    return (x, *(draw(order if p is all else axes(x)) for p in positions)), {}


@st.composite
def reshaped(draw: Any) -> Any:
    x = draw(arrays())
    shape = draw(st.permutations(x.shape)) if draw(FLAGS) else draw(SHAPES)
    if shape and draw(FLAGS):
        shape = (-1, *shape[1:])
    return (x, tuple(shape)), {"copy": draw(st.sampled_from([None, True, False]))}


@st.composite
def joined(draw: Any, beyond: int) -> Any:
    """Arrays of one shape, or that differ along an axis; all of one type, or of several."""
    shape, types = draw(SHAPES), draw(st.sampled_from([ANY, draw(ANY.map(st.just))]))
    shapes = [shape] * draw(st.integers(1, 3))
    if shape and draw(FLAGS):
        d = draw(st.integers(0, len(shape) - 1))
        shapes = [(*shape[:d], draw(st.integers(0, 3)), *shape[d + 1 :]) for _ in shapes]
    xs = [draw(arrays(st.just(s), types)) for s in shapes]
    return (xs,), {"axis": draw(axes(xs[0], beyond))}


@st.composite
def searched(draw: Any) -> Any:
    """Arguments of `searchsorted`: values in order, and those to find."""
    dtype = draw(ANY.map(st.just))
    x = mdhnp.sort(draw(arrays(st.tuples(st.integers(0, 5)), dtype)))
    return (x, draw(arrays(types=dtype))), {"side": draw(st.sampled_from(["left", "right"]))}


@st.composite
def square(draw: Any, types: Any = ANY, triangles: bool = False) -> Any:
    """Stacks of square matrices, and now and then something else; or positive definite ones of factors."""
    n, stack = draw(st.integers(0, 3)), draw(st.sampled_from([(), (2,), (0,)]))
    x = draw(arrays(st.just((*stack, n, n)) | SHAPES, types))
    if not triangles or x.ndim < 2 or x.shape[-1] != x.shape[-2] or not x.size:
        return x
    return mdhnp.asarray(mdhnp.conj(x.mT) @ x + mdhnp.eye(x.shape[-1], dtype=x.dtype))


@st.composite
def solved(draw: Any) -> Any:
    """Arguments of `solve`, some of which do not fit."""
    x = draw(square())
    n = x.shape[-1] if x.ndim else 2
    return (x, draw(arrays(st.just((n,)) | st.just((n, 2)) | SHAPES))), {}


@st.composite
def transformed(draw: Any, types: Any, several: bool) -> Any:
    """Arguments of Fourier transforms; `n` and `s` may cut axes off."""
    x, norm = draw(arrays(WITH_AXES, types)), draw(st.sampled_from(["backward", "ortho", "forward"]))
    if not several:
        return (x,), {"n": draw(st.none() | st.integers(0, 5)), "axis": draw(axes(x)), "norm": norm}
    chosen = draw(st.none() | xps.valid_tuple_axes(x.ndim, min_size=1))
    return (x,), {"axes": chosen, "norm": norm}


@st.composite
def repeated(draw: Any) -> Any:
    """Arguments of `repeat`: one number for all elements, or one for each."""
    (x,), options = draw(along(none=True))
    axis = options["axis"]
    n = x.size if axis is None else x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    counts = xps.arrays(mdhnp.int64, n, elements=st.integers(0, 3))
    return (x, draw(st.integers(0, 3) | counts)), options


@st.composite
def rolled(draw: Any) -> Any:
    x = draw(arrays())
    shifts = st.integers(-9, 9)
    if not x.ndim or draw(FLAGS):
        return (x, draw(shifts)), {"axis": draw(st.none() | axes(x))}
    found = draw(xps.valid_tuple_axes(x.ndim, min_size=1))
    return (x, tuple(draw(shifts) for _ in found)), {"axis": found}


@st.composite
def matrices(draw: Any, form: str) -> Any:
    """Operands of products; the form has each one's own axes, after axes that are broadcast: ``ij,jk``."""
    sizes = {label: draw(st.integers(0, 3)) for label in "ijk"}
    stacks = draw(xps.mutually_broadcastable_shapes(2, min_dims=0, max_dims=2, max_side=3)).input_shapes
    shapes = [(*stack, *[sizes[label] for label in own]) for stack, own in zip(stacks, form.split(","), strict=True)]
    return tuple(draw(arrays(st.just(s))) for s in shapes), {}


@st.composite
def contracted(draw: Any) -> Any:
    """Operands of `tensordot`, whose last and first axes are reduced; some do not fit."""
    sides = st.lists(st.integers(0, 3), max_size=2).map(tuple)
    before, shared, after = draw(sides), draw(sides), draw(sides)
    x1, x2 = draw(arrays(st.just(before + shared))), draw(arrays(st.just(shared + after)))
    count = draw(st.sampled_from([len(shared), len(shared), 2]))
    named = [x1.ndim - count + n for n in range(count)], list(range(count))
    return (x1, x2), {"axes": draw(st.sampled_from([count, named]))}


@st.composite
def einsums(draw: Any) -> Any:
    terms = draw(st.lists(st.text("ijk", max_size=3), min_size=1, max_size=2))
    sizes = {label: draw(st.integers(0, 3)) for label in "ijk"}
    result = "".join(sorted({*"".join(terms)}))[: draw(st.integers(0, 3))]
    xs = [draw(arrays(st.just(tuple(sizes[label] for label in term)))) for term in terms]
    return (",".join(terms) + "->" + result, *xs), {}


vectors = several(st.tuples(*[st.tuples(st.integers(0, 3))] * 2))
whole = st.integers(-3, 9)
dtypes = st.none() | ANY
lists = st.lists(st.lists(whole, min_size=2, max_size=2), max_size=3) | whole | st.floats(-9, 9)

UNARY = """
    abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh bitwise_invert
    bitwise_not cbrt ceil conj conjugate cos cosh exp exp2 expm1 floor imag invert isfinite isinf isnan log log10
    log1p log2 logical_not negative positive real reciprocal rint round sign signbit sin sinh sqrt square tan tanh
    trunc
""".split()  # noqa: SIM905
BINARY = """
    add arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
    floor_divide fmod hypot left_shift logaddexp logical_and logical_or logical_xor mod multiply nextafter not_equal
    remainder right_shift subtract true_divide
""".split()  # noqa: SIM905
#: Those that NumPy has of complex numbers, too; so it has `exp2`.
ORDERING = "fmax fmin greater greater_equal less less_equal maximum minimum".split()  # noqa: SIM905

CALLS: Mapping[str, Call] = {
    **{name: given(arrays(lowest=None)) for name in UNARY},
    "expm1": given(arrays(types=REAL, lowest=None) | arrays()),  # of complex infinities the standard's, not NumPy's
    "exp2": given(arrays(types=REAL, lowest=None)),
    **{name: pairs() for name in BINARY},
    **{name: pairs(REAL) for name in ORDERING},
    **{name: pairs(second=0) for name in ("pow", "power")},  # kernels cannot refuse negative powers
    "where": st.tuples(several(broadcast(3)), st.just({})),
    "clip": bounds(),
    **{name: reduced() for name in ("max", "min", "any", "all", "count_nonzero")},
    "mean": reduced(WITH_AXES),
    **{name: reduced(dtype=dtypes) for name in ("sum", "prod")},
    **{name: reduced(WITH_AXES, correction=st.sampled_from([0, 1, 0.5])) for name in ("var", "std")},
    **{name: reduced(several=False) for name in ("argmax", "argmin")},
    "cumulative_sum": along(none=True, include_initial=FLAGS, dtype=dtypes),
    "cumulative_prod": along(none=True, include_initial=FLAGS, dtype=dtypes),
    "diff": differences(),
    "permute_dims": with_axes(all),
    "moveaxis": with_axes(None, None) | with_axes(all, all),
    "swapaxes": with_axes(None, None),
    "matrix_transpose": given(arrays()),
    "expand_dims": along(beyond=1),
    "squeeze": along(none=True),
    "flip": along(none=True),
    "unstack": along(),
    "reshape": reshaped(),
    "concat": joined(0) | joined(0).map(lambda call: (call[0], {"axis": None})),
    "stack": joined(1),
    "roll": rolled(),
    "tile": given(arrays(), st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=4).map(tuple)),
    "take": named(like=False),
    "take_along_axis": named(like=True),
    "bincount": given(arrays(LINES, st.just(mdhnp.int64), 0), minlength=st.integers(0, 9)),
    "repeat": repeated(),
    **{name: ordered() for name in ("sort", "argsort")},
    "searchsorted": searched(),
    **{name: given(arrays(lowest=None)) for name in (
        "nonzero", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"
    )},
    "pad": given(
        arrays(), st.integers(-1, 4) | st.tuples(whole, whole), mode=st.sampled_from(["constant", "edge", "wrap"])
    ),
    **{name: given(arrays(STACKS), k=st.integers(-4, 4)) for name in ("tril", "triu")},
    **{name: given(SHAPES, dtype=dtypes) for name in ("zeros", "ones", "empty")},
    **{name: given(arrays(), dtype=dtypes) for name in ("zeros_like", "ones_like", "empty_like")},
    "full": given(SHAPES, whole | st.floats(-9, 9) | st.booleans(), dtype=dtypes),
    "full_like": given(arrays(), whole | st.booleans(), dtype=dtypes),
    "arange": given(whole, whole, st.sampled_from([-2, 1, 3, 0.5]), dtype=st.none() | xps.real_dtypes()),
    "linspace": given(
        st.floats(-9, 9), whole, st.integers(-1, 5), endpoint=FLAGS, dtype=st.none() | xps.floating_dtypes()
    ),
    "eye": given(st.integers(-1, 4), st.none() | st.integers(0, 4), k=st.integers(-4, 4), dtype=dtypes),
    "meshgrid": st.tuples(vectors, st.fixed_dictionaries({"indexing": st.sampled_from(["xy", "ij"])})),
    "asarray": given(lists | arrays(), dtype=dtypes),
    "array": given(lists | arrays(), dtype=dtypes),
    "from_dlpack": given(arrays()),
    "astype": given(arrays(types=REAL), REAL, copy=FLAGS),
    "broadcast_to": st.tuples(several(broadcast(2)).map(lambda both: (both[0], both[1].shape)), st.just({})),
    "broadcast_arrays": st.tuples(several(broadcast(3)), st.just({})),
    "result_type": given(arrays(), ANY, arrays()),
    "can_cast": given(ANY, ANY),
    "finfo": given(xps.floating_dtypes()),
    "iinfo": given(xps.integer_dtypes()),
    **dict.fromkeys(("matmul", "linalg.matmul"), matrices("ij,jk") | matrices("ij,ik") | matrices("i,ij")),
    **dict.fromkeys(("vecdot", "linalg.vecdot"), matrices("i,i") | matrices("i,j")),
    "matvec": matrices("ij,j"),
    "vecmat": matrices("i,ij"),
    **dict.fromkeys(("tensordot", "linalg.tensordot"), contracted()),
    "dot": matrices("ij,jk") | matrices("i,i"),
    "inner": matrices("ij,kj"),
    "vdot": st.tuples(vectors, st.just({})),
    **dict.fromkeys(("outer", "linalg.outer"), st.tuples(vectors, st.just({}))),
    "kron": given(arrays(), arrays()),
    "trace": given(arrays(), offset=st.integers(-2, 2)),
    "linalg.trace": given(arrays(), offset=st.integers(-2, 2)),
    "linalg.multi_dot": st.tuples(matrices("ij,jk").map(lambda call: (call[0],)), st.just({})),
    "einsum": einsums(),
    "linalg.cholesky": given(square(triangles=True), upper=FLAGS),
    **{f"linalg.{name}": given(square()) for name in ("det", "slogdet", "inv", "eigh", "eigvalsh")},
    "linalg.solve": solved(),
    **{f"linalg.{name}": given(arrays(STACKS)) for name in ("svdvals", "pinv", "matrix_rank", "matrix_transpose")},
    "linalg.qr": given(arrays(STACKS), mode=st.sampled_from(["reduced", "complete"])),
    "linalg.svd": given(arrays(STACKS), full_matrices=FLAGS),
    "linalg.matrix_power": given(square(), st.integers(-2, 5)),
    "linalg.matrix_norm": given(
        arrays(STACKS), ord=st.sampled_from(["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf, 3]), keepdims=FLAGS
    ),
    "linalg.vector_norm": reduced(ord=st.sampled_from([0, 1, 2, 3.5, -1, np.inf, -np.inf])),
    "linalg.diagonal": given(arrays(), offset=st.integers(-2, 2)),
    "linalg.cross": st.tuples(
        st.tuples(*[arrays(st.sampled_from([(3,), (2, 3), (1, 3), (2,)]))] * 2), st.just({})
    ),
    **{f"fft.{name}": transformed(ANY, False) for name in ("fft", "ifft", "irfft", "hfft")},
    **{f"fft.{name}": transformed(REAL, False) for name in ("rfft", "ihfft")},
    **{f"fft.{name}": transformed(ANY, True) for name in ("fftn", "ifftn", "irfftn")},
    "fft.rfftn": transformed(REAL, True),
    **{f"fft.{name}": given(st.integers(1, 9), d=st.sampled_from([1, 0.5])) for name in ("fftfreq", "rfftfreq")},
    **{f"fft.{name}": reduced(WITH_AXES).map(lambda call: (call[0], {"axes": call[1]["axis"]})) for name in (
        "fftshift", "ifftshift"
    )},
}  # fmt: skip
