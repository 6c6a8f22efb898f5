"""The first call of `matmul` on ndarrays, as it is traced: which functions decide something, and in which order."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mdhnp"

#: Functions that decide something, in the order in which they run, each with its question.
WALK = [
    ("frontend/gufuncs.py", "matmul", "are there arguments beside the arrays?"),
    ("calls/call.py", "call", "was this call made before? are there Arrays?"),
    ("calls/call.py", "_first", "what does each answer below lead to?"),
    ("calls/operands.py", "unsupported", "can kernels compute with these types?"),
    ("calls/store.py", "Store.recall", "was it made so long ago that its entry is an old one?"),
    ("calls/call.py", "_planned", "which arrays does it read, and where are they?"),
    ("frontend/gufuncs.py", "_describe", "which MDH is it?"),
    ("calls/steps.py", "CallRequest.plan", "are there several devices? may rules be applied in other ways?"),
    ("fusion/least_work.py", "least_work", "do several steps take fewer operations?"),
    ("calls/request.py", "known_to_numpy", "has NumPy a function for it, and may it compute?"),
    ("calls/steps.py", "CallRequest._start", "is it one step?"),
    ("calls/actions.py", "is_empty", "is an extent 0?"),
    ("calls/actions.py", "takes_opencl", "does it take OpenCL, which is not loaded?"),
    ("calls/actions.py", "is_unloaded", "is OpenCL not loaded?"),
    ("calls/actions.py", "only_kernels", "is NumPy not to compute?"),
    ("calls/actions.py", "ready", "are its kernels on disk?"),
    ("calls/actions.py", "general", "may a kernel for all sizes serve it?"),
    ("tuning/lookup.py", "tuned_for", "is a schedule tuned for it?"),
    ("calls/general.py", "general_program", "is the program of its form known?"),
    ("schedule/general.py", "general_schedule", "with which tiles?"),
    ("codegen/generate.py", "generate", "in which text?"),
    ("runtime/executable.py", "Executable.__init__", "is that compiled? how are results allocated?"),
    ("runtime/executable.py", "Executable.new", "is it launched on the arrays' own memory?"),
]

#: Functions of `calls/` with an `if` that do not decide who computes, each with what it does.
OTHERS = {
    "Progress.handle": "looks the table of states up",
    "Progress.follow": "counts calls from now on",
    "Progress.price": "says what they are to cost",
    "Progress.put": "uses a plan",
    "Progress.saw": "counts the call",
    "_price_of_building": "is a price",
    "_enqueued": "is one",
    "start": "gives the plan",
    "CallRequest._graph": "gives the graph that was described",
    "choose_kernels": "names the device, of several",
    "ready": "reads the disk, for the condition of that name",
    "read": "does that",
    "general": "asks the questions below",
    "_sized": "sets a program to sizes",
    "show": "writes what config.debug asks for",
    "Store.keep": "keeps the entry",
    "Entry.run": "runs its plan",
    "Kernels.run": "launches",
    "scalar": "makes a scalar of a result without axes",
    "Described.inputs": "gives views of operands",
}

#: What devices, layouts and files say of themselves.
RECORDS = {"candidates", "is_array", "Layout.of", "load", "largest_array"}

TRACED = """
import json, sys
from pathlib import Path
import numpy as np
import mdhnp
from mdhnp.calls.loading import load
load()
package, calls = str(Path(mdhnp.__file__).parent), []
def note(frame, event, _):
    if event == "call" and frame.f_code.co_filename.startswith(package):
        depth, outer = 0, frame
        while outer is not None:
            depth, outer = depth + 1, outer.f_back
        calls.append((depth, Path(frame.f_code.co_filename).relative_to(package).as_posix(), frame.f_code.co_qualname))
mdhnp.config.host = "never"
warm, a = np.ones((3, 4, 5)), np.ones((35, 36), np.float32)
mdhnp.matmul(warm, warm.swapaxes(1, 2))  # all is imported
sys.setprofile(note)
mdhnp.matmul(a, a.T)
sys.setprofile(None)
print(json.dumps(calls))
"""


@cache
def traced(cache_folder: str) -> list[tuple[int, str, str]]:
    environment = {**os.environ, "MDHNP_CACHE_DIR": cache_folder, "MDHNP_TUNING": "off", "MDHNP_PRECISION": ""}
    done = subprocess.run(
        [sys.executable, "-c", TRACED], env=environment, capture_output=True, text=True, check=True, cwd=PACKAGE.parent,
    )  # fmt: skip
    return [tuple(each) for each in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, str, str]]:
    return traced(str(tmp_path_factory.mktemp("cache")))


def test_each_question_is_asked_once_in_this_order(calls: list[tuple[int, str, str]]) -> None:
    assert len(WALK) <= 25
    asked = {(file, name) for file, name, _ in WALK}
    ran = [(file, name) for _, file, name in calls if (file, name) in asked]
    assert ran == [(file, name) for file, name, _ in WALK]


def test_the_page_lists_them() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    for number, (file, name, question) in enumerate(WALK, 1):
        assert f"\n{number}. `{file}`, `{name}`: {question}\n" in page


def test_no_folder_is_entered_twice(calls: list[tuple[int, str, str]]) -> None:
    """From those of a call; `mdh` is what all folders speak of, and results of questions to others are records."""
    stack: list[tuple[int, str]] = []
    entered: list[str] = []
    for depth, file, name in calls:
        folder = file.split("/")[0]
        while stack and stack[-1][0] >= depth:
            stack.pop()
        within = stack[-1][1] if stack else None
        outside = within in (None, "frontend", "calls") and folder not in [f for _, f in stack]
        if outside and "/" in file and folder != "mdh" and name not in RECORDS:
            entered.append(folder)
        stack.append((depth, folder))
    folders = [folder for folder, _ in groupby(entered)]
    assert folders == ["frontend", "calls", "fusion", "tuning", "schedule", "codegen", "runtime"]


def test_nothing_else_decides(calls: list[tuple[int, str, str]]) -> None:
    listed = {(file, name) for file, name, _ in WALK}
    ran = {(file, name) for _, file, name in calls if file.startswith("calls/") and not name.endswith(">")}
    ran -= listed
    assert {name for file, name in ran if has_if(file, name)} <= OTHERS.keys()


def has_if(file: str, name: str) -> bool:
    node: ast.AST = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
    for part in name.split("."):
        if part.startswith("<"):
            continue
        node = next(
            each for each in ast.walk(node)
            if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name == part
        )  # fmt: skip
    return any(isinstance(each, ast.If | ast.Match) for each in ast.walk(node))
