"""Which rewriting of a fused function's graph is computed: the one that was measured to be the fastest, if any was.

What costs say of a graph decides as long as nothing was measured. It must not know what rules are.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from mdhnp.calls.build import affordable
from mdhnp.fusion.rewrite import ALL, Rewriting, on_gpu, rewriting_of
from mdhnp.mdh import Graph
from mdhnp.mdh.views import is_row_major
from mdhnp.process import having
from mdhnp.runtime.devices import Device
from mdhnp.tuning.times import measured

if TYPE_CHECKING:
    from mdhnp.calls.steps import CallRequest

#: How often the values of a graph are in memory while its kernels are made, compared with NumPy and tuned.
_COPIES = 4


class _Trying(NamedTuple):
    """Names of rewritings to be used, and the graphs that were asked for, with their devices."""

    names: Mapping[Graph, str]
    asked: dict[Graph, Device]


_trying: ContextVar[_Trying | None] = ContextVar("mdhnp_trying", default=None)


@contextmanager
def trying(names: Mapping[Graph, str]) -> Iterator[dict[Graph, Device]]:
    """Have graphs be rewritten by rewritings of some names, others as usual; gives those that plans are made for."""
    with having(_trying, _Trying(names, {})) as now:
        yield now.asked


def chosen(written: Graph, usual: Graph, devices: Sequence[Device]) -> Graph:
    """Give what is computed in place of a graph; usually that is what all rules make of it."""
    now = _trying.get()
    if now is not None:
        now.asked[written] = devices[0]
    name = name_of(written, devices) if now is None or written not in now.names else now.names[written]
    return by_name(Rewriting(written, usual, ()), name, devices).after


def by_name(usual: Rewriting, name: str, devices: Sequence[Device]) -> Rewriting:
    """Give the rewriting of a name in place of that by all rules, as devices are to compute it."""
    found = usual if name == ALL else rewriting_of(usual.before, name)
    return on_gpu(found, devices[0].caps.machine) if all([d.kind == "gpu" for d in devices]) else found


def name_of(written: Graph, devices: Sequence[Device]) -> str:
    """Name the way in which a graph is rewritten."""
    for device in devices:
        times = measured(written, device)
        if times:
            return min(times, key=lambda name: times[name])
    return ALL


def are_searched(call: "CallRequest") -> bool:
    """Whether there is something to search: nobody has, the settings let it, and memory does."""
    written, mode = call.written, call.mode
    empty = any([0 in step.mdhom.extents for step in written.steps])
    if (
        mode.tuning not in ("auto", "background")
        or mode.precision == "fixed"
        or empty
        or written == call.described.mdhom
    ):
        return False
    if any([measured(written, device) for device in call.devices]):
        return False
    # The search's arrays are C-contiguous.
    if mode.resident and not all([is_row_major(one.shape, one.strides, one.itemsize) for one, _ in call.arrays]):
        return False
    views = [v for step in written.steps for v in step.mdhom.outputs]  # each of which is an array without rules
    return affordable(_COPIES * (sum([one.nbytes for one, _ in call.arrays]) + sum([v.span_bytes for v in views])))
