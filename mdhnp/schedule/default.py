"""Candidate schedules, the best first, and the one to use before anything was tuned: the first of them."""

from collections.abc import Iterator

from mdhnp.mdh import Chain, Computation, Rows
from mdhnp.schedule.chains import chain_candidates
from mdhnp.schedule.cpu import cpu_candidates
from mdhnp.schedule.gpu import gpu_candidates
from mdhnp.schedule.rows_default import rows_candidates
from mdhnp.schedule.schedule import DeviceCaps, IllegalSchedule, Schedule


def candidates(h: Computation, caps: DeviceCaps) -> Iterator[Schedule]:
    """Iterate over legal schedules of a stage in canonical form without extents of 0, the best by the cost model first.

    Of an MDH the last is legal on every device; of what is fused there may be none.
    """
    if isinstance(h, Rows):
        return rows_candidates(h, caps)
    if isinstance(h, Chain):
        return chain_candidates(h, caps)
    return gpu_candidates(h.last, caps) if caps.kind == "gpu" else cpu_candidates(h.last, caps)


def default(h: Computation, caps: DeviceCaps) -> Schedule:
    """Return the first candidate; an IllegalSchedule where what is fused has none."""
    found = next(candidates(h, caps), None)
    if found is None:
        raise IllegalSchedule(f"local memory: no tile of what is fused fits in {caps.local_memory} bytes, or products")
    return found
