"""Generated kernels under Oclgrind: no access out of bounds, uninitialised value, data race or divergent barrier.

One process of its own runs kernels of `kernels.py` and random ones of `strategies.py` on the simulator (its ICD
replaces all others there) and reports what Oclgrind logged for each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kernels import KERNELS, TEXTS

LIBRARY = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
HERE = Path(__file__).parent
RANDOM, CHAINS = 26, 12

pytestmark = [
    pytest.mark.oclgrind,
    pytest.mark.skipif(not LIBRARY.exists(), reason=f"Oclgrind is not installed ({LIBRARY} is missing)"),
]

Report = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Report:
    """For each kernel that is asked for: whether the result was right, and Oclgrind's messages."""
    folder = tmp_path_factory.mktemp("oclgrind")
    icd = folder / "oclgrind.icd"
    icd.write_text(f"{LIBRARY}\n")
    environment = {
        **os.environ,
        "OCL_ICD_VENDORS": str(icd),
        "OCLGRIND_LOG": str(folder / "log"),
        "OCLGRIND_DATA_RACES": "1",
        "OCLGRIND_UNINITIALIZED": "1",
        "OCLGRIND_CHECK_API": "1",
        # Oclgrind 21.10 does not know LLVM's instruction "freeze", which optimisation brings in.
        "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable",
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)]),
    }
    called = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    command = [sys.executable, str(HERE / "oclgrind_run.py"), *dict.fromkeys(c.params["name"] for c in called if c)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in KERNELS if name != "gemm_prefetched"),
        pytest.param("gemm_prefetched", marks=pytest.mark.whole),  # with an option of Oclgrind's own
        *TEXTS,
        *(f"random {n}" for n in range(RANDOM)),
        *(f"{kind} {n}" for kind in ("chain", "rows", "stream") for n in range(CHAINS)),
    ],
)
def test_nothing_is_found(report: Report, name: str) -> None:
    assert report[name]["log"] == ""
    assert report[name]["right"]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken bounds", "Invalid read"),
        ("broken race", "data race"),
        ("broken uninitialised", "Uninitialized value"),
        ("broken barrier", "divergence"),
    ],
)
def test_broken_kernels_are_found(report: Report, name: str, message: str) -> None:
    assert message in report[name]["log"]


def test_launches_of_several_kernels(tmp_path: Path) -> None:
    (tmp_path / "oclgrind.icd").write_text(f"{LIBRARY}\n")
    code = (
        "import numpy as np, tests.test_runtime_executable as t\n"
        "from mdhnp.runtime.devices import *\n"
        "from mdhnp.runtime.executable import *\n"
        "from mdhnp.runtime.layout import *\n"
        "d = find_device('oclgrind')\n"
        "a, b = np.random.default_rng(0).random((2, 8), dtype=np.float32)\n"
        "out = np.empty_like(a)\n"
        "plan = Executable(d, t.two_kernels(8), [Layout.of(a), Layout.of(b[::-1])], [Layout.of(a)])\n"
        "for _ in range(2): plan([a, b[::-1]], [out])\n"
        "np.testing.assert_allclose(out, t.expected(a, b), rtol=1e-6)\n"
        "print(len(plan.profile([a, b[::-1]], [out])))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=HERE.parent,
        env={
            **os.environ,
            "OCL_ICD_VENDORS": str(tmp_path),
            "OCLGRIND_DATA_RACES": "1",
            "OCLGRIND_STOP_ERRORS": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr.strip(), done.returncode) == ("2", "", 0)
