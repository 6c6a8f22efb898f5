"""Hundreds of kernels and default schedules, kept as fingerprints: what changes them without intention, shows here.

The golden texts of `test_golden.py` are read; these are too many for that. `texts.txt` has a line for each of several
hundred random MDHs with random schedules: hashes of the texts, what the cost models say of the schedules, and what
becomes of them with other numbers and on parts of the arrays; and a line for each operation of scalar functions.
`defaults.txt` has the default schedules of named and of random MDHs on several devices. A plain run compares some of
the cases, ``--long``, or one that names this file, all. After an intended change write both anew with
``--update-golden``. To see what changed, write all texts into a folder before and after,
``pytest tests/test_texts.py --write-texts DIR``, and compare the folders. Needs no device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import DTYPES
from conftest import drawn, is_named, mixed
from random_functions import Picker, Seeded
from schedules import CAPS, MATRICES, for_any_sizes, schedule
from strategies import Case, TooLarge, case

from mdhnp.codegen import Program, generate, resized
from mdhnp.mdh import MdHom, Stage, bounded, canonical, cc, family, fingerprint, md_hom, ps, pw, stages
from mdhnp.mdh.function import OPERATIONS
from mdhnp.mdh.subscripts import subscripts
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.accuracy import chain_is_short
from mdhnp.schedule.batch import Batch, fallback
from mdhnp.schedule.check import check, local_memory
from mdhnp.schedule.cpu import cpu_schedule, fitting
from mdhnp.schedule.default import default
from mdhnp.schedule.general import adapt, any_sizes, fitted, form, general_schedule, stretched
from mdhnp.schedule.gpu import gpu_schedule
from mdhnp.schedule.model import seconds
from mdhnp.schedule.schedule import DeviceCaps, IllegalSchedule, Schedule
from mdhnp.schedule.split import split, splits

GOLDEN = Path(__file__).parent / "golden"
RANDOM, GENERAL, SIZES = 400, 150, 60

#: A server's core and a small one's, and GPUs with and without double precision.
DEVICES = {
    "wide": DeviceCaps("wide", "cpu", 2, 64, 32, 1 << 18, 4096, 48 << 10, 2 << 20, True, 1 << 32),
    "narrow": DeviceCaps("narrow", "cpu", 8, 16, 16, 32 << 10, 1024, 32 << 10, 256 << 10, True, 1 << 30),
    "gpu": DeviceCaps(
        "gpu", "gpu", 132, 16, 255, 48 << 10, 1024, 128 << 10, 50 << 20, True, 1 << 34, True, subgroup=32
    ),
    "matrices": MATRICES,
    "small gpu": DeviceCaps("small gpu", "gpu", 8, 16, 128, 16 << 10, 128, 16 << 10, 512 << 10, True, 1 << 30, True),
}

#: Changes after which no more are looked for.
_SHOWN = 8

#: A device whose caches hold next to nothing, so that small cases exceed them.
FORGETFUL = replace(CAPS, name="forgetful", l1=512, l2=8192)

Line = tuple[str, str, str]  # name, what is kept, full text
Taken = Callable[[str], bool]  # of a case's name


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _chain(h: MdHom) -> list[Stage]:
    return [replace(s, mdhom=canonical(s.mdhom)) for s in stages(h)]


def _whole(program: Program) -> str:
    return f"{program.source}\n{program.kernels}\n{program.temporaries}\n{program.sizes}\n"


def _row(s: Schedule) -> Batch:
    return Batch.of([s])


def _estimates(h: MdHom, s: Schedule) -> str:
    """Seconds that the model gives; the tuner asks it about more than one point."""
    if not h.rank:
        return "-"
    found = [seconds(AccessPattern(h), _row(s), caps)[0] for caps in (FORGETFUL, *DEVICES.values())]
    return " ".join(f"{each:.5g}" for each in found)


def _completed(h: MdHom, s: Schedule) -> str:
    """What the tuner makes of the schedule's numbers."""
    access, row = AccessPattern(h), _row(s)
    second = canonical(split(h, s)[1]) if splits(h, s) else None
    on_gpu = gpu_schedule(access, row, 0) if h.rank else None
    return f"{cpu_schedule(access, row, 0, CAPS)!r} {on_gpu!r} {fitting(access, row, CAPS)} {second!r} {fallback(h)!r}"


