"""How long OpenBLAS's threads spin after a call of NumPy's, where nobody has said so: set before NumPy is loaded.

For 0.1 s after each product of matrices they do nothing on as many cores, which kernels on a CPU then lack. The
variable is read once, when OpenBLAS is loaded. Imports nothing of the package, whose modules load NumPy.
"""

import os
import sys

#: Two to this power is the number of a core's cycles for which an idle thread of OpenBLAS spins; 26 by default.
_CYCLES = "16"

#: Seconds for which they were seen to spin where nobody has said so.
_SPINNING = 0.13


def rest_soon() -> None:
    """Let the threads sleep after 2^16 cycles, some 20 µs, if that can still be said and nobody else has."""
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _CYCLES)


def spinning() -> float:
    """Give the seconds for which threads of NumPy's BLAS may take cores from others after a call."""
    return 0.0 if "OPENBLAS_THREAD_TIMEOUT" in os.environ else _SPINNING
