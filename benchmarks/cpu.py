"""Runs the cases on CPU devices, whole calls against peers in turns, and gives the results as plain data."""

import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import mdhnp
from benchmarks import measure
from benchmarks.cases import CASES
from benchmarks.problem import Case
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Kernels
from mdhnp.system import cores

__all__ = ["machine", "run"]

#: Words in a peer's name, and the distributions that it is from.
_PACKAGES = {
    "np": "numpy", "numpy": "numpy", "torch": "torch", "opencv": "opencv-python-headless", "scipy": "scipy",
    "numba": "numba", "opt_einsum": "opt_einsum", "recordlinkage": "recordlinkage",
    "jax": "jax", "numexpr": "numexpr", "ours": "mdhnp",
}  # fmt: skip


def run(
    names: Iterable[str], specs: Iterable[str], pairs: int, patience: float = 0, keep: Any = None, say: Any = print
) -> dict[str, Any]:
    """Measure cases on devices.

    Parameters
    ----------
    names : iterable of str
        Of `CASES`.
    specs : iterable of str
        Devices as :func:`mdhnp.device` takes them; none means all CPU devices, one of each runtime.
    pairs : int
        Of samples, for each peer.
    patience : float
        Seconds to wait, for each peer, for other processes to leave the machine alone.
    keep : callable, optional
        Given the results so far after every case.
    say : callable
        Told what was found, line by line.
    """
    devices = [mdhnp_device(spec) for spec in specs] or _cpu_devices()
    results: dict[str, Any] = {"machine": machine(), "rows": []}
    for name in names:
        for device in devices:
            about = describe(device)
            row = _row(CASES[name], device, pairs, patience, say)
            results["rows"].append(row | {"device": about})
            if keep is not None:
                keep(results)
    results["machine"] |= {"limits": measure.limits()}
    return results


def _row(case: Case, device: Any, pairs: int, patience: float, say: Any) -> dict[str, Any]:
    problem = case.make()
    floor = measure.floor(problem.read, problem.written, problem.instructions)
    calls: list[Any] = []
    peers: list[dict[str, Any]] = []
    with mdhnp.device(device):
        with observe() as seen, mdhnp.config(host="never", specialise="always"):
            problem.ours()
        kernel = _profiled(seen)
        mdhnp.prepare(problem.ours)  # so that who computes was measured, as after some seconds of calls
        before = sum(mdhnp.host_counts().values())
        ours = problem.ours()
        hosted = sum(mdhnp.host_counts().values()) > before
        for name, make in problem.peers.items():
            try:
                peer = make()
            except ImportError as error:
                say(f"{device.runtime:6} {case.name:10} {name}: left out, {error}")
                continue
            calls.append(peer)
            peers.append({"name": name, "version": _version(name)})

        def accept(n: int, result: Any) -> None:
            what = f"{case.name} against {peers[n]['name']}"
            peers[n]["error"] = measure.check_equal(ours, result, problem.tolerance, what)

        compared = measure.compare(problem.ours, calls, accept, pairs, kernel, patience)
        kernels = max((comparison.kernel for comparison in compared), key=len, default=())
        for row, comparison in zip(peers, compared, strict=True):
            found = comparison.summary()
            row |= found
            say(
                f"{device.runtime:6} {case.name:10} {row['name']}: {found['ratio']:.2f} "
                f"({found['range'][0]:.2f} … {found['range'][1]:.2f}), ours {found['ours_seconds'] * 1e3:.4g} ms"
            )
        with mdhnp.config(host="never"):
            explained = mdhnp.explain(problem.ours)
    return {
        "case": case.name,
        "title": case.title,
        "extents": case.extents,
        "required": case.required,
        "peers": peers,
        "kernel_seconds": median(kernels) if kernels else sum(map(sum, explained.kernel_seconds)),
        "instructions": problem.instructions,
        "floor": vars(floor),
        "hosted": hosted,
        "schedules": [*dict.fromkeys(line for line in str(explained).splitlines() if line.startswith("schedule"))],
    }


def _profiled(seen: Sequence[Any]) -> Callable[[], float]:
    """Give what runs the kernels of the calls seen, into memory that is there already, and tells their time."""
    launches = []
    for plan, arrays in seen:
        assert isinstance(plan, Kernels)
        launches.append((plan.executable, arrays, plan.make()))

    def kernel() -> float:
        return sum(sum(plan.profile(arrays, outputs, repeats=1)) for plan, arrays, outputs in launches)

    kernel()
    return kernel


def mdhnp_device(spec: str) -> Any:
    """Give the device that fits, as :func:`mdhnp.device` finds it."""
    with mdhnp.device(spec) as found:
        return found


def _cpu_devices() -> list[Any]:
    found: dict[str, Any] = {}
    for device in mdhnp.devices():
        if device.kind == "cpu" and device.runtime != "oclgrind":
            found.setdefault(device.runtime, device)
    if not found:
        raise SystemExit("no OpenCL device for the CPU found")
    return list(found.values())


def describe(device: Any) -> dict[str, Any]:
    """Give a device's names as plain data."""
    return {name: getattr(device, name) for name in ("name", "platform", "driver", "runtime", "kind")}


def _version(peer: str) -> str:
    words = peer.lower().replace(".", " ").replace(",", " ").split()
    package = next((_PACKAGES[word] for word in words if word in _PACKAGES), None)
    return distribution(package) if package else "?"


def distribution(package: str) -> str:
    """Give an installed package's version, or a question mark."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def machine() -> dict[str, Any]:
    """Describe what the figures were measured on and with."""
    from datetime import UTC, datetime

    model = ""
    try:
        with open("/proc/cpuinfo") as lines:
            model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        model = platform.processor()
    packages = (
        "numpy", "scipy", "opencv-python-headless", "torch", "numba", "jax", "numexpr", "dask", "pyopencl",
        "intel-opencl-rt",
    )  # fmt: skip
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": model,
        "cores": cores(),
        "system": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "python": sys.version.split()[0],
        "blas": f"{blas.get('name')} {blas.get('version')}",
        "versions": {"mdhnp": mdhnp.__version__} | {p: distribution(p) for p in packages},
    }


def _commit() -> str:
    """Give the commit of the checkout, with a plus where files have changed since; a question mark without git."""
    try:
        asked = [["git", "rev-parse", "--short", "HEAD"], ["git", "status", "--porcelain", "../mdhnp"]]
        number, changed = (
            subprocess.check_output(each, cwd=Path(__file__).parent, text=True).strip() for each in asked
        )
    except (OSError, subprocess.CalledProcessError):
        return "?"
    return number + ("+" if changed else "")
