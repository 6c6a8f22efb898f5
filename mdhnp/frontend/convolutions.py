"""Convolutions by name, as machine learning has them: one MDH each, of images of several channels and several filters.

Takes array-likes, gives new arrays. It must not know devices.
"""

from collections.abc import Sequence
from functools import lru_cache
from operator import index as whole
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.frontend.reducing import operand, wide
from mdhnp.mdh import cc, pw

__all__ = ["conv1d", "conv2d", "conv3d"]

#: A number for all axes, or one for each.
Numbers = int | Sequence[int]
#: So many zeros before and behind all axes, each axis, or each end; or what decides that.
Padding = Numbers | Sequence[tuple[int, int]] | Literal["same", "valid"]

#: Names of the dimensions of places in the result, and of those in a filter.
_PLACES, _TAPS = "pqt", "rsu"

#: Layouts of channels before places, and of channels after them.
_LAYOUTS = {"conv1d": ("NCW", "NWC"), "conv2d": ("NCHW", "NHWC"), "conv3d": ("NCDHW", "NDHWC")}


def conv1d(
    x: npt.ArrayLike,
    w: npt.ArrayLike,
    *,
    stride: Numbers = 1,
    padding: Padding = "valid",
    dilation: Numbers = 1,
    groups: int = 1,
    layout: Literal["NCW", "NWC"] = "NCW",
) -> Any:
    """Convolve signals of several channels with filters; everything else as in :func:`conv2d`.

    Parameters
    ----------
    x : array_like
        Of shape (n, c, w), or (n, w, c) with ``layout="NWC"``.
    w : array_like
        Of shape (k, c / groups, w), or (w, c / groups, k).
    stride, padding, dilation, groups, layout
        As in :func:`conv2d`.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> mdhnp.conv1d(np.array([[[1.0, 4.0, 9.0]]]), np.array([[[-1.0, 1.0]]]))
    array([[[3., 5.]]])
    """
    return _convolved("conv1d", x, w, stride, padding, dilation, groups, layout)


def conv2d(
    x: npt.ArrayLike,
    w: npt.ArrayLike,
    *,
    stride: Numbers = 1,
    padding: Padding = "valid",
    dilation: Numbers = 1,
    groups: int = 1,
    layout: Literal["NCHW", "NHWC"] = "NCHW",
) -> Any:
    """Convolve images of several channels with filters, as networks do: a correlation, no filter is turned.

    Parameters
    ----------
    x : array_like
        n images of c channels: (n, c, h, w), or (n, h, w, c) with ``layout="NHWC"``. A strided array is not copied.
    w : array_like
        k filters: (k, c / groups, h, w), or (h, w, c / groups, k) with ``layout="NHWC"``.
    stride : int or sequence of int
        How far apart the places are that filters are put at; one number, or one an axis of images.
    padding : int, sequence, "same" or "valid"
        How many zeros there are around images: at all ends, at both ends of each axis, or, by pairs, at each end.
        "valid" are none; "same" as many as give ``ceil(size / stride)`` places, of which an odd one is behind.
    dilation : int or sequence of int
        How far apart the elements of images are that a filter's neighbours meet.
    groups : int
        Into how many groups channels and filters are split: filters see the channels of their own group only.
    layout : {"NCHW", "NHWC"}
        Where the channels are, in `x` and in the result.

    Returns
    -------
    ndarray
        (n, k, h, w), or (n, h, w, k), of the type that `x` and `w` have in common. float16 is summed in float32.

    Raises
    ------
    ValueError
        If shapes do not match, a filter is larger than the padded images, `groups` divides channels or filters not, or
        another argument is none of the above.
    TypeError
        If a number is not whole, or kernels do not compute with a type.

    Notes
    -----
    ``md_hom(*, (++, ++, ++, ++, +, +, +)) ∘ (X[n,c,stride*p+dilation*r-padding,…], W[k,c,r,s]) -> O[n,k,p,q]``; groups
    are one more dimension. Source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via
    Multi-Dimensional Homomorphisms", Section IV-B.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> image = np.arange(16.0).reshape(1, 1, 4, 4)
    >>> mdhnp.conv2d(image, np.ones((1, 1, 2, 2)), stride=2)
    array([[[[10., 18.],
             [42., 50.]]]])
    """
    return _convolved("conv2d", x, w, stride, padding, dilation, groups, layout)


def conv3d(
    x: npt.ArrayLike,
    w: npt.ArrayLike,
    *,
    stride: Numbers = 1,
    padding: Padding = "valid",
    dilation: Numbers = 1,
    groups: int = 1,
    layout: Literal["NCDHW", "NDHWC"] = "NCDHW",
) -> Any:
    """Convolve volumes of several channels with filters; everything else as in :func:`conv2d`.

    Parameters
    ----------
    x : array_like
        Of shape (n, c, d, h, w), or (n, d, h, w, c) with ``layout="NDHWC"``.
    w : array_like
        Of shape (k, c / groups, d, h, w), or (d, h, w, c / groups, k).
    stride, padding, dilation, groups, layout
        As in :func:`conv2d`.
    """
    return _convolved("conv3d", x, w, stride, padding, dilation, groups, layout)


