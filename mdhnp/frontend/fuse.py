"""`fuse`: a function of arrays, traced to a graph, rewritten by rules, and called as a whole."""

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache, update_wrapper
from types import MethodType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array, each, make
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import is_sparse, scalar
from mdhnp.calls.switches import Switches
from mdhnp.calls.tracing import ResultView, Tracer, TracingError
from mdhnp.documentation import exported
from mdhnp.frontend.public import public
from mdhnp.fusion.rewrite import Rewriting, rewriting
from mdhnp.mdh import Sorting
from mdhnp.settings import config


@exported
class Fused:
    """A function whose calls of this package are computed as one; made by :func:`fuse`.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> centred = mdhnp.fuse(lambda x: x - x.mean())
    >>> centred(np.array([1.0, 2.0, 3.0]))
    array([-1.,  0.,  1.])
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function, updated=())  # whose attributes may have the names of these
        self.function = function
        self._ref = weakref.ref(self)
        self.name: str = getattr(function, "__name__", "function")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute, with the function's arguments; gives what it gives."""
        if kwargs or not are_arrays(args):
            form, args, held = _told_apart(self.name, args, kwargs)
        else:
            form, held = arrays_of(len(args)), ()
        if not args:
            return self.function(*_put(form, list)[0], **kwargs)  # nothing is traced
        return call((_FUSE, self._ref, form), args, owners=(self, *held))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind it as a method."""
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        """Pickle it as functions are: by its name."""
        return str(getattr(self.function, "__qualname__", self.name))

    def __matmul__(self, other: Any) -> "Fused":
        """Give what calls this one with what another one gives: ``(f @ g)(x)`` is ``f(g(x))``."""
        return NotImplemented if not callable(other) else after(self, other)

    def __rmatmul__(self, other: Any) -> "Fused":
        """Give what calls another one with what this one gives."""
        return NotImplemented if not callable(other) else after(other, self)

    def rewriting(self, *args: Any, **kwargs: Any) -> Rewriting:
        """Show how calls with such arguments are rewritten; printed, it shows both graphs, rules and bytes moved.

        Examples
        --------
        >>> import numpy as np
        >>> import mdhnp
        >>> norms = mdhnp.fuse(lambda a: np.sqrt((a * a).sum(axis=1)))
        >>> print(norms.rewriting(np.ones((1000, 1000), np.float32)).after)
        v1 = md_hom(x0 * x0, (++, +)) ∘ (A[i,j]) -> O0[i] >> sqrt(x0) of v0
        give v1
        """
        form, arrays, _ = _told_apart(self.name, args, kwargs)
        plain = [a._view if isinstance(a, Array) else a for a in arrays]
        return self.traced(plain, form)[0]

    def traced(self, arrays: Sequence[npt.NDArray[Any]], form: tuple[Any, ...]) -> "Traced":
        """Trace a call, and rewrite it."""
        tracer = Tracer()
        given = iter([make(tracer.argument(a), tracer) for a in arrays])
        args, kwargs = _put(form, lambda: next(given))
        switches.count(1)
        try:
            with config(schedule=None):  # which is for what becomes of the calls
                returned = self.function(*args, **kwargs)
        finally:
            switches.count(-1)
        found: list[npt.NDArray[Any]] = []

        def note(x: Any) -> Any:
            if not (type(x) is Array and x.device is tracer):
                return x
            found.append(x._view)
            return _ResultNumber(len(found) - 1)

        places = each(returned, note)
        graph, seen = tracer.graph(found)
        constants, sortings = tuple([c for _, c in tracer.constants]), tuple([s for _, s in tracer.sortings])
        return Traced(rewriting(graph), constants, sortings, seen, places, tracer.memory_limit)


class Traced(NamedTuple):
    """A call that was traced: what it computes, of which arrays beside its own, and what it gives of that."""

    rewriting: Rewriting
    constants: tuple[npt.NDArray[Any], ...]
    sortings: tuple[Sorting, ...]
    #: How results are seen, and what their numbers are put into.
    seen: list[ResultView]
    places: Any
    memory_limit: int | None


class _ResultNumber(int):
    """Where a result is put, by its number."""


@public(
    "Compute a function of arrays as a whole: between its calls nothing goes to memory that need not.",
    function="callable: Takes arrays, and what else it likes, and gives arrays, also in tuples, lists and "
    "dictionaries. With arrays it makes calls of this package and of NumPy: functions, operators, slices. It must do "
    "nothing else that matters, as it is called once for each combination of its arrays' shapes and types, on arrays "
    "without values.",
    returns="Fused: Called like the function, with ndarrays or Arrays. Its other arguments are constants, and "
    "hashable: for each value of a number the function is traced anew. NumPy's own scalars are arrays.",
    raises={
        "TracingError": "When it is called, if the function looks at elements, changes an array in place, or calls "
        "something that has no kernels. It is a TypeError that names the line.",
        "TypeError": "When it is called, if an argument is neither an array nor hashable; names it.",
    },
    notes="""The calls become a graph of MDHs, which rules rewrite as long as that makes it cheaper: maps are computed
