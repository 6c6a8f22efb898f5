"""Devices: which one is chosen, what it can, and what the user's environment decides."""

import asyncio
import mmap
import os
import re
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyopencl as cl
import pytest
from processes import in_a_new_process

import mdhnp.runtime.devices as listing
from mdhnp import system
from mdhnp.runtime import capabilities, discovery, programs
from mdhnp.runtime.capabilities import intel_local_memory, query_caps
from mdhnp.runtime.devices import Device, NoDeviceError, default_device, device, devices, find_device
from mdhnp.runtime.programs import build
from mdhnp.schedule.atoms import ATOMS
from mdhnp.tuning.processes import Servant

pytestmark = pytest.mark.whole


def test_every_call_gives_the_same_objects() -> None:
    assert devices()
    assert all(first is second for first, second in zip(devices(), devices(), strict=True))
    assert default_device() is devices()[0]


def test_capabilities_are_plausible(device: Device) -> None:
    caps = device.caps
    assert caps.kind == device.kind
    assert caps.compute_units >= 1
    assert caps.vector_bytes in (16, 32, 64, 128)
    assert 16 * 1024 <= caps.local_memory <= 64 * 1024**2
    assert caps.max_work_group >= 64
    assert 8 * 1024 <= caps.l1 <= caps.l2
    assert caps.max_allocation >= 2**27


def test_cpu_vectors_are_those_of_the_processor(device: Device) -> None:
    info = Path("/proc/cpuinfo")
    if device.kind == "cpu" and info.exists() and "avx512f" in info.read_text():
        assert (device.caps.vector_bytes, device.caps.registers) == (64, 32)


