"""Loops of a call: steps that are computed part by part, so that temporaries take no more memory than they may.

Which they are, `fusion/within.py` says; here is how much memory that is, and the plan. It must not know what steps
compute.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp import system
from mdhnp.calls import loading, observe
from mdhnp.calls.entry import Entry, Start
from mdhnp.calls.request import Described, Request, graph_of, least_limit
from mdhnp.calls.states import start
from mdhnp.fusion.within import cost, limited
from mdhnp.mdh import Graph, MdHom
from mdhnp.mdh.loop import Loop, adding, part_of_steps, placing
from mdhnp.mdh.regions import Region, read_region
from mdhnp.mdh.views import View
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.results import maker, release

if TYPE_CHECKING:
    from mdhnp.calls.steps import CallRequest

Array = npt.NDArray[Any]

#: Bytes of temporaries up to which nobody asks how much memory is free, and part of that which they may take.
_FEW, _SHARE = 1 << 26, 0.5
#: How many times as many bytes as operands and results temporaries may take that NumPy makes before there are kernels.
_TIMES = 4
#: How many times as long one kernel may take in place of steps whose temporaries are too large in parts of any size.
_SLOW = 16


class Within(NamedTuple):
    """How a call keeps within its limit of memory."""

    graph: Graph
    loops: tuple[Loop, ...]
    #: For people.
    said: str


def within_limit(call: "CallRequest", graph: Graph) -> Within | None:
    """Say how the temporaries of a call keep within the limit: the cheapest way by estimate; None if they do anyhow.

    MemoryError if they cannot, and the settings or the call say the limit; or if all at once, without temporaries, it
    would take many times as long.
    """
    if any([0 in step.mdhom.extents for step in graph.steps]) or call.mode.schedules or call.mode.precision == "fixed":
        return None
    said = least_limit(call.mode.memory_limit, call.described.memory_limit)
    limit = said
    made = sum([v.element_bytes for step in graph.steps for v in step.mdhom.outputs])
    if said is None and made > _FEW:  # part of what is free, if anybody knows
        limit = int(_SHARE * _free(call)) or None
    if limit is None or (usual := limited(graph, inf).nbytes) <= limit:
        return None
    found = limited(graph, limit)
    ways = [Within(graph, found.loops, ", ".join([described_loop(graph, loop) for loop in found.loops]))]
    costs = [cost(graph, found.loops)] if found.nbytes <= limit else []
    if call.described.at_once is not None:
        whole = graph_of(call.described.at_once)
        fits = limited(whole, inf).nbytes <= limit
        if fits and (costs or cost(whole, ()) <= _SLOW * cost(graph, ())):
            ways.append(Within(whole, (), "none in one kernel for all operands"))
            costs.append(cost(whole, ()))
    if costs:
        way = min(zip(costs, ways[-len(costs) :], strict=True), key=lambda each: each[0])[1]
        why = f"temporaries would take {usual} bytes, and may take {limit}"
        return way._replace(said=f"{why}: {found.nbytes if way.loops else 0} bytes, {way.said}")
    if said is None:
        return None
    otherwise = (
        "" if call.described.at_once is None else "; optimize=False multiplies all operands at once, without any"
    )
    raise MemoryError(
        f"{call.function}: memory_limit: temporaries take {found.nbytes} bytes at least, part by part, and may take "
        f"{limit}; memory_limit={found.nbytes} would do{otherwise}"
    )


def described_loop(graph: Graph, loop: Loop) -> str:
    """Say for people how many parts there are, of what."""
    text = f"{loop.parts(graph)} parts of {loop.points} points along {loop.name(graph)}"
    part = part_of_steps(graph, loop, 0, loop.points).graph
    return text + "".join([f", in each {described_loop(part, inner)}" for inner in loop.inner])


def are_modest(call: "CallRequest", graph: Graph) -> bool:
    """Whether temporaries, each there as long as it is read, are few bytes or not many times what the call moves."""
    views = [graph.view(p) for p in {*graph.results} if p in graph.made_by]
    moved = sum([prod(layout.shape) * layout.itemsize for layout, _ in call.arrays])
    moved += sum([v.element_bytes for v in views])
    said = least_limit(call.mode.memory_limit, call.described.memory_limit)
    return limited(graph, inf).nbytes <= min(max(_FEW, _TIMES * moved), inf if said is None else said)


def _free(call: "CallRequest") -> int:
    """Give the bytes that are free where temporaries are; 0 where nobody knows."""
    if call.mode.resident:
        (device,) = call.devices
        found: int = device.memory.free(device)
        return found
    return system.free()


def is_counted(request: Request) -> bool:
    """Whether whoever computes a step takes no memory but for its result: NumPy does, but for BLAS without copies."""
    found = request.numpy
    return found is None or (found.work.multiplied > 0 and not found.work.copied and not found.temporaries)


def loads() -> bool:
    """Load OpenCL, so that kernels can compute a step; false where there is no device."""
    try:
        loading.load()
    except RuntimeError:
        return False
    return True


@dataclass(frozen=True)
class InParts:
    """The plan of steps that are computed part by part along a dimension, and what their result is."""

    #: What computes each, of which regions of the arrays, and which region of the result it gives.
    parts: tuple[tuple[Entry, tuple[Region, ...], Region], ...]
    #: Gives the result as it is after a part, from that before; None before the first.
    joined: Callable[[Array | None, Region, Array], Array]

    def run(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        result, seen = None, set[int]()
        for entry, reads, region in self.parts:
            if seen and id(entry) not in seen:
                release()  # what parts of another size have used
            inputs = tuple([read_region(a, where) for a, where in zip(arrays, reads, strict=True)])
            if observe.blocks and id(entry) in seen:
                with observe.unseen():
                    (part,) = entry.run(inputs)
            else:
                (part,) = entry.run(inputs)
            seen.add(id(entry))
            result = self.joined(result, region, np.asarray(part))
            del part, inputs
        assert result is not None
        return (result,)


def in_parts(call: "CallRequest", graph: Graph, loop: Loop) -> tuple[list[tuple[int, tuple[int, ...]]], Start | None]:
    """Plan a loop: give the values that are read, each with the shape in which it is, and the plan."""
    layouts, each = call.layouts(graph), [part_of_steps(graph, loop, *ends) for ends in loop.bounds(graph)]
    entries, parts, kept = dict[int, Entry](), [], True
    reads = [(read.value, read.view.shape) for read in each[0].reads]
    for (begin, end), part in zip(loop.bounds(graph), each, strict=True):
        if end - begin not in entries:
            arrays = tuple([(_of_region(layouts[r.value], r.view, r.region), r.view.dtype) for r in part.reads])
            inner = replace(call, described=Described(part.graph), arrays=arrays)
            begun = inner.in_loops(part.graph, loop.inner, "")
            if begun is None:
                return reads, None
            kept = kept and begun.kept
            entries[end - begin] = Entry(begun, None, tuple)
        parts.append((entries[end - begin], tuple([r.region for r in part.reads]), part.region))
    joined = _joined(call, graph.mdhom(loop.last), loop.dims[-1] if loop.reduces(graph) else None, parts)
    return reads, Start(InParts(tuple(parts), joined), kept=kept)


def _of_region(layout: Layout, view: View, region: Region) -> Layout:
    """The layout of a region of an array that is read in a view's shape."""
    size = view.dtype.itemsize
    strides = layout.strides if layout.shape == view.shape else tuple([size * s for s in view.strides])
    return Layout(tuple([s.stop - s.start for s in region]), strides, size)


