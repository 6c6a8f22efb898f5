"""Mutation testing of the pure folders: how many small changes of mdh/, schedule/ and codegen/ do the tests notice?

    python tests/mutation.py --sample 300 --results mutants.jsonl     # a seeded sample, in stages, on two cores
    python tests/mutation.py --sample 300 --results mutants.jsonl --survivors

A developer's tool: no test runs it. Each worker has a copy of the tree, into which it writes one mutant at a time. A
process that has imported all but mdhnp forks once a stage; no OpenCL runtime is ever loaded before such a fork. Stages
go from tests of seconds to those of minutes, and the first failure ends a mutant. Results are appended to a file of
JSON lines; mutants that stand there already are not run again. docs/testing.md has what was found.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mutants import ROOT, Mutant, mutated, sample

#: Tests in the order in which they are asked; what stands in none of the first stages comes last.
STAGES: tuple[tuple[str, ...], ...] = (
    ("golden", "texts", "canonical", "schedule", "mdh", "subscripts", "oracle", "laws", "ctext", "architecture"),
    ("generator", "realistic", "general"),
    ("arithmetic", "accuracy", "stencil", "prl", "blas", "large", "einsum", "products", "tuning_search", "host"),
)
#: What mutants of the pure folders are not asked: slow, or about other folders.
LEFT_OUT = ("cli", "demo", "native", "numpy_suite", "oclgrind", "patching", "threads", "runtime_", "tuning_")


class _Watch:
    """A pytest plugin: no shrinking of Hypothesis's examples, and the first failure's name into a file."""

    def __init__(self, note: Path) -> None:
        self.note = note

    def pytest_sessionstart(self) -> None:
        from hypothesis import Phase, settings

        settings.register_profile(
            "mutation", settings.get_profile("repeatable"), phases=[Phase.explicit, Phase.generate]
        )
        settings.load_profile("mutation")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.note.write_text(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.note.write_text(f"import of {report.nodeid}")


def stages(count: int) -> list[list[str]]:
    """Files of each stage, for those that exist."""
    names = sorted(p.stem.removeprefix("test_") for p in (ROOT / "tests").glob("test_*.py"))
    first = [n for stage in STAGES for n in stage]
    rest = [n for n in names if n not in first and not n.startswith(LEFT_OUT)]
    return [[f"tests/test_{n}.py" for n in stage if n in names] for stage in (*STAGES, tuple(rest))[:count]]


def run_stage(tree: Path, files: Sequence[str], device: str, limit: float) -> tuple[str, str, float]:
    """Run a stage in a child: ("passed", "failed" or "timeout"; the first failure; seconds)."""
    note, began = tree / "failure.txt", time.monotonic()
    note.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(tree)
        sys.path[:0] = [str(tree), str(tree / "tests")]
        os.environ.update(PYTHONPATH=str(tree), TMPDIR=str(tree / "tmp"), POCL_CACHE_DIR=str(tree / "pocl"))
        os.environ.update(POCL_MAX_PTHREAD_COUNT="2", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        tempfile.tempdir = None
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        log = os.open(tree / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        import pytest

        code = 99
        try:
            every = ["--long", "-m", "not slow", f"--device={device}"]
            arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *every, *files]
            code = int(pytest.main(arguments, plugins=[_Watch(note)]))
        finally:
            os._exit(code)
    status = None
    while status is None and time.monotonic() - began < limit:
        done, found = os.waitpid(child, os.WNOHANG)
        if done:
            status = found
        else:
            time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what its tests may have started, too
    if status is None:
        os.waitpid(child, 0)
    seconds = time.monotonic() - began
    if status is None:
        return "timeout", "", seconds
    name = note.read_text() if note.exists() else f"status {status}"
    return ("passed", "", seconds) if status == 0 else ("failed", name, seconds)


def copy_tree(tree: Path) -> None:
    """The repository as a worker's own, compiled but for what will change."""
    hidden = shutil.ignore_patterns(".*", "__pycache__", "*.jsonl", "build", "dist")
    shutil.copytree(ROOT, tree, ignore=hidden)
    for folder in ("tmp", "pocl"):
        (tree / folder).mkdir()


def run_mutant(tree: Path, m: Mutant, device: str, limits: Sequence[float], deadline: float) -> dict[str, Any] | None:
    """One line of the results; None if the time is over."""
    path, source = tree / m.path, (tree / m.path).read_bytes()
    path.write_bytes(mutated(source, m))
    seconds = 0.0
    try:
        for number, (files, limit) in enumerate(zip(stages(len(limits)), limits, strict=True)):
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            verdict, name, took = run_stage(tree, files, device, min(limit, left))
            seconds += took
            if verdict == "timeout" and limit > left:
                return None
            if verdict != "passed":
                return asdict(m) | {
                    "key": m.key,
                    "verdict": verdict,
                    "stage": number,
                    "by": name,
                    "s": round(seconds, 1),
                }
    finally:
        path.write_bytes(source)
        for left_over in (tree / "tmp").iterdir():
            shutil.rmtree(left_over, ignore_errors=True)
    return asdict(m) | {"key": m.key, "verdict": "survived", "stage": len(limits), "by": "", "s": round(seconds, 1)}


