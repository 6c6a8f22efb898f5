"""What `config.debug` shows of the plans that are made."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiers import decide, own_helper

import mdhnp
from mdhnp.calls.store import forget
from mdhnp.runtime.devices import Device
from mdhnp.tuning import background


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    forget()
    yield from own_helper(monkeypatch)
    forget()


SHOWN = [
    ({"host": "never", "specialise": "auto"}, "kernels, general schedule (config.host is 'never')"),
    ({"host": "never", "specialise": "always"}, "kernels, default schedule (config.host is 'never')"),
    ({"host": "auto", "specialise": "auto"}, "by numpy.dot (no kernel was built for it yet)"),
]


@pytest.mark.parametrize("level", range(5))
@pytest.mark.parametrize(("settings", "kind"), SHOWN)
def test_debug_shows_new_plans(
    device: Device, settings: Any, kind: str, level: int, capsys: pytest.CaptureFixture[str]
) -> None:
    a = np.ones((3, 5), np.float32)
    with mdhnp.config(debug=level, tuning="off", **settings):
        for _ in range(2):
            mdhnp.matmul(a, a.T)
    captured = capsys.readouterr()
    assert captured.out == ""
    found = captured.err.splitlines()
    assert all(line.startswith("mdhnp: ") for line in found)
    if level == 0:
        assert not found
        return
    expected = f"mdhnp: matmul: {kind}: md_hom(*, (++, ++, +)) ∘ (A[i,k], B[k,j]) -> C[i,j], i=3, j=3, k=5, on "
    assert found[0].startswith(expected + device.name + ", made in ")
    kernels = kind.startswith("kernels")
    counts = [sum(line.startswith(f"mdhnp:   {what}") for line in found) for what in ("candidate", "schedule", "|")]
    assert counts[0] == (level > 1) * 2  # NumPy's is one even where it is not asked
    assert counts[1] == (level > 2 and kernels)
    assert (counts[2] > 5) == (level > 3 and kernels)
    assert len(found) == 1 + sum(counts)


def test_debug_shows_what_takes_a_plan_s_place(
    device: Device, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    decide(monkeypatch)
    a = np.ones((3, 5), np.float32)
    with mdhnp.config(debug=1, tuning="off"):
        for host in ("never", "auto"):
            with mdhnp.config(host=host):
                for _ in range(4):
                    mdhnp.matmul(a, a.T)
                    background.wait()
        mdhnp.matmul(a[:0], a.T)
    found = [line.split(":")[2] for line in capsys.readouterr().err.splitlines()]
    assert found == [
        " kernels, general schedule (config.host is 'never')",
        " kernels, default schedule (measured",
        " by numpy.dot (no kernel was built for it yet)",
        " kernels, default schedule (measured",
        " nothing to launch (an extent is 0)",
    ]
