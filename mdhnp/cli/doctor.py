"""`mdhnp doctor`: what was found of OpenCL and what was not, what to install, and whether each device computes.

Takes the machine as it is; gives a text in Markdown, to be pasted into an issue. What may crash or hang (loading a
vendor's library, listing devices, a computation) is done in processes of its own, and so is reported like the rest.
Nor does this module import what takes pyopencl, which cannot be imported where there is no OpenCL loader.
"""

import ctypes
import importlib.metadata
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np

import mdhnp
from mdhnp import native, system
from mdhnp.cli.output import duration
from mdhnp.runtime import discovery
from mdhnp.runtime.private import cache_folder, data_folder, opened, tuning_file
from mdhnp.system import cores
from mdhnp.tuning.cache import cache
from mdhnp.tuning.measure.check import timed

#: Seconds for what another process is asked; compiling the check's kernels takes some seconds on a slow machine.
_PATIENCE = 120.0

_PACKAGES = ("pyopencl", "intel-opencl-rt", "intel-cmplr-lib-rt", "tbb", "pocl-binary-distribution")
_VARIABLES = ("MDHNP_", "OCL_", "OPENCL_", "POCL_", "CL_CONFIG_", "OMP_", "OPENBLAS_", "MKL_", "LD_", "CUDA_VISIBLE")
_LOADER = (
    "Install OpenCL's loader (package `ocl-icd-libopencl1`, conda's `ocl-icd` or `khronos-opencl-icd-loader`), or "
    "pyopencl from PyPI, which brings one"
)
_PCI = Path("/sys/bus/pci/devices")
_DISPLAY = "0x03"  # what the class of a PCI display controller begins with
#: What another process runs: it finds modules where this one does, and not in the current folder.
_START = """
import sys
function, arguments, *sys.path = sys.argv[1:]
from mdhnp.cli import doctor
print()
print(doctor.json.dumps(getattr(doctor, function)(*doctor.json.loads(arguments))))
"""


@dataclass(frozen=True)
class _Vendor:
    """A maker of GPUs: its number on the PCI bus, what its platform is called, and what brings its OpenCL."""

    name: str
    pci: str
    platform: str
    install: str


_VENDORS = (
    _Vendor("NVIDIA", "0x10de", "NVIDIA", "the driver's OpenCL library, `libnvidia-opencl.so.1` (package "
            "`nvidia-opencl-icd` or `libnvidia-compute`); in a container `NVIDIA_DRIVER_CAPABILITIES=compute,utility`"),
    _Vendor("AMD", "0x1002", "AMD", "ROCm's OpenCL runtime (package `rocm-opencl-runtime`)"),
    _Vendor("Intel", "0x8086", "Intel", "Intel's compute runtime (package `intel-opencl-icd`)"),
)  # fmt: skip


