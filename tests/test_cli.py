"""The command line: what every command prints, how it ends, and what wrong input brings."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from commands import run
from tuning_entries import fresh_cache

import mdhnp
import mdhnp.demo
from mdhnp.cli import cache as cache_commands
from mdhnp.cli import main
from mdhnp.cli.cache import identifier_of
from mdhnp.cli.options import CASES, DTYPES, make
from mdhnp.demo import timing
from mdhnp.demo.timing import largest_error
from mdhnp.runtime.devices import Device
from mdhnp.tuning.cache import TuningCache

ROOT = Path(__file__).resolve().parent.parent
SMALL = ("matmul", "--shape", "20x30", "--shape", "30x10")
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TuningCache]:
    monkeypatch.setattr(cache_commands, "shipped_entries", dict)
    yield from fresh_cache(tmp_path, monkeypatch)


def failing(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def in_a_process(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mdhnp", *args]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment}
    )


def test_devices(device: Device) -> None:
    printed = run("devices").stdout
    assert device.name in printed and device.runtime in printed and "\x1b" not in printed
    facts = json.loads(run("devices", "--json").stdout)
    assert [f["identity"] for f in facts] == [d.identity for d in mdhnp.devices()]
    (default,) = [f for f in facts if f["default"]]
    assert default["position"] == mdhnp.devices().index(device)
    assert default["caps"]["compute_units"] == device.caps.compute_units


def test_explain(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = run("explain", "ij,jk->ik", "--extents", "i=20, j=30,k=10", "--dtype", "int32").stdout
    assert "md_hom(*, (++, ++, +)) ∘ (A[i,j], B[j,k]) -> C[i,k]" in printed
    assert device.name in printed and "wg=(" in printed and "__kernel" not in printed
    loops = run("explain", *SMALL, "--loops").stdout
    assert "kernel mdh_0" in loops and "__kernel" not in loops
    plain = run("explain", *SMALL, "--source").stdout
    assert "__kernel" in plain and "\x1b" not in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("explain", *SMALL, "--source").stdout


def test_device_option(device: Device) -> None:
    other = mdhnp.devices()[-1]
    position = len(mdhnp.devices()) - 1
    assert f"{other.name} ({other.platform})" in run("explain", *SMALL, "--device", position).stdout


def test_tune(device: Device, known: TuningCache, tmp_path: Path) -> None:
    plot = tmp_path / "run.png"
    printed = run("tune", *SMALL, "--evaluations", 3, "--seed", 1, "--plot", plot).stdout
    ((found, kept),) = known.entries()
    assert found.device == device.identity
    assert str(kept.schedule) in printed and kept.mdh in printed
    default, tuned = (line.split() for line in printed.splitlines() if line.startswith(("default", "tuned")))
    assert default[3] == "1.00" and float(tuned[3]) >= 0.5
    assert f"{len(known.measurements(found))} schedules measured" in printed
    assert plot.read_bytes().startswith(PNG)
    plot.unlink()
    shown = run("cache", "show", identifier_of(found), "--plot", plot).stdout
    assert plot.read_bytes().startswith(PNG)
    assert device.identity in shown


def test_tune_without_a_claim(device: Device, known: TuningCache) -> None:
    problem = make("matmul", [(20, 30), (30, 10)], None, np.dtype(np.float32))
    with mdhnp.device(device):
        (tuned,) = mdhnp.tune(problem.ours, evaluations=1)
    ((claimed, _),) = known.entries()
    assert tuned.measurements
    owner = known.claim(claimed)
    assert "another process" in run("tune", *SMALL, status=1).stderr
    known.release(claimed, owner)


def test_tune_that_cannot_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdhnp, "tune", failing(RuntimeError("the measuring process cannot start")))
    assert run("tune", *SMALL, status=1).stderr == "Error: the measuring process cannot start\n"


def test_ctrl_c_keeps_what_was_found(known: TuningCache) -> None:
    command = [sys.executable, "-m", "mdhnp", "tune", "ij,jk->ik", "--extents", "i=200,j=200,k=200"]
    command += ["--budget", "100", "--evaluations", "10000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        while not known._read("measurement", "1"):  # what the other process has logged, of whichever key
            assert child.poll() is None, child.communicate()
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert err == "stopped by Ctrl-C; what was found until then is kept\n"
    ((_, kept),) = known.entries()
    assert str(kept.schedule) in out


@pytest.mark.parametrize(
    "args",
    [
        ("i,j,->ij", "--extents", "i=5,j=6"),
        ("matmul", "--shape", "3x20x30", "--shape", "30x10", "--dtype", "float64"),
        ("dot", "--shape", "300", "--shape", "300", "--dtype", "int8"),
        ("gemv", "--shape", "30x20", "--shape", "20"),
        ("gemm", "--shape", "30x20", "--shape", "20x10", "--dtype", "uint64"),
        ("gaussian", "--shape", "20x30"),
        ("gradient", "--shape", "20x30", "--dtype", "float64"),
        ("jacobi", "--shape", "10x12x14"),
        ("minplus", "--shape", "10x20", "--shape", "20x30"),
        ("integral", "--shape", "20x30", "--dtype", "int16"),
        ("prl", "--shape", "20", "--shape", "5100"),
    ],
    ids=lambda args: args[0],
)
def test_bench(device: Device, args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_PAUSE", "_PATIENCE", "_LENGTH"):
        monkeypatch.setattr(timing, name, 0)
    printed = run("bench", *args, "--pairs", 2).stdout
    ratio = next(line for line in printed.splitlines() if line.startswith("ratio"))
    low, middle, high = map(float, ratio.split()[1:])
    assert 0 < low <= middle <= high
    assert device.name in printed


def test_a_wrong_result_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "_wide", lambda array: array + 1)
    result = run("bench", *SMALL, status=1)
    assert "wrong result" in result.stderr and "ratio" not in result.stdout


@pytest.mark.parametrize("name", CASES)
def test_cases_agree_with_numpy(name: str) -> None:
    case = CASES[name]
    shapes = [(12,) * (rank or 2) for rank in case.ranks]
    for dtype in case.dtypes:
        problem = make(name, shapes, None, np.dtype(dtype))
        assert largest_error(problem.ours(), problem.expected()) <= problem.tolerance
        assert largest_error(problem.peer(), problem.expected()) <= max(problem.tolerance, 1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_einsum_agrees_with_numpy(dtype: str) -> None:
    problem = make("ij,jk,kl->il", [(12, 10), (10, 11), (11, 9)], None, np.dtype(dtype))
    assert problem.ours().dtype == dtype
    assert largest_error(problem.ours(), problem.expected()) <= problem.tolerance


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Path | None, int]] = []

    def demo(save: Path | None) -> int:
        asked.append((save, mdhnp.devices().index(mdhnp.explain(mdhnp.dot, [1.0], [1.0]).launches[0].device)))
        return len(asked) - 1

    monkeypatch.setattr(mdhnp.demo, "run", demo)
    last = len(mdhnp.devices()) - 1
    run("demo")
    run("demo", "--save", tmp_path / "new", "--device", last, status=1)
    assert asked == [(None, 0), (tmp_path / "new", last)]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("no-such", "No such command 'no-such'"),
        ("tune", "Missing argument 'SPEC'"),
        ("tune nonsense", "neither an einsum such as"),
        ("tune matmul --shape 3x4", "takes 2 arrays, a --shape for each; 1 given"),
        ("tune matmul --shape 3x4 --shape 5x6", "(3, 4) and (5, 6) do not match"),
        ("tune matmul --shape 3x4 --extents i=3", "--extents is for an einsum"),
        ("tune gemv --shape 3 --shape 3", "gemv: shape 0 is 3, but needs 2 extents"),
        ("tune jacobi --shape 2x2x2", "smaller than the stencil"),
        ("tune gaussian --shape 9x9 --dtype int8", "gaussian is for float32, float64, not int8"),
        ("tune ij,jk --dtype object", "'object' is not one of"),
        ("tune ij,jk --shape 3x0", "'3x0' is no shape"),
        ("tune ij,jk --shape axb", "'axb' is no shape"),
        ("tune ij,jk --shape 3x4", "takes 2 arrays"),
        ("tune ij,jk --shape 3x4 --shape 5x6", "'j'"),
        ("tune ij,jk->il --shape 3x4 --shape 4x6", "'l' in the output"),
        ("tune ij,jk --shape 3x4 --extents i=3", "not both"),
        ("tune ij,jk --extents i=3,k=4", "--extents lacks j"),
        ("tune ij,jk --extents i=3,j=4,k=4,l=5", "more than the einsum: l"),
        ("tune ij,jk --extents i=3,j=0", "'j=0' is no extent"),
        ("tune ...j,jk --extents j=3,k=4", "'...j'"),
        ("tune j[i],jk->ik --extents i=2,j=3,k=4", "'j[i]'"),
        ("tune dot --shape 9 --shape 9 --budget 0", "'--budget'"),
        ("tune dot --shape 9 --shape 9 --budget nan", "Invalid value for '--budget': nan is not in the range x>0"),
        ("tune dot --shape 9 --shape 9 --device nowhere", "no OpenCL device fits 'nowhere'"),
        ("explain dot --shape 1000000000000x1000000000 --shape 9", "array is too big"),
        ("demo --device nowhere", "no OpenCL device fits 'nowhere'"),
        ("bench dot --shape 9 --shape 9 --pairs 1", "'--pairs'"),
        ("tune dot --shape 9 --shape 9 --plot no/such/folder.png", "no folder"),
        ("tune dot --shape 9 --shape 9 --plot picture.doc", "'picture.doc' ends with none of"),
    ],
)
def test_wrong_input(args: str, said: str) -> None:
    result = run(*args.split(), status=2)
    assert result.stdout == ""
    assert said in result.stderr and result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1


def test_plots_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    assert "pip install 'mdhnp[plot]'" in run("tune", *SMALL, "--plot", tmp_path / "a.png", status=2).stderr


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (mdhnp.BuildError("mdh_0 does not compile", "", None), 1, "Error: mdh_0 does not compile\n"),
        (mdhnp.LaunchError("mdh_0 does not run"), 1, "Error: mdh_0 does not run\n"),
        (MemoryError("for 8 TiB"), 2, "Error: not enough memory: for 8 TiB\n"),
        (KeyboardInterrupt(), 130, "stopped\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_failures(raised: BaseException, status: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdhnp, "explain", failing(raised))
    assert run("explain", *SMALL, status=status).stderr == said


def test_defects_show_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdhnp, "explain", failing(AssertionError("a defect")))
    assert isinstance(CliRunner().invoke(main, ["explain", *SMALL]).exception, AssertionError)


def test_as_a_process(device: Device) -> None:
    done = in_a_process("devices", MDHNP_DEVICE="no such device")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "MDHNP_DEVICE" in done.stderr
    done = in_a_process("devices", MDHNP_TUNING="fast")
    assert done.returncode == 2 and done.stderr.startswith("Error: the environment variable MDHNP_TUNING: 'fast'")
    assert done.stderr.count("\n") == 1
    done = in_a_process("explain", *SMALL, MDHNP_DEVICE=str(mdhnp.devices().index(device)))
    assert done.returncode == 0 and device.name in done.stdout and done.stderr == ""
    assert in_a_process("--version").stdout == f"python -m mdhnp {mdhnp.__version__}\n"


def test_help_imports_nothing_slow() -> None:
    code = "import sys, mdhnp.cli; assert not {'rich', 'matplotlib', 'mdhnp.demo'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


def documented() -> list[str]:
    """Commands in the documentation, as they stand there."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    blocks = [b for page in pages for b in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.M | re.S)]
    lines = [line for block in blocks for line in block.splitlines()]
    return [line.partition(" #")[0].strip() for line in lines if line.startswith("mdhnp ")]


def test_documented_commands_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    groups: list[click.Group] = [main, cache_commands.cache]
    for group in groups:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if not isinstance(command, click.Group):
                monkeypatch.setattr(command, "callback", lambda name=name, **_: called.append(name))
    monkeypatch.chdir(tmp_path)
    Path("tuned.json").touch()
    for command in (commands := documented()):
        run(*shlex.split(command)[1:])
    assert len(called) == len(commands) and {"tune", "list", "show", "export", "import"} <= set(called)
