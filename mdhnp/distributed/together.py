"""What steps cost one after the other: rows are cut as a whole where this is more. Pure, as the choice is."""

from collections.abc import Sequence
from math import prod

from mdhnp.distributed.boxes import Box
from mdhnp.distributed.choose import Chosen, Operand, Speed, choose
from mdhnp.mdh import Computation, Graph, View
from mdhnp.mdh.mdhom import row_major

__all__ = ["price"]


def price(graph: Graph, operands: Sequence[Operand], weights: Sequence[float], speeds: Sequence[Speed]) -> float:
    """Estimate the seconds of several steps, each of which is cut as is cheapest where those before it left values."""
    stretches, total = list[tuple[tuple[int, int], ...]](), 0.0
    for h, inputs in graph.steps:
        read = [
            operands[p] if p < graph.given else _operand(v, stretches[p - graph.given])
            for p, v in zip(inputs, h.inputs, strict=True)
        ]
        chosen = choose(h, read, weights, speeds)
        total += chosen.price
        stretches += [_stretches(h, chosen, n, len(speeds)) for n in range(len(h.outputs))]
    return total


def _operand(view: View, stretches: tuple[tuple[int, int], ...]) -> Operand:
    return Operand(Box(0, view.shape, _steps(view), view.dtype.itemsize), stretches, stretches)


def _steps(view: View) -> tuple[int, ...]:
    return tuple([s * view.dtype.itemsize for s in row_major(view.shape)])


def _stretches(h: Computation, chosen: Chosen, n: int, devices: int) -> tuple[tuple[int, int], ...]:
    """Say which bytes of an output each device has afterwards."""
    view, found = h.outputs[n], {chosen.devices[0]: (0, prod(h.outputs[n].shape) * h.outputs[n].dtype.itemsize)}
    if chosen.cut is not None and chosen.cut.kind != "pw":
        for device, part in zip(chosen.devices, chosen.cut.parts, strict=True):
            begin = sum([s.start * step for s, step in zip(part.outputs[n], _steps(view), strict=True)])
            size = prod([s.stop - s.start for s in part.outputs[n]]) * view.dtype.itemsize
            found[device] = begin, begin + size
    return tuple([found.get(d, (0, 0)) for d in range(devices)])
