"""What the array API standard has and this package does not compute, with the reason: plain data."""

from collections.abc import Mapping

__all__ = ["NOT_OFFERED"]

_GATHERS = "reads elements by values, and indices of an MDH are affine"
_SORTS = "orders elements by comparisons of all of them, which is no MDH whose work grows as slowly as a sort's"
_UNKNOWN = "gives a number of elements that depends on values, and a launch needs to know it"

#: By name, for people.
NOT_OFFERED: Mapping[str, str] = {
    "argsort": _SORTS,
    "nonzero": _UNKNOWN,
    "searchsorted": "halves an interval by what it reads; as a sum of comparisons each value is compared with all",
    "sort": _SORTS,
    "take": _GATHERS,
    "take_along_axis": _GATHERS,
    "unique_all": _UNKNOWN,
    "unique_counts": _UNKNOWN,
    "unique_inverse": _UNKNOWN,
    "unique_values": _UNKNOWN,
}
