"""What commands can be asked to tune, explain and time: any einsum, and the computations of one table, by name.

Takes a name, shapes and a dtype; gives the demo's record of a call beside NumPy's for the same. The stencils, the
record linkage and how NumPy computes them are the demo's, too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import numpy.typing as npt

import mdhnp

if TYPE_CHECKING:
    from mdhnp.demo.timing import Case

__all__ = ["CASES", "DTYPES", "make"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


#: A computation as functions of the same arrays, each after the text that is printed for it: ours, and NumPy's.
Calls = tuple[str, Callable[..., Any], str, Callable[..., Any]]


@dataclass(frozen=True)
class Named:
    """A row of the table."""

    #: What it computes and which shapes it takes.
    help: str
    #: Axes of each array; None for any number.
    ranks: tuple[int | None, ...]
    #: Gives the functions; what they need is imported then.
    calls: Callable[[], Calls]
    #: From shapes and dtype to the arrays.
    arrays: Callable[[Sequence[Shape], np.dtype[Any]], tuple[Any, ...]]
    #: The types it is for, if not all.
    dtypes: tuple[str, ...] | None = None


def make(spec: str, shapes: Sequence[Shape], extents: Mapping[str, int] | None, dtype: np.dtype[Any]) -> "Case":
    """Return the case that a command line names; whether the call likes the shapes shows when it runs.

    `spec` is an einsum's subscripts, or a name in :data:`CASES`; an einsum's `extents` are given in place of `shapes`.
    """
    if spec not in CASES:
        if "," not in spec and "->" not in spec:
            raise click.UsageError(f"{spec!r} is neither an einsum such as 'ij,jk->ik' nor one of {', '.join(CASES)}")
        if extents is not None:
            if shapes:
                raise click.UsageError("either --shape or --extents, not both")
            shapes = _shapes(spec, extents)
        _check_number(spec, shapes, spec.partition("->")[0].count(",") + 1)
        return _case(_einsum(spec), _random(shapes, dtype), shapes, dtype)
    case = CASES[spec]
    if extents is not None:
        raise click.UsageError(f"--extents is for an einsum; {spec} takes --shape")
    _check_number(spec, shapes, len(case.ranks))
    for n, (shape, rank) in enumerate(zip(shapes, case.ranks, strict=True)):
        if rank is not None and len(shape) != rank:
            raise click.UsageError(f"{spec}: shape {n} is {_show(shape)}, but needs {rank} extents")
    if case.dtypes is not None and dtype.name not in case.dtypes:
        raise click.UsageError(f"{spec} is for {', '.join(case.dtypes)}, not {dtype}")
    return _case(case.calls(), case.arrays(shapes, dtype), shapes, dtype)


def _case(calls: Calls, arrays: tuple[Any, ...], shapes: Sequence[Shape], dtype: np.dtype[Any]) -> "Case":
    from mdhnp.demo.timing import Case

    call, ours, peer_name, peer = calls
    # Half precision is summed in float32; only results are rounded to it.
    tolerances = {"float16": 1e-3, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-12, "complex128": 1e-12}
    return Case(
        call, f"{dtype}, {', '.join(map(_show, shapes))}", partial(ours, *arrays), partial(peer, *arrays), peer_name,
        lambda: peer(*map(_wide, arrays)), tolerances.get(dtype.name, 0.0),
    )  # fmt: skip


def _check_number(spec: str, shapes: Sequence[Shape], needed: int) -> None:
    if len(shapes) != needed:
        raise click.UsageError(f"{spec} takes {needed} arrays, a --shape for each; {len(shapes)} given")


def _shapes(subscripts: str, extents: Mapping[str, int]) -> list[Shape]:
    """Shapes of an einsum's operands from the extents of its indices."""
    terms = ["".join(term.split()) for term in subscripts.partition("->")[0].split(",")]
    if any("..." in term for term in terms):
        raise click.UsageError("--extents cannot say what '...' stands for; give a --shape for each operand")
    labels = set("".join(terms))
    for problem, wrong in (("lacks", labels - set(extents)), ("has more than the einsum:", set(extents) - labels)):
        if wrong:
            raise click.UsageError(f"--extents {problem} {', '.join(sorted(wrong))}")
    return [tuple(extents[label] for label in term) for term in terms]


def _show(shape: Shape) -> str:
    return "×".join(map(str, shape)) or "a scalar"


def _random(shapes: Sequence[Shape], dtype: np.dtype[Any]) -> tuple[Array, ...]:
    """Numbers from 0 to 1, also as imaginary parts; integers from 0 to 8."""
    rng = np.random.default_rng(0)
    if dtype.kind == "c":
        return tuple(np.asarray(rng.random(shape) + 1j * rng.random(shape)).astype(dtype) for shape in shapes)
    if dtype.kind == "f":
        return tuple(np.asarray(rng.random(shape)).astype(dtype) for shape in shapes)
    return tuple(np.asarray(rng.integers(0, 9, shape, dtype)) for shape in shapes)