where they are read, or where their operand was; reductions of the same array are one; some reductions after each other,
too. :meth:`Fused.rewriting` shows that. Results are those of the function, rounded elsewhere.

Source: Steuwer & Gorlatch, "SkelCL", composition rules; Gorlatch & Steuwer, "Towards High-Level Programming for Systems
with Many Cores", rewrite rules.""",
    example="""
>>> @mdhnp.fuse
... def softmax(x):
...     powers = np.exp(x - x.max(axis=1, keepdims=True))
...     return powers / powers.sum(axis=1, keepdims=True)
>>> softmax(np.array([[0.0, 0.0], [1.0, 1.0]]))
array([[0.5, 0.5],
       [0.5, 0.5]])""",
)
def fuse(function: Callable[..., Any]) -> Fused:
    if not callable(function):
        raise TypeError(f"takes a function of arrays, not {function!r}")
    return Fused(function)


def after(last: Callable[..., Any], first: Callable[..., Any]) -> Fused:
    """Compose: what the first one gives is what the last one takes."""

    def composed(*args: Any, **kwargs: Any) -> Any:
        given = first(*args, **kwargs)
        return last(*given) if isinstance(given, tuple) else last(given)

    return Fused(composed)


# Arguments.


def are_arrays(args: Sequence[Any]) -> bool:
    """Whether all arguments are arrays: NumPy's or Arrays."""
    return all([type(a) is np.ndarray or type(a) is Array for a in args])


