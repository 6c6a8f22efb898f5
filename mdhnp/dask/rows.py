"""Rows in blocks: several MDHs after each other that share rows; where blocks hold these, each part stays one task.

A softmax is one, or an attention. It must not know keys, nor tasks.
"""

from collections.abc import Sequence

from mdhnp.dask.sizes import Ends
from mdhnp.mdh import Rows

__all__ = ["shared_ends"]


def shared_ends(h: Rows, blocks: Sequence[Sequence[Ends]]) -> tuple[Ends, ...] | None:
    """Give where dimensions are cut, if blocks end so along each axis of each input; None where rows would be.

    Also where blocks of several inputs disagree.
    """
    found: dict[int, Ends] = {}
    for n, step in enumerate(h.graph.steps):
        last = dict(zip(h.shared[n], h.shared[-1], strict=True))
        for p, v in zip(step.inputs, step.mdhom.inputs, strict=True):
            for axis, ends in enumerate(blocks[p] if p < h.graph.given else ()):
                dims = {access[axis].dim() for access in v.accesses}
                dim = last.get(dims.pop() or 0) if len(dims) == 1 and None not in dims else None
                if (dim is None and ends) or (dim is not None and found.setdefault(dim, ends) != ends):
                    return None
    return tuple([found.get(d, ()) for d in range(h.rank)])
