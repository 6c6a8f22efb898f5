"""Convolutions by name, as machine learning has them: one MDH each, of images of several channels and several filters.

Takes array-likes, gives new arrays. It must not know devices.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index as whole
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.frontend.map_reduce import operand, wide
from mdhnp.frontend.public import PAPER, public
from mdhnp.frontend.public import Function as Public
from mdhnp.mdh import cc, pw

#: A number for all axes, or one for each.
Numbers = int | Sequence[int]
#: So many zeros before and behind all axes, each axis, or each end; or what decides that.
Padding = Numbers | Sequence[tuple[int, int]] | Literal["same", "valid"]

#: Names of the dimensions of places in the result, and of those in a filter.
_PLACES, _TAPS = "pqt", "rsu"


def _convolution(what: str, layouts: str, example: str) -> Callable[[Public], Public]:
    """Document a function of that rank; of its layouts one has channels before places, the other after them."""
    first, last = layouts.split()
    axes, rank = ", ".join(first[2:].lower()), len(first) - 2
    return public(
        f"Convolve {what} of several channels with filters, as networks do: a correlation, no filter is turned.",
        x=f'array_like: The n {what} of c channels: (n, c, {axes}), or (n, {axes}, c) with ``layout="{last}"``. A '
        "strided array is not copied.",
        w=f'array_like: The k filters: (k, c / groups, {axes}), or ({axes}, c / groups, k) with ``layout="{last}"``.',
        stride="int or sequence of int: How far apart the places are that filters are put at; one number, or one an "
        f"axis of {what}.",
        padding=f'int, sequence, "same" or "valid": How many zeros there are around {what}: at all ends, at both ends '
        'of each axis, or, by pairs, at each end. "valid" are none; "same" as many as give ``ceil(size / stride)`` '
        "places, of which an odd one is behind.",
        dilation=f"int or sequence of int: How far apart the elements of {what} are that a filter's neighbours meet.",
        groups="int: Into how many groups channels and filters are split: filters see the channels of their own group "
        "only.",
        layout=f'{{"{first}", "{last}"}}, optional: Where the channels are, in `x` and in the result; by default '
        f'"{first}".',
        returns=f"ndarray: (n, k, {axes}), or (n, {axes}, k), of the type that `x` and `w` have in common. float16 is "
        "summed in float32.",
        raises={
            "ValueError": f"If shapes do not match, a filter is larger than the padded {what}, `groups` divides "
            "channels or filters not, or another argument is none of the above.",
            "TypeError": "If a number is not whole, or kernels do not compute with a type.",
        },
        notes=f"``md_hom(*, (++, ++{', ++' * rank}, +{', +' * rank})) ∘ (X[n,c,stride*p+dilation*r-padding,…], "
        f"W[k,c,{','.join(_TAPS[:rank])}]) -> O[n,k,{','.join(_PLACES[:rank])}]``; groups are one more dimension. "
        f"Source: {PAPER} IV-B.",
        example=example,
    )


@_convolution("signals", "NCW NWC", """
>>> mdhnp.conv1d(np.array([[[1.0, 4.0, 9.0]]]), np.array([[[-1.0, 1.0]]]))
array([[[3., 5.]]])""")  # fmt: skip
def conv1d(
    x: npt.ArrayLike, w: npt.ArrayLike, *, stride: Numbers = 1, padding: Padding = "valid", dilation: Numbers = 1,
    groups: int = 1, layout: Literal["NCW", "NWC"] = "NCW", schedule: Any = None,
) -> Any:  # fmt: skip
    return _convolved("NCW NWC", x, w, stride, padding, dilation, groups, layout)


@_convolution("images", "NCHW NHWC", """
>>> image = np.arange(16.0).reshape(1, 1, 4, 4)
>>> mdhnp.conv2d(image, np.ones((1, 1, 2, 2)), stride=2)
array([[[[10., 18.],
         [42., 50.]]]])""")  # fmt: skip
def conv2d(
    x: npt.ArrayLike, w: npt.ArrayLike, *, stride: Numbers = 1, padding: Padding = "valid", dilation: Numbers = 1,
    groups: int = 1, layout: Literal["NCHW", "NHWC"] = "NCHW", schedule: Any = None,
) -> Any:  # fmt: skip
    return _convolved("NCHW NHWC", x, w, stride, padding, dilation, groups, layout)


@_convolution("volumes", "NCDHW NDHWC", """
>>> mdhnp.conv3d(np.ones((1, 1, 2, 2, 2)), np.ones((1, 1, 2, 2, 2))).shape
(1, 1, 1, 1, 1)""")  # fmt: skip
def conv3d(
    x: npt.ArrayLike, w: npt.ArrayLike, *, stride: Numbers = 1, padding: Padding = "valid", dilation: Numbers = 1,
    groups: int = 1, layout: Literal["NCDHW", "NDHWC"] = "NCDHW", schedule: Any = None,
) -> Any:  # fmt: skip
    return _convolved("NCDHW NDHWC", x, w, stride, padding, dilation, groups, layout)


def _convolved(layouts: str, x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: Any, layout: str) -> Any:
    before, after = layouts.split()
    if layout not in (before, after):
        raise ValueError(f"layout: {layout!r} is neither {before!r} nor {after!r}")
    x, w, groups, rank, first = operand(x), operand(w), whole(groups), len(layout) - 2, layout == before
    for name, a in (("x", x), ("w", w)):
        if a.ndim != rank + 2:
            raise ValueError(f"{name} has {a.ndim} axes, {rank + 2} are needed")
    places, taps = (x.shape[2:], w.shape[2:]) if first else (x.shape[1:-1], w.shape[:-2])
    channels, (own, filters) = (x.shape[1], w.shape[1::-1]) if first else (x.shape[-1], w.shape[-2:])
    if groups < 1 or channels % groups or filters % groups:
        raise ValueError(f"{groups} groups of {channels} channels and {filters} filters; they must divide both")
    if own != channels // groups:
        raise ValueError(f"filters see {own} channels, a group of x has {channels // groups}")
    strides, dilations = _each(stride, rank, "stride", 1), _each(dilation, rank, "dilation", 1)
    reach = tuple([d * (k - 1) + 1 for d, k in zip(dilations, taps, strict=True)])
    zeros = _padding(padding, places, reach, strides)
    sizes = [(n + sum(z) - r) // s + 1 for n, z, r, s in zip(places, zeros, reach, strides, strict=True)]
    if min(sizes) < 1 or 0 in taps:
        raise ValueError(f"filters reach over {reach}, more than images of {places} with {zeros} zeros around")
    lows, padded = tuple([low for low, _ in zeros]), any([any(z) for z in zeros])
    computation = _computation(strides, dilations, lows, padded, own, filters // groups, groups > 1, first)
    extents = dict(zip(_PLACES, sizes, strict=False))
    if groups > 1:
        extents |= {"g": groups, "k": filters // groups}
    return computation(x, w, **extents)


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
def _computation(
    strides: tuple[int, ...], dilations: tuple[int, ...], before: tuple[int, ...], padded: bool, channels: int,
    filters: int, grouped: bool, first: bool,
) -> Computation:  # fmt: skip
    """Write the views down; channels and filters are those of a group, `first` says if channels are before places."""
    places, taps = list(_PLACES[: len(strides)]), list(_TAPS[: len(strides)])
    walked = [
        f"{s}*{p}+{d}*{r}-{low}" for s, p, d, r, low in zip(strides, places, dilations, taps, before, strict=True)
    ]
    channel, filter_ = (f"{channels}*g+c", f"{filters}*g+k") if grouped else ("c", "k")
    if first:
        x, w, o = [channel, *walked], [filter_, "c", *taps], [filter_, *places]
    else:
        x, w, o = [*walked, channel], [*taps, "c", filter_], [*places, filter_]
    kept = ["n", *(["g"] if grouped else []), *(["k", *places] if first else [*places, "k"])]
    combine = dict.fromkeys(kept, cc) | dict.fromkeys(["c", *taps], pw("add"))
    views = f"X[n,{','.join(x)}], W[{','.join(w)}] -> O[n,{','.join(o)}]"
    finish = lambda total, x, w: total.astype(np.result_type(x.dtype, w.dtype))  # noqa: E731
    return md_hom(_product, combine, views, finish=finish, boundary={"X": "constant"} if padded else None)


def _product(x: Any, w: Any) -> Any:
    common = np.result_type(x.dtype, w.dtype)
    return wide(x, common) * wide(w, common)
