"""Times of many schedules of each case on this machine's CPUs, for the test of what the cost model ranks first.

``python -m benchmarks.ranking [FILE]`` measures what a short search proposes, by turns with the default schedule, and
writes `tests/ranked.json`, which `tests/test_cost_rank.py` reads without a device. It takes half an hour.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import mdhnp
from mdhnp.mdh import MdHom, canonical, cc, pw, stages
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning.measure.bench import Bench, TuningTask
from mdhnp.tuning.search.search import Search

__all__ = ["CASES", "mdhom", "read", "record"]

FILE = Path(__file__).parents[1] / "tests" / "ranked.json"
#: Schedules that are measured of each case.
_EVALUATIONS = 16
#: Rounds in which all of them are timed; of their times the first quartile counts.
_ROUNDS = 20

_FUNCTIONS: dict[str, Any] = {
    "identity": lambda x: x,
    "multiply": lambda x, y: x * y,
    "sum": lambda x, *others: sum(others, x),
    "exp": np.exp,
    "polynomial": lambda x: ((x * 0.5 + 1) * x + 2) * x + 3,
    "distance": lambda x, y: np.abs(x - y),
    "plus": lambda x, y: x + y,
    "square": lambda x: x * x,
    "spread": lambda x, y: (x - y) * (x - y),
    "line": lambda x, y, z: x * y + z,
    "weighed": lambda *both: sum(x * w for x, w in zip(both[: len(both) // 2], both[len(both) // 2 :], strict=True)),
}

#: By name: the scalar function, operator and reduced dimensions, views, extents in order of the views, type.
CASES: dict[str, tuple[str, str, str, str, str]] = {
    "gemm 512": ("multiply", "add k", "A[i,k], B[k,j] -> C[i,j]", "i 512 j 512 k 512", "f4"),
    "gemm 384, float64": ("multiply", "add k", "A[i,k], B[k,j] -> C[i,j]", "i 384 j 384 k 384", "f8"),
    "gemm 200": ("multiply", "add k", "A[i,k], B[k,j] -> C[i,j]", "i 200 j 200 k 200", "f4"),
    "gemm of A transposed": ("multiply", "add k", "A[k,i], B[k,j] -> C[i,j]", "i 512 j 512 k 512", "f4"),
    "gemm of B transposed": ("multiply", "add k", "A[i,k], B[j,k] -> C[i,j]", "i 512 j 512 k 512", "f4"),
    "gemm of few rows": ("multiply", "add k", "A[i,k], B[k,j] -> C[i,j]", "i 10 j 500 k 64", "f4"),
    "deep gemm": ("multiply", "add k", "A[i,k], B[k,j] -> C[i,j]", "i 16 j 1000 k 2048", "f4"),
    "tall gemm": ("multiply", "add k", "A[i,k], B[k,j] -> C[i,j]", "i 8192 j 24 k 64", "f4"),
    "batched gemm": ("multiply", "add k", "A[b,i,k], B[b,k,j] -> C[b,i,j]", "b 16 i 60 j 128 k 64", "f4"),
    "gemv": ("multiply", "add k", "A[i,k], x[k] -> y[i]", "i 2048 k 2048", "f4"),
    "gemv of A transposed": ("multiply", "add k", "A[k,i], x[k] -> y[i]", "i 2048 k 2048", "f4"),
    "dot": ("multiply", "add k", "x[k], y[k] -> z[]", "k 4194304", "f4"),
    "outer product": ("multiply", "", "x[i], y[j] -> C[i,j]", "i 2000 j 1500", "f4"),
    "contraction abcd": (
        "multiply", "add ef", "A[a,e,b,f], B[d,f,c,e] -> C[a,b,c,d]", "a 24 b 20 c 16 d 24 e 16 f 12", "f4",
    ),
    "contraction abc": ("multiply", "add d", "A[a,d,c], B[b,d] -> C[a,b,c]", "a 64 b 48 c 96 d 64", "f4"),
    "contraction acb": ("multiply", "add d", "A[b,d], B[a,d,c] -> C[a,c,b]", "a 48 b 64 c 64 d 48", "f8"),
    "sums of rows": ("identity", "add j", "x[i,j] -> y[i]", "i 2000 j 1000", "f4"),
    "sums of columns": ("identity", "add i", "x[i,j] -> y[j]", "i 2000 j 1000", "f4"),
    "sum": ("identity", "add i", "x[i] -> y[]", "i 4194304", "f8"),
    "largest of rows": ("identity", "max j", "x[i,j] -> y[i]", "i 1000 j 2000", "f4"),
    "integers' sums": ("identity", "add j", "x[i,j] -> y[i]", "i 1000 j 2000", "i4"),
    "transposed": ("identity", "", "x[i,j] -> y[j,i]", "i 1500 j 1100", "f4"),
    "turned in three": ("identity", "", "x[i,j,k] -> y[k,i,j]", "i 120 j 90 k 110", "f4"),
    "exp": ("exp", "", "x[i,j] -> y[i,j]", "i 1000 j 1000", "f4"),
    "polynomial": ("polynomial", "", "x[i,j] -> y[i,j]", "i 500 j 400", "f4"),
    "blur of five": (
        "sum", "", "x[i,j], x[i+1,j], x[i+2,j], x[i+3,j], x[i+4,j] -> y[i,j]", "i 1000 j 1000", "f4",
    ),
    "cross": (
        "sum", "", "x[i,j+1], x[i+1,j], x[i+1,j+1], x[i+1,j+2], x[i+2,j+1] -> y[i,j]", "i 1000 j 1000", "f4",
    ),
    "box": (
        "sum", "", ", ".join(f"x[i+{n},j+{m}]" for n in range(3) for m in range(3)) + " -> y[i,j]",
        "i 900 j 1100", "f4",
    ),
    "seven points": (
        "sum", "", "x[i,j+1,k+1], x[i+1,j,k+1], x[i+1,j+1,k], x[i+1,j+1,k+1], x[i+1,j+1,k+2], "
        "x[i+1,j+2,k+1], x[i+2,j+1,k+1] -> y[i,j,k]", "i 96 j 96 k 96", "f4",
    ),
    "convolution": (
        "multiply", "add krs", "x[k,p+r,q+s], w[c,k,r,s] -> y[c,p,q]", "c 64 k 32 p 28 q 28 r 3 s 3", "f4",
    ),
    "distances": ("distance", "add k", "x[i,k], y[j,k] -> d[i,j]", "i 300 j 300 k 256", "f4"),
    "min-plus": ("plus", "min k", "A[i,k], B[k,j] -> C[i,j]", "i 300 j 300 k 300", "f4"),
}  # fmt: skip


def mdhom(case: str) -> MdHom:
    """Return the only stage of a case, in canonical form, without memory for its arrays."""
    return described(*CASES[case])


def described(function: str, combined: str, views: str, sizes: str, dtype: str) -> MdHom:
    """Return the only stage of what is described as in `CASES`; ``| mode`` behind the views is the first's boundary."""
    views, _, boundary = views.partition(" | ")
    operator, _, reduced = combined.partition(" ")
    words = sizes.split()
    extents = {d: int(n) for d, n in zip(words[::2], words[1::2], strict=True)}
    combine = {d: pw(operator) if d in reduced else cc for d in extents}
    shapes: dict[str, list[int]] = {}
    for view in views.partition(" -> ")[0].split("], "):
        name, _, indices = view.strip("] ").partition("[")
        reach = []
        for index in filter(None, indices.split(",")):
            terms = index.replace("-", "+-").split("+")
            inside = bool(boundary) and any(t in extents for t in terms)
            reach.append(sum(extents[t] - 1 if t in extents else 0 if inside else int(t) for t in terms) + 1)
        known = shapes.setdefault(name, reach)
        shapes[name] = [max(a, b) for a, b in zip(known, reach, strict=True)]
    arrays = []
    for shape in shapes.values():
        steps = [np.dtype(dtype).itemsize * int(np.prod(shape[n + 1 :])) for n in range(len(shape))]
        arrays.append(np.lib.stride_tricks.as_strided(np.ones(1, dtype), shape, steps))
    modes = {next(iter(shapes)): boundary} if boundary else {}
    h = mdhnp.md_hom(_FUNCTIONS[function], combine, views, boundary=modes).bind(*arrays, **extents)
    (stage,) = stages(h)
    found = canonical(stage.mdhom)
    assert isinstance(found, MdHom)
    return found