class _Form(NamedTuple):
    """What is fixed in a convolution's views.

    Attributes
    ----------
    strides, dilations, before : tuple of int
        One an axis of images; zeros before it.
    padded : bool
        Whether there are zeros around images at all.
    channels, filters : int
        Of a group.
    grouped : bool
        Whether there are several.
    first : bool
        Whether channels are before places.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    padded: bool
    channels: int
    filters: int
    grouped: bool
    first: bool


def _convolved(
    function: str, x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: Any, layout: str
) -> Any:
    if layout not in _LAYOUTS[function]:
        raise ValueError("layout: {!r} is neither {!r} nor {!r}".format(layout, *_LAYOUTS[function]))
    rank, first = len(layout) - 2, layout == _LAYOUTS[function][0]
    x, w, groups = operand(x), operand(w), whole(groups)
    for name, a in (("x", x), ("w", w)):
        if a.ndim != rank + 2:
            raise ValueError(f"{function}: {name} has {a.ndim} axes, {rank + 2} are needed")
    places, taps = (x.shape[2:], w.shape[2:]) if first else (x.shape[1:-1], w.shape[:-2])
    channels, (own, filters) = (x.shape[1], w.shape[1::-1]) if first else (x.shape[-1], w.shape[-2:])
    if groups < 1 or channels % groups or filters % groups:
        raise ValueError(
            f"{function}: {groups} groups of {channels} channels and {filters} filters; they must divide both"
        )
    if own != channels // groups:
        raise ValueError(f"{function}: filters see {own} channels, a group of x has {channels // groups}")
    strides, dilations = _each(stride, rank, "stride", 1), _each(dilation, rank, "dilation", 1)
    reach = tuple([d * (k - 1) + 1 for d, k in zip(dilations, taps, strict=True)])
    zeros = _padding(padding, places, reach, strides)
    sizes = [(n + sum(z) - r) // s + 1 for n, z, r, s in zip(places, zeros, reach, strides, strict=True)]
    if min(sizes) < 1 or 0 in taps:
        raise ValueError(
            f"{function}: filters reach over {reach}, more than images of {places} with {zeros} zeros around"
        )
    before, padded = tuple([low for low, _ in zeros]), any([any(z) for z in zeros])
    form = _Form(strides, dilations, before, padded, own, filters // groups, groups > 1, first)
    extents = dict(zip(_PLACES, sizes, strict=False))
    if groups > 1:
        extents |= {"g": groups, "k": filters // groups}
    return _computation(form)(x, w, **extents)


def _each(value: Any, rank: int, name: str, least: int) -> tuple[int, ...]:
    """Give one whole number an axis."""
    found = tuple(map(whole, value)) if isinstance(value, Sequence) else (whole(value),) * rank
    if len(found) != rank or min(found) < least:
        raise ValueError(f"{name}: {value!r}; {rank} numbers, or one for all axes, of {least} and more are needed")
    return found


def _padding(
    padding: Any, places: tuple[int, ...], reach: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    """Give the zeros before and behind each axis."""
    rank = len(places)
    if padding == "valid":
        return ((0, 0),) * rank
    if padding == "same":
        wanted = [(-(-n // s) - 1) * s + r - n for n, s, r in zip(places, strides, reach, strict=True)]
        return tuple([(max(n, 0) // 2, (max(n, 0) + 1) // 2) for n in wanted])
    if isinstance(padding, str):
        raise ValueError(f"padding: {padding!r} is neither numbers nor 'same' nor 'valid'")
    if isinstance(padding, Sequence) and all([isinstance(ends, Sequence) for ends in padding]):
        ends = [_each(pair, 2, "padding", 0) for pair in padding]
        if len(ends) != rank:
            raise ValueError(f"padding: {len(ends)} pairs for {rank} axes")
        return tuple([(low, high) for low, high in ends])
    return tuple([(n, n) for n in _each(padding, rank, "padding", 0)])


@lru_cache(maxsize=256)
def _computation(form: _Form) -> Computation:
    """Write the views down: all convolutions of a form share them."""
    places, taps = list(_PLACES[: len(form.strides)]), list(_TAPS[: len(form.strides)])
    walked = [
        f"{s}*{p}+{d}*{r}-{low}"
        for s, p, d, r, low in zip(form.strides, places, form.dilations, taps, form.before, strict=True)
    ]
    channel, filter_ = (f"{form.channels}*g+c", f"{form.filters}*g+k") if form.grouped else ("c", "k")
    if form.first:
        x, w, o = [channel, *walked], [filter_, "c", *taps], [filter_, *places]
    else:
        x, w, o = [*walked, channel], [*taps, "c", filter_], [*places, filter_]
    kept = ["n", *(["g"] if form.grouped else []), *(["k", *places] if form.first else [*places, "k"])]
    combine = dict.fromkeys(kept, cc) | dict.fromkeys(["c", *taps], pw("add"))
    views = f"X[n,{','.join(x)}], W[{','.join(w)}] -> O[n,{','.join(o)}]"
    return md_hom(_product, combine, views, finish=_rounded, boundary={"X": "constant"} if form.padded else None)


def _product(x: Any, w: Any) -> Any:
    common = np.result_type(x.dtype, w.dtype)
    return wide(x, common) * wide(w, common)


def _rounded(total: Any, x: Any, w: Any) -> Any:
    return total.astype(np.result_type(x.dtype, w.dtype))
