"""The command line: `mdhnp`, or `python -m mdhnp`.

`commands.py`, `cache.py` and `doctor.py` have the commands; `options.py` holds what they share, and what may be named
to tune, prepare, explain and bench, `output.py` shows results. Nothing else of the package imports this folder.

Wrong input ends with status 2 and one line on standard error, wrong results and failures with 1, Ctrl-C with 130. What
is slow to import is imported where it is used, so that `--help` is quick; commands are imported when they are asked
for, since all but `doctor` take OpenCL.
"""

import sys
from importlib import import_module
from typing import Any

import click
from click.exceptions import Exit, NoArgsIsHelpError

import mdhnp

#: The module of this folder that has it, by command.
_MODULES = dict.fromkeys(("bench", "demo", "devices", "explain", "prepare", "tune"), "commands") | {
    "cache": "cache", "doctor": "doctor",
}  # fmt: skip


class _WrongInput(click.ClickException):
    """One line, where click's own errors show the usage, too."""

    exit_code = 2


class _Commands(click.Group):
    """Turns what a user can cause into one line and a status; anything else is a defect and shows its traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        try:
            module = import_module(f"mdhnp.cli.{_MODULES[cmd_name]}")
        except ImportError as error:
            if "pyopencl" in sys.modules:
                raise
            raise click.ClickException(f"OpenCL cannot be used: {error}; `mdhnp doctor` tells more") from error
        command: click.Command = getattr(module, cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (NoArgsIsHelpError, Exit):
            raise
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            ctx.exit(130)
        except click.UsageError as error:
            raise _WrongInput(error.format_message()) from error
        except click.ClickException:
            raise
        except MemoryError as error:
            raise _WrongInput(f"not enough memory: {error}") from error
        except mdhnp.NoDeviceError as error:  # from here on their names take OpenCL, which `doctor` does without
            raise _WrongInput(str(error)) from error
        except (mdhnp.BuildError, mdhnp.LaunchError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(mdhnp.__version__, message="%(prog)s %(version)s")
def main() -> None:
    """NumPy-like calls that run as generated, tuned OpenCL kernels."""
