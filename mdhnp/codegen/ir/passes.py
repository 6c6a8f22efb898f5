"""All passes over a procedure, in their order: read from top to bottom."""

from dataclasses import replace

from mdhnp.codegen.ir.barriers import place_barriers
from mdhnp.codegen.ir.sharing import share_loads
from mdhnp.codegen.ir.statements import Procedure

__all__ = ["lowered"]


def lowered(p: Procedure, *, barrier_first: bool) -> Procedure:
    """Bring a procedure from what the emitter built to what is rendered.

    Parameters
    ----------
    p : Procedure
        As it was built.
    barrier_first : bool
        Whether the device's compiler needs a barrier at the beginning of each loop that has one.
    """
    body = p.body
    # First, while loads stand where they are used: what one body loads several times it loads once.
    body = share_loads(body)
    # Last, when nothing moves any more.
    if p.work_items > 1:
        body = place_barriers(body, first=barrier_first)
    return replace(p, body=body)