def _bound(one: Case) -> str:
    """The extents that follow from the arrays alone."""
    try:
        return str(one.pattern.bind(*one.arrays).extents)
    except (ValueError, IndexError) as error:
        return type(error).__name__


def _random(taken: Taken) -> Iterator[Line]:
    """Random schedules of random MDHs, chains and the kernels that follow included."""
    for seed in filter(lambda n: taken(f"random {n}"), range(RANDOM)):
        p = Seeded(seed)
        one = case(p)
        h = one.mdhom
        steps = _chain(h)
        used = [schedule(p, step.mdhom) for step in steps]
        following: Callable[[MdHom, DeviceCaps], Schedule] = lambda m, caps, p=p: schedule(p, m, caps)  # type: ignore[misc]  # noqa: E731
        text = _whole(generate(steps, used, CAPS, following))
        forms = " ".join(f"{fingerprint(step.mdhom)[:8]} {family(step.mdhom)[:8]}" for step in steps)
        known = ", ".join(
            f"{_short(_estimates(step.mdhom, s))} {local_memory(step.mdhom, s, CAPS)} "
            f"{_short(_changed(p, step.mdhom, s))} {_short(_completed(step.mdhom, s))}"
            for step, s in zip(steps, used, strict=True)
        )
        parts = _short(str(bounded(h, 400))) if seed % 4 == 0 else "-"
        longer = f"{fingerprint(canonical(stages(h)[0].mdhom, ones=True))[:8]} {fingerprint(canonical(h))[:8]}"
        kept = f"{_short(text)} {forms} {known} {parts} {longer} {_bound(one).replace(', ', ',')}"
        yield f"random {seed}", kept, f"{h}\n{used}\n{text}"


def _changed(p: Picker, h: MdHom, s: Schedule) -> str:
    """What is said of schedules with one number changed, on devices with less, and what they become elsewhere."""
    found = []
    numbers = ("num_wg", "num_wi", "local_tile", "private_tile")
    for _ in range(8 if h.rank else 0):
        name, d = p.choice(numbers), p.integer(0, h.rank - 1)
        value = max(1, p.choice((1, 2, getattr(s, name)[d] + 1, getattr(s, name)[d] - 1, 2 * getattr(s, name)[d])))
        other = replace(s, **{name: tuple(value if e == d else n for e, n in enumerate(getattr(s, name)))})
        other = replace(other, results=p.choice((s.results, "private", "local", "global")))
        other = replace(other, combine_on=p.choice((s.combine_on, "global", "local")))
        caps = replace(CAPS, local_memory=p.choice((CAPS.local_memory, local_memory(h, other, CAPS), 100)))
        try:
            check(h, other, replace(caps, max_work_group=p.choice((CAPS.max_work_group, other.work_items))))
            found.append("legal")
        except IllegalSchedule as error:
            found.append(str(error).partition(":")[0])
        longer = stretched(h, tuple(p.integer(1, 2 * n) for n in h.extents))
        found.append("" if longer is None else repr(adapt(longer, s, CAPS)))
        found.append(str(chain_is_short(h, replace(other, local_tile=tuple(300 * n for n in other.local_tile)))))
    return "\n".join(found)


def _operations(taken: Taken) -> Iterator[Line]:
    """Every operation on every type, in scalars and in vectors."""
    for name in filter(lambda n: taken(f"operation {n}"), sorted(OPERATIONS)):
        texts = []
        for dtype in DTYPES:
            for other in DTYPES if name == "cast" else (dtype,):
                x = np.ones(8, dtype)
                function, count = _operation(name, other)
                views = ", ".join(f"x{n}[i]" for n in range(count))
                try:
                    (stage,) = _chain(md_hom(function, {"i": cc}, f"{views} -> y[i]").bind(*[x] * count))
                except (TypeError, AttributeError):
                    texts.append(f"none of {dtype}")
                    continue
                plain = Schedule.plain(stage.mdhom.extents, len(stage.mdhom.inputs))
                vectors = replace(plain, vector_dim=0, vector_width=4, private_tile=(4,))
                texts += [_whole(generate([stage], [s], CAPS, default)) for s in (plain, vectors)]
        yield f"operation {name}", _short("\n".join(texts)), "\n".join(texts)
    if not taken("C text"):
        return
    text = "void both(int a, int *twos, int *rest) { *twos = a / 2; *rest = a % 2; }"
    h = md_hom(text, {"i": cc}, "x[i] -> p[i], q[i]", results=(np.int32, np.int32)).bind(np.ones(6, "i4"))
    (stage,) = _chain(h)
    text = _whole(generate([stage], [Schedule.plain((6,), 1)], CAPS, default))
    yield "C text", _short(text), text