def _joined(
    call: "CallRequest", h: MdHom, reduced: int | None, parts: Sequence[tuple[Entry, tuple[Region, ...], Region]]
) -> Callable[[Array | None, Region, Array], Array]:
    """Give what puts a part's result into its place, or adds it to the total; by kernels where arrays are views."""
    (view,) = h.outputs
    if reduced is not None and call.mode.resident:
        entry = _by_kernel(call, adding(h, reduced), into=False)
        return lambda result, _, part: part if result is None else np.asarray(entry.run((result, part))[0])
    if reduced is not None:
        operator = h.combine[reduced].operator
        assert operator is not None
        add = getattr(np, operator.ufuncs[0])
        return lambda result, _, part: part if result is None else add(result, part, out=result)
    each, memory, device = dict[tuple[int, ...], Entry](), None, None
    if call.mode.resident:
        (device,) = call.devices
        memory = device.memory
        for step in [placing(view, region) for _, _, region in parts]:
            each.setdefault(step.extents, _by_kernel(call, step, into=True))
    outputs = [(view.shape, view.dtype)]
    make: Callable[[], Sequence[Array]] = maker(outputs) if memory is None else memory.maker(device, outputs)

    def put(result: Array | None, region: Region, part: Array) -> Array:
        if result is None:
            (result,) = make()
        if each:
            each[part.shape].run((part, result[region]))
        else:
            result[region] = part
        return result

    return put


def _by_kernel(call: "CallRequest", h: MdHom, *, into: bool) -> Entry:
    begun = start(Request(call.function, h, tuple(map(Layout.of_view, h.inputs)), call.devices, call.mode, into))
    assert begun is not None  # OpenCL is loaded, for arrays on a device
    return Entry(begun, None, tuple)
