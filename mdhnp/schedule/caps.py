"""What a schedule and the code generator may know about a device: sizes and limits, which the runtime fills in."""

from dataclasses import dataclass
from typing import Literal

from mdhnp.cost.machine import Machine, usual


@dataclass(frozen=True)
class DeviceCaps:
    """Sizes and limits of one OpenCL device."""

    #: The device's own name.
    name: str
    #: A CPU runs one work-item at a time on each compute unit and wants explicit vectors; a GPU wants many work-items.
    kind: Literal["cpu", "gpu"]
    #: Compute units that run work-groups at the same time.
    compute_units: int
    #: Bytes of the widest vector register (CPU) or of the widest load of one work-item (GPU).
    vector_bytes: int
    #: Vector registers (CPU) or 32-bit registers (GPU) of one work-item.
    registers: int
    #: Bytes of local memory a work-group may use.
    local_memory: int
    #: Largest number of work-items in a work-group.
    max_work_group: int
    #: Bytes of first- and second-level cache of one compute unit (for a GPU, `l2` of the whole device).
    l1: int
    l2: int
    #: Whether kernels may use ``double``.
    fp64: bool
    #: Largest buffer in bytes.
    max_allocation: int
    #: Whether arrays may begin anywhere in a buffer, so that kernels take the distance as an argument.
    offsets: bool = False
    #: Whether functions of vectors may give wrong values beside a lane with a special one.
    mixed_lanes: bool = False
    #: Whether work-items can copy to local memory without waiting for it (``cp.async`` of NVIDIA's GPUs).
    async_copies: bool = False
    #: Whether one instruction gives the smaller or larger of two floats, NaN where one is (``min.NaN`` of NVIDIA's).
    nan_extrema: bool = False
    #: Whether the compiler takes loads and stores of vectors apart that may be at any element's address.
    split_vectors: bool = False
    #: The device's matrix instructions, of :data:`mdhnp.schedule.atoms.ATOMS`.
    atoms: tuple[str, ...] = ()
    #: Neighbouring work-items that run together and can exchange registers, a power of two; 0 for none.
    subgroup: int = 0

    @property
    def machine(self) -> Machine:
        """What such a device usually has: so that default schedules are the same whatever was measured."""
        return usual(self.kind, self.compute_units, self.vector_bytes)
