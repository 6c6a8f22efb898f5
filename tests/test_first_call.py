"""The first call of `matmul` on ndarrays, as it is traced: which functions decide something, and in which order."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mdhnp"

#: Functions that decide something, in the order in which they run, each with its question.
WALK = [
    ("frontend/gufuncs.py", "matmul", "are there arguments beside the arrays?"),
    ("calls/call.py", "call", "was this call made before? are there Arrays, or sparse operands?"),
    ("calls/call.py", "_first", "what does each answer below lead to?"),
    ("calls/operands.py", "unsupported", "can kernels compute with these types?"),
    ("calls/store.py", "EntryStore.recall", "was it made so long ago that its entry is an old one?"),
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
    ("calls/general.py", "general_program", "is its form one of kernels for all sizes?"),
    ("calls/general.py", "_sized", "was one generated before?"),
    ("schedule/general.py", "general_schedule", "with which tiles?"),
    ("codegen/generate.py", "generate", "in which text?"),
    ("runtime/results.py", "_maker", "how are results allocated?"),
    ("runtime/programs.py", "build", "is the text compiled?"),
    ("runtime/executable.py", "Executable.new", "is it launched on the arrays' own memory?"),
]

#: Folders of pure functions: how they answer a question is no other one, and the question put to them is in the list.
#: `mdh` is what all questions are about.
PURE = ("mdh", "cost", "fusion", "schedule", "codegen")

#: Functions elsewhere with an `if` that goes this way in one call and that way in another, and are no decisions.
OTHERS = {
    "Lifecycle.handle": "looks the table of states up",
    "start": "asks it again where kernels are to be made",
    "Lifecycle.follow": "counts calls from now on",
    "Lifecycle.price": "says what they are to cost",
    "extents": "is where shapes that do not fit are errors",
    "_converted": "copies what kernels cannot address",
    "opened": "makes a folder where there is none",
    "_launch": "sets sizes and arrays as arguments",
    "Executable.__call__": "waits so that Ctrl-C ends it",
    "Entry.run": "runs its plan",
    "scalar": "makes a scalar of a result without axes",
}

#: What devices, layouts and files say of themselves.
RECORDS = {"candidates", "is_array", "Layout.of", "Layout.of_view", "load", "largest_array"}

TRACED = """
import json, sys
from collections import defaultdict
from functools import cache
from pathlib import Path
import numpy as np
import mdhnp
from mdhnp.calls import lifecycle
from mdhnp.calls.loading import load
load()
lifecycle.COMPILING = float("inf")  # so that no call costs enough for anything else, however slow the machine is now
package, calls, pure = str(Path(mdhnp.__file__).parent), [], sys.argv[1:]
@cache
def relative(name):
    return Path(name).relative_to(package) if name.startswith(package) else None
def note(frame, event, _):
    if event == "call" and (file := relative(frame.f_code.co_filename)) is not None:
        depth, outer = 0, frame
        while outer is not None:
            depth, outer = depth + 1, outer.f_back
        calls.append((depth, file.as_posix(), frame.f_code.co_qualname))
mdhnp.config.host = "never"
warm, a = np.ones((3, 4, 5)), np.ones((35, 36), np.float32)
mdhnp.matmul(warm, warm.swapaxes(1, 2))  # all is imported
sys.setprofile(note)
mdhnp.matmul(a, a.T)
sys.setprofile(None)

def note_lines(frame, event, _):
    file = relative(frame.f_code.co_filename)
    if file is None or file.parts[0] in pure:
        return None
    lines = each[-1][file.as_posix() + " " + frame.f_code.co_qualname]
    def note_line(_, event, __):
        if event == "line":
            lines.add(frame.f_lineno)
        return note_line
    return note_line
