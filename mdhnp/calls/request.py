"""What a public function is to the way of a call, what a call computes, and what it asks for: plain records."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.calls.operands import addressable
from mdhnp.mdh import Computation, Graph
from mdhnp.settings import Mode

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.calls.ways import Ways
    from mdhnp.runtime.devices import Device
    from mdhnp.runtime.layout import Layout

__all__ = ["Described", "NoDoublePrecision", "Routine", "Request", "array", "results"]

Array = npt.NDArray[Any]


class NoDoublePrecision(TypeError):
    """A computation in float64 or complex128 on a device that has neither."""


def array(found: Sequence[Any]) -> Any:
    """Give the only result as an array."""
    return np.asarray(found[0])


def results(found: Sequence[Any]) -> Any:
    """Give the only result as an array, or a tuple of several."""
    return array(found) if len(found) == 1 else tuple(found)


class Described(NamedTuple):
    """What a call computes.

    Attributes
    ----------
    mdhom : Computation or Graph
        What it computes, at once or step by step.
    take : callable, optional
        Gives the MDH's inputs, views of the call's operands; by default these themselves.
    give : callable, optional
        Gives what the user gets of the MDH's results; by default the only one as NumPy's functions give it: a scalar,
        where there are no axes.
    into : bool
        Whether the call's last operand is where the only result goes, instead: an array of a device's own memory.
    written : Graph, optional
        What `mdhom` was made of by rules, which may be applied in other ways.
    constants : tuple of ndarray
        The MDH's inputs after those, the same ones in all calls.
    """

    mdhom: Computation | Graph
    take: Callable[[Sequence[Array]], Sequence[Array]] | None = None
    give: Callable[[Sequence[Any]], Any] | None = None
    into: bool = False
    written: Graph | None = None
    constants: tuple[Array, ...] = ()


@dataclass(frozen=True, eq=False)
class Routine:
    """A public function of this package.

    Attributes
    ----------
    name : str
        Its name.
    describe : callable
        From arrays and the call's other arguments to what it computes. Called where no plan is found.
    numpy : callable, optional
        Computes what kernels cannot, from operands as given, then the other arguments as `describe` takes them. Without
        one such calls are TypeErrors.
    convert : callable
        Gives arrays that kernels can address in place of the operands, where there are such arrays.
    """

    name: str
    describe: Callable[..., Computation | Described]
    numpy: Callable[..., Any] | None = None
    convert: Callable[[Sequence[Any]], tuple[Any, ...]] = addressable


@dataclass(frozen=True)
class Request:
    """What is asked for: a computation on arrays of given layouts, where, and under which settings.

    Attributes
    ----------
    function : str
        Whose call it is.
    mdhom : Computation
        What is computed.
    layouts : tuple of Layout
        Of its inputs.
    devices : tuple of Device
        Where kernels may run; several where the user has not decided.
    mode : Mode
        The settings.
    into : bool
        Whether the only result goes where an array given after the inputs is.
    ways : Ways, optional
        Where this is all that a fused function computes: in which ways its graph may be rewritten.
    """

    function: str
    mdhom: Computation
    layouts: "tuple[Layout, ...]"
    devices: "tuple[Device, ...]"
    mode: Mode
    into: bool = False
    ways: "Ways | None" = field(default=None, compare=False, repr=False)

    @property
    def device(self) -> "Device":
        """The only device, or what stands for all of them."""
        return self.devices[0]
