"""Finds OpenCL libraries that the ICD loader would not find by itself, and lists the platforms.

Takes the environment, the system's ICD folder and the installed packages; gives pyopencl platforms. It must not
know what the platforms are used for.

An OpenCL program is linked against a *loader*, which reads a folder of ``.icd`` files, each naming one library. The
loader reads it once, at the process's first OpenCL call. Good libraries are missed by default: Intel's, whose
wheel installs an ``.icd`` with a path that exists nowhere, NVIDIA's, which containers often mount without
one, and conda's (PoCL), whose folder only conda's own loader reads. (PoCL's wheel installs itself beside pyopencl's
own loader, which finds it whatever the folder.) On Windows the loader reads the registry, and the libraries that a
variable names.
"""

import ctypes
import importlib.metadata
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mdhnp.runtime.private import cache_folder, opened

if TYPE_CHECKING:
    import pyopencl as cl

#: Its driver's library.
NVIDIA = "libnvidia-opencl.so.1"
_NVIDIA_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")
_WINDOWS = sys.platform == "win32"
_INTEL = "intelocl64.dll" if _WINDOWS else "libintelocl.so"
#: Where conda, and Intel's wheel in vain, put vendors' files.
CONDA_FOLDER = Path(sys.prefix, "etc", "OpenCL", "vendors")

_temporary: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def platforms(local_memory: int) -> "list[cl.Platform]":
    """List the OpenCL platforms of the system, conda, the installed wheels and NVIDIA's driver, in the loader's order.

    Respects what the user set: ``OCL_ICD_VENDORS`` is used in place of all other sources, ``OCL_ICD_FILENAMES`` in
    place of all but the system's folder (PoCL's wheel is there in any case: pyopencl's loader adds it by itself).
    The environment is left as it was found, but for two settings of Intel's runtime, and one of PoCL's where no
    variable says where this user's files are. Intel's runtime gives a work-group `local_memory` bytes of local memory,
    unless the user says how many. RuntimeWarning if Intel's wheel is installed but gives no platform.
    """
    import pyopencl as cl  # only here: `mdhnp doctor` looks for libraries without it

    added = extra_libraries()
    # Kernels bring their own vectors. Intel's implicit ones (2026.22) win nothing measurable, and one of 200 random
    # kernels gave a wrong result or crashed the compiler.
    os.environ.setdefault("CL_CONFIG_CPU_VECTORIZER_MODE", "1")
    os.environ.setdefault("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", f"{local_memory >> 10}KB")
    _keep_pocl_private()
    with _loader_reads(added):
        try:
            found = list(cl.get_platforms())
        except cl.LogicError:  # PLATFORM_NOT_FOUND_KHR: the loader's way to say "none"
            found = []
    intel = [library for library in added if library.name == _INTEL]
    if intel and not any("Intel" in platform.name for platform in found):
        warnings.warn(
            f"Intel's OpenCL runtime {intel[0]} could not be used: either OpenCL was used in this process before mdhnp "
            "(import mdhnp first), or a library that it needs is missing (pip install intel-cmplr-lib-rt); "
            "`mdhnp doctor` tells more",
            RuntimeWarning,
            stacklevel=2,
        )
    return found


def extra_libraries() -> tuple[Path, ...]:
    """Libraries to be named to the loader beside the system's: the user's where the user chose.

    None is of a name that the system's ICD folder holds already: two copies of one vendor's library in a process give
    every device twice, or crash.
    """
    if os.environ.get("OCL_ICD_VENDORS"):
        return ()
    named = os.environ.get("OCL_ICD_FILENAMES")
    # Khronos's loader adds these to the system's, as is done here; pyopencl's (ocl-icd) does not know the variable.
    libraries = [Path(name) for name in named.split(os.pathsep)] if named else _found_libraries()
    known = {_stem(library) for library in entries(system_folder()).values()}
    unknown = {_stem(library): library for library in reversed(libraries) if _stem(library) not in known}
    return tuple(reversed(unknown.values()))


