"""Discrete Fourier transforms, as `numpy.fft` and the array API standard have them.

The host computes transforms (`calls/arrays.py`); shifts are the package's own.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple

from mdhnp.arrays.array import Array
from mdhnp.calls.arrays import by_host
from mdhnp.frontend.creation import asarray
from mdhnp.frontend.joining import roll
from mdhnp.frontend.manipulation import Axis
from mdhnp.frontend.public import NO_AXIS, ON_HOST, public, repeatable

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip

_NORM = (
    'str: Which direction is divided by the number of elements: "backward", "forward", or by its root "ortho", both.'
)
_transforming = partial(
    repeatable,
    norm=_NORM,
    returns="ndarray or Array: Of 32 bits a number for float32 and complex64, of 64 for others.",
    notes=ON_HOST,
)


def _transform(name: str, what: str, example: str) -> Callable[..., Any]:
    numpys = getattr(np.fft, name)

    @_transforming(
        f"{what}, as ``numpy.fft.{name}`` does.",
        name=name,
        n="int, optional: Elements along the axis, cut off or filled up with zeros; of the result where it is real.",
        axis="int: Along which axis.",
        raises={"ValueError": "If `n` is less than 1, or there is no such norm.", "IndexError": NO_AXIS},
        example=f">>> mdhnp.fft.{name}({example}",
    )
    def function(x: Any, /, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
        return by_host(numpys, x, n, axis, norm)

    return function


def _transform_of_axes(name: str, what: str, example: str) -> Callable[..., Any]:
    numpys = getattr(np.fft, name)

    @_transforming(
        f"{what}, as ``numpy.fft.{name}`` does.",
        name=name,
        s="sequence of int, optional: Elements along each of the axes, cut off or filled up with zeros.",
        axes="sequence of int, optional: Along which axes; by default all, or with `s` the last ones.",
        raises={"ValueError": "If `s` and `axes` differ in length, or there is no such norm.", "IndexError": NO_AXIS},
        example=f">>> mdhnp.fft.{name}({example}",
    )
    def function(x: Any, /, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        if s is not None and axes is None:
            axes = tuple(range(-len(s), 0))  # what NumPy takes, too, and advises to say
        return by_host(numpys, x, s, axes, norm)

    return function


fft = _transform("fft", "Transform", "[1.0, 0.0]).real\narray([1., 1.])")
ifft = _transform("ifft", "Transform back", "[1.0, 1.0]).real\narray([1., 0.])")
rfft = _transform("rfft", "Transform real numbers", "[1.0, 2.0, 3.0, 4.0]).real\narray([10., -2., -2.])")
irfft = _transform("irfft", "Transform back to real numbers", "[10.0, -2.0, -2.0]).shape\n(4,)")
hfft = _transform("hfft", "Transform numbers of Hermitian symmetry", "[1.0, 2.0, 1.0])\narray([ 6.,  0., -2.,  0.])")
ihfft = _transform(
    "ihfft", "Transform back to numbers of Hermitian symmetry", "[6.0, 0.0, -2.0, 0.0]).real\narray([1., 2., 1.])"
)
fftn = _transform_of_axes(
    "fftn", "Transform along several axes", "np.eye(2)).real\narray([[2., 0.],\n       [0., 2.]])"
)
ifftn = _transform_of_axes("ifftn", "Transform back along several axes", "np.eye(2)).shape\n(2, 2)")
rfftn = _transform_of_axes("rfftn", "Transform real numbers along several axes", "np.ones((4, 4))).shape\n(4, 3)")
irfftn = _transform_of_axes(
    "irfftn", "Transform back to real numbers along several axes", "np.ones((4, 3))).shape\n(4, 4)"
)


def _frequencies(name: str, shape: str, example: str) -> Callable[..., Any]:
    numpys = getattr(np.fft, name)

    @public(
        f"Give the frequencies of a transform's elements, as ``numpy.fft.{name}`` does.",
        name=name,
        n="int: Elements that are transformed.",
        d="number: Their distance.",
        returns=f"Array: New, {shape}.",
        raises={"ValueError": "If `n` is no whole number.", "ZeroDivisionError": "If `n` or `d` is 0."},
        example=f">>> mdhnp.fft.{name}({example}",
    )
    def function(n: int, /, d: Any = 1.0, dtype: npt.DTypeLike | None = None, device: Any = None) -> Array:
        return asarray(numpys(n, d), dtype=dtype, device=device)

    return function


fftfreq = _frequencies("fftfreq", "of shape (n,)", "4).tolist()\n[0.0, 0.25, -0.5, -0.25]")
rfftfreq = _frequencies("rfftfreq", "of shape (n // 2 + 1,)", "4).tolist()\n[0.0, 0.25, 0.5]")


def _shift(name: str, what: str, example: str, back: bool) -> Callable[..., Any]:
    numpys = getattr(np.fft, name)

    @repeatable(
        f"{what}, as ``numpy.fft.{name}`` does.",
        name=name,
        axes="int or sequence of int, optional: Along which axes; by default along all.",
        returns="ndarray or Array: New, of the shape and type of `x`.",
        raises={"ValueError": "If an axis is named twice."},
        example=f">>> mdhnp.fft.{name}({example}",
    )
    def function(x: Any, /, axes: Axis = None) -> Any:
        x = x if type(x) is Array else np.asanyarray(x)
        if not x.ndim:
            return x.copy()
        found = tuple(range(x.ndim)) if axes is None else normalize_axis_tuple(axes, x.ndim, "axes")
        if type(x) is not Array or not x.device.own_memory:
            return by_host(numpys, x, found)
        return roll(x, tuple([-(x.shape[d] // 2) if back else x.shape[d] // 2 for d in found]), found)

    return function


fftshift = _shift(
    "fftshift", "Put frequency 0 in the middle", "np.array([0, 1, -2, -1]))\narray([-2, -1,  0,  1])", back=False
)
ifftshift = _shift(
    "ifftshift", "Put frequency 0 first again", "np.array([-2, -1, 0, 1]))\narray([ 0,  1, -2, -1])", back=True
)
