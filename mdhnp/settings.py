"""Settings of all calls: when they may be tuned, and what NumPy may compute instead.

Imports only `process` of the package, so that all that know of calls may ask. A setting is looked up in every call: no
more than two dictionaries are asked.
"""

import os
import sys
from collections.abc import Hashable, Mapping
from contextlib import ContextDecorator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, product
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, get_args
from weakref import WeakValueDictionary

from mdhnp.process import process

Tuning = Literal["auto", "background", "full", "off"]
Host = Literal["auto", "never"]
Fallback = Literal["auto", "numpy", "error"]
Specialise = Literal["auto", "always"]
#: How exact products of float32 can be asked to be, and by what names: "high" is another one of "highest".
#: "fixed" is the highest in one order of combination, which `deterministic` asks for.
Level = Literal["highest", "default", "fixed"]
Precision = Literal["highest", "high", "default"]

_CHOICES: dict[str, tuple[Any, ...]] = {
    "tuning": get_args(Tuning), "host": get_args(Host), "fallback": get_args(Fallback),
    "specialise": get_args(Specialise), "precision": get_args(Precision), "debug": (0, 1, 2, 3, 4),
    "deterministic": (False, True),
}  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    "tuning": "auto", "budget": 10.0, "evaluations": 50, "host": "auto", "fallback": "auto",
    "specialise": "auto", "precision": "highest", "debug": 0, "schedule": None, "memory_limit": None,
    "deterministic": False,
}  # fmt: skip
_VARIABLES = {
    "tuning": "MDHNP_TUNING", "host": "MDHNP_HOST", "precision": "MDHNP_PRECISION", "debug": "MDHNP_DEBUG",
    "memory_limit": "MDHNP_MEMORY_LIMIT",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Mode:
    """The settings that decide which plan a call gets: there is one object for each combination of them."""

    #: As in :class:`Config`.
    host: Host
    tuning: Tuning
    specialise: Specialise
    precision: Level
    #: The schedules of a call's kernels, in order; none where they are chosen.
    schedules: tuple[Any, ...] = ()
    memory_limit: int | None = None
    #: Whether operands are views of a device's own memory, which NumPy cannot compute with.
    resident: bool = False

    @property
    def of_views(self) -> "Mode":
        """The same settings for operands that are views of a device's own memory."""
        return _made("never", self.tuning, self.specialise, self.precision, self.schedules, self.memory_limit, True)

    @cached_property
    def decides(self) -> Literal["never", "estimates", "measurements"]:
        """What chooses between NumPy's functions and kernels at a first call; "never" is NumPy chosen."""
        if self.host == "never":
            return "never"
        return "estimates" if self.specialise == "always" or self.tuning == "full" else "measurements"

    @cached_property
    def general(self) -> bool:
        """Whether a kernel for all sizes may serve a call, until one for its own sizes pays."""
        return self.specialise == "auto" and self.tuning in ("auto", "off")


#: As many as entries are kept, each of which is of one mode.
_made = lru_cache(maxsize=4096)(Mode)


def _mode(
    host: Host, tuning: Tuning, specialise: Specialise, precision: Precision, schedules: Any, memory_limit: int | None,
    deterministic: bool,
) -> Mode:  # fmt: skip
    if schedules:  # they say all that is chosen otherwise
        host, tuning, specialise = "never", "off", "always"
    level: Level = "highest" if precision == "high" else precision
    if deterministic:  # NumPy, and kernels for all sizes, add in orders of their own
        host, specialise, level = "never", "always", "fixed"
    return _made(host, tuning, specialise, level, schedules or (), memory_limit, False)


_MODE = ("host", "tuning", "specialise", "precision", "schedule", "memory_limit", "deterministic")
for _each in product(get_args(Host), get_args(Tuning), get_args(Specialise), get_args(Precision)):
    _ = _mode(*_each, (), None, False).of_views  # now, when no two threads can make one

_changing = process.lock()


class _Block:
    """What `with config(...)` blocks set in this thread or task, over what the process has."""

    __slots__ = ("_mode", "_process", "changes", "outer")

    def __init__(self, changes: Mapping[str, Any], outer: "_Block | None") -> None:
        self.changes: Mapping[str, Any] = changes if outer is None else {**outer.changes, **changes}
        self.outer = outer
        self._process: Mapping[str, Any] | None = None

    def mode(self, process: Mapping[str, Any]) -> Mode:
        if self._process is not process:
            self._mode = _mode(*[self.changes.get(name, process[name]) for name in _MODE])
            self._process = process
        return self._mode


#: What blocks set in this thread or task; None outside of any.
inside: ContextVar[_Block | None] = ContextVar("mdhnp_config", default=None)


class _Changing(ContextDecorator):
    """What `config(...)` gives: enters a block, as often as one likes, also by several threads at once."""

    def __init__(self, owner: "Config", changes: Mapping[str, Any]) -> None:
        self._owner, self._changes = owner, changes

    def __enter__(self) -> "Config":
        inside.set(_Block(self._changes, inside.get()))
        return self._owner

    def __exit__(self, *error: object) -> None:
        block = inside.get()
        assert block is not None, "blocks end in the thread and task in which they began"
        inside.set(block.outer)


def _setting(name: str, what: str) -> Any:
    def get(self: "Config") -> Any:
        block = inside.get()
        return self._process[name] if block is None else block.changes.get(name, self._process[name])

    return property(get, doc=what)


class Config:
    """The settings, as attributes of ``mdhnp.config``.

    Setting an attribute changes it for the whole process. Calling gives a context manager that changes settings inside
    its block, for this thread or asynchronous task only; blocks nest.

    Raises
    ------
    ValueError
        If a value is none of those.
    AttributeError, TypeError
        If a setting does not exist: as an attribute, as an argument.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> mdhnp.config.tuning = "off"
    >>> with mdhnp.config(tuning="full", budget=2.0):
    ...     mdhnp.config.tuning, mdhnp.config.budget
    ('full', 2.0)
    >>> mdhnp.config.tuning
    'off'
    >>> a = np.ones((2, 3), np.float32)
    >>> with mdhnp.config(precision="default"):
    ...     mdhnp.matmul(a, a.T)
    array([[3., 3.],
           [3., 3.]], dtype=float32)
    """

    __slots__ = ("_process",)

    def __init__(self, environment: Mapping[str, str]) -> None:
        first = {}
        for name, variable in _VARIABLES.items():
            chosen = environment.get(variable, "").strip().lower()
            if chosen:
                value = int(chosen) if name in ("debug", "memory_limit") and chosen.isdecimal() else chosen
                first[name] = _checked(name, value, f"the environment variable {variable}")
        self._set(_DEFAULTS | first)

    # Properties, because every call asks for settings, and `__getattr__` takes three times as long.
    tuning: Tuning = _setting(
        "tuning",
        'What happens to calls that have no tuned schedule. "off": they run with the default. "auto": so do they, '
        "until their calls have taken long enough that tuning pays; then another process searches, and what it "
        'finds is tried in later calls. "background": the same, from the first call on. "full": they are tuned '
        "before they run. The environment variable ``MDHNP_TUNING`` gives the first value.",
    )
    budget: float = _setting(
        "budget",
        "Seconds that tuning one kernel may take under these policies, once its default schedule was measured.",
    )
    evaluations: int = _setting(
        "evaluations",
        'Most schedules that "auto" and "background" measure for one kernel; "full" goes on until the budget is spent.',
    )
    host: Host = _setting(
        "host",
        '"auto": NumPy computes calls until kernels were built and measured to be faster. "never": kernels compute '
        "them. The environment variable ``MDHNP_HOST`` gives the first value.",
    )
    fallback: Fallback = _setting(
        "fallback",
        'What happens to calls that kernels cannot compute (objects, dates, …). "auto": NumPy computes them, but '
        'with Arrays, which would have to be copied, they are TypeErrors. "numpy": NumPy computes all of them. '
        '"error": TypeError.',
    )
    specialise: Specialise = _setting(
        "specialise",
        'When a call gets a kernel for its very shapes and strides. "auto": when its calls have taken as long as it '
        'takes to compile one; before, NumPy computes, or a general kernel for all sizes. "always": at once, unless '
        "NumPy is estimated to be faster and was not measured to be slower.",
    )
    precision: Precision = _setting(
        "precision",
        'How exact products of float32 and of complex64 must be, unless a call says so itself. "highest": as '
        'float32. "default": devices with matrix instructions may round the factors of a sum of products to 11 bits '
        "(TF32, a relative error of up to 2^-10 a product), for a third of the instructions; sums are float32. "
        '"high" is another name of "highest", for programs that know it from elsewhere: three such products of '
        "parts of the factors are as exact as float32. Without effect on other types and devices, and where NumPy "
        "computes. The environment variable ``MDHNP_PRECISION`` gives the first value.",
    )
    debug: int = _setting(
        "debug",
        "What is written to standard error where a plan is made: 1, the plan; 2, also the candidates for it, with "
        "their estimated times; 3, also the kernels' schedules; 4, also their text. The environment variable "
        "``MDHNP_DEBUG`` gives the first value.",
    )

    schedule: Any = _setting(
        "schedule",
        "The :class:`mdhnp.tuning.Schedule` by which a call's kernel computes, exactly, or a sequence of them for a "
        "call of several kernels, as :func:`mdhnp.explain` gives them, unless the call says so itself; meant for a "
        "block around one call. NumPy computes no such call, and nothing is tuned for it. One that is not legal is an "
        ":class:`mdhnp.IllegalSchedule`. None: schedules are chosen.",
    )
    memory_limit: int | None = _setting(
        "memory_limit",
        "Bytes that the temporaries of a call in several steps may take at a time, unless the call says so itself. "
        "Where they would take more, steps are computed part by part; where no parts are small enough, the call is a "
        "MemoryError. None: half of what is free when the call is first made, if parts can be as small. The "
        "environment variable ``MDHNP_MEMORY_LIMIT`` gives the first value.",
    )

    deterministic: bool = _setting(
        "deterministic",
        "Whether floats are combined in one order that depends on the computation alone: "
        "results of sums are then the same bits on every device, in every process, tuned or not. Kernels compute all "
        "calls. What runtimes compute differently, as ``exp``, still differs.",
    )

    @property
    def mode(self) -> Mode:
        """The settings by which plans are chosen."""
        block = inside.get()
        mode: Mode = self._process["mode"] if block is None else block.mode(self._process)
        return mode

    def _set(self, values: Mapping[str, Any]) -> None:
        """Give the process other values: always a new dictionary, for who compares it with the one seen before."""
        object.__setattr__(self, "_process", {**values, "mode": _mode(*[values[name] for name in _MODE])})

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"config has no setting {name!r}; there are {', '.join(_DEFAULTS)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _DEFAULTS:
            raise AttributeError(f"config has no setting {name!r}; there are {', '.join(_DEFAULTS)}")
        checked = _checked(name, value, f"config.{name}")
        with _changing:
            self._set({**self._process, name: checked})

    def __repr__(self) -> str:
        return f"config({', '.join(f'{name}={getattr(self, name)!r}' for name in _DEFAULTS)})"

    def __call__(self, **changes: Any) -> _Changing:
        """Change settings inside a ``with`` block."""
        for name in changes:
            if name not in _DEFAULTS:
                raise TypeError(f"config has no setting {name!r}; there are {', '.join(_DEFAULTS)}")
        return self.block("config", changes)

    def block(self, where: str, changes: Mapping[str, Any]) -> _Changing:
        """Change settings inside a ``with`` block; `where`, for errors, is who says so."""
        return _Changing(self, {name: _checked(name, value, f"{where}: {name}") for name, value in changes.items()})


def _checked(name: str, value: Any, where: str) -> Any:
    """Give a value as a setting has it: numbers are Python's, whosever they were."""
    if name in _CHOICES:
        if not isinstance(value, Hashable) or value not in _CHOICES[name]:
            raise ValueError(f"{where}: {shown(value)} is none of {', '.join(map(repr, _CHOICES[name]))}")
        return _CHOICES[name][_CHOICES[name].index(value)]
    if name == "schedule":
        return None if value is None else _schedules(value, where)
    if name == "budget":
        if not isinstance(value, Real) or isinstance(value, bool) or not 0 < as_float(value) < inf:
            raise ValueError(f"{where}: {shown(value)} is no positive number of seconds that a float can hold")
        return as_float(value)
    if name == "memory_limit":
        if value is not None and (not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 0):
            raise ValueError(f"{where}: {shown(value)} is neither None nor a number of bytes")
        return None if value is None else int(value)
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise ValueError(f"{where}: {shown(value)} is no integer of at least 1")
    return int(value)


def as_float(number: Any) -> float:
    """Give a number as a float, infinity where it is beyond all of these."""
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def require_whole(name: str, value: Any, least: int) -> None:
    """Raise TypeError, which names the argument, for what is no whole number, ValueError for one below the least."""
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name}: takes a whole number, not {value!r:.80}")
    if value < least:
        raise ValueError(f"{name}: takes {least} or more, not {shown(value)}")


