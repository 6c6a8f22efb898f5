"""Discrete Fourier transforms as `numpy.fft` and the array API standard have them."""

from mdhnp.frontend import fourier as _transforms
from mdhnp.frontend.fourier import *

__all__ = _transforms.__all__
