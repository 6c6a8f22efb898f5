"""Tracing: calls on Arrays are noted as steps of a graph in place of being made.

A `Tracer` takes the place of a device whose memory is its own: the views of its Arrays lie at addresses that nobody can
read, so that NumPy slices and transposes them, and what a call would compute is described from them as ever. Nothing
has a value before the graph is run, and all that needs one is an error that names the line.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.calls.boxes import PlacedBox, as_part, assembly, box_of, flat
from mdhnp.calls.operands import unsupported
from mdhnp.calls.request import Routine, described, least_limit
from mdhnp.documentation import exported
from mdhnp.mdh import Affine, Computation, Graph, MdHom, Sorting, Step, View, trace
from mdhnp.mdh.combine import CC
from mdhnp.mdh.graph import with_numbers
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.views import contiguous
from mdhnp.settings import Mode

Array = npt.NDArray[Any]

_PACKAGE = str(Path(__file__).parents[1])


@exported
class TracingError(TypeError):
    """A function to be fused does what has no meaning before its arrays have values.

    It is called once for each combination of its arrays' shapes and types, to see what it computes. What it may do
    with arrays is to hand them to functions of this package or of NumPy's that have one of the same meaning here. It
    cannot look at elements: use ``np.where`` in place of ``if``, and give numbers that decide something as arguments of
    their own. ``np.asarray``, ``np.array`` and the like give arrays as they are, where they are called by these names;
    what else makes ndarrays of them asks for elements. It cannot change arrays in place: write ``a = a + b`` in
    place of ``a += b``. What it cannot do it can leave to its caller.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> wrong = mdhnp.fuse(lambda x: x if x[0] > 0 else -x)
    >>> wrong(np.ones(3))
    Traceback (most recent call last):
    ...
    mdhnp.TracingError: fuse: elements of an array are asked for ...
    """


class ResultView(NamedTuple):
    """How a result is seen: which value it is, in which shape, with which strides and how many bytes from its first.

    `strides` is None where it is seen as it lies.
    """

    value: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    offset: int


class _Memory:
    """Addresses from one on that no process has, so that arrays of all pairs of a million rows have some, too."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.__array_interface__: dict[str, Any] = {}

    def view(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int, strides: tuple[int, ...] | None = None
    ) -> Array:
        """Give an array that lies there, whose base this is."""
        read_only = True  # so that nobody takes its element for a scalar
        there = {"version": 3, "data": (self.start + offset, read_only), "strides": strides}
        self.__array_interface__ = there | {"shape": shape, "typestr": dtype.str}
        return np.asarray(self)


#: Where the addresses begin that no process has, where they end, and what all values' are multiples of.
_FIRST, _LAST, _ALIGNED = 1 << 56, 1 << 62, 64


class _Value(NamedTuple):
    """A value that will be: its number, its view as it will lie, and the first of its addresses."""

    number: int
    view: Array
    start: int
    memory: _Memory