def _operation(name: str, other: Any) -> tuple[Callable[..., Any], int]:
    """A function of NumPy's, or of values, and how many arguments it has."""
    if name == "cast":
        return lambda x: x.astype(other), 1
    if name in ("real", "imag"):
        return lambda x: getattr(x, name), 1
    if name == "where":
        return lambda x, y: np.where(x == y, x, 3 * y), 2
    ufunc = getattr(np, name)
    return ufunc, ufunc.nin


def _general(taken: Taken) -> Iterator[Line]:
    """Kernels for all sizes."""
    for seed in filter(lambda n: taken(f"general {n}"), range(GENERAL)):
        p = Seeded(seed)
        first, *more = _chain(case(p).mdhom)
        typical = None if more else form(first.mdhom)
        if typical is None:
            continue
        s = for_any_sizes(p, first.mdhom)
        if s is None:
            yield f"general {seed}", "none", ""
            continue
        program = generate([replace(first, mdhom=typical)], [any_sizes(s)], CAPS)
        text = _whole(resized(program, first.mdhom, s))
        yield f"general {seed}", _short(text), f"{first.mdhom}\n{s}\n{text}"


def _changes(s: Schedule, extents: tuple[int, ...]) -> str:
    """Where a schedule is not the plain one."""
    plain = Schedule.plain(extents, len(s.local_copies))
    found = [f"{f.name}={getattr(s, f.name)}" for f in fields(s) if getattr(s, f.name) != getattr(plain, f.name)]
    return " ".join(found).replace(", ", ",") or "plain"


_ADD: Mapping[str, Any] = {"i": cc, "j": cc, "k": pw("add")}
_STAR = "x[i,j-1], x[i-1,j], x[i,j], x[i+1,j], x[i,j+1] -> y[i,j]"

