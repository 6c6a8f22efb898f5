"""Random computations of the sizes that users have, as users run them: with the schedules that a call gets.

Half a million points and more: hundreds of tiles, several work-groups, split reductions, long scans. The small ones of
`test_generator.py` see every schedule; these see what only sizes bring about. Seeded, so that a failure names its case.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from guards import assert_same_bits
from oracle import evaluate, largest_sum
from random_functions import Seeded
from running import execute, lowered
from strategies import Case, TooLarge, case

from mdhnp.codegen import Program, generate, resized
from mdhnp.mdh import MdHom
from mdhnp.schedule.default import default
from mdhnp.schedule.general import any_sizes, fitted, form, general_schedule
from mdhnp.schedule.schedule import DeviceCaps

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

POINTS = 1 << 20
CASES = 100
MORE = 2000

pytestmark = pytest.mark.usefixtures("garbage_in_temporaries")


def realistic(seed: int, points: int = POINTS) -> tuple[Case, bool]:
    """A case whose result is exact, and whether kernels are made for its sizes."""
    for attempt in range(100):
        picker = Seeded(1000 * seed + attempt)
        try:
            drawn = case(picker, points, in_ring=seed % 3 > 1)
        except TooLarge:
            continue
        h = drawn.mdhom
        enough = h.points * 4 >= points
        float_sums = [t for t in h.scalar.dtypes if t.kind in "fc"] if h.operator is not None else []
        exact = min((2.0 ** (np.finfo(t).nmant + 1) for t in float_sums), default=np.inf)
        if enough and (exact == np.inf or largest_sum(h, drawn.arrays) < exact):
            return drawn, picker.integer(0, 2) > 0
    raise AssertionError(f"seed {seed}: nothing suits")


def default_program(h: MdHom, caps: DeviceCaps, special: bool) -> Program:
    """What a call runs: a kernel for all sizes where there is one, or kernels for these."""
    steps = lowered(h)
    m = steps[0].mdhom
    typical = None if special or len(steps) > 1 else form(m)
    general = None if typical is None else general_schedule(typical, caps)
    suited = None if general is None else fitted(m, general, caps)
    if typical is None or general is None or suited is None:
        return generate(steps, [default(s.mdhom, caps) for s in steps], caps, default)
    return resized(generate([replace(steps[0], mdhom=typical)], [any_sizes(suited)], caps), m, suited)


@pytest.mark.parametrize(
    "seed", [*range(CASES), *(pytest.param(n, marks=pytest.mark.slow) for n in range(CASES, MORE))]
)
def test_realistic_sizes(device: Device, seed: int) -> None:
    drawn, special = realistic(seed)
    h, arrays = drawn.mdhom, drawn.arrays
    outputs = execute(device, h, arrays, default_program(h, device.caps, special))
    for number, (got, want) in enumerate(zip(outputs, evaluate(h, arrays), strict=True)):
        assert_same_bits(got, want, f"output {number} of {h} {h.extents}")