class Tracer:
    """Notes calls; stands for a device.

    Its `constants` are what calls were given beside arguments, by numbers of values, its `sortings` what makes others
    in each call, by the number of the first, and its `memory_limit` is the least that a call says.
    """

    own_memory = passing = True
    several = False
    name = runtime = platform = "tracing"

    def __init__(self) -> None:
        self.key: object = ("tracing", id(self))
        self.constants: list[tuple[int, Array]] = []
        self.sortings: list[tuple[int, Sorting]] = []
        self.memory_limit: int | None = None
        self._free = _FIRST
        self._values: list[_Value] = []
        self._by_memory: dict[int, _Value] = {}
        self._steps: list[tuple[Step, tuple[int, ...]]] = []
        self._unwritten: dict[int, list[PlacedBox]] = {}
        self._turned: dict[int, Array] = {}

    # Values.

    def argument(self, array: Array) -> Array:
        return self._new(array.shape, array.dtype, array.strides)

    def _new(self, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None = None) -> Array:
        reach = 0 if strides is None else sum([abs(s) * max(n - 1, 0) for s, n in zip(strides, shape, strict=True)])
        size = max(prod(shape) * dtype.itemsize, reach + dtype.itemsize, 1)
        low = sum([-s * (n - 1) for s, n in zip(strides or (), shape, strict=False) if s < 0 and n])
        memory = _Memory(self._free)
        self._free += -(-size // _ALIGNED) * _ALIGNED
        if self._free > _LAST:
            raise MemoryError(f"fuse: no addresses for an array of shape {shape} {line()}, {size} bytes")
        view = memory.view(shape, dtype, low, strides)
        value = _Value(len(self._values), view, memory.start + low, memory)
        self._values.append(value)
        self._by_memory[id(memory)] = value
        return view

    def _value_of(self, array: Array) -> _Value:
        base: Any = array
        while hasattr(base, "base"):  # what is between views with strides of their own is no ndarray
            base = base.base
        return self._by_memory[id(base)]

    def _known(self, array: Array) -> Array:
        """Give an array's view: a constant's, if it is none of a value."""
        try:
            self._value_of(array)
        except KeyError:
            return self.constant(array)
        return array

    def constant(self, array: Array) -> Array:
        copy = np.array(array, order="C")
        view = self._new(copy.shape, copy.dtype)
        self.constants.append((len(self._values) - 1, copy))
        return view

    def unwritten(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Give the view of an array that calls will write, each element once."""
        view = self._new(shape, dtype)
        number = len(self._values) - 1
        if view.size:
            self._unwritten[number] = []
        else:
            out = contiguous("O0", dtype, shape, tuple(range(len(shape))))
            nothing = MdHom(shape, (CC,) * len(shape), trace(lambda: dtype.type(0), []), (), (out,))
            self._steps.append((Step(nothing, ()), (number,)))
        return view

    def _sorted(self, s: Sorting, source: Array) -> list[Array]:
        """Give the views of what sorting will give of an argument or a constant."""
        value = self._value_of(source)
        computed = {n for _, outputs in self._steps for n in outputs}
        if value.number in computed or source.strides != value.view.strides or source.shape != value.view.shape:
            raise TracingError(
                f"fuse: {s.name}: what says where results go must be an argument, as it is given {line()}; "
                "it is sorted before anything is computed"
            )
        self.sortings.append((len(self._values), s._replace(source=value.number)))
        return [self._new(shape, np.dtype(np.intp)) for shape in s.shapes]

    # Calls.

    def call(
        self,
        what: tuple[Any, ...],
        operands: tuple[Any, ...],
        dtypes: Sequence[np.dtype[Any] | None],
        exact: Callable[[Computation], Computation],
        mode: Mode,
    ) -> Any:
        """Note a call; gives views of its results, as the call does. `exact` has an MDH say how exact it must be.

        TracingError if kernels do not compute it, or it changes an array.
        """
        routine: Routine = what[0]
        arrays = routine.convert(operands)
        if reason := unsupported(arrays, *dtypes):
            raise TracingError(f"fuse: {routine.name} {line()}: {reason}, which kernels do not compute")
        if mode.schedules:
            raise TracingError(
                f"schedule: cannot be given {line()}: how the function as a whole computes is said by "
                "mdhnp.config(schedule=...) around its call"
            )
        computed = described(what, arrays).sorted()
        self.memory_limit = least_limit(self.memory_limit, mode.memory_limit)
        inputs = tuple([self._known(a) for a in (*computed.inputs(arrays), *computed.constants)])
        inputs += tuple([view for s in computed.sortings for view in self._sorted(s, inputs[s.source])])
        graph = computed.graph
        if computed.into:
            self._write(graph.mdhom(0), inputs, arrays[-1])
            return ()
        steps = tuple([Step(exact(s.mdhom), s.inputs) for s in graph.steps])
        values = self._noted(replace(graph, steps=steps), inputs)
        return values[0] if computed.give is None else computed.give(values)

    def _noted(self, graph: Graph, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Note a graph's steps; gives the views of its results."""
        values: list[Array] = list(inputs)
        for step in graph.steps:
            pairs = zip(step.inputs, step.mdhom.inputs, strict=True)
            read = [self._seen(values[p], v, step.mdhom.rank, p < graph.given) for p, v in pairs]
            mdhom = step.mdhom.relaid([v for _, v in read])
            made = [self._new(v.shape, v.dtype) for v in mdhom.outputs]
            numbers = tuple([self._value_of(m).number for m in made])
            self._steps.append((Step(mdhom, tuple([n for n, _ in read])), numbers))
            values += made
        return tuple(graph.results_of(values))

    def _write(self, h: MdHom, inputs: Sequence[Array], target: Array) -> None:
        """Note what is put into an array: into a part of a new one."""
        value = self._value_of(target)
        parts = self._unwritten.get(value.number)
        (number, view), (whole, size) = self._seen(inputs[0], h.inputs[0], h.rank), (value.view, target.itemsize)
        written = as_part(h.outputs[0], h.rank, whole, target, (_start(target) - value.start) // size)
        part = None if written is None else box_of(h, written, number, view)
        if parts is None or part is None or any([part.overlaps(p) for p in parts]):
            raise TracingError(
                f"fuse: an array is changed in place {line()}; make another one, as by a = a + b for a += b"
            )
        parts.append(part)
        if sum([prod([n - m for m, n in zip(p.low, p.high, strict=True)]) for p in parts]) == whole.size:
            del self._unwritten[value.number]
            one = part if part.dims == tuple(range(h.rank)) and len(parts) == 1 else None
            step = assembly(whole.shape, parts) if one is None else Step(h.relaid([view]), (number,))
            self._steps.append((step, (value.number,)))

    def _seen(self, array: Array, view: View, rank: int, may_be_part: bool = True) -> tuple[int, View]:
        """Give the value that an array is seen of, and the view of it of an MDH of that rank as one of the value."""
        value = self._value_of(array)
        if value.number in self._unwritten:
            raise TracingError(
                f"fuse: an array is read {line()}, not all of whose elements were written; see mdhnp.zeros"
            )
        whole = value.view
        same = array.shape == whole.shape and array.strides == whole.strides and array.dtype == whole.dtype
        if not may_be_part or (same and _start(array) == value.start):
            return value.number, view
        if array.dtype != whole.dtype:
            return self._part(array, value, view, rank)
        at = (_start(array) - value.start) // max(whole.itemsize, 1)
        read_whole = view.slices or view.indirect
        if not read_whole and whole.flags.c_contiguous and array.flags.c_contiguous and array.size == whole.size:
            alike = view.boundary is None and _without_ones(whole.shape) == _without_ones(array.shape)
            return value.number, (as_part(view, rank, whole, array, at) if alike else None) or view  # in another shape
        if not array.size or read_whole or view.boundary is not None:  # whose bounds are the part's, not the whole's
            copied = self._copied(array)
            return self._seen(copied, array_view(view.name, copied, view.accesses, view.boundary, view.fill), rank)
        if (moved := as_part(view, rank, whole, array, at)) is not None:
            return value.number, moved
        if whole.flags.c_contiguous:
            return value.number, flat(view, rank, whole, at)
        if whole.flags.f_contiguous:  # as a C-contiguous map of it, the same for all that read it so
            if value.number not in self._turned:
                self._turned[value.number] = self._copied(whole.T)
            turned = self._value_of(self._turned[value.number])
            return turned.number, flat(view, rank, turned.view, at)
        raise TracingError(
            f"fuse: the axes of an argument are split or joined {line()}, which its strides do not allow; "
            "give a contiguous one, as by numpy.ascontiguousarray"
        )

    def _copied(self, array: Array) -> Array:
        if not array.size:
            return self.unwritten(array.shape, array.dtype)
        (copied,) = self._noted(Graph.of(mapped(array, lambda x: x)), [array])
        return copied

    def _part(self, array: Array, value: _Value, view: View, rank: int) -> tuple[int, View]:
        """Give real or imaginary parts as another value."""
        size = array.itemsize
        if value.view.dtype.kind != "c" or value.view.itemsize != 2 * size:
            raise TracingError(f"fuse: an array is seen as one of another type {line()}; use astype")
        imaginary = (_start(array) - value.start) % (2 * size)
        first = _start(array) - imaginary - value.memory.start
        whole = value.memory.view(array.shape, value.view.dtype, first, array.strides)
        function = (lambda z: z.imag) if imaginary else (lambda z: z.real)
        (part,) = self._noted(Graph.of(mapped(whole, function)), [whole])
        return self._seen(part, array_view(view.name, part, view.accesses, view.boundary, view.fill), rank)

    # The graph.

    def graph(self, results: Sequence[Array]) -> tuple[Graph, list[ResultView]]:
        """Give all that was noted, numbers of no axes put in, and how the results are seen.

        The arrays given are the arguments, then the constants that have axes, then what sorting gives.
        """
        seen = [self._result(r) for r in results]
        numbers = {n: c for n, c in self.constants if c.ndim == 0}
        arrays = [(n, c) for n, c in self.constants if c.ndim]
        sort = [first + n for first, s in self.sortings for n in range(len(s.shapes))]
        made = [n for _, outputs in self._steps for n in outputs]
        outside = {*made, *sort, *[n for n, _ in self.constants]}
        arguments = [v.number for v in self._values if v.number not in outside]
        place = {n: p for p, n in enumerate([*arguments, *[n for n, _ in arrays], *sort, *made])}
        self.constants = arrays
        self.sortings = [(place[first], s._replace(source=place[s.source])) for first, s in self.sortings]
        steps = []
        for step, _ in self._steps:
            filled = with_numbers(step, numbers)
            steps.append(Step(filled.mdhom, tuple([place[p] for p in filled.inputs])))
        wanted = dict.fromkeys([place[s.value] for s in seen])
        order = {v: n for n, v in enumerate(wanted)}
        graph = Graph(len(arguments) + len(arrays) + len(sort), tuple(steps), tuple(wanted))
        return graph, [s._replace(value=order[place[s.value]]) for s in seen]

    def _result(self, array: Array) -> ResultView:
        value = self._value_of(array)
        given = value.number not in {n for _, outputs in self._steps for n in outputs}
        if given or array.dtype != value.view.dtype:  # an argument, or a view of one; a part of complex numbers
            array = self._copied(array)
            value = self._value_of(array)
        same = array.shape == value.view.shape and array.strides == value.view.strides
        return ResultView(value.number, array.shape, None if same else array.strides, _start(array) - value.start)

    def error(self, what: str, why: str) -> TracingError:
        """Give the error of what cannot be traced; between these words it says where that is."""
        return TracingError(f"{what} {line()}{why}")

    # What transfers ask of a device's memory.

    @property
    def memory(self) -> "Tracer":
        return self

    def upload(self, _: Any, array: Array) -> Array:
        return self.constant(array)

    def maker(self, _: Any, outputs: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> Callable[[], list[Array]]:
        return lambda: [self.unwritten(shape, dtype) for shape, dtype in outputs]

    def download(self, _: Any, view: Array) -> Array:
        raise TracingError(
            f"fuse: elements of an array are asked for {line()}, before there are any; do it between two fused "
            "functions, or see TracingError"
        )

    def version(self, view: Array) -> int:
        return 0  # nothing changes

    def changed(self, view: Array) -> None:
        """Do nothing: this was noted."""

    def fixed(self, view: Array) -> Array:
        return view  # nothing may be put into any

    def is_fixed(self, view: Array) -> bool:
        return False  # an error of the tracer's says it better


def _start(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _without_ones(shape: tuple[int, ...]) -> list[int]:
    return [n for n in shape if n != 1]


def line() -> str:
    """Say where in the user's text this is: the innermost line that is not the package's, nor NumPy's."""
    frame: Any = sys._getframe(1)
    numpys = str(Path(np.__file__).parent)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, numpys)):
        frame = frame.f_back
    return "" if frame is None else f"in line {frame.f_lineno} of {frame.f_code.co_filename}"


def mapped(array: Array, function: Callable[[Any], Any]) -> MdHom:
    """Give the MDH of a function of each element."""
    rank, scalar = array.ndim, trace(function, [array.dtype])
    access = tuple([Affine.of(d, rank) for d in range(rank)])
    out = contiguous("O0", scalar.dtypes[0], array.shape, tuple(range(rank)))
    return MdHom(array.shape, (CC,) * rank, scalar, (array_view("A", array, (access,)),), (out,))