#: Name, scalar function, operators, views, options, extents' sets, dtype.
NAMED: list[tuple[str, Any, Mapping[str, Any], str, Mapping[str, Any], tuple[tuple[int, ...], ...], str]] = [
    ("product", np.multiply, _ADD, "A[i,k], B[k,j] -> C[i,j]", {}, (
        (1024, 1024, 1024), (16, 1000, 500), (10, 64, 500), (3, 3, 3), (2000, 7, 9), (64, 1, 100_000),
        (70_000, 40_000, 64)), "f4"),
    ("product f8", np.multiply, _ADD, "A[i,k], B[k,j] -> C[i,j]", {}, ((512, 512, 512), (33, 65, 1_000_000)), "f8"),
    ("product c8", np.multiply, _ADD, "A[i,k], B[k,j] -> C[i,j]", {}, ((300, 300, 300),), "c8"),
    ("product f2", np.multiply, _ADD, "A[i,k], B[k,j] -> C[i,j]", {}, ((300, 300, 300),), "f2"),
    ("turned", np.multiply, _ADD, "A[k,i], B[j,k] -> C[j,i]", {}, ((500, 600, 700), (9, 9, 9000)), "f4"),
    ("min-plus", np.add, {**_ADD, "k": pw("min")}, "A[i,k], B[k,j] -> C[i,j]", {}, ((600, 600, 600),), "i4"),
    ("three operands", lambda a, b, c: np.exp(a + b - c), _ADD, "A[i,k], B[k,j], M[i,j] -> C[i,j]", {},
     ((600, 600, 600),), "f4"),
    ("in order", lambda a: a, {"i": cc, "k": pw(lambda a, b: np.where(a != 0, a, b), commutative=False)},
     "A[i,k] -> y[i]", {}, ((100, 10_000), (1, 1_000_000), (10_000, 10)), "i4"),
    ("stack", np.multiply, {"b": cc, **_ADD}, "A[b,i,k], B[b,k,j] -> C[b,i,j]", {},
     ((64, 64, 64, 64), (5000, 4, 4, 4)), "f4"),
    ("rows", np.multiply, {"i": cc, "k": pw("add")}, "A[i,k], x[k] -> y[i]", {}, (
        (4096, 4096), (10, 100_000), (100_000, 10)), "f4"),
    ("columns", np.multiply, {"i": cc, "k": pw("add")}, "A[k,i], x[k] -> y[i]", {},
     ((4096, 4096), (10, 100_000)), "f4"),
    ("finished", lambda a, x, y: a * x, {"i": cc, "k": pw("add")}, "A[i,k], x[k], y[i] -> z[i]",
     {"finish": lambda t, a, x, y: 2 * t + y}, ((2000, 3000), (2, 3_000_000)), "f4"),
    ("dot", np.multiply, {"k": pw("add")}, "x[k], y[k] -> z[]", {}, ((1 << 20,), (1 << 26,), (100,)), "f4"),
    ("range", lambda x: (x, x), {"k": pw(("min", "max"))}, "x[k] -> a[], b[]", {}, ((1 << 20,),), "i8"),
    ("C text", "float twice(float a) { return 2 * a; }", {"i": cc, "k": pw("add")}, "A[i,k] -> y[i]",
     {"results": np.float32}, ((1000, 1000), (50, 70_000)), "f4"),
    ("C text of slices",
     "float f(const global float *a, int n, int right, const global float *b, int m, int down) { return *a + *b; }",
     {"i": cc, "j": cc}, "A[i,:], B[:,j] -> C[i,j]", {}, ((1000, 1000), (7, 100_000)), "f4"),
    # every operation that the models weigh
    ("functions",
     lambda x: (np.exp(x) / np.sqrt(x) + np.log(x) + np.log2(x)) ** np.tanh(x) % 7 // np.sin(x) - np.cos(x),
     {"i": cc}, "x[i] -> y[i]", {}, ((1 << 20,),), "f4"),
    ("outer", np.multiply, {"i": cc, "j": cc}, "x[i], y[j] -> z[i,j]", {}, ((1000, 1000), (7, 100_000)), "f8"),
    ("transpose", lambda x: x, {"i": cc, "j": cc, "k": cc}, "x[i,j,k] -> y[k,j,i]", {}, ((100, 80, 90),), "f4"),
    ("contraction", np.multiply, {"a": cc, "b": cc, "c": cc, "d": cc, "e": pw("add"), "f": pw("add")},
     "A[a,e,b,f], B[d,f,c,e] -> C[a,b,c,d]", {}, ((48, 32, 24, 32, 48, 32), (5, 4, 3, 2, 6, 7)), "f4"),
    ("convolution", np.multiply, {"k": cc, "p": cc, "q": cc, "c": pw("add"), "r": pw("add"), "s": pw("add")},
     "I[c,2*p+r,2*q+s], F[k,c,r,s] -> O[k,p,q]", {},
     ((64, 56, 56, 64, 3, 3), (8, 112, 112, 3, 7, 7), (3, 30_000, 30_000, 2, 3, 3)), "f4"),
    ("star", lambda *x: sum(x[1:], x[0]), {"i": cc, "j": cc}, _STAR, {"boundary": {"x": "reflect"}}, (
        (1000, 1000), (100_000, 9), (9, 100_000), (70_000, 40_000)), "f4"),
    ("star c8", lambda *x: sum(x[1:], x[0]), {"i": cc, "j": cc}, _STAR, {"boundary": {"x": "constant"}},
     ((500, 500),), "c8"),
    ("cube", lambda *x: sum(x[1:], x[0]), {"i": cc, "j": cc, "k": cc},
     "x[i+1,j,k], x[i+1,j+2,k], x[i+2,j+1,k], x[i,j,k+1] -> y[i,j,k]", {}, ((128, 128, 128),), "f8"),
    ("scan", lambda x: x, {"i": ps("add")}, "x[i] -> y[i]", {}, ((1 << 22,), (1000,), (1 << 32,)), "f4"),
    ("scans of rows", lambda x: x, {"i": cc, "j": ps("add")}, "x[i,j] -> y[i,j]", {},
     ((1000, 1000), (2, 1 << 20)), "f4"),
    ("scans of columns", lambda x: x, {"i": cc, "j": ps("max")}, "x[j,i] -> y[j,i]", {},
     ((1000, 1000), (9, 1 << 18)), "i4"),
]  # fmt: skip


