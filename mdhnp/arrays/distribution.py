"""Distributions: which devices have which elements of an array. Records only.

Source: Steuwer & Gorlatch, "SkelCL", Section 2.3: single, copy, block, overlap.
"""

from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Distribution:
    """Which devices have an array."""

    #: Their names.
    devices: tuple[str, ...]


@dataclass(frozen=True)
class SingleDistribution(Distribution):
    """One device has all elements."""

    def __str__(self) -> str:
        return f"single on {self.devices[0]}"


@dataclass(frozen=True)
class CopyDistribution(Distribution):
    """Each device has all elements."""

    def __str__(self) -> str:
        return f"copy on {', '.join(self.devices)}"


@dataclass(frozen=True)
class BlockDistribution(Distribution):
    """Each device has neighbouring elements along some axes; with a halo it is an overlap.

    Along several axes devices are a grid: those that have the same along the first of these axes stand beside each
    other.

    Examples
    --------
    >>> print(BlockDistribution(("one", "two"), (0,), ((3, 2),)))
    block along axis 0: 3 on one, 2 on two
    >>> print(BlockDistribution(("one", "two"), (0,), ((3, 2),), 1))
    overlap of 1 along axis 0: 3 on one, 2 on two
    >>> print(BlockDistribution(("a", "b", "c", "d"), (0, 1), ((3, 2), (8, 7))))
    block along axes 0, 1: 3 × 8 on a, 3 × 7 on b, 2 × 8 on c, 2 × 7 on d
    """

    #: Which ones.
    axes: tuple[int, ...]
    #: Of each of them, how many elements the parts have; may be 0. Along several, of devices that have some.
    sizes: tuple[tuple[int, ...], ...]
    #: How many of its neighbours' a device has beside, at most, at each end.
    halo: int = 0

    def __str__(self) -> str:
        kind = f"overlap of {self.halo}" if self.halo else "block"
        axes = f"{'axis' if len(self.axes) == 1 else 'axes'} {', '.join(map(str, self.axes))}"
        blocks = [" × ".join(map(str, block)) for block in product(*self.sizes)]
        return f"{kind} along {axes}: {', '.join(map('{} on {}'.format, blocks, self.devices))}"