def record(case: str, device: Device) -> list[tuple[Schedule, float]]:
    """Return schedules that a search proposes for a case on a device, the default first, and their seconds."""
    h = mdhom(case)
    start = default(h, device.caps)
    bench, search, found = Bench(TuningTask(h, device.identity, start)), Search(h, device.caps, start), list[Schedule]()
    while len(found) < _EVALUATIONS and (schedule := search.ask()) is not None:
        measured = bench.measure(schedule, None)
        search.tell(schedule, measured.seconds)
        if measured.status == "ok":
            found.append(schedule)
    # Once more in rounds, all by turns, since a machine that others use is now faster, now slower.
    rounds = [[bench._once(bench._plan(schedule)) for schedule in found] for _ in range(_ROUNDS)]
    seconds = np.quantile(rounds, 0.25, axis=0)
    return [(schedule, float(f"{t:.3g}")) for schedule, t in zip(found, seconds, strict=True)]


def written(times: Sequence[tuple[Schedule, float]]) -> list[tuple[dict[str, Any], float]]:
    """Return what JSON keeps of schedules and seconds: of all but the first schedule what differs from the first."""
    first, *others = [json.loads(schedule.to_json()) for schedule, _ in times]
    short = [{name: value for name, value in other.items() if value != first[name]} for other in others]
    return list(zip([first, *short], [seconds for _, seconds in times], strict=True))


def read(kept: Sequence[tuple[dict[str, Any], float]]) -> list[tuple[Schedule, float]]:
    """Return the schedules and seconds that :func:`written` kept."""
    return [(Schedule.from_json(json.dumps(kept[0][0] | differing)), seconds) for differing, seconds in kept]


def main(path: str = str(FILE)) -> None:
    """Record all cases on all CPU devices."""
    cpus = [d for d in mdhnp.devices() if d.kind == "cpu" and d.runtime != "oclgrind"]
    known: dict[str, Any] = {"devices": {d.runtime: asdict(d.caps) for d in cpus}, "times": []}
    for case in CASES:
        for device in cpus:
            found = record(case, device)
            known["times"].append({"case": case, "device": device.runtime, "schedules": written(found)})
            best = min(seconds for _, seconds in found)
            print(f"{device.runtime} {case}: {len(found)} schedules, default {found[0][1] / best:.2f} of the best")
    save(known, Path(path))


def save(known: dict[str, Any], path: Path) -> None:
    """Write recorded times, a case and device a line."""
    times = ",\n".join([json.dumps(one, separators=(",", ":")) for one in known["times"]])
    path.write_text(f'{{"devices":{json.dumps(known["devices"])},\n"times":[\n{times}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
