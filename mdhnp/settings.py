"""Settings of all calls: when they may be tuned, and what NumPy may compute instead.

Imports nothing of the package, so that all that know of calls may ask. A setting is looked up in every call:
no more than two dictionaries are asked.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from math import isfinite
from typing import Any, Literal, get_args

__all__ = ["Config", "Fallback", "Host", "Specialise", "Tuning", "config"]

Tuning = Literal["auto", "background", "full", "off"]
Host = Literal["auto", "never"]
Fallback = Literal["numpy", "error"]
Specialise = Literal["auto", "always"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "tuning": get_args(Tuning), "host": get_args(Host), "fallback": get_args(Fallback),
    "specialise": get_args(Specialise),
}  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    "tuning": "auto", "budget": 10.0, "evaluations": 50, "host": "auto", "fallback": "numpy",
    "specialise": "auto",
}  # fmt: skip
_VARIABLES = {"tuning": "MDHNP_TUNING", "host": "MDHNP_HOST"}

#: What `with config(...)` blocks set in this thread or task, over what the process has.
_overrides: ContextVar[Mapping[str, Any] | None] = ContextVar("mdhnp_config", default=None)


def _setting(name: str) -> Any:
    def get(self: "Config") -> Any:
        overrides = _overrides.get()
        return overrides[name] if overrides is not None and name in overrides else self._process[name]

    return property(get)


class Config:
    """The settings, as attributes of ``mdhnp.config``.

    Setting an attribute changes it for the whole process. Calling gives a context manager that changes settings inside
    its block, for this thread or asynchronous task only; blocks nest.

    Attributes
    ----------
    tuning : {"auto", "background", "full", "off"}
        What happens to calls that have no tuned schedule. "off": they run at
        first with a general kernel (see `specialise`), then with that of similar extents or the default.
        "auto": so do they, until their calls have taken long enough that tuning pays; then one call waits for it.
        "background": they are tuned in another process while they run. "full": they are tuned before they run. The
        environment variable ``MDHNP_TUNING`` gives the first value.
    budget : float
        Seconds that tuning one kernel may take under these policies.
    evaluations : int
        Most schedules that "auto" and "background" measure for one kernel; "full" goes on until the budget is spent.
    host : {"auto", "never"}
        "auto": NumPy computes calls that it is done with before kernels are. "never": kernels compute them.
        The environment variable ``MDHNP_HOST`` gives the first value.
    fallback : {"numpy", "error"}
        What happens to calls that kernels cannot compute (objects, dates, …): NumPy computes them, or TypeError.
    specialise : {"auto", "always"}
        When a call gets a kernel for its very shapes and strides. "auto": when its calls have taken as long as it takes
        to compile one; before, calls that differ in sizes only share one general kernel. "always": at once.

    Raises
    ------
    ValueError
        If a value is none of those.
    AttributeError, TypeError
        If a setting does not exist: as an attribute, as an argument.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.config.tuning = "off"
    >>> with mdhnp.config(tuning="full", budget=2.0):
    ...     mdhnp.config.tuning, mdhnp.config.budget
    ('full', 2.0)
    >>> mdhnp.config.tuning
    'off'
    """

    __slots__ = ("_process",)

    def __init__(self, environment: Mapping[str, str]) -> None:
        object.__setattr__(self, "_process", dict(_DEFAULTS))
        for name, variable in _VARIABLES.items():
            chosen = environment.get(variable, "").strip().lower()
            if chosen:
                self._process[name] = _checked(name, chosen, f"the environment variable {variable}")

    # Properties, because every call asks for settings, and `__getattr__` takes three times as long.
    tuning: Tuning = _setting("tuning")
    budget: float = _setting("budget")
    evaluations: int = _setting("evaluations")
    host: Host = _setting("host")
    fallback: Fallback = _setting("fallback")
    specialise: Specialise = _setting("specialise")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"config has no setting {name!r}; there are {', '.join(_DEFAULTS)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _DEFAULTS:
            raise AttributeError(f"config has no setting {name!r}; there are {', '.join(_DEFAULTS)}")
        self._process[name] = _checked(name, value, f"config.{name}")

    def __repr__(self) -> str:
        return f"config({', '.join(f'{name}={getattr(self, name)!r}' for name in _DEFAULTS)})"

    @contextmanager
    def __call__(self, **changes: Any) -> Iterator["Config"]:
        """Change settings inside a ``with`` block."""
        for name in changes:
            if name not in _DEFAULTS:
                raise TypeError(f"config has no setting {name!r}; there are {', '.join(_DEFAULTS)}")
        new = {name: _checked(name, value, f"config: {name}") for name, value in changes.items()}
        token = _overrides.set({**(_overrides.get() or {}), **new})
        try:
            yield self
        finally:
            _overrides.reset(token)


def _checked(name: str, value: Any, where: str) -> Any:
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise ValueError(f"{where}: {value!r} is none of {', '.join(map(repr, _CHOICES[name]))}")
    elif name == "budget":
        if not isinstance(value, int | float) or not isfinite(value) or value <= 0:
            raise ValueError(f"{where}: {value!r} is no positive number of seconds")
    elif not isinstance(value, int) or value < 1:
        raise ValueError(f"{where}: {value!r} is no integer of at least 1")
    return value


config = Config(os.environ)
