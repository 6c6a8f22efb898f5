"""Finds OpenCL libraries that the ICD loader would not find by itself, and lists the platforms.

Takes the environment, the system's ICD folder and the installed packages; gives pyopencl platforms. It must not
know what the platforms are used for.

An OpenCL program is linked against a *loader*, which reads a folder of ``.icd`` files, each naming one library. The
loader reads it once, at the process's first OpenCL call. Two good libraries are missed by default: Intel's, whose
wheel installs an ``.icd`` with a path that exists nowhere, and NVIDIA's, which containers often mount without
one. (PoCL's wheel installs itself beside pyopencl's own loader, which finds it whatever the folder.)
"""

import ctypes
import importlib.metadata
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyopencl as cl

from mdhnp.runtime.private import cache_folder, opened

_NVIDIA = "libnvidia-opencl.so.1"
_NVIDIA_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")
_INTEL = "libintelocl.so"

_temporary: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def platforms() -> list[cl.Platform]:
    """List the OpenCL platforms of the system, of the installed wheels and of NVIDIA's driver, in the loader's order.

    Respects what the user set: ``OCL_ICD_VENDORS`` is used in place of all other sources, ``OCL_ICD_FILENAMES`` in
    place of all but the system's folder (PoCL's wheel is there in any case: pyopencl's loader adds it by itself).
    The environment is left as it was found, but for a setting of Intel's runtime, and one of PoCL's where no variable
    says where this user's files are. RuntimeWarning if Intel's wheel is installed but gives no platform.
    """
    added = extra_libraries()
    # Kernels bring their own vectors. Intel's implicit ones (2026.22) win nothing measurable, and one of 200 random
    # kernels gave a wrong result or crashed the compiler.
    os.environ.setdefault("CL_CONFIG_CPU_VECTORIZER_MODE", "1")
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
            "(import mdhnp first), or a library that it needs is missing (pip install intel-cmplr-lib-rt)",
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
    known = {_stem(library) for library in _system_entries().values()}
    named = os.environ.get("OCL_ICD_FILENAMES")
    # Khronos's loader adds these to the system's, as is done here; pyopencl's (ocl-icd) does not know the variable.
    candidates = [Path(name) for name in named.split(os.pathsep)] if named else [_intel_library(), _nvidia_library()]
    return tuple(library for library in candidates if library is not None and _stem(library) not in known)


def _stem(library: str | Path) -> str:
    return Path(library).name.split(".so")[0]  # libpocl.so.2 and libpocl.so.2.12.0 are one library


def _system_entries() -> dict[str, str]:
    """Give ``.icd`` file name -> library as written there, for the folder that the loader reads by default."""
    folder, entries = Path(os.environ.get("OPENCL_VENDOR_PATH") or "/etc/OpenCL/vendors"), {}
    with suppress(OSError):
        for file in sorted(folder.glob("*.icd")):
            entries[file.name] = file.read_text().strip()
    return entries


def _intel_library() -> Path | None:
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


def _nvidia_library() -> Path | None:
    with suppress(OSError):
        ctypes.CDLL(_NVIDIA)  # asks the dynamic linker: its cache and LD_LIBRARY_PATH
        return Path(_NVIDIA)
    return next((library for each in _NVIDIA_FOLDERS if (library := Path(each, _NVIDIA)).is_file()), None)


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
    entries = _system_entries()
    entries.update({f"mdhnp-{library.name}.icd": str(library) for library in libraries})
    with ExitStack() as block:
        with suppress(OSError):  # nowhere to write, or a full disk: the system's own entries still work
            folder = block.enter_context(tempfile.TemporaryDirectory(prefix="mdhnp-icd-"))
            for name, library in entries.items():
                Path(folder, name).write_text(library + "\n")
            block.callback(os.environ.pop, "OCL_ICD_VENDORS", None)
            os.environ["OCL_ICD_VENDORS"] = folder
        yield
