"""What the demo shows: the machine, the table of results, grey pictures as PNG files."""

import platform
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import mdhnp
from mdhnp.demo.timing import Measured
from mdhnp.system import cores


def machine(device: mdhnp.Device) -> str:
    """Say where the demo runs, and with what."""
    return (
        f"device {device.name}, {device.caps.compute_units} compute units ({device.platform}, driver {device.driver})\n"
        f"mdhnp {mdhnp.__version__}, NumPy {np.__version__}, Python {platform.python_version()}, {cores()} CPU cores"
    )


def results_table(rows: Sequence[Measured]) -> Table:
    """Give one row a case: the call above its MDHs."""
    caption = (
        "Medians of whole calls, by turns. Ratio: the peer's time by ours, median of the rounds'. Error: largest\n"
        "difference from NumPy's result, in float64 where results are floats, by its largest value."
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


def write_png(path: Path, pixels: NDArray[Any]) -> None:
    """Write an array of grey values, shape (rows, columns), 0 black to 255 white; others are cut off.

    The format needs a checksum and a compressor, which come with Python: no imaging library is needed for it.
    """
    grey = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    rows, columns = grey.shape
    # Every line of pixels begins with a byte that names its filter: 0, none.
    lines = np.hstack([np.zeros((rows, 1), np.uint8), grey])
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in parts))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
