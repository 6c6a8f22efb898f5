"""The demo's real data: a picture, handwritten digits, person records.

Everything lies in this folder, a few hundred kilobytes, so that the demo needs neither a network nor a data package.
README.md beside this file states each source and licence; make.py builds the files.
"""

import gzip
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HERE = files(__name__)


def picture() -> NDArray[np.uint8]:
    """Return a grey photograph, a man behind a camera on a tripod: rows from the top, 0 is black.

    Examples
    --------
    >>> picture().shape
    (512, 512)
    """
    return _arrays("picture.npz")["picture"]


def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return handwritten digits as pictures of 8×8 pixels, each 0 (white) to 16, one picture a row, and what they show.

    Examples
    --------
    >>> images, labels = digits()
    >>> images.shape, labels[:5].tolist()
    ((1797, 64), [0, 1, 2, 3, 4])
    """
    arrays = _arrays("digits.npz")
    return arrays["images"].astype(np.float32), arrays["labels"].astype(np.int64)


def febrl4() -> tuple[dict[str, NDArray[np.str_]], dict[str, NDArray[np.str_]], NDArray[np.int64]]:
    """Return 5000 made-up person records, a faulty copy of each, and which belong together.

    The columns are rec_id, given_name, surname, street_number, address_1, address_2, suburb, postcode, state,
    date_of_birth (YYYYMMDD) and soc_sec_id. A missing value is an empty string. The numbers in rec_id give the truth
    away: leave that column out of any comparison. The copies have typing, scanning and hearing errors, and an order of
    their own: record ``truth[i]`` of these is the copy of record ``i``.

    Examples
    --------
    >>> a, b, truth = febrl4()
    >>> str(a["surname"][1]), str(b["surname"][truth[1]])
    ('painter', 'painter')
    """
    a, b = _table("febrl4a.csv.gz"), _table("febrl4b.csv.gz")
    # The person's number: 1070 of rec-1070-org and of rec-1070-dup-0.
    place = {record.split("-")[1]: index for index, record in enumerate(b["rec_id"])}
    return a, b, np.array([place[record.split("-")[1]] for record in a["rec_id"]], dtype=np.int64)


def _arrays(name: str) -> dict[str, NDArray[Any]]:
    with (_HERE / name).open("rb") as stream, np.load(stream) as archive:
        return dict(archive)


def _table(name: str) -> dict[str, NDArray[np.str_]]:
    """Columns of a table whose cells are separated by commas, padded with spaces and never quoted."""
    lines = gzip.decompress((_HERE / name).read_bytes()).decode("ascii").splitlines()
    header, *rows = ([cell.strip() for cell in line.split(",")] for line in lines)
    return {title: np.array(column) for title, column in zip(header, zip(*rows, strict=True), strict=True)}
