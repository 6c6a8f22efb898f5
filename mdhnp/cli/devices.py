"""`mdhnp devices`: the OpenCL devices of this machine."""

import json
from dataclasses import asdict

import click

import mdhnp
from mdhnp import native
from mdhnp.cli.output import print_table
from mdhnp.runtime.devices import default_device, refused

__all__ = ["devices"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="All that is known of them, for programs.")
def devices(as_json: bool) -> None:
    """List the OpenCL devices, best first."""
    default, found = default_device(), mdhnp.devices()
    if as_json:
        click.echo(json.dumps([_facts(n, d, d is default) for n, d in enumerate(found)], indent=1))
        return
    titles = ("", "device", "runtime", "kind", "platform", "driver", "units", "local memory")
    rows = [
        (
            f"{n}{' *' if d is default else ''}", d.name, d.runtime, d.kind, d.platform, d.driver,
            str(d.caps.compute_units), f"{d.caps.local_memory // 1024} KiB",
        )
        for n, d in enumerate(found)
    ]  # fmt: skip
    print_table(titles, rows, right=titles[-2:])
    click.echo("* is used by default; choose another with --device, mdhnp.device(...) or the variable MDHNP_DEVICE.")
    for name, why in refused().items():
        click.echo(f"Left out: {name}: {why}.")
    compiled = (
        "in compiled code" if native.Launcher is not None else "in Python, for want of a C compiler at installation"
    )
    click.echo(f"Repeat calls find their plans and launch kernels {compiled}.")


def _facts(position: int, device: mdhnp.Device, default: bool) -> dict[str, object]:
    return {
        "position": position,
        "default": default,
        "name": device.name,
        "runtime": device.runtime,
        "kind": device.kind,
        "platform": device.platform,
        "driver": device.driver,
        "identity": device.identity,
        "caps": asdict(device.caps),
    }
