"""`mdhnp demo`: every call on real data."""

from pathlib import Path

import click

import mdhnp
from mdhnp.cli.options import device_option
from mdhnp.runtime.devices import default_device

__all__ = ["demo"]


@click.command()
@click.option(
    "--save", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Write pictures of the filtered photograph there.",
)  # fmt: skip
@device_option
@click.pass_context
def demo(ctx: click.Context, save: Path | None, device: str | None) -> None:
    """Run, check and time every call on real data."""
    from mdhnp.demo import run

    with mdhnp.device(default_device() if device is None else device):
        try:
            ctx.exit(run(save))
        except OSError as error:
            raise click.UsageError(f"pictures cannot be written: {error}") from error
