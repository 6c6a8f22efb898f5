"""Programs whose text is written by hand, not generated of an MDH: text and launches of one description."""

from collections.abc import Mapping, Sequence

from mdhnp.codegen.program import Kernel, Program
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Types of elements that are moved as they are, by their bytes.
UNSIGNED = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}

#: Where an array begins that begins anywhere in its buffer.
SHIFT = "#define SHIFT(array, bytes) array = (__global void *)((__global char *)array + bytes)\n"

#: Items of a work-group: where some run together, and where each is alone.
ITEMS, ITEMS_ALONE = 256, 32

#: What a kernel is given, by how its text declares it: ``"const uint *counts"``.
Arrays = Mapping[str, Argument]


def work_group(caps: DeviceCaps) -> tuple[int, int]:
    """Give how many work-items run together, and are in a work-group."""
    return (caps.subgroup, ITEMS) if caps.subgroup else (1, ITEMS_ALONE)


def macros(**defined: object) -> str:
    return "".join([f"#define {name} {what}\n" for name, what in defined.items()])


def given(inputs: Sequence[str], outputs: Sequence[str]) -> Arrays:
    """Give arrays that are all inputs and all outputs of a program, in order."""
    arrays = {declared: Argument("input", n) for n, declared in enumerate(inputs)}
    return arrays | {declared: Argument("output", n) for n, declared in enumerate(outputs)}


def kernel(
    name: str, arrays: Arrays, sizes: Mapping[str, int], body: str, items: tuple[int, int], caps: DeviceCaps
) -> tuple[str, Kernel]:
    """Give a kernel's text, and its launch on so many work-items, in all and in a group.

    It is given arrays, then sizes, by their numbers in the program, then how many bytes after the begin of their
    buffers arrays begin that are no temporaries, where they may begin anywhere.
    """
    named = [(declared.rpartition("*")[2], a) for declared, a in arrays.items()]
    shifted = {array: a.offset for array, a in named if caps.offsets and a.role != "temporary"}
    parameters = [f"__global {declared}" for declared in arrays] + [f"int {n}" for n in sizes]
    given = ", ".join([*parameters, *(f"long {array}_at" for array in shifted)])
    moved = "".join(f"    SHIFT({array}, {array}_at);\n" for array in shifted)
    attribute = "__attribute__((reqd_work_group_size(ITEMS, 1, 1)))"
    text = f"\n__kernel {attribute}\nvoid {name}({given}) {{\n{moved}{body}}}\n"
    arguments = (*arrays.values(), *(Argument("size", n) for n in sizes.values()), *shifted.values())
    return text, Kernel(name, *items, arguments)


def one_kernel(
    head: str, name: str, arrays: Arrays, sizes: Mapping[str, int], body: str, items: tuple[int, int], caps: DeviceCaps
) -> Program:
    """Give the program of one kernel, as of :func:`kernel`, behind the head of its text; sizes are their values."""
    numbers = {size: n for n, size in enumerate(sizes)}
    text, launch = kernel(name, arrays, numbers, body, items, caps)
    return Program(head + text, (launch,), (), tuple(sizes.values()))


def of_each(
    name: str, arrays: Arrays, sizes: Mapping[str, int], body: str, results: int, caps: DeviceCaps, *, text: str = "",
    **defined: object,
) -> Program:  # fmt: skip
    """Give the program of one kernel, each of whose work-items gives one of so many results.

    Macros that are `defined`, and then some `text`, stand before it.
    """
    _, items = work_group(caps)
    head = macros(**defined, ITEMS=items) + SHIFT + text
    return one_kernel(head, name, arrays, sizes, body, (-(-results // items) * items, items), caps)
