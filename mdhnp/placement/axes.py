"""How NumPy sees an input of an MDH: with the MDH's dimensions for axes, so that it broadcasts and reduces along them.

Takes views and accesses, gives functions of arrays. It must not know what is computed.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from mdhnp.mdh import View
from mdhnp.mdh.views import Access, Affine

__all__ = ["Seen", "seen"]


class Seen(NamedTuple):
    """How an input is seen.

    Attributes
    ----------
    view : callable or None
        From the array to a view of it; None for the array as it is.
    shape : tuple of int
        The view's: an element along each dimension that the input does not move with.
    """

    view: Callable[[Any], Any] | None
    shape: tuple[int, ...]

    def of(self, array: Any) -> Any:
        """See an array."""
        return array if self.view is None else self.view(array)


def seen(
    view: View, access: Access, dims: tuple[int, ...], extents: tuple[int, ...], *, fewer: bool = False
) -> Seen | None:
    """Say how an access of an input is seen; None where an index is neither a number nor a dimension, maybe shifted.

    Parameters
    ----------
    view, access : View, Access
        The input, and one of its accesses.
    dims : tuple of int
        Dimensions in the order that the axes are to have.
    extents : tuple of int
        Of all dimensions.
    fewer : bool
        Whether axes in front may be missing, as NumPy allows where it broadcasts.
    """
    if view.boundary is not None:
        return None
    missing = len(dims) - len(access)
    if (missing == 0 or (fewer and missing > 0)) and all(
        [_is_along(*a, extents) for a in zip(access, dims[missing:], view.shape, strict=True)]
    ):
        return Seen(None, view.shape)
    at = [_dim(index) for index in access]
    along = [d for d, index in zip(at, access, strict=True) if index.dims()]
    moved = [d for d in along if d is not None]
    if len(moved) < len(along) or len({*moved}) < len(moved):
        return None
    places = (
        *[c if d is None else slice(c, c + extents[d]) for d, c in zip(at, [i.constant for i in access], strict=True)],
        ...,
    )
    axes = tuple(sorted(range(len(moved)), key=lambda n: dims.index(moved[n])))
    spread = (*[slice(None) if d in moved else None for d in dims], ...)  # without axes a view, too, no scalar
    shape = tuple([extents[d] if d in moved else 1 for d in dims])
    return Seen(lambda a: a[places].transpose(axes)[spread], shape)


def _dim(index: Affine) -> int | None:
    """Give the dimension that an index moves with, one by one, from wherever."""
    return replace(index, constant=0).dim()


def _is_along(index: Affine, d: int, size: int, extents: tuple[int, ...]) -> bool:
    """Whether an axis is that of a dimension, or has one element, which NumPy repeats."""
    return (index.dim() == d and size == extents[d]) or (size == 1 and not index.dims())
