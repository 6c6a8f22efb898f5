"""What the commands share: types of their options, and the arguments that name a computation."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
import numpy as np

import mdhnp
from mdhnp.cli.cases import CASES, DTYPES, Shape, make
from mdhnp.runtime.devices import default_device


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


class OutputFile(click.Path):
    """A file to write, in a folder that is there: so that nobody waits for results that cannot be kept."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Any = super().convert(value, param, ctx)
        if not path.parent.is_dir():
            self.fail(f"there is no folder {str(path.parent)!r}", param, ctx)
        return path


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
