"""Times of many schedules of random computations on a GPU, for the test of what the cost model ranks first.

``python -m benchmarks.gpu.recorded SECONDS [FILE]`` takes turns with the computations until the time is over: of each
the schedules that the cost model likes best, the default first, then what a search proposes. Processes compile side by
side, and only one of them has the GPU at a time. `tests/ranked_gpu.json` holds some of each, fast ones and others.
"""

import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from queue import Empty
from typing import Any

import numpy as np
import pyopencl as cl

import mdhnp
from benchmarks.gpu.random_cases import NAMED, random_cases
from benchmarks.ranking import described
from mdhnp.codegen import generate
from mdhnp.mdh import MdHom
from mdhnp.runtime.devices import Device
from mdhnp.runtime.programs import build
from mdhnp.schedule import Schedule
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.batch import Batch
from mdhnp.schedule.default import default
from mdhnp.schedule.gpu import gpu_schedule
from mdhnp.schedule.gpu_tiles import tiles
from mdhnp.tuning.measure.bench import _stage
from mdhnp.tuning.search.search import Search

__all__ = ["batch", "written"]

FILE = Path(__file__).parents[2] / "tests" / "ranked_gpu.json"
#: Of each computation: schedules in all, of those that the cost model likes best, at a time, and in the file.
_SCHEDULES, _PICKED, _TURN, _KEPT = 90, 6, 8, 14
#: Seconds that timed runs of a kernel fill, fewest and most of them; how many times the fastest one's time is too long.
_FILL, _FEWEST, _MOST, _LONG = 2e-3, 4, 16, 8
#: Seconds from the end of a kernel to the beginning of the next one of a call.
_FURTHER = 3e-6
#: Seconds that the last measurements may take.
_LAST = 3.0


class _Case:
    """One computation: what was measured of it, and what comes next."""

    def __init__(self, number: int, h: MdHom, gpu: "_Gpu") -> None:
        self.number, self.gpu, self.h = number, gpu, h
        self.times: dict[Schedule, float | None] = {}
        self.next = self._proposed()

    def _proposed(self) -> Iterator[Schedule]:
        access, caps = AccessPattern(self.h), self.gpu.caps
        start = default(self.h, caps)
        yield start
        found = tiles(access, caps)
        yield from (gpu_schedule(access, found, row) for row in range(min(len(found), _PICKED)))
        search = Search(self.h, caps, start, seed=self.number)
        for schedule, seconds in self.times.items():
            search.tell(schedule, seconds)
        while (proposed := search.ask()) is not None:
            yield proposed
            search.tell(proposed, self.times[proposed])

    def turn(self, limit: float) -> list[tuple[Schedule, float | None]]:
        """Measure some more schedules until then."""
        found = list[tuple[Schedule, float | None]]()
        for schedule in self.next:
            if schedule not in self.times:
                best = min([t for t in self.times.values() if t is not None], default=None)
                self.times[schedule] = self.gpu.measured(self.h, schedule, best)
                found.append((schedule, self.times[schedule]))
            if len(found) == _TURN or len(self.times) >= _SCHEDULES or time.time() > limit:
                break
        return found


