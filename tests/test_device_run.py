"""A few seeds of each kind of what :mod:`device_run` computes for as long as one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from device_run import KINDS, run_one

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device


@pytest.mark.parametrize("seed", range(4 * len(KINDS)))
def test_seeds_are_right(device: Device, seed: int) -> None:
    assert run_one(device, seed).startswith(KINDS[seed % len(KINDS)])
