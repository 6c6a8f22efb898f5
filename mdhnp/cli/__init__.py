"""The command line: `mdhnp`, or `python -m mdhnp`.

`commands.py`, `cache.py` and `doctor.py` have the commands; `cases.py` says what may be named to tune, prepare, explain
and bench, `options.py` holds what commands share, `output.py` shows results. Nothing else of the package imports this
folder.

Wrong input ends with status 2 and one line on standard error, wrong results and failures with 1, Ctrl-C with 130. What
is slow to import is imported where it is used, so that `--help` is quick.
"""

from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

import mdhnp
from mdhnp.cli import cache, commands, doctor


class _WrongInput(click.ClickException):
    """One line, where click's own errors show the usage, too."""

    exit_code = 2


class _Commands(click.Group):
    """Turns what a user can cause into one line and a status; anything else is a defect and shows its traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise _WrongInput(error.format_message()) from error
        except mdhnp.NoDeviceError as error:
            raise _WrongInput(str(error)) from error
        except MemoryError as error:
            raise _WrongInput(f"not enough memory: {error}") from error
        except (mdhnp.BuildError, mdhnp.LaunchError) as error:
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            ctx.exit(130)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="mdhnp", message="%(prog)s %(version)s")
def main() -> None:
    """NumPy-like calls that run as generated, tuned OpenCL kernels."""


for _command in (
    commands.bench, commands.demo, commands.devices, commands.explain, commands.prepare, commands.tune, cache.cache,
    doctor.doctor,
):  # fmt: skip
    main.add_command(_command)
