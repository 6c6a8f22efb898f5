"""The kernel of rows: for some of them at a time all MDHs, one after the other.

Each has a loop nest of its own, inside of the loops over rows. What it leaves to others lies in local memory. Indices
are those of the whole array, which is nowhere.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import prod

from mdhnp.codegen.access import Context
from mdhnp.codegen.ir.index import ZERO, Compare, Index, call, constant
from mdhnp.codegen.ir.statements import AllocLocal
from mdhnp.codegen.ir.values import Buffer
from mdhnp.codegen.kernel import declare_local, emit_tiles
from mdhnp.codegen.layers import group_ids, group_loops, item_ids, tile_count
from mdhnp.codegen.nest import Nest
from mdhnp.mdh import Rows, View
from mdhnp.schedule.rows import at_once, links, places

__all__ = ["emit_rows"]


def emit_rows(h: Rows, c: Context) -> None:
    each, shared = _nests(c, h), h.shared[-1]
    for one in each:
        declare_local(one)
    group_ids(c)
    with group_loops(c, shared, all_dims=shared):
        for one in each:
            with _work_items(c, one):
                for d, own in zip(shared, one.nest.opened, strict=True):
                    if one.nest.several(own):
                        c.build.let(one.nest.var(own, "l"), c.nest.at(d, "l"))
                        tile_count(one, own)
                emit_tiles(one)


@contextmanager
def _work_items(c: Context, one: Context) -> Iterator[None]:
    """A block in which an MDH's work-items have their ids: all of the group, or the first ones of them."""
    every, own = c.nest.s.work_items, one.nest.s.work_items
    with ExitStack() as stack:
        stack.enter_context(c.build.block())
        if own < every:
            item = c.build.let(c.nest.item_id, call("local_id"))
            stack.enter_context(c.build.when([Compare(item, "<", constant(own))]))
        item_ids(one)
        yield


def _nests(c: Context, h: Rows) -> list[Context]:
    """The loop nests of all MDHs, after what they leave to others was declared."""
    s, last, found = c.nest.s, len(h.mdhoms) - 1, list[Context]()
    where = places(h)
    buffers, moved = dict(enumerate(map(c.buffer, h.inputs))), dict[str, Index]()
    for n, (step, part, own) in enumerate(zip(h.graph.steps, links(h, at_once(h, s)), s.steps, strict=True)):
        results = [*enumerate(part.outputs, h.graph.firsts[n])]
        for value, view in results:
            if n < last and where[value] != value:
                buffers[value] = buffers[where[value]]
            elif n < last:
                buffers[value] = Buffer(f"t{value}_l", view.dtype, "local")
                c.build.add(AllocLocal(buffers[value], prod(view.shape)))
            else:
                buffers[value] = c.buffer(h.outputs[value - results[0][0]])
        for value, view in (*zip(step.inputs, part.inputs, strict=True), *results):
            c.hold(view, replace(buffers[value], phase=n + 1))
            if buffers[value].space == "local":
                moved[view.name] = _moved(c, h, n, view)
        inputs, outputs = (
            tuple([replace(v, strides=lying.strides) for v, lying in zip(views, parts, strict=True)])
            for views, parts in ((step.mdhom.inputs, part.inputs), (step.mdhom.outputs, part.outputs))
        )
        whole = replace(step.mdhom.last, inputs=inputs, outputs=outputs)
        one = Nest(whole, own, subgroup=c.nest.subgroup, moved=moved, opened=h.shared[n], prefix=f"m{n}")
        found.append(c.of(one))
    return found


def _moved(c: Context, h: Rows, n: int, view: View) -> Index:
    """Where an array's first element would lie, from where that of the rows in local memory does."""
    total = ZERO
    for d, own in zip(h.shared[-1], h.shared[n], strict=True):
        for stride, index in zip(view.strides, view.accesses[0], strict=True):
            total = total - c.nest.begin(d) * (stride if own in index.dims() else 0)
    return total