def known(results: Path) -> dict[str, dict[str, Any]]:
    """Results of earlier runs by key."""
    lines = results.read_text().splitlines() if results.exists() else []
    return {found["key"]: found for found in map(json.loads, lines)}


def run(chosen: Sequence[Mutant], arguments: argparse.Namespace) -> None:
    """Run all mutants in parallel, after the tests without any."""
    deadline = time.monotonic() + arguments.time_limit
    import hypothesis  # noqa: F401
    import numpy  # noqa: F401
    import opt_einsum  # noqa: F401
    import pyopencl  # noqa: F401
    import pytest  # noqa: F401

    with tempfile.TemporaryDirectory(prefix="mdhnp-mutation-") as folder:
        first = Path(folder) / "0"
        copy_tree(first)
        limits = []
        for files in stages(arguments.stages):
            verdict, name, seconds = run_stage(first, files, arguments.device, 3600)
            print(f"without mutants: {verdict} {name} in {seconds:.0f} s: {' '.join(files)}", flush=True)
            if verdict != "passed":
                sys.exit((first / "log.txt").read_text()[-5000:])
            limits.append(4 * seconds + 30)
        # Workers take turns: a read of one number from a pipe is one step.
        queue, numbers = os.pipe()
        os.write(numbers, b"".join(n.to_bytes(4, "big") for n in range(len(chosen))))
        os.close(numbers)
        trees = [first, *(Path(folder) / str(n) for n in range(1, arguments.jobs))]
        for tree in trees[1:]:
            shutil.copytree(first, tree)
        workers = []
        for tree in trees:
            workers.append(os.fork())
            if workers[-1] == 0:
                while number := os.read(queue, 4):
                    found = run_mutant(tree, chosen[int.from_bytes(number, "big")], arguments.device, limits, deadline)
                    if found is None:
                        break
                    with arguments.results.open("a") as file:
                        file.write(json.dumps(found) + "\n")
                os._exit(0)
        for worker in workers:
            os.waitpid(worker, 0)


def report(chosen: Sequence[Mutant], found: dict[str, dict[str, Any]], survivors: bool) -> None:
    """Print what became of the sample, and the survivors if wanted."""
    here = [found[m.key] for m in chosen if m.key in found]
    count = Counter(f["verdict"] for f in here)
    by_stage = Counter(f["stage"] for f in here if f["verdict"] == "failed")
    print(f"{len(here)} of {len(chosen)} mutants run: {dict(count)}; failed by stage {dict(sorted(by_stage.items()))}")
    for f in sorted(here, key=lambda f: (f["path"], f["line"])):
        if survivors and f["verdict"] == "survived":
            print(f"{f['path']}:{f['line']}: {f['before']} -> {f['after']}")


def main() -> None:
    """Take the arguments, run what is not known yet, and report."""
    parser = argparse.ArgumentParser(
        description="Mutation testing of mdh/, schedule/ and codegen/; see docs/testing.md."
    )
    parser.add_argument("--sample", type=int, default=300, metavar="N", help="how many mutants to choose")
    parser.add_argument("--seed", type=int, default=0, help="another seed chooses others")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="of these, mutants of files whose path contains TEXT"
    )
    parser.add_argument("--results", type=Path, required=True, metavar="FILE", help="JSON lines, appended to")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many run at the same time")
    parser.add_argument("--time-limit", type=float, default=1e9, metavar="S", help="seconds after which none goes on")
    parser.add_argument("--stages", type=int, default=len(STAGES) + 1, metavar="N", help="run the first N stages only")
    parser.add_argument("--device", default="pocl", help="as of the tests")
    parser.add_argument("--again", action="store_true", help="run mutants once more that survived or ran out of time")
    parser.add_argument("--survivors", action="store_true", help="only show what is known, with all survivors")
    arguments = parser.parse_args()
    if sys.version_info < (3, 12):
        sys.exit("mutation.py: needs Python 3.12, which knows where the parts of an f-string stand")
    chosen = [m for m in sample(arguments.sample, arguments.seed) if arguments.only in m.path]
    found = known(arguments.results)
    if not arguments.survivors:
        done = {key for key, f in found.items() if not (arguments.again and f["verdict"] != "failed")}
        run([m for m in chosen if m.key not in done], arguments)
    report(chosen, known(arguments.results), arguments.survivors)


if __name__ == "__main__":
    main()
