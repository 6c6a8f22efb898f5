"""What stands around a kernel's body: its arguments, and what the renderer must know of all of it."""

from collections.abc import Sequence

from mdhnp.codegen.access import Context
from mdhnp.codegen.ir.statements import Procedure
from mdhnp.codegen.ir.values import Buffer
from mdhnp.mdh import Computation, Function, MdHom, View

__all__ = ["procedure"]


def procedure(c: Context, name: str, h: Computation, carried: Sequence[Buffer], moved: Sequence[View]) -> Procedure:
    """Make a kernel of the body that was built.

    Parameters
    ----------
    c : Context
        Holds the body.
    name : str
        The kernel's name.
    h : Computation
        What it computes.
    carried : sequence of Buffer
        Arguments between the inputs and the outputs.
    moved : sequence of View
        The inputs and outputs that begin somewhere in a buffer.
    """
    nest = c.nest
    inputs, outputs = [c.buffer(v) for v in h.inputs], [c.buffer(v) for v in h.outputs]
    # The imaginary parts of a complex array come with the real ones.
    passed = [b for n, b in enumerate(outputs) if n - 1 not in nest.paired]
    types = [t for one in h.mdhoms for t in (*one.scalar.dtypes, *(v.dtype for v in one.inputs))]
    return Procedure(
        name,
        title=str(h),
        work_items=nest.s.work_items,
        vector_bytes=nest.s.vector_width * max(t.itemsize for t in types),
        contract=all(map(_may_contract, h.mdhoms)),
        wide=h.wide and not nest.general,
        # A map has its border once, with many calls in it; that of a reduction stands in its innermost loop.
        inline_borders=bool(nest.combined) and not nest.general,
        buffers=(*inputs, *carried, *passed),
        sizes=tuple(nest.sizes),
        moved=tuple([c.buffer(v) for v in moved]),
        aliases=tuple([(outputs[n + 1], outputs[n]) for n in nest.paired]),
        body=c.build.body(),
    )


def _may_contract(h: MdHom) -> bool:
    """Whether a fused multiply-add can change nothing but the rounding of a sum of products.

    A scalar function that adds and multiplies itself means what NumPy computes, with every product rounded.
    """
    functions = [h.scalar, *([h.finish] if h.finish else [])]
    if h.operator is not None:
        functions.append(h.operator.function)
    elif h.finish is not None and _multiplies(h.scalar) and _adds(h.finish):
        return False  # nothing is combined in between, so that both may stand in one expression
    return all(f.contract or not (_multiplies(f) and _adds(f)) for f in functions)


def _multiplies(f: Function) -> bool:
    return any(f.body[n].op in ("multiply", "square") for n in f.live())


def _adds(f: Function) -> bool:
    return any(f.body[n].op in ("add", "subtract") for n in f.live())
