"""Distributions: which devices have which elements of an array. Records only.

Source: Steuwer & Gorlatch, "SkelCL", Section 2.3: single, copy, block, overlap.
"""

from dataclasses import dataclass


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
    """Each device has neighbouring elements along an axis; with a halo it is an overlap.

    Examples
    --------
    >>> print(BlockDistribution(("one", "two"), 0, (3, 2)))
    block along axis 0: 3 on one, 2 on two
    >>> print(BlockDistribution(("one", "two"), 0, (3, 2), 1))
    overlap of 1 along axis 0: 3 on one, 2 on two
    """

    #: Which one.
    axis: int
    #: How many along it each device has; may be 0.
    sizes: tuple[int, ...]
    #: How many of its neighbours' a device has beside, at most, at each end.
    halo: int = 0

    def __str__(self) -> str:
        kind = f"overlap of {self.halo}" if self.halo else "block"
        return f"{kind} along axis {self.axis}: {', '.join(map('{} on {}'.format, self.sizes, self.devices))}"
