"""The schedule to use before anything was tuned: the best that a cost model finds for this MDH and device."""

from functools import singledispatch

from mdhnp.mdh import Chain, Computation, MdHom, Rows
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.chains import chain_default, chain_schedules
from mdhnp.schedule.cpu import cpu_default
from mdhnp.schedule.gpu import gpu_default
from mdhnp.schedule.rows_default import rows_default, rows_schedules
from mdhnp.schedule.schedule import Schedule

__all__ = ["default", "fused_schedules"]


@singledispatch
def default(h: Computation, caps: DeviceCaps) -> Schedule:
    """Choose a legal schedule for one stage in canonical form without extents of 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import canonical, cc, md_hom, pw
    >>> gemm = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")
    >>> caps = DeviceCaps("any", "cpu", 2, 64, 32, 1 << 18, 4096, 1 << 15, 1 << 21, True, False, 1 << 32)
    >>> default(canonical(gemm.bind(np.ones((64, 64)), np.ones((64, 64)))), caps).vector_dim
    1
    """
    raise NotImplementedError


default.register(Rows, rows_default)
default.register(Chain, chain_default)


@default.register
def _(h: MdHom, caps: DeviceCaps) -> Schedule:
    return gpu_default(h, caps) if caps.kind == "gpu" else cpu_default(h, caps)


@singledispatch
def fused_schedules(h: Computation, caps: DeviceCaps, count: int) -> list[Schedule] | None:
    """List schedules of what is fused that are worth trying, best first; None of an MDH, which has too many to list."""
    return None


fused_schedules.register(Rows, rows_schedules)
fused_schedules.register(Chain, chain_schedules)
