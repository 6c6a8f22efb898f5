"""A module imports only from folders that data has passed before: the way of a call, in one direction."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import mdhnp
from mdhnp import namespace

PACKAGE = Path(__file__).parents[1] / "mdhnp"

_PAGE = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
_ROWS = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", _PAGE.partition("## Folders")[2].partition("\n## ")[0], re.M)
#: The table of folders in docs/architecture.md: what stands in a row may be imported by what stands in it or below.
ORDER = {name: place for place, row in enumerate(_ROWS) for name in re.findall(r"\w+", row)}
#: Who uses the package as everybody does.
USERS = ("dask", "demo", "cli")
#: Modules that import some of mdhnp's inside of functions, since that loads what few programs need.
LATE = {
    "cli": "the demo's cases, for the commands that use them",
    "frontend": "rules, for functions that are fused",
}
#: All modules, by their dotted names.
MODULES = {
    ".".join(("mdhnp", *p.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): p
    for p in sorted(PACKAGE.rglob("*.py"))
    if p.name != "__main__.py"
}
FOLDERS = {name: name.split(".")[1] for name in MODULES if "." in name}


def _imports(module: str) -> Iterator[tuple[str, bool]]:
    """Modules of mdhnp that a module imports when it runs, and whether inside of a function."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    functions = [d for d in ast.walk(tree) if isinstance(d, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    inside = {id(node) for d in functions for node in ast.walk(d)}
    for_types = [d for d in ast.walk(tree) if isinstance(d, ast.If) and "TYPE_CHECKING" in ast.dump(d.test)]
    skipped = {id(node) for d in for_types for node in ast.walk(d)}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] == "mdhnp" and id(node) not in skipped:
                while name not in MODULES:
                    name = name.rpartition(".")[0]
                yield name, id(node) in inside


def test_the_table_names_every_folder() -> None:
    assert {*FOLDERS.values()} == {*ORDER}


@pytest.mark.whole
@pytest.mark.parametrize("module", FOLDERS)
def test_imports_only_what_stands_before(module: str) -> None:
    own, imports = FOLDERS[module], [*_imports(module)]
    assert not [name for name, _ in imports if name in FOLDERS and ORDER[FOLDERS[name]] > ORDER[own]]
    assert own in USERS or "mdhnp" not in [name for name, _ in imports]
    assert own in LATE or not any(inside for _, inside in imports)


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {m: {name for name, _ in _imports(m) if not f"{m}.".startswith(f"{name}.")} for m in FOLDERS}
    TopologicalSorter(graph).prepare()


@pytest.mark.whole
@pytest.mark.parametrize("folder", ["mdh", "cost", "fusion", "schedule", "codegen"])
def test_pure_folders_know_no_device(folder: str) -> None:
    for path in (PACKAGE / folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "pyopencl" not in text, path


@pytest.mark.whole
@pytest.mark.parametrize("module", sorted({*namespace.MODULES.values()}))
def test_the_namespace_has_what_its_modules_offer(module: str) -> None:
    assert {name for name, of in namespace.MODULES.items() if of == module} == {*import_module(module).__all__}


def test_importing_the_package_loads_no_opencl(tmp_path: Path) -> None:
    """Nor anything else that only some programs need, until it is asked for; then every name is there."""
    code = """
import sys
import mdhnp
late = {"pyopencl", "opt_einsum", "platformdirs", "sqlite3", "rich", "click", "hashlib", "subprocess", "statistics",
        "mdhnp.schedule", "mdhnp.codegen", "mdhnp.runtime.devices", "mdhnp.tuning", "mdhnp.calls.candidates",
        "mdhnp.frontend.prl", "mdhnp.frontend.stencil", "mdhnp.skeletons"}
assert not late & (set(sys.modules) - before), late & set(sys.modules)
a = numpy.ones((99, 99))
mdhnp.matmul(a, a)  # a first call, which NumPy computes
late -= {"platformdirs"}
assert not (late | {"random", "secrets"}) & (set(sys.modules) - before), late & set(sys.modules)
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
    environment = {name: value for name, value in os.environ.items() if name != "MDHNP_HOST"}
    environment["MDHNP_CACHE_DIR"] = str(tmp_path)  # where schedules are known OpenCL is loaded at once
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, cwd=PACKAGE.parent, env=environment)


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

    package = Path(mdhnp.__file__).parent  # of the package as it is installed, which need not be the checkout
    wanted = {path for folder in ("mdh", "schedule", "codegen") for path in (package / folder).rglob("*.py")}
    assert wanted <= set(sources())
    assert any(path.parent.name == "opencl" for path in wanted)


def test_forks_have_one_hook() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert [name for name, text in texts.items() if "register_at_fork(" in text] == ["process.py"]
