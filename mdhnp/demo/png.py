"""A grey picture as a PNG file.

The format needs a checksum and a compressor, and both come with Python; so nobody has to install an imaging library to
see the demo's pictures.
"""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["write_png"]


def write_png(path: Path, pixels: NDArray[Any]) -> None:
    """Write an array of grey values, shape (rows, columns), 0 black to 255 white; others are cut off."""
    grey = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    rows, columns = grey.shape
    # Every line of pixels begins with a byte that names its filter: 0, none.
    lines = np.hstack([np.zeros((rows, 1), np.uint8), grey])
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in parts))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
