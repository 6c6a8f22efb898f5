"""All passes over a procedure, in their order: read from top to bottom."""

from collections.abc import Callable
from dataclasses import replace

from mdhnp.codegen.ir.barriers import place_barriers
from mdhnp.codegen.ir.pipelines import lower_pipelines
from mdhnp.codegen.ir.statements import Procedure

__all__ = ["lowered"]


def lowered(p: Procedure, *, barrier_first: bool, after: Callable[[str, Procedure], None] | None = None) -> Procedure:
    """Bring a procedure from what the emitter built to what is rendered.

    Parameters
    ----------
    p : Procedure
        As it was built.
    barrier_first : bool
        Whether the device's compiler needs a barrier at the beginning of each loop that has one.
    after : callable, optional
        Is told the name of each pass and what it gave, first of all the procedure as it was built.
    """
    seen = after or (lambda name, p: None)
    seen("built", p)
    # When nothing moves any more but what pipelines move themselves. A single work-item waits for nobody.
    if p.work_items > 1:
        p = replace(p, body=place_barriers(p.body, first=barrier_first))
    seen("barriers placed", p)
    p = replace(p, body=lower_pipelines(p.body))
    seen("pipelines lowered", p)
    return p
