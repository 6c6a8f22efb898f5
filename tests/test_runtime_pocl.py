"""PoCL is left out where it takes the processor for another one, and computes right where it does not."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import mdhnp
from mdhnp.codegen.program import Kernel, Program
from mdhnp.mdh.stages import Argument
from mdhnp.runtime import capabilities, declarations, devices, handle, programs
from mdhnp.runtime.devices import Device, NoDeviceError, find_device, refused
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.memory import Layout

pytestmark = pytest.mark.whole


def pocl(version: str) -> Any:
    platform = SimpleNamespace(name="Portable Computing Language ")
    return SimpleNamespace(driver_version=version, platform=platform, type=cl.device_type.CPU, name="pthread-x")


def cpu(monkeypatch: pytest.MonkeyPatch, vendor: str, family: int, model: int, flags: str) -> None:
    core = {"vendor_id": vendor, "cpu family": str(family), "model": str(model), "flags": flags, "model name": "Name"}
    monkeypatch.setattr(capabilities, "_first_core", lambda: core)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


@pytest.mark.parametrize(
    ("vendor", "family", "model", "flags", "version", "used"),
    [
        ("AuthenticAMD", 26, 2, "avx2 avx512f", "3.0-rc2", False),  # Zen 5: "generic"
        ("AuthenticAMD", 26, 2, "avx2 avx512f", "1.8", False),
        ("AuthenticAMD", 26, 2, "avx2 avx512f", "5.0", True),
        ("AuthenticAMD", 26, 2, "avx2 avx512f", "10.1", True),
        ("AuthenticAMD", 25, 17, "avx2 avx512f", "3.0-rc2", False),  # Zen 4: "znver3"
        ("AuthenticAMD", 25, 17, "avx2 avx512f", "4.0", True),  # its library may be one for Zen 3
        ("AuthenticAMD", 25, 1, "avx2", "3.0-rc2", True),  # Zen 3
        ("AuthenticAMD", 23, 49, "avx2", "3.0-rc2", True),
        ("HygonGenuine", 24, 0, "avx2", "3.0-rc2", False),  # "generic"
        ("GenuineIntel", 6, 0x6A, "avx2 avx512f", "3.0-rc2", True),
        ("GenuineIntel", 6, 0x6A, "avx2", "3.0-rc2", False),  # a virtual machine that hides AVX-512
        ("GenuineIntel", 6, 0xCF, "avx2 avx512f", "3.0-rc2", True),  # LLVM has not heard of it, and looks
        ("GenuineIntel", 6, 0x97, "avx2", "3.0-rc2", True),
        ("GenuineIntel", 6, 0x97, "avx2 avx512f", "3.0-rc2", False),
    ],
)
def test_pocl_is_used_where_it_knows_the_processor(
    vendor: str, family: int, model: int, flags: str, version: str, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu(monkeypatch, vendor, family, model, flags)
    why = capabilities.refusal(pocl(version))
    assert (why is None) == used
    assert used or all(text in why for text in ("Name", version, "intel-opencl-rt", "PoCL 5"))


def test_other_devices_and_machines_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu(monkeypatch, "AuthenticAMD", 26, 2, "avx2 avx512f")
    other = pocl("3.0-rc2")
    other.platform.name = "Intel(R) OpenCL"
    assert capabilities.refusal(other) is None
    gpu = pocl("3.0-rc2")
    gpu.type = cl.device_type.GPU
    assert capabilities.refusal(gpu) is None
    monkeypatch.setattr(capabilities, "_first_core", dict)  # no Linux, or it does not say
    assert capabilities.refusal(pocl("3.0-rc2")) is None
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert capabilities.refusal(pocl("3.0-rc2")) is None


def test_who_asks_for_a_device_left_out_is_told_why(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_refused", {})
    monkeypatch.setattr(devices, "_found", [])
    monkeypatch.setattr(handle, "refusal", lambda device: f"not {device.name.strip()}")
    with pytest.raises(NoDeviceError, match=re.escape(f"not {device.name}")):
        find_device(device.runtime)
    assert refused()[device.name] == f"not {device.name}"


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_built_in_functions_take_vectors_as_kernels_give_them(lanes: int, device: Device) -> None:
    text = (
        "__kernel void f(__global const float *x, __global float *y, __global half *z)\n"
        f"{{ float{lanes} v = vload{lanes}(0, x); vstore{lanes}(mad(sqrt(v), v, v), 0, y); "
        f"vstore_half{lanes}_rte(v, 0, z); }}\n"
    )
    x, y, z = np.arange(lanes, dtype="f4") ** 2, np.empty(lanes, "f4"), np.empty(lanes, "f2")
    arguments = (Argument("input", 0), Argument("output", 0), Argument("output", 1))
    program = Program(text, (Kernel("f", 1, 1, arguments),), ())
    Executable(device, program, [Layout.of(x)], [Layout.of(y), Layout.of(z)], keep=False)([x], [y, z])
    assert np.array_equal(y, np.sqrt(x) * x + x)
    assert np.array_equal(z, x.astype("f2"))


def pocls() -> list[Device]:
    return [d for d in devices.devices() if d.runtime == "pocl"]


def options_of(device: Device, text: str) -> str:
    program = programs.build(device, text, keep=False)
    return str(program.get_build_info(device.cl, cl.program_build_info.OPTIONS))


def test_declared_functions_are_those_of_the_header() -> None:
    """Else one of the same operands would have another result, which is an error."""
    names = {name for names, *_ in declarations._FUNCTIONS for name in names.split()}
    names |= {
        "convert_float4_rte",
        "convert_uchar16_sat",
        "convert_long",
        "vload_half",
        "vload_half8",
        "vstore_half4_rte",
    }
    each = [declarations._declarations(name) for name in sorted(names)]
    assert all(each)
    for device in pocls():
        options = options_of(device, f"{''.join(each)}\n__kernel void g(void) {{ vload4(0, (int *)0); }}")
        assert declarations.WITHOUT_HEADER not in options


@pytest.mark.parametrize(
    ("before", "expression", "known"),
    [
        (
            "",
            "fma(x[0], x[1], vload_half(0, (__global const half *)x)) + convert_float_rte(select(1, 2, x[0] < 1))",
            True,
        ),
        ("float own(float a) { return a; }", "own(x[0]) + as_float(3) + sqrt((float3)(x[1])).x", True),
        ("", "smoothstep(x[0], x[1], 0.5f)", False),
        ("float __attribute__((overloadable)) length(int a) { return 7; }", "length(x[0])", False),
    ],
    ids=["known", "own", "unknown", "overloaded"],
)
def test_the_header_is_read_where_a_function_is_not_known(
    before: str, expression: str, known: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    for device in pocls():
        text = f"{before}\n__kernel void f(__global float *x) {{ x[get_global_id(0)] = {expression}; }}"
        assert (declarations.WITHOUT_HEADER.strip() in options_of(device, text)) == known
    assert "error" not in capfd.readouterr().err  # as a build that fails would print


def test_generated_kernels_are_of_known_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(programs, "_from_source", lambda *a, f=programs._from_source: (texts.append(a[1]), f(*a))[1])
    x = np.linspace(0.1, 0.9, 77, dtype="f4")
    for device in pocls():
        with mdhnp.device(device), mdhnp.config(host="never"):
            mdhnp.fuse(lambda x: (np.logaddexp(x, 0.3125), np.cbrt(x).astype("f2"), x.sum(), np.round(x)[::-1]))(x)
        assert texts
        for text in [*texts]:
            assert declarations.WITHOUT_HEADER.strip() in options_of(device, text)


def test_errors_name_the_line_of_the_text(device: Device) -> None:
    with pytest.raises(programs.BuildError) as error:
        programs.build(device, "__kernel void f(__global float *x)\n{ x[get_global_id(0)] = wrong; }\n")
    assert re.search(r"\b2:\d+.*wrong", error.value.log)