each, wide = [], np.ones((1400, 1400), np.float32)
for pair in (
    (a, a.T), (a[:31], a.T), (a[0], a.T), (a, a[0]), (a[0], a[0]), (a[:, :1], a[:1]), (a[:0], a.T),
    (a[::2, ::3], a[:12, ::-1]),
    (warm, warm[0].T), (warm.astype("i8"), warm[0].T), (warm.astype("c8"), warm[0].T), (warm.astype("f2"), warm[0].T),
    (a.astype(">f4"), a.T.tolist()), (warm.astype("g"), warm[0].T), (wide, wide),
):
    each.append(defaultdict(set))
    sys.settrace(note_lines)
    mdhnp.matmul(*pair)
    sys.settrace(None)
print(json.dumps([calls, [{name: sorted(lines) for name, lines in one.items()} for one in each]]))
"""


#: Of each first call, which lines of a function ran, by its file and name.
Lines = list[dict[str, list[int]]]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[tuple[int, str, str]], Lines]:
    environment = {
        **os.environ, "MDHNP_CACHE_DIR": str(tmp_path_factory.mktemp("cache")), "MDHNP_TUNING": "off",
        "MDHNP_PRECISION": "", "MDHNP_DEVICE": "cpu",
    }  # fmt: skip
    command = [sys.executable, "-c", TRACED, *PURE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    calls, lines = json.loads(done.stdout)
    return [tuple(each) for each in calls], lines


@pytest.fixture
def calls(traced: tuple[list[tuple[int, str, str]], Lines]) -> list[tuple[int, str, str]]:
    return traced[0]


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
        outside = within in (None, "errors.py", "frontend", "calls") and folder not in [f for _, f in stack]
        if outside and "/" in file and folder != "mdh" and name not in RECORDS:
            entered.append(folder)
        stack.append((depth, folder))
    folders = [folder for folder, _ in groupby(entered)]
    assert folders == ["frontend", "calls", "fusion", "tuning", "schedule", "codegen", "runtime"]


def test_nothing_else_decides(traced: tuple[list[tuple[int, str, str]], Lines]) -> None:
    """In no folder that such calls enter: a function decides if some `if` in it depends on the call.

    That is, among calls that differ in shapes, strides and types, that are empty, large, or not for kernels, it goes
    both ways. Those that do not ask for what all calls of a process have: settings, files, devices. Not counted are
    what conditional expressions choose, which are values, what is in pure folders (`PURE`), and what is said at
    `OTHERS`.
    """
    listed = {(file, name) for file, name, _ in WALK}
    each = traced[1]
    for folder in ("frontend", "calls", "arrays", "tuning", "runtime"):
        assert any(f.startswith(folder) for lines in each for f in lines), f"{folder} is not entered"
    found = {
        (file, name)
        for file, name in (key.split(" ") for lines in each for key in lines)
        if depends(file, name, [lines.get(f"{file} {name}", []) for lines in each])
    }
    assert {name for _, name in found - listed} <= OTHERS.keys()


def depends(file: str, name: str, each: list[list[int]]) -> bool:
    """Whether an `if` of a function goes this way in one call and that way in another, by the lines that ran."""
    function = definition(file, name)
    for branch in inside(function) if function is not None else ():
        if isinstance(branch, ast.If):
            tests, bodies = range(branch.test.lineno, (branch.test.end_lineno or 0) + 1), [branch.body]
        elif isinstance(branch, ast.Match):
            tests, bodies = range(branch.lineno, branch.lineno + 1), [case.body for case in branch.cases]
        else:
            continue
        asked = [set(lines) for lines in each if not set(lines).isdisjoint(tests)]
        if len({tuple(body[0].lineno in lines for body in bodies) for lines in asked}) > 1:
            return True
    return False


def definition(file: str, name: str) -> ast.AST | None:
    """Give a function's definition; None of a module's body, or a lambda."""
    node: ast.AST = parsed(file)
    for part in name.replace("<locals>.", "").split("."):
        if part.startswith("<"):
            return None
        node = next(
            each for each in ast.walk(node)
            if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name == part
        )  # fmt: skip
    return node


@cache
def parsed(file: str) -> ast.Module:
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"))


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """Give a function's statements, but not those of functions in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child
            yield from inside(child)