@click.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Report what was found, what is missing, and how each device computes; to be pasted into an issue.

    The exit status is 1 if no device computes right.
    """
    listed = in_a_process("listed")
    checks = {n: in_a_process("checked", n) for n, _ in enumerate(listed.get("devices", ()))}
    libraries = [*_libraries()]
    problems = [*_problems(listed, checks, libraries)]
    rows = [_row(device, checks[n]) for n, device in enumerate(listed.get("devices", ()))]
    parts = [
        ["### mdhnp doctor"],
        [f"- **{problem}**" for problem in problems] or ["Nothing is missing."],
        _table(("what", "version or state"), _versions().items()),
        _table(("OpenCL library", "named by", "state"), [(listed.get("loader", "none"), "the loader", ""), *libraries]),
        _table(("device", "runtime", "driver", "matmul 512²", "NumPy", "stencil 1024²", "NumPy"), rows),
        _table(("files", "where", "state"), _folders()),
    ]
    click.echo("\n\n".join("\n".join(lines) for lines in parts))
    ctx.exit(0 if any("error" not in check for check in checks.values()) else 1)


def in_a_process(function: str, *arguments: object) -> dict[str, Any]:
    """Call one of this module's functions in another process; `{"error": …}` if that fails, crashes or hangs."""
    paths = [path for path in sys.path if isinstance(path, str)]
    try:
        done = subprocess.run(
            [sys.executable, "-c", _START, function, json.dumps(arguments), *paths], capture_output=True, text=True,
            errors="replace", timeout=_PATIENCE, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"error": f"hangs: no answer for {_PATIENCE:.0f} s"}
    except OSError as error:
        return {"error": f"no other process could be started: {error}"}
    with suppress(ValueError, IndexError):
        answer = json.loads(done.stdout.splitlines()[-1])
        if isinstance(answer, dict):
            return answer
    if done.returncode < 0:
        return {"error": f"ends the process: {_signal(-done.returncode)}"}
    return {"error": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def listed() -> dict[str, Any]:
    """List devices, those that were refused with reasons, and the loader's file."""
    try:
        from mdhnp.runtime.devices import refused
    except ImportError as error:
        if "pyopencl" in sys.modules:
            raise
        return {"error": f"pyopencl cannot be imported: {error}. {_LOADER}"}
    found = [
        {"name": d.name, "runtime": d.runtime, "kind": d.kind, "platform": d.platform, "driver": d.driver}
        for d in mdhnp.devices()
    ]
    return {"devices": found, "refused": refused(), "loader": _loader()}


def _loader() -> str:
    with suppress(OSError):
        for line in Path("/proc/self/maps").read_text().splitlines():
            if "libOpenCL" in line:
                return line.split(maxsplit=5)[-1]
    return "unknown"


def checked(position: int) -> dict[str, Any]:
    """Compute on the device at this position: whether that is right, and the seconds of calls beside NumPy's."""
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 512, 512), np.float32)
    x = rng.random((1024, 1024), np.float32)

    def blur() -> Any:
        return (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 5

    def ours() -> Any:
        return mdhnp.stencil(x, lambda n: (n[0, 0] + n[-1, 0] + n[1, 0] + n[0, -1] + n[0, 1]) / 5)

    with mdhnp.device(position), mdhnp.config(host="never", tuning="off"):
        pairs = [(lambda: mdhnp.matmul(a, b), lambda: np.matmul(a, b)), (ours, blur)]
        for mine, theirs in pairs:
            if not np.allclose(mine(), theirs(), rtol=1e-4, atol=1e-4):
                return {"error": "gives a wrong result"}
        return {"seconds": [median(timed(call, 0.2, 3, 50)) for pair in pairs for call in pair]}


def nvidias() -> dict[str, str]:
    """Look for NVIDIA's library, which loads it."""
    return {"library": str(discovery.nvidia_library() or "")}


def loaded(library: str) -> dict[str, Any]:
    """Load a library; the dynamic linker's words, where it does not, say which other one is missing."""
    try:
        ctypes.CDLL(library)
    except OSError as error:
        return {"error": str(error)}
    return {}


def _versions() -> dict[str, str]:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    facts = {
        "mdhnp": f"{mdhnp.__version__}, C functions {'built' if native.Launcher is not None else 'not built'}",
        "Python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()})",
        "system": platform.platform(),
        "CPU": f"{_cpu()}, {cores()} cores to use of {os.cpu_count()}",
        "memory": _memory(),
        "NumPy": f"{np.__version__}, BLAS {blas.get('name')} {blas.get('version')}",
        **{name: _version(name) for name in _PACKAGES},
    }
    chosen = {name: value for name, value in sorted(os.environ.items()) if name.startswith(_VARIABLES)}
    return facts | {"variables": " ".join(f"{name}={value}" for name, value in chosen.items()) or "none"}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _cpu() -> str:
    with suppress(ImportError):
        from mdhnp.runtime.capabilities import cpu_model

        facts = dict(part.partition(": ")[::2] for part in cpu_model().split(";"))
        if model := facts.get("model name"):
            return model
    return platform.processor() or platform.machine()


def _memory() -> str:
    with suppress(ImportError):
        size = system.memory()
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        limited = "no limit" if limit == resource.RLIM_INFINITY else f"limit {limit / 2**20:.0f} MiB (`ulimit -v`)"
        return f"{size / 2**30:.1f} GiB, {limited}"
    return "unknown"


def _libraries() -> Iterator[tuple[str, str, str]]:
    """Each vendor's library that is named anywhere: by what, and whether it loads."""
    for folder in (discovery.system_folder(), discovery.CONDA_FOLDER):
        for file, library in discovery.entries(folder).items():
            if folder == discovery.CONDA_FOLDER and not Path(library).is_file():
                continue  # Intel's wheel names a place that is not there
            yield library, f"`{folder / file}`", _loads(library)
    nvidia = in_a_process("nvidias")
    for title, found in (
        ("Intel's wheel", str(discovery.intel_library() or "")), ("NVIDIA's driver", nvidia.get("library", "")),
    ):  # fmt: skip
        yield found or "none", title, _loads(found) if found else "not there"
    if "error" in nvidia:
        yield discovery.NVIDIA, "NVIDIA's driver", nvidia["error"]
    with suppress(importlib.metadata.PackageNotFoundError):
        for packed in importlib.metadata.files("pocl-binary-distribution") or ():
            if packed.name.startswith("libpocl"):
                library = os.path.normpath(str(packed.locate()))
                yield library, "PoCL's wheel", _loads(library)


def _loads(library: str) -> str:
    return str(in_a_process("loaded", library).get("error", "loads"))


def _problems(
    listed: Mapping[str, Any], checks: Mapping[int, Mapping[str, Any]], libraries: Sequence[tuple[str, str, str]]
) -> Iterator[str]:
    devices = listed.get("devices", ())
    if "error" in listed:
        yield f"Listing devices: {listed['error']}"
    elif not devices:
        yield "There is no OpenCL device: NumPy computes what it can, the rest is a NoDeviceError"
    if "error" not in listed and not any(d["kind"] == "cpu" for d in devices):
        yield f"No CPU runtime is in use: {_cpu_runtime()}"
    for name, why in listed.get("refused", {}).items():
        yield f"Left out: {name}: {why}"
    for n, check in checks.items():
        if "error" in check:
            yield f"{devices[n]['name']} ({devices[n]['runtime']}): {check['error']}"
    for library, by, state in libraries:
        if state not in ("loads", "not there"):
            yield f"`{library}`, named by {by}, does not load: {state}"
    for vendor, board in _boards():
        if not any(d["kind"] == "gpu" and vendor.platform in d["platform"] for d in devices):
            yield f"{board} is there, but no OpenCL device of it. Install {vendor.install}"
    if native.Launcher is None:
        yield "The C functions were not built: install a C compiler, then mdhnp again, for shorter repeat calls"


def _cpu_runtime() -> str:
    if platform.machine().lower() in ("x86_64", "amd64"):
        return (
            "`pip install intel-opencl-rt intel-cmplr-lib-rt`, or PoCL 5 or later from the system's packages or conda"
        )
    return "install PoCL 5 or later from the system's packages or conda"


def _boards() -> Iterator[tuple[_Vendor, str]]:
    """GPUs on the PCI bus, whatever drivers there are."""
    for board in sorted(_PCI.glob("*")):
        with suppress(OSError):
            if not (board / "class").read_text().startswith(_DISPLAY):
                continue
            number = (board / "vendor").read_text().strip()
            for vendor in _VENDORS:
                if vendor.pci == number:
                    yield vendor, f"A GPU of {vendor.name} ({board.name}{_model(board.name)})"


def _model(address: str) -> str:
    """A board's name, as far as `lspci` is there and knows it."""
    if (lspci := shutil.which("lspci")) is None:
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([lspci, "-s", address], capture_output=True, text=True, timeout=10, check=True)
        return f", {done.stdout.strip().partition(': ')[2]}"
    return ""


def _row(device: Mapping[str, str], check: Mapping[str, Any]) -> list[str]:
    times = [duration(s) for s in check["seconds"]] if "seconds" in check else [str(check["error"]), "", "", ""]
    return [device["name"], device["runtime"], f"{device['platform']}, {device['driver']}", *times]


def _folders() -> Iterator[tuple[str, str, str]]:
    yield "compiled kernels", str(cache_folder()), _state(cache_folder(), private=True)
    yield "folder of the tuning cache", str(data_folder()), _state(data_folder(), private=False)
    if not tuning_file().exists():
        yield "tuning cache", str(tuning_file()), "not made yet: nothing was tuned or timed by this version"
        return
    count = len(cache().entries())
    yield "tuning cache", str(tuning_file()), f"not used: {cache().trouble}" if cache().trouble else f"{count} entries"


def _state(folder: Path, *, private: bool) -> str:
    """What is in a folder, which is not used if others can write to what has to be private."""
    try:
        if private:
            with opened(folder):
                pass
        elif not folder.exists():
            return "not made yet"
        if not os.access(folder, os.W_OK):
            return "cannot be written"
        files = [file for file in folder.rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
        return f"{len(files)} files, {size / 2**20:.1f} MiB; {shutil.disk_usage(folder).free / 2**30:.1f} GiB free"
    except FileNotFoundError:
        return "not made yet"
    except OSError as error:
        return f"not used: {error}"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [titles, ["---"] * len(titles), *rows]
    return [
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    ]
