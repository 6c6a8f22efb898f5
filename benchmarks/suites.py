"""What each table of the documentation measures, of how much: sized so that all take some twenty minutes on two cores.

Each function takes names of devices and gives header and lines of text. It runs in a process of its own.
"""

from collections.abc import Sequence
from typing import Any

from benchmarks.rows import seconds_text

__all__ = [
    "calls", "cold", "demo", "first", "fused", "in_blocks", "incalls", "others", "overheads", "parameters",
    "scaled", "shapes", "steady", "takeover",
]  # fmt: skip

Shown = tuple[list[str], list[list[str]]]

DEMO = "Whole calls of `python -m mdhnp demo`, float32, untuned; ratio: the time before over the time after."
CALLS = (
    "Whole calls, float32 where nothing else is said. The peer is the fastest of those measured; ratio: its time over "
    "ours, the median of rounds by turns, and its quartiles."
)
FUSED = (
    "Our time, and that of each peer over it, on the first runtime; on the others our time, and NumPy's over it. "
    "Whole calls, float32, untuned, medians of rounds by turns."
)
OTHERS = "Peer's time over ours; medians of 5 rounds by turns."
TAKEOVER = (
    "Calls from the first one on, in new processes with empty caches and default settings: NumPy's time, that of the "
    "first call, of those before kernels take over (medians, and NumPy's time over them), the seconds of calls until "
    "then, and the time of the last calls."
)
COLD = "New processes: median and quartiles of 5, a product of 256 × 250 and 250 × 260 elements, float32."
OVERHEAD = "Repeat calls, µs: least / median."
STEADY = (
    "20 random einsums after 1.5 s of calls each, default settings: NumPy's time over ours, medians of 9 rounds by "
    "turns; below 0.95 are those that are so twice."
)
FIRST = (
    "20 random einsums, 20 calls of each, in a new process with default settings: NumPy's total time over ours. Small "
    "ones have 2^14 to 2^25 points, large ones 2^20 to 2^28. A stall is what a call takes longer than NumPy's."
)
SHAPES = (
    "500 matrix products of different shapes in one process, float32, all calls together; allowed: three times the "
    "time of `np.matmul` and 2 s."
)
INCALLS = (
    "Tuning in calls against a search apart, each from an empty cache and for 5 s a kernel: seconds of calls until all "
    "is settled (5 s of them before the search begins), and their number; the time of the default schedule, and those "
    "of the search apart and of the default divided by that of the schedule found in calls (medians by turns)."
)
PARAMETERS = (
    "The best schedule found in 20 s of search beside the best of all measured ones with the default's value of a "
    "parameter: times as fast, medians of 11 rounds by turns and their quartiles. Empty where the best has that value."
)
DASK = "Medians of 3 by turns, chunks in memory, dask's scheduler with two threads, float32."
SCALING = (
    "Two devices beside one of them, each with a core, as the model predicts it and as measured: medians of up to 3 "
    "rounds by turns, quartiles of the speed-up, and the share of samples that other processes disturbed."
)

#: Of the demo's calls those that README.md shows, by their beginnings: what is written before, and after.
_SHOWN = {
    'einsum("badg': (
        '`np.einsum("badg,cgfe->fedcba", a, b, optimize=True)`, CCSD(T) sizes',
        '`mdhnp.einsum("badg,cgfe->fedcba", a, b)`',
    ),
    "gemm(a, a": ("`x @ x.T`, 1797×64", "`mdhnp.gemm(x, x, trans_b=True)`"),
    "md_hom(…)(a, b), min-plus": ("min-plus product in NumPy, 600×600", "`mdhnp.md_hom(…)(d, d)`"),
    "stencil(a, mean": ("mean of six neighbours in NumPy, 130×130×130", "`mdhnp.stencil(v, lambda n: …)`"),
    "stencil(a, gaussian": ("`cv2.GaussianBlur(p, (5, 5), 0)`, 2048×2048", '`mdhnp.stencil(p, weights, "reflect")`'),
    "prl(new, existing": ("all pairs of 2 × 5000 person records in NumPy", "`mdhnp.prl(new, existing, m=…)`"),
}

#: Cases of `cases.py`: one of each kind, and of the list of contractions one of each form.
_CALLS = (
    "sgemm", "dgemm", "sgemm-tb", "gemm-deep", "gemm-batch", "gemv", "gemv-t", "dot", "tccg-1", "tccg-5", "tccg-9",
    "tccg-14", "tccg-19", "tccg-31", "tccg-40", "tccg-46", "gaussian-224", "gaussian", "gradient", "jacobi", "mcc",
    "prl", "min-plus", "log-sum", "l1", "einsum-64", "matmul-64", "matmul-4",
)  # fmt: skip
_FUSED = (
    "hypotenuse", "moments", "softmax", "softmax-product", "layer-norm", "nearest", "standardise", "rbf",
    "blur-gradient", "running", "relax-2048",
)  # fmt: skip
_INCALLS = ("gaussian", "min-plus", "tccg-31")
_PARAMETERS = ("sgemm", "gemv", "gemm-inner", "tccg-40", "gaussian", "prl")


