"""Runs generated kernels: finds devices, compiles programs, brings NumPy's arrays to kernels, launches, waits.

Takes :class:`mdhnp.codegen.program.Program` objects and arrays. It must not know where programs come from.
"""

# The function `devices` stays in its module of the same name, which it would hide here.
from mdhnp.runtime.devices import Device, NoDeviceError, default_device, device, find_device
from mdhnp.runtime.executable import Executable, LaunchError
from mdhnp.runtime.memory import Layout
from mdhnp.runtime.programs import BuildError, build

__all__ = [
    "BuildError",
    "Device",
    "LaunchError",
    "Layout",
    "NoDeviceError",
    "Executable",
    "build",
    "default_device",
    "device",
    "find_device",
]
