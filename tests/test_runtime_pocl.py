"""PoCL compiles for processors that are newer than its compiler."""

import ctypes
import struct

import pytest

from mdhnp.runtime import pocl

SKYLAKE = next(flags for name, flags in pocl._PROCESSORS if name == "skylake-avx512")


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
    ("triple", "name", "given"),
    [
        (b"x86_64-unknown-linux-gnu", b"generic", True),
        (b"x86_64-unknown-linux-gnu", b"znver3", False),
        (b"aarch64-unknown-linux-gnu", b"generic", False),
    ],
)
def test_only_a_processor_without_a_name_gets_one(
    triple: bytes, name: bytes, given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pocl, "_flags", lambda: SKYLAKE)
    fake = Fake(triple, name)
    assert pocl.name_processor(ctypes.addressof(fake.memory)) is given
    assert fake.names == [name, b"skylake-avx512" if given else name]


def test_memory_that_is_not_there_is_left_alone() -> None:
    assert not pocl.name_processor(64)


@pytest.mark.parametrize("lacking", sorted(SKYLAKE))
def test_no_instruction_is_taken_for_granted(lacking: str) -> None:
    assert pocl.processor(SKYLAKE) == "skylake-avx512"
    assert pocl.processor(SKYLAKE - {lacking}) in ("haswell", "x86-64")