def _found_libraries() -> list[Path]:
    """Give the libraries of the wheel, of conda's environment and of NVIDIA's driver, as far as they are there."""
    conda = [path for name in entries(CONDA_FOLDER).values() if (path := Path(name)).is_absolute() and path.is_file()]
    return [library for library in (intel_library(), *conda, nvidia_library()) if library is not None]


def _stem(library: str | Path) -> str:
    return Path(library).name.split(".so")[0]  # libpocl.so.2 and libpocl.so.2.12.0 are one library


def system_folder() -> Path:
    """Folder of vendors' files that the loader reads by default."""
    return Path(os.environ.get("OPENCL_VENDOR_PATH") or "/etc/OpenCL/vendors")


def entries(folder: Path) -> dict[str, str]:
    """Give ``.icd`` file name -> library as written there, for a folder of vendors' files that can be read."""
    found = {}
    for file in sorted(folder.glob("*.icd")):
        with suppress(OSError, UnicodeDecodeError):
            found[file.name] = file.read_text().strip()
    return found


def intel_library() -> Path | None:
    """Library of Intel's wheel, where that is installed."""
    # The package's own list of files says where the library went: sys.prefix would be wrong for --user and --target.
    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == _INTEL:
            library = Path(os.path.normpath(file.locate()))
            return library if library.is_file() else None
    return None


def nvidia_library() -> Path | None:
    """NVIDIA's library, where its driver is."""
    with suppress(OSError):
        ctypes.CDLL(NVIDIA)  # asks the dynamic linker: its cache and LD_LIBRARY_PATH
        return Path(NVIDIA)
    return next((library for each in _NVIDIA_FOLDERS if (library := Path(each, NVIDIA)).is_file()), None)


def _keep_pocl_private() -> None:
    """Name PoCL a folder for the code that it compiles and loads, where it would take one that all users share."""
    if os.environ.get("POCL_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "HOME" in os.environ:
        return
    folder = cache_folder() / "pocl"
    try:
        with opened(folder, missing_ok=True):
            os.environ["POCL_CACHE_DIR"] = str(folder)
    except OSError:
        with suppress(OSError):
            _temporary.append(tempfile.TemporaryDirectory(prefix="mdhnp-pocl-"))
            os.environ["POCL_CACHE_DIR"] = _temporary[0].name


@contextmanager
def _loader_reads(libraries: tuple[Path, ...]) -> Iterator[None]:
    """Make the loader's first call, inside the block, read the system's entries and `libraries`.

    The folder lives only as long as the block, since the loader reads it only once. So there is nothing to share with
    other processes, and a child process finds the environment that the user set.
    """
    if not libraries:
        yield
        return
    if _WINDOWS:  # where libraries look for others in the folder of the program, not in their own: loaded now, all are
        for library in libraries:
            with suppress(OSError):
                ctypes.CDLL(str(library))
        before = os.environ.get("OCL_ICD_FILENAMES")
        os.environ["OCL_ICD_FILENAMES"] = os.pathsep.join(map(str, libraries))
        try:
            yield
        finally:
            os.environ.pop("OCL_ICD_FILENAMES")
            if before is not None:
                os.environ["OCL_ICD_FILENAMES"] = before
        return
    named = entries(system_folder()) | {f"mdhnp-{library.name}.icd": str(library) for library in libraries}
    with ExitStack() as block:
        try:
            folder = block.enter_context(tempfile.TemporaryDirectory(prefix="mdhnp-icd-"))
            for name, path in named.items():
                Path(folder, name).write_text(path + "\n")
        except OSError:  # nowhere to write, or a full disk: the system's own entries, or one library by its own name
            folder = "" if entries(system_folder()) else str(libraries[0])
        if folder:
            block.callback(os.environ.pop, "OCL_ICD_VENDORS", None)
            os.environ["OCL_ICD_VENDORS"] = folder
        yield
