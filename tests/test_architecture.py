"""A module imports only from folders that data has passed before: the way of a call, in one direction."""

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from mdhnp import namespace

PACKAGE = Path(__file__).parents[1] / "mdhnp"

#: What each folder may import of mdhnp, besides itself: folders, or single modules of them.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "mdh": (),
    "cost": ("mdhnp.mdh",),
    "fusion": ("mdhnp.mdh", "mdhnp.cost"),
    "schedule": ("mdhnp.mdh", "mdhnp.cost"),
    "codegen": ("mdhnp.mdh", "mdhnp.schedule"),
    "runtime": ("mdhnp.schedule.caps", "mdhnp.codegen.program", "mdhnp.native", "mdhnp.process"),
    "arrays": ("mdhnp.runtime",),
    "frontend": (
        "mdhnp.errors",
        "mdhnp.mdh",
        "mdhnp.arrays",
        "mdhnp.calls",
        "mdhnp.fusion",
        "mdhnp.runtime.devices",
        "mdhnp.runtime.handle",
        "mdhnp.settings",
    ),
    "skeletons": ("mdhnp.errors", "mdhnp.mdh", "mdhnp.frontend"),
}

MODULES = sorted(p for folder in MAY_IMPORT for p in (PACKAGE / folder).rglob("*.py"))


def _imported(path: Path) -> set[str]:
    """Names of mdhnp's modules that a module imports, wherever in its text."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: relative import"
            # `from mdhnp import mdh` names a folder, `from mdhnp.mdh import MdHom` what is in it.
            found.update(f"mdhnp.{alias.name}" for alias in node.names if node.module == "mdhnp")
            found.update({node.module} if node.module and node.module != "mdhnp" else set())
    return {name for name in found if name.split(".")[0] == "mdhnp"}


@pytest.mark.parametrize("path", MODULES, ids=[str(p.relative_to(PACKAGE)) for p in MODULES])
def test_imports_only_what_stands_before(path: Path) -> None:
    folder = path.relative_to(PACKAGE).parts[0]
    allowed = (f"mdhnp.{folder}", *MAY_IMPORT[folder])
    wrong = {name for name in _imported(path) if not any(f"{name}.".startswith(f"{a}.") for a in allowed)}
    assert not wrong


def test_the_command_line_is_outermost() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path != PACKAGE / "__main__.py" and path.parent != PACKAGE / "cli":
            assert not any(f"{name}.".startswith("mdhnp.cli.") for name in _imported(path)), path


@pytest.mark.parametrize("folder", ["mdh", "cost", "fusion", "schedule", "codegen"])
def test_pure_folders_know_no_device(folder: str) -> None:
    for path in (PACKAGE / folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "pyopencl" not in text, path


def test_there_are_modules() -> None:
    assert len(MODULES) > 30


@pytest.mark.parametrize("module", sorted({*namespace.MODULES.values()}))
def test_the_namespace_has_what_its_modules_offer(module: str) -> None:
    assert {name for name, of in namespace.MODULES.items() if of == module} == {*import_module(module).__all__}


def test_importing_the_package_loads_no_opencl() -> None:
    """Nor anything else that only some programs need, until it is asked for; then every name is there."""
    code = """
import sys
import mdhnp
late = {"pyopencl", "opt_einsum", "platformdirs", "sqlite3", "rich", "click", "hashlib", "subprocess",
        "mdhnp.schedule", "mdhnp.codegen", "mdhnp.runtime.devices", "mdhnp.tuning", "mdhnp.calls.candidates",
        "mdhnp.frontend.prl", "mdhnp.frontend.stencil", "mdhnp.skeletons"}
assert not late & (set(sys.modules) - before), late & set(sys.modules)
assert set(mdhnp.__all__) <= set(dir(mdhnp))
for name in mdhnp.__all__:
    assert getattr(mdhnp, name) is getattr(mdhnp, name), name
assert callable(mdhnp.explain) and callable(mdhnp.tune) and mdhnp.devices()
try:
    mdhnp.nothing
except AttributeError as error:
    assert "no attribute 'nothing'" in str(error)
else:
    raise AssertionError
"""
    code = "import sys, numpy\nbefore = set(sys.modules)\n" + code
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, cwd=PACKAGE.parent)


@pytest.mark.parametrize(
    ("before", "variable", "expected"),
    [("", None, "16"), ("", "20", "20"), ("import numpy", None, None), ("import numpy", "20", "20")],
)
def test_openblas_s_threads_rest_soon_where_nobody_said_otherwise(
    before: str, variable: str | None, expected: str | None
) -> None:
    name = "OPENBLAS_THREAD_TIMEOUT"
    environment = {key: value for key, value in os.environ.items() if key != name}
    code = f"{before}\nimport mdhnp, os\nprint(os.environ.get({name!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment | ({} if variable is None else {name: variable}),
        capture_output=True, text=True, check=True, cwd=PACKAGE.parent,
    )  # fmt: skip
    assert done.stdout.strip() == str(expected)


def test_recorded_programs_are_of_these_very_sources() -> None:
    from mdhnp.calls.programs import sources

    wanted = {path for folder in ("mdh", "schedule", "codegen") for path in (PACKAGE / folder).rglob("*.py")}
    assert wanted <= set(sources())
    assert any(path.parent.name == "opencl" for path in wanted)


def test_forks_have_one_hook() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert [name for name, text in texts.items() if "register_at_fork(" in text] == ["process.py"]
