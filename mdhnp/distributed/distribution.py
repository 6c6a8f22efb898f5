"""Distributions: which devices have which elements of an array. Records only.

Source: Steuwer & Gorlatch, "SkelCL", Section 2.3: single, copy, block, overlap.
"""

from dataclasses import dataclass

__all__ = ["Block", "Copy", "Distribution", "Overlap", "Single"]


@dataclass(frozen=True)
class Distribution:
    """Which devices have an array.

    Attributes
    ----------
    devices : tuple of str
        Their names.
    """

    devices: tuple[str, ...]


@dataclass(frozen=True)
class Single(Distribution):
    """One device has all elements."""

    def __str__(self) -> str:
        return f"single on {self.devices[0]}"


@dataclass(frozen=True)
class Copy(Distribution):
    """Each device has all elements."""

    def __str__(self) -> str:
        return f"copy on {', '.join(self.devices)}"


@dataclass(frozen=True)
class Block(Distribution):
    """Each device has neighbouring elements along an axis.

    Attributes
    ----------
    axis : int
        Which one.
    sizes : tuple of int
        How many along it each device has; may be 0.

    Examples
    --------
    >>> print(Block(("one", "two"), 0, (3, 2)))
    block along axis 0: 3 on one, 2 on two
    """

    axis: int
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        return f"block along axis {self.axis}: {', '.join(map('{} on {}'.format, self.sizes, self.devices))}"


@dataclass(frozen=True)
class Overlap(Block):
    """Each device has neighbouring elements along an axis, and some of its neighbours' beyond both ends.

    Attributes
    ----------
    halo : int
        How many of these at most, at each end.

    Examples
    --------
    >>> print(Overlap(("one", "two"), 0, (3, 2), 1))
    overlap of 1 along axis 0: 3 on one, 2 on two
    """

    halo: int

    def __str__(self) -> str:
        return f"overlap of {self.halo}" + super().__str__().removeprefix("block")
