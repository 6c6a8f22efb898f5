"""What the commands share: types of their options, and the computations that they may be asked to tune, explain, time.

These are any einsum, and those of one table, by name; the demo's records of calls beside NumPy's say what computes.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

import mdhnp
from mdhnp.runtime.devices import default_device

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.demo.timing import Case

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


class Named(NamedTuple):
    """A row of the table."""

    help: str  # what it computes and which shapes it takes
    ranks: tuple[int | None, ...]  # axes of each array; None for any number
    dtypes: tuple[str, ...]


def make(spec: str, shapes: Sequence[Shape], extents: Mapping[str, int] | None, dtype: np.dtype[Any]) -> "Case":
    """Return the case that a command line names; whether the call likes the shapes shows when it runs.

    `spec` is an einsum's subscripts, or a name in :data:`CASES`; an einsum's `extents` are given in place of `shapes`.
    """
    named = CASES.get(spec)
    if named is None:
        if "," not in spec and "->" not in spec:
            raise click.UsageError(f"{spec!r} is neither an einsum such as 'ij,jk->ik' nor one of {', '.join(CASES)}")
        if extents is not None:
            if shapes:
                raise click.UsageError("either --shape or --extents, not both")
            shapes = _shapes(spec, extents)
    elif extents is not None:
        raise click.UsageError(f"--extents is for an einsum; {spec} takes --shape")
    ranks = (None,) * (spec.partition("->")[0].count(",") + 1) if named is None else named.ranks
    if len(shapes) != len(ranks):
        raise click.UsageError(f"{spec} takes {len(ranks)} arrays, a --shape for each; {len(shapes)} given")
    for n, (shape, rank) in enumerate(zip(shapes, ranks, strict=True)):
        if rank is not None and len(shape) != rank:
            raise click.UsageError(f"{spec}: shape {n} is {_show(shape)}, but needs {rank} extents")
    if named is not None and dtype.name not in named.dtypes:
        raise click.UsageError(f"{spec} is for {', '.join(named.dtypes)}, not {dtype}")
    from mdhnp.demo import cases
    from mdhnp.demo.timing import Case

    calls = cases.einsum(spec) if named is None else cases.CALLS[spec]
    arrays = _records(shapes) if spec == "prl" else _random(shapes, dtype)
    # Half precision is summed in float32; only results are rounded to it.
    tolerances = {"float16": 1e-3, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-12, "complex128": 1e-12}
    data = f"{dtype}, {', '.join(map(_show, shapes))}"
    return Case.of(calls, data, *arrays, tolerance=tolerances.get(dtype.name, 0.0))


def _shapes(subscripts: str, extents: Mapping[str, int]) -> list[Shape]:
    """Shapes of an einsum's operands from the extents of its indices."""
    terms = ["".join(term.split()) for term in subscripts.partition("->")[0].split(",")]
    if unsaid := [term for term in terms if "..." in term or "[" in term]:
        raise click.UsageError(f"--extents cannot say what {unsaid[0]!r} stands for; give a --shape for each operand")
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


def _records(shapes: Sequence[Shape]) -> tuple[Any, ...]:
    """The demo's person records, as many as asked for, repeated where there are fewer."""
    from mdhnp.demo.cases import persons

    sides = persons()[:2]
    return tuple({k: np.resize(v, n) for k, v in side.items()} for side, (n,) in zip(sides, shapes, strict=True))


_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_FLOATS = ("float32", "float64")

DTYPES = ("float16", *_FLOATS, "complex64", "complex128", *_INTEGERS)

#: By name, in the order of the help.
CASES: Mapping[str, Named] = {
    "matmul": Named("np.matmul: N×K, K×M, or stacks of them", (None, None), DTYPES),
    "dot": Named("np.dot", (None, None), DTYPES),
    "gemv": Named("BLAS, A x: N×K, K", (2, 1), DTYPES),
    "gemm": Named("BLAS, A B: N×K, K×M", (2, 2), DTYPES),
    "gaussian": Named("stencil, 5×5 weights, reflected borders: N×M", (2,), _FLOATS),
    "gradient": Named("stencil, central differences, two results: N×M", (2,), _FLOATS),
    "jacobi": Named("stencil, mean of the 6 neighbours: N×M×K", (3,), _FLOATS),
    "minplus": Named("md_hom, shortest ways of two steps: N×K, K×M", (2, 2), _FLOATS + _INTEGERS),
    "integral": Named("md_hom, prefix sums along both axes: N×M", (2,), _FLOATS + _INTEGERS),
    "prl": Named("record linkage, person records: N, M", (1, 1), ("float32",)),
}


class ShapeType(click.ParamType):
    """``1024x64``: an array's extents."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Shape:
        parts = str(value).split("x")
        if not all(part.isdecimal() and int(part) > 0 for part in parts):
            self.fail(f"{value!r} is no shape; extents of at least 1 are joined by x: 1024x64", param, ctx)
        return tuple(map(int, parts))


class ExtentsType(click.ParamType):
    """``i=1024,j=64``: the extent of each index of an einsum."""

    name = "extents"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, int]:
        found: dict[str, int] = {}
        for part in str(value).split(","):
            index, _, extent = (text.strip() for text in part.partition("="))
            if len(index) != 1 or not extent.isdecimal() or int(extent) == 0 or index in found:
                self.fail(f"{part!r} is no extent of an index; write one for each: i=1024,j=64", param, ctx)
            found[index] = int(extent)
        return found


device_option = click.option(
    "--device", metavar="DEVICE", help="Position, runtime, kind or part of a name; see `mdhnp devices`."
)


def takes_case(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the arguments that name a computation; it is called with the `Case` and the device."""

    @click.argument("spec")
    @click.option(
        "--shape", "shapes", type=ShapeType(), multiple=True, metavar="NxM", help="One for each array, in order."
    )
    @click.option("--extents", type=ExtentsType(), metavar="i=N,j=M", help="Of an einsum's indices, instead of shapes.")
    @click.option(
        "--dtype",
        type=click.Choice(DTYPES),
        metavar="DTYPE",
        default="float32",
        show_default=True,
        help="float16 to float64, complex64, complex128, int8 to int64, uint8 to uint64.",
    )
    @device_option
    @wraps(function)
    def command(
        spec: str,
        shapes: tuple[Shape, ...],
        extents: dict[str, int] | None,
        dtype: str,
        device: str | None,
        **others: Any,
    ) -> Any:
        # With the schedules known now: none is tuned unless the command does it.
        with mdhnp.device(default_device() if device is None else device) as chosen, mdhnp.config(tuning="off"):
            try:  # only NumPy and the call itself know which sizes are possible, and what belongs together
                case = make(spec, shapes, extents, np.dtype(dtype))
                case.ours()
            except (TypeError, ValueError, IndexError) as error:
                raise click.UsageError(str(error)) from error
            return function(case=case, device=chosen, **others)

    command.__doc__ = f"{function.__doc__}\n\n{_SPEC}"
    return command


_SPEC = """SPEC is an einsum such as "ij,jk->ik", or one of:

\b
""" + "\n".join(f"  {name:<10}{case.help}" for name, case in CASES.items())
