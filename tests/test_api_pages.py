"""API pages: every public name has one, and a docstring that says all that a page has to."""

import inspect
import pickle
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import mdhnp
from mdhnp import documentation
from mdhnp.namespace import NUMPYS

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs" / "api").glob("*.rst"))
NAMESPACES = ("linalg", "fft", "skeletons", "semiring", "tuning", "dask")


def public() -> list[str]:
    names = [f"mdhnp.{name}" for name in mdhnp.__all__ if name not in NAMESPACES]
    for space in NAMESPACES:
        if space == "dask":
            pytest.importorskip("dask")
        names += [f"mdhnp.{space}.{name}" for name in import_module(f"mdhnp.{space}").__all__]
    return names


def test_functions_and_classes_say_where_users_find_them() -> None:
    """What `help`, documentation, errors and pickles say of one: a public module that has it by its name."""
    homes, count = {"mdhnp", *(f"mdhnp.{space}" for space in NAMESPACES)}, 0
    for name in public():
        module, _, last = name.rpartition(".")
        found = getattr(import_module(module), last)
        if callable(found) and type(found).__module__ in ("builtins", "mdhnp._native"):
            if found.__module__.partition(".")[0] == "numpy":
                continue  # NumPy's own
            assert found.__module__ in homes, name
            assert getattr(import_module(found.__module__), found.__qualname__) is found, name
            assert pickle.loads(pickle.dumps(found)) is found
            count += 1
    assert count > 200


def test_lists_of_names_are_of_public_ones() -> None:
    """`mdh`, whose pure functions docs/md_hom.md names, is no namespace of calls."""
    for module, others in ((mdhnp, {"mdh"}), (mdhnp.tuning, set())):
        public = {*module.__all__} | others
        assert {name for name in dir(module) if name in public or not name.startswith("__")} == public


def described(page: Path) -> list[str]:
    """Names that a page lists for autosummary, or describes itself."""
    module, listing, found = "mdhnp", "", []
    for line in page.read_text().splitlines():
        if said := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = said[1]
        elif said := re.match(r"\.\. (autosummary|py:data|py:function)::\s*([\w.]*)", line):
            listing = said[1]
            found += [said[2]] if said[2] else []
        elif line and not line.startswith("   "):
            listing = ""
        elif re.fullmatch({"autosummary": r"   \w+", "py:data": r" {13}\w+"}.get(listing, "-"), line):
            found.append(line.strip())
    return [name if name.startswith("mdhnp.") else f"{module}.{name}" for name in found]


def test_every_public_name_is_on_one_page() -> None:
    count = Counter(name for page in PAGES for name in described(page))
    assert count == Counter(public())


def test_every_function_is_in_the_list_by_task() -> None:
    """But for those of elements, whose page stands there."""
    by_task = (PAGES[0].parent.parent / "calls.md").read_text()
    named = {name for cell in re.findall(r"`([\w., ]+)`", by_task) for name in re.findall(r"\w+", cell)}
    functions = {
        name.rpartition(".")[2]
        for page in PAGES
        if page.stem in ("arrays", "products", "reductions", "linalg", "fft", "computations", "dask", "skeletons")
        for name in described(page)
        if inspect.isroutine(_object(name)) and not name.endswith("__")
    }
    assert functions - {"pw", "ps", "index", "interpret", "collect"} <= named  # parts of others


def test_every_page_is_in_the_contents() -> None:
    (contents,) = [page for page in PAGES if page.stem == "index"]
    listed = re.findall(r"^   (\w+)$", contents.read_text(), re.M)
    assert sorted(listed) == sorted(page.stem for page in PAGES if page.stem != "index")


def _object(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


#: Numpydoc's names of what may not be missing: a summary of one line with a period, all parameters in order, each with
#: type and meaning, what is returned or yielded, and an example, which `test_docs.py` runs.
CHECKS = {"GL06", "GL07", "GL08", "SS01", "SS02", "SS03", "SS04", "PR02", "PR04", "PR07", "PR08", "PR09", "PR10",
          "RT02", "RT03", "RT04", "RT05", "YD01"}  # fmt: skip
FUNCTION_CHECKS = CHECKS | {"PR01", "RT01", "EX01"}
#: Classes that only calls make; their attributes are described, and the calls have the examples.
MADE = {"mdhnp.Tuned", "mdhnp.LaunchError"}
#: What raises errors of others, which their pages have.
NEVER_RAISE = {"mdhnp.ps", "mdhnp.dask.collect"}


@pytest.mark.whole
@pytest.mark.parametrize("name", [n for n in public() if callable(_object(n)) and n.split(".")[-1] not in NUMPYS])
def test_docstring_is_complete(name: str) -> None:
    validate = pytest.importorskip("numpydoc.validate").validate
    found = _object(name)
    if str(found.__module__).startswith("numpy"):  # as mdhnp.isdtype, which NumPy describes
        return
    if inspect.isfunction(found) and inspect.signature(found).parameters and name not in NEVER_RAISE:
        assert "\nRaises\n------\n" in inspect.getdoc(found)  # numpydoc does not look for it
    wanted = FUNCTION_CHECKS if inspect.isfunction(found) else CHECKS if name in MADE else CHECKS | {"EX01"}
    assert [(code, text) for code, text in validate(name)["errors"] if code in wanted] == []


@pytest.mark.whole
@pytest.mark.parametrize("name", [n for n in public() if inspect.isfunction(_object(n))])
def test_help_begins_with_a_short_signature(name: str) -> None:
    signature = str(inspect.signature(_object(name)))
    assert "Union[" not in signature and "numpy._typing" not in signature
    assert len(signature) <= 320


@pytest.mark.whole
@pytest.mark.parametrize("name", [n for n in public() if callable(_object(n)) and n != "mdhnp.config"])
def test_it_is_pickled_by_name(name: str) -> None:
    assert pickle.loads(pickle.dumps(_object(name))) is _object(name)


def test_a_parameter_that_is_not_described_is_an_error() -> None:
    with pytest.raises(KeyError, match="other"):
        documentation.public("Do nothing.", one="int: The first.")(lambda one, other: None)


@pytest.mark.parametrize("described", [mdhnp.Array, type(mdhnp.config)])
def test_members_are_described(described: type) -> None:
    members = {name: getattr(described, name).__doc__ or "" for name in dir(described) if name[0] != "_"}
    members.pop("device", None)  # a slot, which the class describes
    assert [name for name, text in members.items() if not text.partition("\n")[0].endswith(".")] == []