def test_identity_is_the_same_in_another_process(device: Device) -> None:
    code = "from mdhnp.runtime.devices import devices; print(*(d.identity for d in devices()), sep='\\n')"
    chosen = {name: os.environ[name] for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES") if name in os.environ}
    assert device.identity in in_a_new_process(code, **chosen).splitlines()


def test_finding_by_runtime_position_and_name(device: Device) -> None:
    assert find_device(device) is device
    assert find_device(device.runtime.upper()).runtime == device.runtime
    assert find_device(device.platform[:12]).platform[:12] == device.platform[:12]
    position = devices().index(device)
    assert find_device(position) is find_device(str(position)) is device


@pytest.mark.parametrize("spec", ["no such thing", "", 99])
def test_finding_nothing_says_what_there_is(spec: str | int) -> None:
    with pytest.raises(NoDeviceError) as caught:
        find_device(spec)
    assert repr(spec) in str(caught.value)
    assert devices()[0].name in str(caught.value)


@pytest.mark.parametrize("limits", [[], [("-v", 512 << 20)], [("-v", 0), ("-d", 3 << 29)]])
def test_finding_nothing_says_which_limits_may_have_hidden_devices(
    limits: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capabilities, "_limits", lambda: iter(limits))
    with pytest.raises(NoDeviceError) as caught:
        find_device("no such thing")
    said = re.findall(r"; `ulimit (\S+)` leaves this process (\d+) MiB", str(caught.value))
    assert said == [(option, str(left >> 20)) for option, left in limits]


def test_a_runtime_name_means_that_runtime_only(monkeypatch: pytest.MonkeyPatch) -> None:
    pocl = [d for d in devices() if d.runtime == "pocl"]
    monkeypatch.setattr("mdhnp.runtime.devices._listed", lambda: tuple(pocl))
    with pytest.raises(NoDeviceError):  # though PoCL calls its device "pthread-Intel(R) ..." on such a processor
        find_device("intel")


def test_blocks_nest_and_end(device: Device) -> None:
    before = default_device()
    with use(device) as outer:
        assert outer is device is default_device()
        with use(before):
            assert default_device() is before
        assert default_device() is device
        with pytest.raises(KeyError), use(before):
            raise KeyError
        assert default_device() is device
    assert default_device() is before


use = device  # the fixture has the same name inside tests


def test_a_block_concerns_its_own_thread_and_task_only() -> None:
    last = devices()[-1]
    seen: list[Device] = []

    async def task(spec: Device) -> Device:
        with use(spec):
            await asyncio.sleep(0.01)
            return default_device()

    async def both() -> list[Device]:
        return list(await asyncio.gather(task(devices()[0]), task(last)))

    with use(last):
        thread = threading.Thread(target=lambda: seen.append(default_device()))
        thread.start()
        thread.join()
    assert seen == [default_device()]
    assert asyncio.run(both()) == [devices()[0], last]


def test_environment_chooses_the_default() -> None:
    code = "from mdhnp.runtime.devices import default_device, devices; d = default_device(); print(devices().index(d))"
    last = len(devices()) - 1
    chosen = {name: os.environ[name] for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES") if name in os.environ}
    assert in_a_new_process(code, MDHNP_DEVICE=str(last), **chosen) == str(last)
    refused = "from mdhnp.runtime.devices import *\ntry: default_device()\nexcept NoDeviceError as e: print(e)"
    message = in_a_new_process(refused, MDHNP_DEVICE="abacus")
    assert "'abacus'" in message
    assert "MDHNP_DEVICE" in message


def test_a_forked_child_is_refused(device: Device) -> None:
    code = f"""
import os, sys, numpy as np
from mdhnp.runtime.devices import *
from mdhnp.runtime.executable import *
from mdhnp.runtime.layout import *
from mdhnp.runtime.devices import devices
from mdhnp.codegen.program import *
d = devices()[{devices().index(device)}]
text = "__kernel void one(__global float *y) {{ y[get_global_id(0)] = 1; }}"
y = np.zeros(64, np.float32)
plan = Executable(d, Program(text, (Kernel("one", 64, 1, (Argument("output", 0),)),), ()), [], [Layout.of(y)])
plan([], [y])
if os.fork() == 0:
    y[:] = 0
    try:
        plan([], [y])
        os.write(1, b"ran")
    except NoDeviceError as error:
        os.write(1, b"refused" if "spawn" in str(error) else b"unclear")
    os._exit(0)
os.wait()
"""
    chosen = {name: os.environ[name] for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES") if name in os.environ}
    assert in_a_new_process(code, **chosen) == "refused"


def test_a_finalizer_may_call_amid_the_first_use_of_a_device(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finalizer runs at any line, also where the lock for making something once is taken."""
    fresh = Device(device.cl)
    source = "__kernel void first(__global float *y) { y[get_global_id(0)] = 1; }"
    seen: list[list[object]] = []

    def whatever_a_call_does() -> list[object]:
        return [*listing.devices(), fresh.context, fresh.queue, build(fresh, source, keep=False)]

    def amid(module: object, name: str) -> None:
        original = getattr(module, name)
        calls: list[object] = []

        def changed(*arguments: object, **keywords: object) -> object:
            if not calls:
                calls.append(None)
                seen.append(whatever_a_call_does())
            return original(*arguments, **keywords)

        monkeypatch.setattr(module, name, changed)

    monkeypatch.setattr(listing, "_found", [])
    amid(discovery, "platforms")
    amid(cl, "Context")
    amid(cl, "CommandQueue")
    amid(programs, "_from_source")
    thread = threading.Thread(target=lambda: seen.append(whatever_a_call_does()), daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert len(seen) == 5
    assert all(one is other for found in seen for one, other in zip(found, seen[0], strict=True))


_AMPERE = 80


@pytest.mark.parametrize(
    ("nvidia", "capability", "subgroup", "copies", "atoms"),
    [
        (False, (9, 0), 0, False, ()),
        (True, (6, 1), 0, False, ()),
        (True, (7, 5), 32, False, ()),
        (True, (8, 6), 32, True, tuple(name for name, atom in ATOMS.items() if atom.capability == _AMPERE)),
        (True, (9, 0), 32, True, tuple(ATOMS)),
    ],
)
def test_what_nvidias_devices_can(
    nvidia: bool, capability: tuple[int, int], subgroup: int, copies: bool, atoms: tuple[str, ...]
) -> None:
    board = SimpleNamespace(
        type=cl.device_type.GPU, name="GPU", platform=SimpleNamespace(name="some"),
        compute_capability_major_nv=capability[0], compute_capability_minor_nv=capability[1],
        extensions="cl_nv_device_attribute_query" if nvidia else "", local_mem_size=1 << 15, global_mem_cache_size=1,
        max_compute_units=1, max_work_group_size=1, max_mem_alloc_size=1,
    )  # fmt: skip
    caps = query_caps(cast("cl.Device", board))
    assert (caps.subgroup, caps.async_copies, caps.nan_extrema, caps.powers) == (subgroup, copies, copies, copies)
    assert caps.atoms == atoms


_TARGETED = """
import numpy as np
import mdhnp
from mdhnp.calls.observe import observe
mdhnp.config.host, mdhnp.config.specialise, mdhnp.config.tuning = "never", "always", "off"
(device,) = [d for d in mdhnp.devices() if d.runtime == "intel"]
a = np.ones((130, 130), np.float32)
with mdhnp.device(device), observe() as seen:
    right = np.array_equal(mdhnp.matmul(a, a), a @ a)
schedule = seen[0][0].schedules[0]
caps, width = device.caps, schedule.vector_width
sums = np.prod(schedule.private_tile) // width
print(device.identity, caps.vector_bytes, caps.registers, width, sums, caps.local_memory, right, sep="#")
"""


def test_what_intels_runtime_compiles_for_says_vectors_and_registers(tmp_path: Path) -> None:
    """Whatever the processor has beyond that; tiles fit into the registers, and binaries are others.

    Local memory is what the user says.
    """
    if all(d.runtime != "intel" for d in devices()):
        pytest.skip("Intel's runtime is not there")
    found = {}
    for arch, most, given in (("", 64, ""), ("", 64, "1MB"), ("core-avx2", 32, "128KB"), ("corei7", 16, "")):
        told = {"CL_CONFIG_CPU_TARGET_ARCH": arch} if arch else {}
        told |= {"CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE": given} if given else {}
        said = in_a_new_process(_TARGETED, MDHNP_CACHE_DIR=str(tmp_path), **told)
        identity, *numbers, right = said.split("#")
        vector_bytes, registers, width, sums, local = map(int, numbers)
        assert vector_bytes <= most
        assert registers == (32 if vector_bytes == 64 else 16)
        assert 4 * width <= vector_bytes
        assert sums < registers
        assert local == {"": intel_local_memory(), "128KB": 1 << 17, "1MB": 1 << 20}[given]
        assert right == "True"
        found[arch, given] = identity
    assert len({*found.values()}) == 4
    assert found["", ""] == next(d.identity for d in devices() if d.runtime == "intel")


@pytest.mark.parametrize(
    ("flags", "cache", "local"),
    [
        ("sse2 avx avx2", 512, 512), ("sse2 avx avx2", 1024, 512), ("sse2 avx avx2", 256, 256),
        ("sse2 avx avx2 avx512f", 2048, 256), ("sse2 avx", 512, 256), ("", 512, 256),
    ],
)  # fmt: skip
def test_intels_runtime_has_more_local_memory_where_that_was_measured(
    flags: str, cache: int, local: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capabilities, "_cpu_caches", lambda: (32 << 10, cache << 10))
    monkeypatch.setattr(capabilities, "_first_core", lambda: {"flags": flags})
    assert intel_local_memory() == local << 10


def test_a_context_that_fails_is_a_clear_error(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of Intel's runtime where memory is short."""

    def fail(*_: object) -> object:
        raise cl.RuntimeError(cl._cl._ErrorRecord(msg="", code=cl.status_code.OUT_OF_HOST_MEMORY, routine="clCreateC"))

    fresh = Device(device.cl)
    with monkeypatch.context() as patch:
        patch.setattr(cl, "Context", fail)
        with pytest.raises(NoDeviceError, match=r"context could not be made .* too little memory"):
            _ = fresh.context
    assert fresh.context is not None


def test_systems_without_posix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(mmap, "MAP_PRIVATE")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sysconf")
    assert len(system.addresses(1 << 16)) == 1 << 16
    assert (system.cores(), system.memory()) == (os.cpu_count(), 0)
    with monkeypatch.context() as there, pytest.raises(OSError, match="pipe"):
        there.setattr(os, "name", "nt")
        Servant()
