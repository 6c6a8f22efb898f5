"""NumPy-compatible array calls that run as generated OpenCL kernels.

`einsum`, `matmul`, `dot` and NumPy's other products, `gemv`, `gemm`, `stencil` and `prl` are drop-in calls; `md_hom` is
for your own computations; `patch` routes NumPy's calls here. `devices`, `device` and `explain` show and choose where
and how they run. An `Array`, made by `asarray`, stays on a device; for Arrays the package is a namespace of the Python
array API standard.
"""

from mdhnp import system

system.rest_soon()  # before anything loads NumPy

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mdhnp import linalg, runtime, semiring
from mdhnp.arrays import Array, SparseArray
from mdhnp.calls.operands import fallback_counts
from mdhnp.calls.plans import host_counts
from mdhnp.frontend import array_methods  # noqa: F401 (which completes Array)
from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.frontend.creation import array, asarray, empty, from_buffer, from_dlpack
from mdhnp.frontend.einsum import einsum
from mdhnp.frontend.gufuncs import matmul, matvec, vecdot, vecmat
from mdhnp.frontend.products import dot, inner, kron, outer, tensordot, trace, vdot
from mdhnp.mdh import MdHom, cc, index, interpret, ps, pw
from mdhnp.namespace import LATER, MODULES, NUMPYS
from mdhnp.patching import patch
from mdhnp.settings import config

if TYPE_CHECKING:
    from mdhnp import fft, skeletons, tuning
    from mdhnp.calls.prepare import Prepared, prepare
    from mdhnp.calls.tracing import TracingError
    from mdhnp.calls.tune import Tuned, tune
    from mdhnp.distributed.distribute import distribute
    from mdhnp.explanation import Explanation, explain
    from mdhnp.frontend.attention import attention
    from mdhnp.frontend.blas import asum, axpy, ger, iamax, nrm2, scal, symv, syrk, trmv
    from mdhnp.frontend.convolutions import conv1d, conv2d, conv3d
    from mdhnp.frontend.elementwise import *
    from mdhnp.frontend.fuse import Fused, fuse
    from mdhnp.frontend.gemm import gemm, gemv
    from mdhnp.frontend.generators import *
    from mdhnp.frontend.joining import *
    from mdhnp.frontend.manipulation import *
    from mdhnp.frontend.places import *
    from mdhnp.frontend.places import argkmin
    from mdhnp.frontend.prl import Links, prl
    from mdhnp.frontend.reductions import *
    from mdhnp.frontend.scans import *
    from mdhnp.frontend.scatter import bincount
    from mdhnp.frontend.searching import *
    from mdhnp.frontend.stencil import stencil
    from mdhnp.frontend.types import *
    from mdhnp.runtime.devices import Device, MemoryInfo, NoDeviceError, device, devices, memory_info, synchronize
    from mdhnp.runtime.pending import LaunchError
    from mdhnp.runtime.programs import BuildError
    from mdhnp.schedule import IllegalSchedule
    from mdhnp.version import __version__ as __version__

__array_api_version__ = "2024.12"

__all__ = [
    "Array", "array", "asarray", "attention", "bincount", "empty", "from_buffer", "from_dlpack", "BuildError",
    "Computation", "Device", "Explanation", "LaunchError", "Links", "MdHom", "MemoryInfo", "NoDeviceError", "cc",
    "config", "conv1d", "conv2d", "conv3d", "device", "devices", "distribute", "dot", "einsum", "explain", "fuse",
    "Fused", "fallback_counts", "IllegalSchedule", "asum", "axpy", "gemm", "gemv", "ger", "iamax", "nrm2", "scal",
    "symv", "syrk", "trmv", "fft", "host_counts", "index", "inner", "interpret", "kron", "linalg", "matmul", "matvec",
    "memory_info", "md_hom", "outer", "patch", "pw", "ps", "semiring", "prepare", "Prepared", "prl", "skeletons",
    "stencil", "synchronize", "tensordot", "trace", "tune", "Tuned", "tuning", "TracingError", "vdot", "vecdot",
    "argkmin", "vecmat", "SparseArray",
]  # fmt: skip
__all__.extend([*MODULES, *NUMPYS])

runtime.LATE["executor"] = "mdhnp.distributed.executor"


def __getattr__(name: str) -> Any:
    if name in ("fft", "skeletons", "tuning"):
        return import_module(f"mdhnp.{name}")  # which makes it an attribute
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(LATER[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "mdh", "__array_api_version__", "__doc__", "__version__"])