def _told_apart(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Give the form of a call, hashable, in which None stands for arrays, these, and the objects it holds weakly."""
    arrays: list[Any] = []
    held: list[Any] = []
    form: list[Any] = []
    for key, value in [*enumerate(args), *sorted(kwargs.items())]:
        if isinstance(value, Array | np.ndarray | np.generic):
            arrays.append(value if not isinstance(value, np.generic) else np.asarray(value))
            form.append((key, None))
        elif _equals_only_itself(type(value)):
            held.append(value)
            form.append((key, weakref.ref(value)))
        else:
            form.append((key, _constant(name, key, value), type(value)))
    return tuple(form), tuple(arrays), tuple(held)


@lru_cache(maxsize=64)
def arrays_of(count: int) -> tuple[Any, ...]:
    """Give the form of a call with so many arrays and nothing else."""
    return tuple([(n, None) for n in range(count)])


def _equals_only_itself(kind: type) -> bool:
    """Whether objects of a type can be held weakly: when one dies, no other one makes its calls.

    A weak reference that is dead equals no other, also where a new object has the dead one's place in memory.
    """
    return kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__ and kind.__weakrefoffset__ != 0


def _constant(name: str, key: Any, value: Any) -> Any:
    """Give something hashable that differs where constants do; -0.0 equals 0.0 and NaN does not equal itself."""
    if isinstance(value, float | complex):
        return value, repr(value)
    if isinstance(value, tuple):
        return value, tuple([(_constant(name, key, v), type(v)) for v in value])
    if is_sparse(value):
        raise TypeError(
            f"{name}: argument {key!r} is a sparse {type(value).__name__}, which the function may use as a variable "
            "from outside, but not take"
        )
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"{name}: argument {key!r} is a {type(value).__name__}, neither an array nor a constant; "
            "give numpy.asarray of it, or a tuple"
        ) from None
    return value, None


def _put(form: tuple[Any, ...], array: Callable[[], Any]) -> tuple[list[Any], dict[str, Any]]:
    """Give a call's arguments back."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for key, what, *_ in form:
        value = array() if what is None else what() if type(what) is weakref.ref else what[0]
        if isinstance(key, int):
            args.append(value)
        else:
            kwargs[key] = value
    return args, kwargs


# Calls.


def _describe(arrays: Sequence[npt.NDArray[Any]], fused: "weakref.ref[Fused]", form: tuple[Any, ...]) -> Described:
    known = fused()
    assert known is not None  # it is being called
    return described(known, arrays, form)


def described(known: Fused, arrays: Sequence[npt.NDArray[Any]], form: tuple[Any, ...]) -> Described:
    """Describe a call of a function, of such a form."""
    found, constants, sortings, seen, places, limit = known.traced(arrays, form)
    if not seen:
        raise TracingError(f"{known.name}: gives no array that it computes, but {places!r}")

    def give(results: Sequence[Any]) -> Any:
        views = [scalar(_view(np.asarray(results[s.value]), s)) for s in seen]
        return each(
            places, lambda x: views[x] if type(x) is _ResultNumber else x.copy() if isinstance(x, np.ndarray) else x
        )

    plain = type(places) is _ResultNumber and seen[0].strides is None  # as results of other calls are
    return Described(
        found.after, None, None if plain else give, written=found.before, constants=constants, sortings=sortings,
        memory_limit=limit,
    )  # fmt: skip


def _view(result: npt.NDArray[Any], seen: ResultView) -> npt.NDArray[Any]:
    if seen.strides is None:
        return result
    if not result.size:
        return result.reshape(seen.shape)
    return np.ndarray(seen.shape, result.dtype, result, seen.offset, seen.strides)


def _by_numpy(*given: Any) -> Any:
    *arrays, fused, form = given
    known = fused()
    assert known is not None
    rest = iter(arrays)
    args, kwargs = _put(form, lambda: next(rest))
    return known.function(*args, **kwargs)


_FUSE = Routine("fuse", _describe, _by_numpy)

# What NumPy's functions that make ndarrays give of arrays without values: the arrays, while functions are traced. NumPy
# asks no array what these mean of it, but for its elements, of which there are none yet. So switches stand in their
# place; what they are given by others, in this thread or another one, goes to NumPy.

Function = Callable[..., Any]


def _is_traced(x: Any) -> bool:
    return x.device.passing if type(x) is Array else isinstance(x, list | tuple) and any([_is_traced(e) for e in x])


def _converted(x: Any, dtype: Any, order: Any, copy: Any) -> Any:
    """Give an array, or what a list of such is stacked to, in a type and memory order."""
    if type(x) is not Array:
        parts = [_converted(e, None, None, None) if _is_traced(e) else np.asarray(e) for e in x]
        x = np.stack([p.astype(np.result_type(*parts), copy=False) for p in parts])
    if dtype is not None and np.dtype(dtype) != x.dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        x = x.astype(dtype)
    flags = x._view.flags
    if order == "F" and not flags.f_contiguous:
        return x.T.copy().T
    return x.copy() if copy or (order == "C" and not flags.c_contiguous) else x


def _as(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None) -> Any:
    return _converted(a, dtype, order, copy)


def _contiguous(order: str) -> Function:
    return lambda a, dtype=None, *, like=None: np.atleast_1d(_converted(a, dtype, order, None))


def _new(
    object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: Any = False, ndmin: int = 0,
    like: Any = None,
) -> Any:  # fmt: skip
    found = _converted(object, dtype, order, copy)
    return found[(None,) * (ndmin - found.ndim)] if ndmin > found.ndim else found


def _switch(ours: Function) -> Callable[[Function], Function]:
    def choose(numpys: Function) -> Function:
        def function(*args: Any, **kwargs: Any) -> Any:
            asked = args and _is_traced(args[0]) and not kwargs.get("subok")  # as masked arrays do, which need elements
            return (ours if asked else numpys)(*args, **kwargs)

        return function

    return choose


#: To be counted while a function is traced.
switches = Switches([
    ("numpy", "asarray", _switch(_as)), ("numpy", "asanyarray", _switch(_as)), ("numpy", "array", _switch(_new)),
    ("numpy", "ascontiguousarray", _switch(_contiguous("C"))), ("numpy", "asfortranarray", _switch(_contiguous("F"))),
])  # fmt: skip
