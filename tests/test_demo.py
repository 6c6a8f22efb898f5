"""The demo: right results and exit code on every device, pictures, and what happens when a result is wrong."""

import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import chosen_devices

import mdhnp.demo
from mdhnp.demo import data, timing
from mdhnp.demo.cases import all_cases
from mdhnp.demo.show import write_png
from mdhnp.demo.timing import Case, largest_error
from mdhnp.runtime.devices import Device

#: One pair a case: this tests results, not times.
QUICK = {"_PAUSE": 0, "_PATIENCE": 0, "_WAKING": 0, "_LENGTH": 0, "_MOST_PAIRS": 1, "_FEWEST_PAIRS": 1}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in QUICK.items():
        monkeypatch.setattr(timing, name, value)


def pixels_of(path: Path) -> Any:
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n" and content[12:16] == b"IHDR"
    columns, rows = (int.from_bytes(content[n : n + 4], "big") for n in (16, 20))
    begin = content.index(b"IDAT")
    length = int.from_bytes(content[begin - 4 : begin], "big")
    lines = np.frombuffer(zlib.decompress(content[begin + 4 : begin + 4 + length]), np.uint8).reshape(rows, columns + 1)
    assert (lines[:, 0] == 0).all()
    return lines[:, 1:]


def check_pictures(folder: Path) -> None:
    found = {path.stem: pixels_of(path) for path in folder.iterdir()}
    assert set(found) == {"photograph", "smoothed", "edges"}
    assert all(pixels.shape == (512, 512) for pixels in found.values())
    assert (found["photograph"] == data.picture()).all()
    assert found["smoothed"].std() < found["photograph"].std()


def with_checked_peers() -> Iterator[Case]:
    """The cases, whose peers must give what is expected, too."""
    for case in all_cases():
        expected = cache(case.expected)

        def peer(case: Case = case, expected: Any = expected) -> None:
            assert largest_error(case.peer(), expected()) < max(1e-4, case.tolerance), case.call

        yield replace(case, peer=peer, expected=expected)


def test_demo(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = list[Any]()
    monkeypatch.setattr(mdhnp.demo, "all_cases", with_checked_peers)
    monkeypatch.setattr(timing, "_seconds", lambda function: asked.append(function) or 1.0)
    assert mdhnp.demo.run(tmp_path) == 0
    assert asked
    printed = capsys.readouterr().out
    assert max(len(line) for line in printed.splitlines() if not line.startswith("written")) <= 120
    for call in ("einsum", "matmul", "gemm", "gemv", "dot", "stencil", "prl", "md_hom"):
        assert f"{call}(" in printed
    assert device.name in printed and "recall" in printed
    check_pictures(tmp_path)


def test_demo_as_a_command(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    first, *_ = chosen_devices(request.config.getoption("--device")).values()
    code = f"""
import mdhnp.demo
from itertools import islice
from mdhnp.cli import main
some = list(islice(mdhnp.demo.all_cases(), 2))  # a device computes all of them above
mdhnp.demo.all_cases = lambda: some
vars(mdhnp.demo.timing).update({QUICK})
main()
"""
    command = [sys.executable, "-c", code, "demo", "--device", first.runtime, "--save", str(tmp_path / "new")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    check_pictures(tmp_path / "new")


def test_a_wrong_result_fails(
    device: Device, quick: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.ones(100)
    wrong = Case("dot(x, x)", "ones", lambda: mdhnp.dot(x, x), lambda: x @ x, "np.matmul", lambda: np.float64(101))
    monkeypatch.setattr(mdhnp.demo, "all_cases", lambda: iter([wrong]))
    assert mdhnp.demo.run() == 1
    assert "WRONG" in (printed := capsys.readouterr().out) and "wrong results: dot(x, x)" in printed


def test_a_call_left_to_numpy_fails(device: Device, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(3, np.longdouble)
    left = Case("dot(x, x)", "long doubles", lambda: mdhnp.dot(x, x), lambda: x @ x, "np.matmul", lambda: x @ x)
    monkeypatch.setattr(mdhnp.demo, "all_cases", lambda: iter([left]))
    assert mdhnp.demo.run() == 1


def test_largest_error() -> None:
    inf = np.inf
    assert largest_error(np.zeros(3), np.zeros(4)) == inf
    assert largest_error(np.array([1, inf]), np.array([1, inf])) == 0
    assert largest_error(np.array([1, 2.0]), np.array([1, inf])) == inf
    assert largest_error(np.array([1, np.nan]), np.array([1, 2.0])) == inf
    assert largest_error((np.array([1]), np.array([3])), (np.array([1]), np.array([2]))) == 0.5
    assert largest_error(np.zeros(0), np.zeros(0)) == 0


def test_png(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", np.array([[0.4, 254.6, 300], [-5, 128, 1]]))
    assert pixels_of(tmp_path / "a.png").tolist() == [[0, 255, 255], [0, 128, 1]]


def test_a_folder_that_cannot_be_made_is_told_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdhnp.demo, "all_cases", None)  # which would be called
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        mdhnp.demo.run(tmp_path / "file" / "pictures")