def demo(specs: Sequence[str]) -> Shown:
    import mdhnp
    from mdhnp.demo.cases import all_cases
    from mdhnp.demo.timing import measure

    found: dict[str, list[Any]] = {begin: [] for begin in _SHOWN}
    for spec in specs:
        with mdhnp.device(spec), mdhnp.config(tuning="off"):
            for case in all_cases():
                for rows in [rows for begin, rows in found.items() if case.call.startswith(begin)]:
                    rows.append(measure(case))
                    assert rows[-1].right, f"{case.call}: off by {rows[-1].error}"
                    print(f"{spec} {case.call}: {rows[-1].ratio:.2f}", flush=True)
    lines = []
    for begin, rows in found.items():
        shown = [f"{seconds_text(r.peer_seconds)} → {seconds_text(r.seconds)}, **{r.ratio:.2g} ×**" for r in rows]
        lines.append([*_SHOWN[begin], *shown])
    return ["before", "after", *(f"{_title(spec)}: before → after" for spec in specs)], lines


def _title(spec: str) -> str:
    return {"intel": "Intel's runtime", "pocl": "PoCL"}.get(spec, spec)


def _measured(names: Sequence[str], specs: Sequence[str], pairs: int) -> list[list[dict[str, Any]]]:
    """Give, of each case, its row of each device."""
    from benchmarks.cpu import run
    from mdhnp import config

    config.tuning = "off"
    rows = run(names, specs, pairs)["rows"]
    return [rows[n : n + len(specs)] for n in range(0, len(rows), len(specs))]


def calls(specs: Sequence[str]) -> Shown:
    lines = []
    for rows in _measured(_CALLS, specs, 5):
        best = min(rows[0]["peers"], key=lambda peer: float(peer["peer_seconds"]))
        line = [rows[0]["title"], rows[0]["extents"], best["name"], seconds_text(best["peer_seconds"])]
        for row in rows:
            (peer,) = (peer for peer in row["peers"] if peer["name"] == best["name"])
            line.append(seconds_text(peer["ours_seconds"]) + (", by NumPy" if row["hosted"] else ""))
            line.append("{:.2f} ({:.2f}–{:.2f})".format(peer["ratio"], *peer["quartiles"]))
        lines.append(line)
    each = [text for spec in map(_title, specs) for text in (spec, "ratio")]
    return ["call", "extents", "best peer", "its time", *each], lines


def fused(specs: Sequence[str]) -> Shown:
    columns = ("NumPy", "Numba prange", "jax.jit", "torch.compile", "numexpr")
    lines = []
    for first, *others in _measured(_FUSED, specs, 5):
        ratios = {peer["name"]: f"{peer['ratio']:.2f}" for peer in first["peers"]}
        line = [
            first["title"].removeprefix("fuse, "),
            first["extents"],
            seconds_text(first["peers"][0]["ours_seconds"]),
        ]
        line += [ratios.get(name, "") for name in columns]
        for row in others:
            line += [seconds_text(row["peers"][0]["ours_seconds"]), f"{row['peers'][0]['ratio']:.2f}"]
        lines.append(line)
    header = ["function", "arrays", _title(specs[0]), *(name.removesuffix(" prange") for name in columns)]
    return header + [text for spec in map(_title, specs[1:]) for text in (spec, "NumPy")], lines


def others(specs: Sequence[str]) -> Shown:
    from benchmarks.others import table
    from mdhnp import config

    config.tuning = "off"
    return table(specs, pairs=5)


def takeover(specs: Sequence[str]) -> Shown:
    from benchmarks.takeover import table

    return table(specs)


def cold(specs: Sequence[str]) -> Shown:
    from benchmarks.cold import measure, table

    return table([measure(spec, 5) for spec in specs])


def overheads(specs: Sequence[str]) -> Shown:
    from benchmarks.cpu import mdhnp_device
    from benchmarks.overhead import measure, table
    from mdhnp import config

    config.tuning, config.specialise = "off", "always"
    return table([(spec, measure(mdhnp_device(spec), size)) for spec in specs for size in (64, 4)])


def steady(specs: Sequence[str]) -> Shown:
    from benchmarks.einsums import steady as table

    return table(specs, 20)


def first(specs: Sequence[str]) -> Shown:
    from benchmarks.einsums import first as table

    return table(specs, 20)


def shapes(specs: Sequence[str]) -> Shown:
    from benchmarks.shapes import measure, table

    return table([measure(spec, longest) for spec in specs for longest in (128, 512)])


def incalls(specs: Sequence[str]) -> Shown:
    from benchmarks.incalls import table

    return table(_INCALLS, specs[0])


def parameters(specs: Sequence[str]) -> Shown:
    from benchmarks.cpu import mdhnp_device
    from benchmarks.parameters import table

    return table(_PARAMETERS, mdhnp_device(specs[0]), seconds=20.0)


def in_blocks(specs: Sequence[str]) -> Shown:
    import mdhnp
    from benchmarks.blocks import table

    with mdhnp.device(specs[0]):
        return table(3)


def scaled(specs: Sequence[str]) -> Shown:
    from benchmarks.scaling.measured import HEADER, parts_of_a_cpu, processes

    return HEADER, parts_of_a_cpu(specs[0], 3) + processes(3)
