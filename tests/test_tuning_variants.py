"""Variants of schedules: what searches derive from sizes, changed one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from chains import blurred
from rows import softmax
from test_tuning_search import CAPS, GPU, gemm, stages

from mdhnp.codegen.generate import generate
from mdhnp.mdh import Computation, canonical
from mdhnp.mdh.stages import Argument, Stage
from mdhnp.runtime.devices import Device
from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import check, is_legal
from mdhnp.schedule.default import default
from mdhnp.schedule.split import split, splits
from mdhnp.tuning.measure.bench import Bench, TuningTask
from mdhnp.tuning.search.search import Search
from mdhnp.tuning.search.space import sample, schedule
from mdhnp.tuning.search.variants import FIELDS, distinct, exchangeable, variants


def some(h: Computation, caps: DeviceCaps, count: int) -> list[Schedule]:
    """The default schedule of a computation, and some of an MDH that were drawn."""
    access, rng = AccessPattern(h.last), np.random.default_rng(0)
    drawn = sample(access, caps, 500, rng)
    each = (schedule(access, drawn, row, caps) for row in range(0, len(drawn), 1 + len(drawn) // 40))
    return [default(h, caps), *islice((s for s in each if is_legal(h, s, caps)), count)]
