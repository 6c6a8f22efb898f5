"""The command line: `python -m mdhnp demo` and `python -m mdhnp devices`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; by default those of the process.

    Returns
    -------
    int
        Exit status: 0, 1 for a wrong result, 2 where there is no device.
    """
    parser = argparse.ArgumentParser(prog="python -m mdhnp", description="NumPy-like calls as OpenCL kernels.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="run every call on real data, check it and time it")
    demo.add_argument("--save", type=Path, metavar="DIR", help="write pictures of the filtered photograph there")
    demo.add_argument("--device", metavar="SPEC", help="position, runtime, kind or part of a name; see `devices`")
    commands.add_parser("devices", help="list the OpenCL devices")
    arguments = parser.parse_args(argv)

    from mdhnp.runtime.devices import NoDeviceError, default_device, device

    try:
        if arguments.command == "devices":
            return _devices()
        from mdhnp.demo import run

        with device(default_device() if arguments.device is None else arguments.device):
            return run(arguments.save)
    except NoDeviceError as error:
        print(error, file=sys.stderr)
        return 2


def _devices() -> int:
    from rich.console import Console

    from mdhnp.demo.show import devices_table
    from mdhnp.runtime.devices import default_device, devices

    default = default_device()
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    console.print(devices_table(devices(), default))
    console.print("* is used by default; choose another with mdhnp.device(...) or the variable MDHNP_DEVICE.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
