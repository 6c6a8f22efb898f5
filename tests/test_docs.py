"""What the documentation shows is what happens: code blocks, examples in docstrings, example scripts."""

import doctest
import importlib
import os
import pkgutil
import re
import runpy
import timeit
import warnings
from pathlib import Path
from typing import Any, cast

import pytest
from matplotlib import pyplot

import mdhnp
import mdhnp.mdh
from mdhnp.runtime.devices import Device

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*/*.py"))
MODULES = sorted(
    info.name for info in pkgutil.walk_packages(mdhnp.__path__, "mdhnp.")
    if not info.name.endswith((".__main__", ".data.make"))
)  # fmt: skip
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page: Path) -> list[tuple[int, str]]:
    """Line number and text of every Python block."""
    text = page.read_text()
    return [(text[: m.start(1)].count("\n"), m[1]) for m in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)]


@pytest.mark.whole
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_blocks_run(page: Path, device: Device) -> None:
    found = blocks(page)
    names: dict[str, Any] = {"__name__": page.stem}
    for line, block in found:
        # Blank lines put a block's line numbers in a traceback where they are in the page.
        exec(compile("\n" * line + block, str(page), "exec"), names)


def test_pages_have_blocks() -> None:
    assert {p.name for p in PAGES if blocks(p)} >= {"README.md", "md_hom.md"}


@pytest.mark.parametrize("name", ["mdhnp", *MODULES])
def test_docstrings(name: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    # Examples of settings must not reach other tests.
    monkeypatch.setattr(os, "environ", os.environ.copy())
    # Inside of mdhnp.mdh examples use its names without saying where they come from.
    known = {n: getattr(mdhnp.mdh, n) for n in mdhnp.mdh.__all__} if name.startswith("mdhnp.mdh") else {}
    module = importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)
        examples = doctest.DocTestFinder().find(module, extraglobs=known)
    runner, apart = doctest.DocTestRunner(optionflags=OPTIONS), {f.__doc__ for f in FUNCTIONS.values()}
    for example in examples:
        if example.docstring not in apart:  # below
            runner.run(example)
    assert runner.summarize().failed == 0


#: All that is called by its users: functions, and classes that are called like functions.
PUBLIC = {
    **{name: getattr(mdhnp, name) for name in mdhnp.__all__},
    **{f"linalg.{name}": getattr(mdhnp.linalg, name) for name in mdhnp.linalg.__all__},
    **{f"skeletons.{name}": getattr(mdhnp.skeletons, name) for name in mdhnp.skeletons.__all__},
    **{f"semiring.{name}": getattr(mdhnp.semiring, name) for name in mdhnp.semiring.__all__},
    **{f"tuning.{name}": getattr(mdhnp.tuning, name) for name in mdhnp.tuning.__all__},
}
FUNCTIONS = {name: f for name, f in PUBLIC.items() if callable(f) and str(f.__module__).startswith("mdhnp")}


@pytest.mark.whole
@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_of_public_functions(name: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of those that tables make, which are in no module's own text, and of classes with their methods."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    known = {n: getattr(mdhnp.mdh, n) for n in mdhnp.mdh.__all__}
    found = FUNCTIONS[name]
    examples = [doctest.DocTestParser().get_doctest(found.__doc__ or "", known, name, None, None)]
    if isinstance(found, type):
        examples = doctest.DocTestFinder().find(found, name, cast(Any, False), known)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    assert [runner.run(example).failed for example in examples] == [0] * len(examples)
    assert isinstance(found, type) or examples[0].examples, "no example"


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run(script: Path, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(timeit, "repeat", lambda f, **_: timeit.Timer(f).repeat(1, 1))  # whoever is faster
    runpy.run_path(str(script), run_name="__main__")
    pyplot.close("all")


def test_functions_shown_are_those_of_the_examples() -> None:
    scripts = [script.read_text() for script in EXAMPLES]
    shown = [
        function
        for _, block in blocks(ROOT / "docs" / "preprocessing.md")
        for function in re.findall(r"^(?:@fuse\n)?def .*?\n(?=\n\n|\Z)", block, re.M | re.S)
    ]
    assert len(shown) == 6
    for function in shown:
        assert any(function in script for script in scripts), function


def test_pages_about_the_code_name_files_that_exist() -> None:
    files = [f"/{path.relative_to(ROOT)}" for path in ROOT.rglob("*") if path.is_file()]
    for page in ("architecture.md", "internals.md"):
        for name in re.findall(r"`([\w/]+\.(?:py|c|h))`", (ROOT / "docs" / page).read_text()):
            assert any(file.endswith(f"/{name}") for file in files), f"{page}: {name}"


def anchors(page: Path) -> set[str]:
    """What links into a page may name: its headings, as GitHub and MyST write them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)", text, re.M)}


def test_no_page_links_to_nothing() -> None:
    for page in PAGES:
        for target, anchor in re.findall(r"\]\((?!https?://)([^)#]*)#?([^)]*)\)", page.read_text()):
            linked = page.parent / target if target else page
            assert linked.exists(), f"{page.name}: {target}"
            assert not anchor or linked.suffix != ".md" or anchor in anchors(linked), f"{page.name}: {target}#{anchor}"


@pytest.mark.skipif(not (ROOT / ".ci").exists(), reason="the source distribution has no .ci")
def test_ci_runs_what_contributors_are_told_to_run() -> None:
    page, script = (ROOT / "docs" / "contributing.md").read_text(), (ROOT / ".ci" / "run").read_text().splitlines()
    told = re.findall(r"^(ruff [^#\n]*|mypy|python -m pytest[^#\n]*?) *(?:#.*)?$", page, re.M)
    assert len(told) == 4
    run = [line.partition(" #")[0].removesuffix(" &").removesuffix(' "$@"').strip() for line in script]
    assert [c for c in map(str.strip, told) if c not in run] == []
    beside = [line.partition(" #")[0].endswith(" &") for line in script]
    assert sum(beside) == sum(line.startswith('wait "$!" ||') for line in script)
