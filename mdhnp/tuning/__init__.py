"""Finds better schedules by measuring, and remembers them for good; tunes parameters of users' own.

What users take from here is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mdhnp.schedule import LocalCopy, Schedule
    from mdhnp.tuning.measure.kernel import TunedKernel, kernel
    from mdhnp.tuning.search.abort import Abort, duration, evaluations, speedup, stalled
    from mdhnp.tuning.search.own import InvalidConfiguration, TuningResult, tune
    from mdhnp.tuning.search.parameters import Parameter, Space, parameter, space
    from mdhnp.tuning.search.techniques import (
        DifferentialEvolution,
        Exhaustive,
        ModelGuided,
        RandomSearch,
        SimulatedAnnealing,
    )

_NAMES = {
    "schedule": "LocalCopy Schedule",
    "tuning.measure.kernel": "TunedKernel kernel",
    "tuning.search.abort": "Abort duration evaluations speedup stalled",
    "tuning.search.own": "InvalidConfiguration TuningResult tune",
    "tuning.search.parameters": "Parameter Space parameter space",
    "tuning.search.techniques": "DifferentialEvolution Exhaustive ModelGuided RandomSearch SimulatedAnnealing",
}
_MODULES = {name: f"mdhnp.{module}" for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Abort", "DifferentialEvolution", "Exhaustive", "InvalidConfiguration", "LocalCopy", "ModelGuided", "Parameter",
    "RandomSearch", "Schedule", "SimulatedAnnealing", "Space", "TunedKernel", "TuningResult", "duration", "evaluations",
    "kernel", "parameter", "space", "speedup", "stalled", "tune",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__"])
