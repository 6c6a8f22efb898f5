"""A call as a whole: its steps, the place of each value, and what each step asks for. Most calls have one step.

Takes what a call computes and the layouts of its arrays, and gives the plan that it begins with. Calls, fused functions
and what several devices compute are planned alike. It must not know what rules are, nor how a step is computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import loading
from mdhnp.calls.entry import Entry, Spent, Start
from mdhnp.calls.numpy_tier import numpy_function, seconds_by_numpy
from mdhnp.calls.plans import ByNumpy
from mdhnp.calls.progress import State, price_of_kernels
from mdhnp.calls.request import HEAVY, Described, Request, known_to_numpy
from mdhnp.calls.states import progress_of, start
from mdhnp.fusion.least_work import least_work
from mdhnp.mdh import Computation, Graph
from mdhnp.mdh.views import row_major
from mdhnp.runtime.layout import Layout
from mdhnp.settings import Mode

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.runtime.devices import Device

Array = npt.NDArray[Any]


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
        if self.devices and any([len(s.mdhom.mdhoms) > 1 for s in graph.steps]):
            graph = loading.kernels.apart(graph, self.devices)
        requests = self._requests(graph)
        if self.described.written is None or not self.devices:
            return self._start(graph, requests, None)
        call = self if loading.rewritings.are_searched(self) else None
        written = None if built else self._as_written(requests)
        return written or self._start(graph, requests, call)

    def _graph(self) -> Graph:
        """Give the graph that is computed: of those by which rules may be applied, the fastest known."""
        usual = self.described.graph
        if self.described.written is None:
            return usual
        if not self.devices:
            return _for_numpy(usual, self.written)
        devices = self.devices[0].members if len(self.devices) == 1 else self.devices
        return loading.rewritings.chosen(self.written, usual, devices)

    def _requests(self, graph: Graph) -> list[Request]:
        """Say what each step asks for."""
        layouts, requests = [layout for layout, _ in self.arrays], []
        for step in graph.steps:
            inputs = tuple([
                _contiguous(layouts[p], v.shape) for p, v in zip(step.inputs, step.mdhom.inputs, strict=True)
            ])  # fmt: skip
            h = at_precision(step.mdhom, self.mode)
            into = self.described.into
            numpy = known_to_numpy(h, self.mode, into=into, own=self.described.numpy)
            requests.append(Request(self.function, h, inputs, self.devices, self.mode, into, numpy))
            layouts += [_layout(v.shape, v.strides, v.dtype.itemsize) for v in step.mdhom.outputs]
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
        whole = Start(plan) if call is None else progress_of(requests, plan, State.KERNELS, call)
        return whole._replace(kept=all([each.kept for each in starts]))

    def _is_one_step(self, graph: Graph) -> bool:
        (only, inputs), *others = graph.steps
        values = tuple(range(graph.given + len(only.outputs)))
        whole = not others and (inputs, graph.results) == (values[: graph.given], values[graph.given :])
        return whole and [v.shape for v in only.inputs] == [layout.shape for layout, _ in self.arrays]

    def _in_steps(self, graph: Graph, starts: Sequence[Start]) -> "InSteps":
        shapes = [layout.shape for layout, _ in self.arrays]
        shapes += [v.shape for step in graph.steps for v in step.mdhom.outputs]
        return InSteps(graph, [Entry(each, None, tuple) for each in starts], shapes)

    def _as_written(self, requests: Sequence[Request]) -> Start | None:
        """Let NumPy compute what it has no functions for as it was written, until the helper has built kernels.

        None where it can compute what rules made of it, is not to, or would take too long.
        """
        if self.mode.decides != "measurements":
            return None
        missing = [r for r in requests if not r.empty and r.numpy is None and not _is_ready(r)]
        if not missing:
            return None
        usual = _for_numpy(self.described.graph, self.written)
        if not _numpy_seconds(usual) <= HEAVY * price_of_kernels(missing[0]):
            return None
        graph, spent, starts = least_work(usual), Spent(), []
        for step in graph.steps:
            numpy = known_to_numpy(step.mdhom, self.mode, into=missing[0].into)
            request = replace(missing[0], mdhom=step.mdhom, numpy=numpy)
            why = "as written: no kernels were built yet for what rules make of it"
            starts.append(Start(ByNumpy.of(request, why)))
            if earlier := loading.unloaded.each.pop(step.mdhom, None):
                spent.add(earlier.seconds)
        return progress_of(missing, self._in_steps(graph, starts), State.FIRST, self, spent, missing=True)


class InSteps:
    """The plan of several computations one after the other, on arrays and on what earlier ones gave.

    Of a graph's steps the entries give all results; `shapes` are those of all values.
    """

    def __init__(self, graph: Graph, entries: Sequence[Entry], shapes: Sequence[tuple[int, ...]]) -> None:
        last = {p: n for n, s in enumerate(graph.steps) for p in s.inputs if p not in graph.results}
        self._results = graph.results
        self._steps = tuple([
            (
                tuple([
                    (p, None if v.shape == shapes[p] else v.shape)
                    for p, v in zip(s.inputs, s.mdhom.inputs, strict=True)
                ]),
                entry,
                tuple([p for p, at in last.items() if at == n and p >= graph.given]),
            )
            for n, (s, entry) in enumerate(zip(graph.steps, entries, strict=True))
        ])  # fmt: skip

    def run(self, arrays: Sequence[Array]) -> tuple[Any, ...]:
        """Compute all of them; a temporary goes when it was read for the last time."""
        values: list[Any] = list(arrays)
        for inputs, entry, used in self._steps:
            results = entry.run(tuple([values[p] if s is None else values[p].reshape(s) for p, s in inputs]))
            for p in used:
                values[p] = None
            values.extend([np.asarray(r) for r in results])
        return tuple([values[r] for r in self._results])


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


def _is_ready(request: Request) -> bool:
    return any([loading.kernels.ready(request.on(device), "") for device in request.devices])


def _layout(shape: tuple[int, ...], strides: Sequence[int], size: int) -> Layout:
    return Layout(shape, tuple([size * s for s in strides]), size)


def _contiguous(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """Give the layout that a C-contiguous array has in another shape."""
    return layout if layout.shape == shape else _layout(shape, row_major(shape), layout.itemsize)