def shown(value: object) -> str:
    """Give what an error says that a value is; Python writes no integers of more than 4300 digits."""
    try:
        return f"{value!r:.80}"
    except ValueError:
        return "a number of too many digits to be written"


#: Schedules whose fields have values that they may have, by `id`.
_sound: WeakValueDictionary[int, Any] = WeakValueDictionary()


def _schedules(value: Any, where: str) -> tuple[Any, ...]:
    """Give one schedule or several as a tuple."""
    each = tuple(value) if isinstance(value, tuple | list) else (value,)
    module = sys.modules.get("mdhnp.schedule.check")  # is loaded, where there is a schedule
    if module is None or not each or not all(isinstance(s, module.Schedule) for s in each):
        raise ValueError(f"{where}: {value!r:.200} is neither None nor a mdhnp.tuning.Schedule nor a sequence of them")
    for s in each:  # 2.0 and True equal numbers, and would be found again in their place
        try:
            if _sound.get(id(s)) is not s:
                module.check_fields(s)
                _sound[id(s)] = s
        except ValueError as error:
            raise type(error)(f"{where}: {error}") from None
    return each


try:
    config = Config(os.environ)
except ValueError as error:
    # For the command this is wrong input, of which it cannot say so itself: it is a part of what is imported here.
    if Path(sys.argv[0]).stem != "mdhnp" and ("-m", "mdhnp") not in pairwise(sys.orig_argv):
        raise
    print(f"Error: {error}", file=sys.stderr)
    raise SystemExit(2) from None