def _dense(shape: tuple[int, ...], dtype: str) -> tuple[int, ...]:
    """Strides of an array in C order, which is never touched."""
    return tuple(int(np.prod(shape[a + 1 :])) * np.dtype(dtype).itemsize for a in range(len(shape)))


def _sized(taken: Taken) -> Iterator[tuple[str, MdHom]]:
    for name, scalar, combine, views, options, sizes, dtype in NAMED:
        pattern = md_hom(scalar, combine, views, **options)
        for extents in sizes:
            label = f"{name} {extents}".replace(", ", ",")
            if not taken(label):
                continue
            given = dict(zip(combine, extents, strict=True))
            shapes = [
                tuple(max(a[x].span(extents)[1] for a in b.accesses) + 1 or 64 for x in range(len(b.accesses[0])))
                for b in pattern.inputs
            ]
            arrays = [np.lib.stride_tricks.as_strided(np.zeros(1, dtype), s, _dense(s, dtype)) for s in shapes]
            yield label, pattern.bind(*arrays, **given)
    for seed in filter(lambda n: taken(f"random {n}"), range(SIZES)):
        p = Seeded(seed)
        try:
            yield f"random {seed}", case(p, 1 << 20).mdhom
        except TooLarge:
            continue


def _defaults(taken: Taken) -> Iterator[Line]:
    for name, h in _sized(taken):
        for number, stage in enumerate(_chain(h)):
            for device, caps in DEVICES.items():
                m = stage.mdhom
                s = default(m, caps)
                text = _whole(generate([stage], [s], caps, default))
                kept = f"{subscripts(h)}; {_changes(s, m.extents)}; {_estimates(m, s)}; {_short(text)}"
                typical = form(m)
                general = None if typical is None else general_schedule(typical, caps)
                if typical is not None and general is not None:
                    found = fitted(m, general, caps)
                    kept += f"; for all sizes {_changes(general, typical.extents)}"
                    kept += f", here {'none' if found is None else found.num_wg}".replace(", ", ",")
                yield f"{name}, stage {number}, {device}", kept, f"{m}\n{s}\n{text}"


def _case(line: str) -> str:
    return line.partition(": ")[0].partition(", stage")[0]


def _compare(file: str, lines: Callable[[Taken], Iterator[Line]], request: pytest.FixtureRequest) -> None:
    """Compare the lines of the cases that their names draw; of all with `--long`, or where this file is named.

    Those that are written are all.
    """
    path, folder = GOLDEN / file, request.config.getoption("--write-texts")
    if request.config.getoption("--update-golden") or folder:
        found = list(lines(bool))
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            for name, _, text in found:
                (Path(folder) / f"{name}.txt").write_text(text, encoding="utf-8")
        if request.config.getoption("--update-golden"):
            path.write_text("".join(f"{name}: {kept}\n" for name, kept, _ in found), encoding="utf-8")
        return
    before = path.read_text(encoding="utf-8").splitlines()
    cases = sorted({_case(line) for line in before}, key=mixed)
    whole = request.config.getoption("--long") or is_named(request.path, request.config)
    taken: Taken = bool if whole else {*cases[: drawn(len(cases))]}.__contains__
    pairs = zip_longest((f"{name}: {kept}" for name, kept, _ in lines(taken)), [x for x in before if taken(_case(x))])
    changed = list(islice(((now, was) for now, was in pairs if now != was), _SHOWN))
    assert not changed, f"{file}: changed, and perhaps more; --update-golden writes all anew"


def test_texts_of_random_schedules(request: pytest.FixtureRequest) -> None:
    kinds = (_random, _general, _operations)
    _compare("texts.txt", lambda taken: (line for kind in kinds for line in kind(taken)), request)


def test_default_schedules(request: pytest.FixtureRequest) -> None:
    _compare("defaults.txt", _defaults, request)
