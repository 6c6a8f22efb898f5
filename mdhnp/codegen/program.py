"""What the code generator gives and the runtime takes: source text and how to launch it.

A :class:`Program` is plain data, so that it can be printed, hashed, stored and compared with golden files.
"""

from dataclasses import dataclass

from mdhnp.mdh.stages import Argument


@dataclass(frozen=True)
class Kernel:
    """One launch: the function's name, work-items in all and in a work-group, and its arguments."""

    name: str
    global_size: int
    local_size: int
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Program:
    """OpenCL C text, the launches that run it in order, the temporaries (in bytes) between them, and sizes.

    Arguments of kernels are pointers to buffers; those of a general kernel also its sizes, whole numbers of 32 bits.
    """

    source: str
    kernels: tuple[Kernel, ...]
    temporaries: tuple[int, ...]
    sizes: tuple[int, ...] = ()
