"""A call as a whole: its steps, the place of each value, and what each step asks for. Most calls have one step.

Takes what a call computes and the layouts of its arrays, and gives the plan that it begins with. Calls, fused functions
and what several devices compute are planned alike. It must not know what rules are, nor how a step is computed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from mdhnp.calls import loading, loops, observe
from mdhnp.calls.entry import Entry, Spent, Start
from mdhnp.calls.lifecycle import State, price_of_kernels
from mdhnp.calls.numpy_tier import numpy_function, seconds_by_numpy
from mdhnp.calls.plans import ByNumpy
from mdhnp.calls.request import HEAVY, Described, Request, known_to_numpy
from mdhnp.calls.states import lifecycle_of, start
from mdhnp.fusion.least_work import least_work
from mdhnp.mdh import Computation, Graph
from mdhnp.mdh.loop import Loop
from mdhnp.mdh.views import row_major
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.results import sparing
from mdhnp.settings import Mode

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.runtime.devices import Device

Array = npt.NDArray[Any]

#: Estimated seconds below which NumPy's function for several steps takes less time than launches of their kernels.
_LAUNCHES = 2e-5


@dataclass(frozen=True, eq=False)
class CallRequest:
    """What is asked for in a call."""

    #: Its name.
    function: str
    #: What it computes.
    described: Described
    #: The inputs of its graph.
    arrays: tuple[tuple[Layout, np.dtype[Any]], ...]
    #: Where kernels may run; none as long as OpenCL is not loaded.
    devices: "tuple[Device, ...]"
    #: The settings.
    mode: Mode

    @property
    def written(self) -> Graph:
        return self.described.written or self.described.graph

    def plan(self, *, built: bool = False) -> Start | None:
        """Give the plan that it begins with; None where that takes OpenCL, which was loaded for it.

        Where all kernels of what rules made of it are `built`, they are taken, wherever they are kept.
        """
        if self.devices and not self.mode.resident and loading.is_lost():
            return replace(self, devices=()).plan()  # NumPy computes what it can
        graph = self._graph()
        if self.devices and self.devices[0].several:
            group: Any = self.devices[0]
            plan = group.executor.plan_of(graph, self.function, group, self.mode, self.described.into)
            return Start(plan) if plan is not None else replace(self, devices=group.members).plan()
        graph = least_work(graph)
        immodest = self.described.written is not None and not self.devices and not loops.are_modest(self, graph)
        if immodest and loops.loads():
            return None
        if self.devices and any([len(s.mdhom.mdhoms) > 1 for s in graph.steps]):
            graph = loading.kernels.apart(graph, self.devices, self.mode)
        if len(graph.steps) > 1 and (within := loops.within_limit(self, graph)) is not None:
            return self.in_loops(*within)
        requests = self._requests(graph)
        if self.described.written is None or not self.devices:
            return self._start(graph, requests, None)
        call = self if loading.rewritings.are_searched(self) else None
        written = None if built else self._as_written(requests)
        return written or self._start(graph, requests, call)

    def _graph(self) -> Graph:
        """Give the graph that is computed: of those by which rules may be applied, the fastest known."""
        usual = self.described.graph
        if self.described.written is None or self.mode.precision == "fixed":
            return usual
        if not self.devices:
            return _for_numpy(usual, self.written)
        devices = self.devices[0].members if len(self.devices) == 1 else self.devices
        return loading.rewritings.chosen(self.written, usual, devices)

    def layouts(self, graph: Graph) -> list[Layout]:
        """Give the layouts of all values."""
        made = [v for step in graph.steps for v in step.mdhom.outputs]
        return [*[layout for layout, _ in self.arrays], *map(Layout.of_view, made)]

    def _requests(self, graph: Graph) -> list[Request]:
        """Say what each step asks for."""
        layouts, requests, into = self.layouts(graph), [], self.described.into
        own = self.described.numpy if len(graph.steps) == 1 else None
        brief = self.described.brief if len(self.arrays) == 1 and self._is_one_step(graph) else None
        for step in graph.steps:
            inputs = tuple(
                [contiguous_layout(layouts[p], v.shape) for p, v in zip(step.inputs, step.mdhom.inputs, strict=True)]
            )
            h = at_precision(step.mdhom, self.mode)
            numpy = known_to_numpy(h, self.mode, into=into, own=own or brief)
            requests.append(Request(self.function, h, inputs, self.devices, self.mode, into, numpy, own))
        return loading.kernels.dealt(requests, self.mode) if self.devices and self.mode.schedules else requests

    def _start(self, graph: Graph, requests: Sequence[Request], call: "CallRequest | None") -> Start | None:
        if self._is_one_step(graph):
            return start(requests[0], call)
        starts = []
        for request in requests:
            if (begun := start(request)) is None:
                return None
            starts.append(begun)
        plan = self._in_steps(graph, starts)
        own, h = self.described.numpy, self.described.mdhom
        possible = all([r.numpy is not None for r in requests])
        shapes = [layout.shape for layout, _ in self.arrays]
        if (
            own is None and possible and not isinstance(h, Graph)  # which rules have made several steps of
            and len(graph.steps) > 1 and [v.shape for v in h.inputs] == shapes
        ):  # fmt: skip
            own = known_to_numpy(at_precision(h, self.mode), self.mode, into=self.described.into)
        if own is not None and possible and seconds_by_numpy(own) < _LAUNCHES:
            plan.host = ByNumpy.of(replace(requests[-1], numpy=own), "it is brief").host
        whole = Start(plan) if call is None else lifecycle_of(requests, plan, State.KERNELS, call)
        return whole._replace(kept=all([each.kept for each in starts]))

    def _is_one_step(self, graph: Graph) -> bool:
        (only, inputs), *others = graph.steps
        values = tuple(range(graph.given + len(only.outputs)))
        whole = (inputs, graph.results, graph.parts) == (values[: graph.given], values[graph.given :], ())
        return whole and not others and [v.shape for v in only.inputs] == [layout.shape for layout, _ in self.arrays]

    def _in_steps(self, graph: Graph, starts: Sequence[Start]) -> "InSteps":
        shapes = [layout.shape for layout in self.layouts(graph)]
        items = [
            Item.of([(p, v.shape) for p, v in step.reads], shapes, begun, graph.values(n))
            for n, (step, begun) in enumerate(zip(graph.steps, starts, strict=True))
        ]
        return InSteps(items, graph)

    def in_loops(self, graph: Graph, found: Sequence[Loop], said: str) -> Start | None:
        """Plan a graph of which some steps are computed part by part; `said` is why, for people."""
        by_last, inside = {loop.last: loop for loop in found}, {n for loop in found for n in loop.steps}
        shapes, starts, items = [layout.shape for layout in self.layouts(graph)], [], []
        for n, (step, request) in enumerate(zip(graph.steps, self._requests(graph), strict=True)):
            if n in inside and n not in by_last:
                continue
            reads: Sequence[tuple[int, tuple[int, ...]]] = [(p, v.shape) for p, v in step.reads]
            begun: Start | None
            if n in by_last:
                reads, begun = loops.in_parts(self, graph, by_last[n])
            elif loops.is_counted(request) or (not self.devices and not loops.loads()):
                begun = start(request)
            else:
                begun = start(replace(request, numpy=None)) if self.devices else None
            if begun is None:
                return None
            starts.append(begun)
            items.append(Item.of(reads, shapes, begun, graph.values(n)))
        return Start(InSteps(items, graph, said), kept=all([each.kept for each in starts]))

    def _as_written(self, requests: Sequence[Request]) -> Start | None:
        """Let NumPy compute what it has no functions for as it was written, until the helper has built kernels.

        None where it can compute what rules made of it, is not to, or would take too long, or too much memory.
        """
        if self.mode.decides != "measurements":
            return None
        ready = loading.kernels.ready
        missing = [r for r in requests if not r.empty and r.numpy is None]
        missing = [r for r in missing if not any([ready(r.on(device), "") for device in r.devices])]
        if not missing:
            return None
        usual = _for_numpy(self.described.graph, self.written)
        if not (_numpy_seconds(usual) <= HEAVY * price_of_kernels(missing[0]) and loops.are_modest(self, usual)):
            return None
        graph, spent, starts = least_work(usual), Spent(), []
        for step in graph.steps:
            numpy = known_to_numpy(step.mdhom, self.mode, into=missing[0].into)
            request = replace(missing[0], mdhom=step.mdhom, numpy=numpy)
            why = "as written: no kernels were built yet for what rules make of it"
            starts.append(Start(ByNumpy.of(request, why)))
            if earlier := loading.unloaded.each.pop(step.mdhom, None):
                spent.add(earlier.seconds)
        return lifecycle_of(missing, self._in_steps(graph, starts), State.FIRST, self, spent, missing=True)


class Item(NamedTuple):
    """What is computed at a time: of values by their numbers, others."""

    #: Each with the shape in which it is read, None where that is its own.
    reads: tuple[tuple[int, tuple[int, ...] | None], ...]
    #: Gives all results.
    entry: Entry
    made: tuple[int, ...]

    @classmethod
    def of(
        cls, reads: Sequence[tuple[int, tuple[int, ...]]], shapes: Sequence[tuple[int, ...]], begun: Start,
        made: Sequence[int],
    ) -> Self:  # fmt: skip
        seen = tuple([(p, None if shape == shapes[p] else shape) for p, shape in reads])
        return cls(seen, Entry(begun, None, tuple), tuple(made))


class InSteps:
    """The plan of several computations one after the other, on arrays and on what earlier ones gave.

    How they keep within a limit of memory, if they have to, is `said` for people. `host` is a function of NumPy's for
    all of them at once, and the number of its calls: it computes where nobody looks on, of what takes so little that
    launches of several kernels would take longer.
    """

    def __init__(self, items: Sequence[Item], graph: Graph, said: str = "") -> None:
        self.said, self._graph = said, graph
        self.host: tuple[Callable[..., Any], list[int]] | None = None
        last = {p: n for n, item in enumerate(items) for p, _ in item.reads if p not in graph.results}
        made = [p for item in items for p in item.made]
        self._count = max([*made, *graph.results]) + 1
        self._items = tuple(
            [(*item, tuple([p for p, at in last.items() if at == n and p in made])) for n, item in enumerate(items)]
        )

    def run(self, arrays: Sequence[Array]) -> tuple[Any, ...]:
        """Compute all of them; a temporary goes when it was read for the last time."""
        if self.host is not None and not observe.blocks:
            compute, calls = self.host
            calls[0] += 1
            return (compute(*arrays),)
        if not self.said:
            return self._run(arrays)
        if observe.blocks:
            observe.note(self, arrays)
        with sparing():
            return self._run(arrays)

    def _run(self, arrays: Sequence[Array]) -> tuple[Any, ...]:
        values: list[Any] = [*arrays, *[None] * (self._count - len(arrays))]
        for reads, entry, made, used in self._items:
            results = entry.run(tuple([values[p] if s is None else values[p].reshape(s) for p, s in reads]))
            for p in used:
                values[p] = None
            for p, result in zip(made, results, strict=True):
                values[p] = np.asarray(result)
            del results
        return tuple(self._graph.results_of(values))


def at_precision(h: Computation, mode: Mode) -> Computation:
    """Have an MDH ask for the precision that the settings ask for."""
    return h if mode.precision == "highest" else loading.matrices.at_precision(h, mode.precision)


def _for_numpy(usual: Graph, written: Graph) -> Graph:
    """Give what NumPy computes in place of a graph that rules have made of one that was written.

    NumPy has no functions for some of what they make, as for several results in one pass. Then only maps are rewritten,
    or nothing, whichever takes less time; elementary functions are not computed twice.
    """
    if _numpy_seconds(usual) < inf:
        return usual
    fused = loading.rewrite.rewriting(written, (loading.maps.INTO_READERS,)).after
    return min(usual, fused, written, key=_numpy_seconds)


def _numpy_seconds(graph: Graph) -> float:
    """Give the seconds that NumPy's functions take for a graph, roughly; infinitely many where some step has none."""
    return sum([seconds_by_numpy(numpy_function(step.mdhom)) for step in least_work(graph).steps])


def contiguous_layout(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """Give the layout that a C-contiguous array has in another shape."""
    size = layout.itemsize
    return layout if layout.shape == shape else Layout(shape, tuple([size * s for s in row_major(shape)]), size)