def _wide(array: Any) -> Any:
    kind = array.dtype.kind if isinstance(array, np.ndarray) else ""
    return array.astype({"f": np.float64, "c": np.complex128}[kind]) if kind in ("f", "c") else array


def _einsum(subscripts: str) -> Calls:
    def in_numpy(*arrays: Array) -> Array:
        # The optimized order may end with a view whose memory is in another order; our result is in C order.
        return np.asarray(np.einsum(subscripts, *arrays, optimize=True), order="C")

    return f'einsum("{subscripts}", …)', partial(mdhnp.einsum, subscripts), "np.einsum, optimized", in_numpy


def _gaussian() -> Calls:
    from mdhnp.demo.cases import GAUSSIAN
    from mdhnp.demo.peers import smooth

    ours = partial(mdhnp.stencil, weights=GAUSSIAN, mode="reflect")
    return 'stencil(a, gaussian, "reflect")', ours, "NumPy slices", partial(smooth, weights=GAUSSIAN)


def _jacobi() -> Calls:
    from mdhnp.demo.cases import mean_of_six
    from mdhnp.demo.peers import jacobi

    return "stencil(a, mean of 6 neighbours)", partial(mdhnp.stencil, weights=mean_of_six), "NumPy slices", jacobi


def _gradient() -> Calls:
    from mdhnp.demo.cases import differences
    from mdhnp.demo.peers import gradients

    ours = partial(mdhnp.stencil, weights=differences, mode="nearest")
    return 'stencil(a, differences, "nearest")', ours, "NumPy slices", gradients


def _min_plus() -> Calls:
    from mdhnp.demo.peers import min_plus

    dims = {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}
    ours = mdhnp.md_hom(np.add, dims, "A[i,k], B[k,j] -> C[i,j]")
    return "md_hom(…)(a, b), min-plus", ours, "NumPy, by rows", min_plus


def _integral() -> Calls:
    dims = {"i": mdhnp.ps("add"), "j": mdhnp.ps("add")}

    def in_numpy(a: Array) -> Array:
        return a.cumsum(axis=0, dtype=a.dtype).cumsum(axis=1, dtype=a.dtype)

    ours = mdhnp.md_hom(lambda x: x, dims, "x[i,j] -> y[i,j]")
    return "md_hom(…)(a), prefix sums", ours, "np.cumsum, twice", in_numpy


def _prl() -> Calls:
    from mdhnp.demo.cases import AGREEMENT, THRESHOLDS
    from mdhnp.demo.peers import link

    ours = partial(mdhnp.prl, m=AGREEMENT, thresholds=THRESHOLDS)
    return "prl(new, existing, m=…)", ours, "NumPy, 100 at a time", partial(link, m=AGREEMENT, thresholds=THRESHOLDS)


def _records(shapes: Sequence[Shape], dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """The demo's person records, as many as asked for, repeated where there are fewer."""
    from mdhnp.demo.cases import persons

    sides = persons()[:2]
    return tuple({k: np.resize(v, n) for k, v in side.items()} for side, (n,) in zip(sides, shapes, strict=True))


_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_FLOATS = ("float32", "float64")

DTYPES = ("float16", *_FLOATS, "complex64", "complex128", *_INTEGERS)

#: By name, in the order of the help.
CASES: Mapping[str, Named] = {
    "matmul": Named(
        "np.matmul: N×K, K×M, or stacks of them", (None, None),
        lambda: ("matmul(a, b)", mdhnp.matmul, "np.matmul", np.matmul), _random,
    ),
    "dot": Named("np.dot", (None, None), lambda: ("dot(a, b)", mdhnp.dot, "np.dot", np.dot), _random),
    "gemv": Named(
        "BLAS, A x: N×K, K", (2, 1), lambda: ("gemv(a, x)", mdhnp.gemv, "np.matmul", np.matmul), _random
    ),
    "gemm": Named(
        "BLAS, A B: N×K, K×M", (2, 2), lambda: ("gemm(a, b)", mdhnp.gemm, "np.matmul", np.matmul), _random
    ),
    "gaussian": Named("stencil, 5×5 weights, reflected borders: N×M", (2,), _gaussian, _random, _FLOATS),
    "gradient": Named("stencil, central differences, two results: N×M", (2,), _gradient, _random, _FLOATS),
    "jacobi": Named("stencil, mean of the 6 neighbours: N×M×K", (3,), _jacobi, _random, _FLOATS),
    "minplus": Named("md_hom, shortest ways of two steps: N×K, K×M", (2, 2), _min_plus, _random, _FLOATS + _INTEGERS),
    "integral": Named("md_hom, prefix sums along both axes: N×M", (2,), _integral, _random, _FLOATS + _INTEGERS),
    "prl": Named("record linkage, person records: N, M", (1, 1), _prl, _records, ("float32",)),
}  # fmt: skip
