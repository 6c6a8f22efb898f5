"""The schedule to use before anything was tuned: the best that a cost model finds for this MDH and device."""

from mdhnp.mdh import Chain, MdHom, Rows
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.chains import chain_default
from mdhnp.schedule.cpu import cpu_default
from mdhnp.schedule.gpu import gpu_default
from mdhnp.schedule.rows_default import rows_default
from mdhnp.schedule.schedule import Schedule

__all__ = ["default"]


def default(h: MdHom, caps: DeviceCaps) -> Schedule:
    """Choose a schedule.

    Parameters
    ----------
    h : MdHom
        One stage in canonical form, without extents of 0.
    caps : DeviceCaps
        The device.

    Returns
    -------
    Schedule
        Legal for both.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import canonical, cc, md_hom, pw
    >>> gemm = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")
    >>> caps = DeviceCaps("any", "cpu", 2, 64, 32, 1 << 18, 4096, 1 << 15, 1 << 21, True, False, 1 << 32)
    >>> default(canonical(gemm.bind(np.ones((64, 64)), np.ones((64, 64)))), caps).vector_dim
    1
    """
    if isinstance(h, Rows):
        return rows_default(h, caps)
    if isinstance(h, Chain):
        return chain_default(h, caps)
    return gpu_default(h, caps) if caps.kind == "gpu" else cpu_default(h, caps)
