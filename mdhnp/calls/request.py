"""What a public function is to the way of a call, what a call computes, and what each step asks for: plain records."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.calls.numpy_tier import NumpyFunction, numpy_function
from mdhnp.calls.operands import addressable
from mdhnp.mdh import Computation, Graph, MdHom, Sorting, are_few, in_pieces, scattered
from mdhnp.settings import Mode

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.runtime.devices import Device
    from mdhnp.runtime.layout import Layout
    from mdhnp.schedule import Schedule

Array = npt.NDArray[Any]

#: Where NumPy takes so many times as long as making kernels, its time is worth a closer look before it is spent.
HEAVY = 2.0


class NoDoublePrecision(TypeError):
    """A computation in float64 or complex128 on a device that has neither."""


def array(values: Sequence[Any]) -> Any:
    return np.asarray(values[0])


def results(values: Sequence[Any]) -> Any:
    return array(values) if len(values) == 1 else tuple(values)


class Described(NamedTuple):
    """What a call computes."""

    #: What it computes, at once or step by step.
    mdhom: Computation | Graph
    #: Gives the MDH's inputs, views of the call's operands; by default these themselves.
    take: Callable[[Sequence[Array]], Sequence[Array]] | None = None
    #: Gives what the user gets of the MDH's results; by default the only one as NumPy's functions give it: a scalar,
    #: where there are no axes.
    give: Callable[[Sequence[Any]], Any] | None = None
    #: Whether the call's last operand is where the only result goes, instead: an array of a device's own memory.
    into: bool = False
    #: What `mdhom` was made of by rules, which may be applied in other ways.
    written: Graph | None = None
    #: The MDH's inputs after those, the same ones in all calls.
    constants: tuple[Array, ...] = ()
    #: What makes the inputs after all these, in each call, of one of them: points sorted by its elements.
    sortings: tuple[Sorting, ...] = ()
    #: A host's function for its only step, where NumPy's may be none; or for all steps, of brief calls.
    numpy: NumpyFunction | None = None
    #: NumPy's function that has made its calls so far: an einsum goes on adding as `numpy.einsum` does, with its bits,
    #: which of short rows takes a third of the time of `numpy.add.reduce`.
    brief: NumpyFunction | None = None
    #: Bytes of temporaries that it may take, where it says so itself.
    memory_limit: int | None = None
    #: The same without temporaries, or with fewer, however long that takes.
    at_once: Computation | Graph | None = None

    @property
    def graph(self) -> Graph:
        """The steps: one, of an MDH."""
        return graph_of(self.mdhom)

    def sorted(self) -> "Described":
        """The same where points are sorted by the elements that say where their results go, if any do."""
        if not isinstance(self.mdhom, MdHom) or not self.mdhom.scatters:
            return self
        mdhom, sortings = scattered(self.mdhom)
        return self._replace(mdhom=mdhom, sortings=sortings)

    def on(self, devices: "Sequence[Device]", mode: Mode) -> "Described":
        """The same as these devices compute it: CPUs put few results where elements say, others sort points by them."""
        apart = self.sorted()
        if apart is self or not devices:
            return self
        free = mode.precision != "fixed" and not mode.schedules
        near = all([not d.several and d.kind == "cpu" and not d.own_memory for d in devices])
        if free and near and isinstance(self.mdhom, MdHom) and are_few(self.mdhom, devices[0].caps.compute_units):
            return self
        return apart

    def in_pieces(self) -> "Described":
        """The same where points that were sorted are combined in pieces, for devices of many work-items."""
        computed, sortings = in_pieces(self.graph, self.sortings)
        written, at_once = (
            None if g is None else in_pieces(graph_of(g), self.sortings)[0] for g in (self.written, self.at_once)
        )
        return self._replace(mdhom=computed, sortings=sortings, written=written, at_once=at_once)

    def inputs(self, operands: Sequence[Array]) -> tuple[Array, ...]:
        """Give the MDH's inputs but for constants."""
        read = operands[:-1] if self.into else operands
        return tuple(read if self.take is None else self.take(read))


def least_limit(*limits: int | None) -> int | None:
    """Give the least of several limits; None of none."""
    return min([limit for limit in limits if limit is not None], default=None)


def graph_of(what: Computation | Graph) -> Graph:
    return what if isinstance(what, Graph) else Graph.of(what)


@dataclass(frozen=True, eq=False)
class Routine:
    """A public function of this package."""

    name: str
    #: From arrays and the call's other arguments to what it computes. Called where no plan is found.
    describe: Callable[..., Computation | Described]
    #: Computes what kernels cannot, from operands as given, then the other arguments as `describe` takes them. Without
    #: one such calls are TypeErrors.
    numpy: Callable[..., Any] | None = None
    #: Gives arrays that kernels can address in place of the operands, where there are such arrays.
    convert: Callable[[Sequence[Any]], tuple[Any, ...]] = addressable
    #: Makes calls with sparse operands, from operands as given, then the other arguments.
    sparse: Callable[..., Any] | None = None
    #: From C-contiguous arrays, else as `describe`, to NumPy's function for the same, in a tenth of the time; or None.
    brief: Callable[..., NumpyFunction | None] | None = None


def described(what: tuple[Any, ...], arrays: Sequence[Array]) -> Described:
    """Say what a call on arrays computes, whether it is made or traced; `what` begins with its :class:`Routine`."""
    computed = what[0].describe(arrays, *what[1:])
    return computed if isinstance(computed, Described) else Described(computed)


@dataclass(frozen=True)
class Request:
    """What is asked for in a step: a computation on arrays of given layouts, where, and under which settings."""

    #: Whose call it is.
    function: str
    mdhom: Computation
    #: Of its inputs.
    layouts: "tuple[Layout, ...]"
    #: Where kernels may run; several where the user has not decided.
    devices: "tuple[Device, ...]"
    mode: Mode
    #: Whether the only result goes where an array given after the inputs is.
    into: bool = False
    #: NumPy's function for it, where there is one and it may compute.
    numpy: NumpyFunction | None = field(default=None, compare=False, repr=False)
    #: The function for it that the call itself brings, where it does, whether or not that may compute.
    own: NumpyFunction | None = field(default=None, compare=False, repr=False)
    #: Those of the mode's schedules that are for it, one a stage.
    schedules: "tuple[Schedule, ...]" = ()
    #: The inputs of a call that was made, where `own` is to be timed on them.
    given: tuple[Array, ...] = field(default=(), compare=False, repr=False)

    @property
    def device(self) -> "Device":
        return self.devices[0]

    @property
    def empty(self) -> bool:
        return 0 in self.mdhom.extents

    def on(self, device: "Device") -> "Request":
        return replace(self, devices=(device,))


def known_to_numpy(h: Computation, mode: Mode, *, into: bool, own: NumpyFunction | None = None) -> NumpyFunction | None:
    """Give the call's own function for a step, or NumPy's, if it may compute: it gives new memory of the host."""
    return None if into or mode.decides == "never" else own or numpy_function(h)
