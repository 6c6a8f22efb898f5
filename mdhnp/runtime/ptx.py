"""Instructions that OpenCL's compiler does not know: from its PTX to one of the very architecture, with them.

NVIDIA's runtime gives PTX as a program's binary, and loads PTX as one. Inline assembly in lines that begin with `//@ `
is none to its compiler, which substitutes operands in them all the same; without these signs, and for the very
architecture, the assembler takes them. (Source: PTX ISA, "Target architectures with suffix a".)
"""

import re

_LIVE = b"//@ "
#: What stands before them in kernels; what a user writes has such comments, too.
_ASSEMBLY = 'asm volatile("//@ '
#: What has instructions that later architectures do not have, as `wgmma`.
_TARGET = b".target sm_90a"


def has_hidden(source: str) -> bool:
    """Whether a program's text has lines that are hidden from the compiler."""
    return _ASSEMBLY in source


def edited(ptx: bytes) -> bytes:
    """Give PTX its hidden lines, for the one architecture that has them.

    Where work-items leave registers to others, the assembler must know that a unit has one work-group at a time.
    """
    ptx = re.sub(rb"\.target [^\n]*", _TARGET, ptx.rstrip(b"\0")).replace(_LIVE, b"")
    if b"setmaxnreg" in ptx:
        ptx = re.sub(rb"(\.reqntid [^\n{]*)", rb"\1\n.minnctapersm 1", ptx)
    return ptx
