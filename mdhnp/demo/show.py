"""What the demo prints: the machine, the table of results."""

import platform
from collections.abc import Sequence

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import mdhnp
from mdhnp.demo.timing import Measured
from mdhnp.tuning.processes import cores

__all__ = ["machine", "results_table"]


def machine(device: mdhnp.Device) -> str:
    """Say where the demo runs, and with what."""
    return (
        f"device {device.name}, {device.caps.compute_units} compute units ({device.platform}, driver {device.driver})\n"
        f"mdhnp {mdhnp.__version__}, NumPy {np.__version__}, Python {platform.python_version()}, {cores()} CPU cores"
    )


def results_table(rows: Sequence[Measured]) -> Table:
    """Give one row a case: the call above its MDHs."""
    caption = (
        "Medians of whole calls, by turns. Ratio: the peer's time by ours. Error: largest difference from NumPy's\n"
        "result, in float64 where results are floats, by its largest value."
    )
    table = Table(box=SIMPLE_HEAD, pad_edge=False, caption=caption, caption_justify="left")
    table.add_column("call, data, md_hom", overflow="fold", ratio=1)
    for title in ("time", "peer", "its time", "ratio", "error"):
        table.add_column(title, justify="left" if title == "peer" else "right", no_wrap=True)
    for row in rows:
        call = Text.assemble((row.case.call, "bold"), f"  {row.case.data}")
        what = Group(call, *[Padding(Text(mdhom, style="dim"), (0, 0, 0, 2)) for mdhom in row.mdhoms])
        error = Text(f"{row.error:.0e}" if row.error else "0") if row.right else Text("WRONG", style="bold red")
        table.add_row(what, _time(row.seconds), row.case.peer_name, _time(row.peer_seconds), f"{row.ratio:.2f}", error)
    return table


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.{1 if seconds < 1e-1 else 0}f} ms"