class _Gpu:
    """The device, memory for arrays, and a lock for its time."""

    def __init__(self, device: Device, lock: Any) -> None:
        self.device, self.lock = device, lock
        self.caps = replace(device.caps, atoms=())
        self.queue = device.queue_of("profiling")
        self.memory: dict[tuple[str, int], Any] = {}

    def buffer(self, role: str, position: int, nbytes: int) -> Any:
        """Memory that arrays in the same place share, one after the other."""
        known = self.memory.get((role, position))
        if known is None or known.size < nbytes:
            known = self.memory[role, position] = cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, nbytes)
            cl.enqueue_fill_buffer(self.queue, known, np.full(1, 0.4, np.float32), 0, nbytes // 4 * 4)
            self.queue.finish()
        return known

    def measured(self, h: MdHom, schedule: Schedule, best: float | None) -> float | None:
        """Seconds from the start of the first kernel to the end of the last one; None where that fails."""
        try:
            program = generate([_stage(h)[0]], [schedule], self.caps, default)
            built = build(self.device, program.source, keep=False)
            sides = (("input", h.inputs), ("output", h.outputs))
            sizes = {(role, n): v for role, views in sides for n, v in enumerate(views)}
            nbytes = {key: (v.offset + v.elements()) * v.dtype.itemsize + 64 for key, v in sizes.items()}
            nbytes |= {("temporary", n): size for n, size in enumerate(program.temporaries)}
            launches = []
            for one in program.kernels:
                kernel = cl.Kernel(built, one.name)
                for index, (role, position) in enumerate(one.arguments):
                    offset = role.startswith("offset")
                    value = np.int64(0) if offset else self.buffer(role, position, nbytes[role, position])
                    kernel.set_arg(index, value)
                launches.append((kernel, (one.global_size,), (one.local_size,)))
            with self.lock:
                first = self._once(launches, 1)
                if best is not None and first > _LONG * best:
                    return first
                return self._once(launches, int(min(max(_FILL / first, _FEWEST), _MOST)))
        except Exception as error:  # which other schedules do not have
            print(f"{h}: {schedule}: {repr(error)[:200]}", file=sys.stderr)
            return None

    def _once(self, launches: list[Any], repeats: int) -> float:
        events = [[cl.enqueue_nd_range_kernel(self.queue, *one) for one in launches] for _ in range(repeats)]
        self.queue.finish()
        # The time between two kernels is that of the profile, not that of calls.
        times = [[(one.profile.end - one.profile.start) * 1e-9 for one in each] for each in events]
        return float(np.min(times, axis=0).sum() + _FURTHER * (len(launches) - 1))


def _numbers(s: Schedule) -> list[int]:
    """What tells a schedule from others of the same MDH."""
    one = Batch.of([s])
    tail = (s.vector_dim, s.vector_width, sum(int(p) << n for n, p in enumerate(one.packed[0])), int(one.results[0]))
    return [*s.num_wg, *s.num_wi, *s.local_tile, *s.private_tile, *tail]


def batch(rows: Sequence[Sequence[float]], h: MdHom) -> tuple[Batch, Any]:
    """Give the schedules, and their microseconds, of rows that :func:`written` keeps."""
    numbers, times = np.array([row[:-1] for row in rows], np.int64), np.array([row[-1] for row in rows])
    groups, items, local, private, tail = np.split(numbers, [n * h.rank for n in range(1, 5)], axis=1)
    vector, width, packed, results = tail.T
    bits = packed[:, None] >> np.arange(len(h.inputs)) & 1
    return Batch(groups, items, local, private, vector, width, bits > 0, results), times


def written(case: Sequence[str], times: Sequence[tuple[Sequence[int], float]]) -> dict[str, Any]:
    """Return what the file keeps of a computation: the default, the fastest schedules, and some of the others."""
    default_one, *others = times
    ranked = sorted(others, key=lambda pair: pair[1])
    fastest, rest = ranked[: _KEPT // 2], ranked[_KEPT // 2 :]
    spread = [rest[n * len(rest) // (_KEPT // 2)] for n in range(_KEPT // 2)] if len(rest) > _KEPT else rest
    rows = [[*numbers, float(f"{t * 1e6:.3g}")] for numbers, t in (default_one, *fastest, *spread)]
    return {"case": [*case], "schedules": rows}


def save(caps: dict[str, Any], times: Sequence[dict[str, Any]], path: Path) -> None:
    """Write recorded times, a computation a line."""
    lines = ",\n".join([json.dumps(one, separators=(",", ":")) for one in times])
    path.write_text(f'{{"device":{json.dumps(caps)},\n"times":[\n{lines}\n]}}\n', encoding="utf-8")


def _work(numbers: list[int], limit: float, lock: Any, answers: Any) -> None:
    (device, *_) = [d for d in mdhnp.devices() if d.kind == "gpu"]
    gpu, cases = _Gpu(device, lock), [*NAMED, *random_cases(150, 32)]
    waiting = [_Case(n, described(*cases[n]), gpu) for n in numbers]
    while waiting and time.time() < limit:
        for case in [*waiting]:
            found = case.turn(limit)
            answers.put((case.number, [(_numbers(s), t) for s, t in found if t is not None]))
            if len(found) < _TURN:
                waiting.remove(case)
    answers.put((-1, asdict(gpu.caps)))


def main(seconds: str, path: str = str(FILE), processes: str = "16") -> None:
    """Record for so many seconds."""
    context, end, count = multiprocessing.get_context("spawn"), time.time() + float(seconds), int(processes)
    lock, answers, cases = context.Lock(), context.Queue(), [*NAMED, *random_cases(150, 32)]
    shares = [[*range(len(cases))][n::count] for n in range(count)]
    workers = [context.Process(target=_work, args=(share, end, lock, answers)) for share in shares]
    for worker in workers:
        worker.start()
    found: dict[int, list[tuple[list[int], float]]] = {n: [] for n in range(len(cases))}
    caps, working = dict[str, Any](), count
    while working and (left := end + _LAST - time.time()) > 0:
        try:
            number, each = answers.get(timeout=left)
        except Empty:
            break
        if number < 0:
            working, caps = working - 1, each
        else:
            found[number] += each
    for worker in workers:
        worker.terminate()
    save(caps, [written(cases[n], times) for n, times in found.items() if times], Path(path))
    for number, times in found.items():
        if times:
            best = min(t for _, t in times)
            print(f"{number}: default {times[0][1] * 1e6:.1f} µs, best of {len(times)} {best * 1e6:.1f} µs")


if __name__ == "__main__":
    main(*sys.argv[1:])
