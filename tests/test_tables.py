"""Figures in the documentation are what was measured, and not older than the last release. Nothing here is timed."""

import re
from datetime import date

import pytest

from benchmarks.tables import CPU, GPU, PAGES, ROOT, TABLES, content, marks, measure, render

#: The model's predictions, which are no measurements.
_PREDICTED = {"scaling", "weak scaling"}
SHOWN = [(page, name) for page in PAGES for name in marks(page) if name not in _PREDICTED]


@pytest.mark.parametrize(("page", "name"), SHOWN, ids=lambda each: getattr(each, "name", each))
def test_tables_are_what_was_measured(page, name) -> None:
    text, stamp = content()[name]
    assert marks(page)[name] == text, "write it anew: python -m benchmarks tables --write"
    assert all(stamp[part] for part in ("version", "commit", "machine", "runtimes", "peers"))
    assert date.fromisoformat(stamp["day"]) >= last_release(), "measure it anew: python -m benchmarks tables"


def last_release() -> date:
    """Give the day of the last release in the changelog; before the first one the first day there is."""
    found = re.search(r"^## \[\d[^]]*\] - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    return date.fromisoformat(found[1]) if found else date.min


def test_all_that_is_measured_is_shown() -> None:
    assert {*TABLES} <= {name for _, name in SHOWN}
    assert CPU.exists()


def test_times_stand_in_such_tables_only() -> None:
    for page in PAGES:
        text = re.sub(r"<!-- table (.*?) -->.*?<!-- end \1 -->", "", page.read_text(), flags=re.DOTALL)
        assert re.findall(r"^\|.*\d (?:ms|µs|s) \|.*$", text, re.M) == [], page.name


def test_readme_fits_on_some_screens() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 120
    assert len(content()["demo"][0].split("| ---")[1].splitlines()) <= 8


def test_a_table_that_fails_leaves_the_others(tmp_path, capsys) -> None:
    path = tmp_path / "kept" / "cpu.json"
    measure(["cold"], ["no such device"], 1, path)
    assert "cold: " in capsys.readouterr().err and not path.exists()
    measure(["cold"], [], 0, path)
    assert "left out" in capsys.readouterr().out


def test_rendering_again_changes_nothing(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- table demo -->\nold\n<!-- end demo -->\n\nafter\n")
    render([page])
    once = page.read_text()
    render([page])
    assert page.read_text() == once and "old" not in once and once.endswith("after\n")
    assert GPU.parent == CPU.parent
