"""PoCL compiles for the processor that is there, where its compiler does not know that one."""

import ctypes
import struct

import numpy as np
import pytest

from mdhnp.codegen.program import Argument, Kernel, Program
from mdhnp.runtime import pocl
from mdhnp.runtime.devices import Device
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.memory import Layout

SKYLAKE = next(flags for name, flags in pocl._PROCESSORS if name == "skylake-avx512")
HASWELL = next(flags for name, flags in pocl._PROCESSORS if name == "haswell")


class Fake:
    """Memory that looks like a device: pointers to text, among numbers that are no addresses."""

    def __init__(self, triple: bytes, name: bytes) -> None:
        self.texts = [ctypes.create_string_buffer(text) for text in (triple, name)]
        at = [ctypes.addressof(text) for text in self.texts]
        words = [3, 2**64 - 1, at[1], 7, *at, 0, 2**47]
        self.memory = ctypes.create_string_buffer(struct.pack(f"{len(words)}Q", *words) + bytes(4096))

    @property
    def names(self) -> list[bytes]:
        found = struct.unpack_from("8Q", self.memory)
        return [ctypes.string_at(found[n]) for n in (2, 5)]


@pytest.mark.parametrize(
    ("name", "flags", "driver", "given"),
    [
        ("generic", SKYLAKE, "3.0-rc2", "skylake-avx512"),  # Zen 5
        ("generic", SKYLAKE, "1.8", "skylake-avx512"),
        ("generic", HASWELL, "3.0-rc2", "haswell"),
        ("generic", frozenset(), "3.0-rc2", "x86-64"),
        ("znver3", SKYLAKE, "3.0-rc2", "skylake-avx512"),  # Zen 4
        ("znver3", SKYLAKE, "5.0", None),  # its library may be one for Zen 3
        ("znver3", HASWELL, "3.0-rc2", None),
        ("icelake-server", SKYLAKE, "3.0-rc2", None),
        ("icelake-server", HASWELL, "3.0-rc2", "haswell"),  # a virtual machine that hides AVX-512
        ("icelake-server", frozenset(), "3.0-rc2", None),  # nobody knows
    ],
)
def test_a_processor_with_the_wrong_name_gets_another(
    name: str, flags: frozenset[str], driver: str, given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pocl, "_flags", lambda: flags)
    fake = Fake(b"x86_64-unknown-linux-gnu", name.encode())
    for _ in range(2):  # whoever asks again learns the same
        assert pocl.name_processor(ctypes.addressof(fake.memory), driver) == given
    assert fake.names == [name.encode(), (given or name).encode()]


def test_only_the_name_after_a_triple_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pocl, "_flags", lambda: SKYLAKE)
    fake = Fake(b"aarch64-unknown-linux-gnu", b"generic")
    assert pocl.name_processor(ctypes.addressof(fake.memory), "3.0-rc2") is None
    assert fake.names == [b"generic"] * 2


def test_memory_that_is_not_there_is_left_alone() -> None:
    assert pocl.name_processor(64, "3.0-rc2") is None


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


@pytest.mark.parametrize("lacking", sorted(SKYLAKE))
def test_no_instruction_is_taken_for_granted(lacking: str) -> None:
    assert pocl.processor(SKYLAKE) == "skylake-avx512"
    assert pocl.processor(SKYLAKE - {lacking}) in ("haswell", "x86-64")
