"""The model beside measurements: two parts of a CPU, a core each, and two processes, a core each.

What the model needs to know of the machine is measured on one device, and by calls on next to nothing; what it says of
two is then compared with the same calls there. Everything is repeated by turns, and medians are taken.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from statistics import median
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import mdhnp
import mdhnp.dask
from benchmarks.measure import Comparison, compare
from benchmarks.rows import seconds_text
from benchmarks.scaling.cases import COMPUTATIONS, Case, cube, line, matrices, rows, tensors
from benchmarks.scaling.model import Machine, cheapest
from mdhnp.distributed.exchange import watched

__all__ = ["HEADER", "parts_of_a_cpu", "processes"]

HEADER = [
    "", "", "one", "two, predicted", "two, measured", "speed-up, predicted", "speed-up, measured", "bytes, predicted",
    "bytes, exchanged", "disturbed",
]  # fmt: skip

_CASES = (
    Case("matmul 1536³, B copied before", "matmul", matrices(1536), (1,)),
    Case("matmul 1536³", "matmul", matrices(1536)),
    Case("all-pairs L1, 2048² × 256", "all-pairs", rows(2048, 256)),
    Case("10 Jacobi steps, 256³", "Jacobi", cube(256), steps=10),
    Case("CCSD(T) 40, 16⁷", "contraction", tensors(16), axes=(0, 2)),
    Case("sum of 2²⁶", "sum", line(1 << 26)),
)
#: Each process has a chunk of its own of what is not copied.
_IN_PROCESSES = (
    Case("matmul 3072³, B copied before", "matmul", matrices(3072), (1,)),
    Case("all-pairs L1, 4096² × 256, Y copied before", "all-pairs", rows(4096, 256), (1,)),
    Case("Jacobi step, 256³", "Jacobi", cube(256)),
    Case("sum of 2²⁶", "sum", line(1 << 26)),
)
#: Calls that compute next to nothing.
_NOTHING = Case("", "sum", line(16))
#: Seconds to wait, for each case, for other processes to rest.
_PATIENCE = 5.0
#: Bytes that are moved to see how fast that is.
_MANY = 1 << 26

_calls_made = count()

Call = Callable[[], Any]
#: On one device, and on two.
Calls = tuple[Call, Call]


def _arrays(case: Case) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.random(shape, np.float32) for shape in case.shapes(1.0)]


def _measured(one: Call, two: Call, rounds: int) -> Comparison:
    """Time a call on one device, the peer, and on two, by turns, when others leave the machine alone."""
    return compare(two, [one], lambda number, result: None, rounds, patience=_PATIENCE)[0]


def _repeated(case: Case, given: Sequence[Any]) -> Any:
    found = COMPUTATIONS[case.computation](*given)
    for _ in range(case.steps - 1):
        found = COMPUTATIONS[case.computation](found)
    return found


def _fitted(machine: Machine, cases: Sequence[Case], found: Sequence[Comparison]) -> Machine:
    """Give a machine with the rates that one device has."""
    rates: dict[str, float] = {}
    for case, times in zip(cases, found, strict=True):
        task = case.task(replace(machine, rates={case.computation: 1.0}))
        rates.setdefault(case.computation, task.mdhom.points / (median(times.peer) / case.steps - machine.call))
    return replace(machine, rates=rates)


def _rows(
    machine: Machine, cases: Sequence[Case], found: Sequence[Comparison], moved: Sequence[str]
) -> list[list[str]]:
    """Give a line of text a case."""
    fitted, lines = _fitted(machine, cases, found), []
    for case, times, nbytes in zip(cases, found, moved, strict=True):
        task = case.task(fitted)
        one, two = (cheapest(task, fitted, n) for n in (1, 2))
        summary = times.summary()
        shown = [seconds_text(t) for t in (summary["peer_seconds"], two.seconds, summary["ours_seconds"])]
        ratio = "{:.2f} ({:.2f}–{:.2f})".format(summary["ratio"], *summary["quartiles"])
        expected = f"{one.seconds / two.seconds:.2f}"
        busy = f"{summary['disturbed'] / (2 * summary['pairs']):.0%}"
        lines.append([machine.name, case.title, *shown, expected, ratio, f"{case.steps * two.nbytes}", nbytes, busy])
        print(*lines[-1], sep=" | ", flush=True)
    return lines


# ------------------------------------------------------------------------------------------------------ parts of a CPU


def parts_of_a_cpu(spec: str, rounds: int) -> list[list[str]]:
    """Measure two parts of a CPU device, and give rows of text."""
    with mdhnp.device(f"{spec}/2") as both, mdhnp.config(host="never", specialise="always", tuning="off"):
        one = both.members[0]
        times, moved = [], []
        for case in _CASES:
            calls = _calls(case, one, both)
            times.append(_measured(*calls, rounds))
            with watched() as exchanges:
                calls[1]()
            moved.append(str(sum([e.nbytes for e in exchanges])))
        return _rows(_parts(spec, one, both, rounds), _CASES, times, moved)


def _calls(case: Case, one: Any, both: Any) -> Calls:
    """Give the calls on one part, and on both."""
    arrays = _arrays(case)
    parted = [
        mdhnp.distribute(a, "copy" if n in case.copied else "block", axis, devices=both)
        for n, (a, axis) in enumerate(zip(arrays, case.axes, strict=False))
    ]

    def call(place: Any, given: Sequence[Any]) -> None:
        _repeated(case, given)
        mdhnp.synchronize(place)

    return partial(call, one, [mdhnp.asarray(a, device=one) for a in arrays]), partial(call, both, parted)


def _parts(spec: str, one: Any, both: Any, rounds: int) -> Machine:
    """Measure what a call on next to nothing takes, and how fast one and both go through memory."""
    nothing = _measured(*_calls(_NOTHING, one, both), 4 * rounds)
    x = np.ones(_MANY // 4, np.float32)
    whole, parted = mdhnp.asarray(x, device=one), mdhnp.distribute(x, devices=both)
    through = _measured(lambda: mdhnp.negative(whole), lambda: mdhnp.negative(parted), rounds)
    start = median(nothing.peer)
    return Machine(
        f"parts of {spec}", 2, {}, start, max(median(nothing.ours) - start, 0.0) / 2,
        memory=3 * _MANY / median(through.peer), memories=3 * _MANY / median(through.ours), written=2,
        room=True,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ processes


@contextmanager
def _cluster(workers: int) -> Iterator[Client]:
    """Give so many workers, each on a core of its own, which compute with kernels from the first call on."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for n, worker in enumerate(client.scheduler_info()["workers"]):
            client.run(os.sched_setaffinity, 0, {n}, workers=[worker])
        client.register_plugin(mdhnp.dask.Plugin(devices=["cpu"]))
        client.run(_by_kernels)
        yield client


def _by_kernels() -> None:
    mdhnp.config.host, mdhnp.config.specialise, mdhnp.config.tuning = "never", "always", "off"


def processes(rounds: int) -> list[list[str]]:
    """Measure two processes, and give rows of text."""
    with _cluster(1) as alone, _cluster(2) as both:
        times = [_measured(*_persisted(case, alone, both), rounds) for case in _IN_PROCESSES]
        nothing = _measured(*_persisted(_NOTHING, alone, both), 4 * rounds)
        start, more = median(nothing.peer), median(nothing.ours) - median(nothing.peer)
        network = _MANY / median([_moving(both) for _ in range(rounds)])
        machine = Machine("processes", 1, {}, start, latency=max(more, 0.0), network=network)
    return _rows(machine, _IN_PROCESSES, times, ["–" for _ in _IN_PROCESSES])


def _persisted(case: Case, *clients: Client) -> Calls:
    """Give the calls of one worker, and of two, on arrays in a chunk for each, which lie there."""

    def call(client: Client, given: Sequence[Any]) -> None:
        # Under another name than before, whose result the workers may still have.
        first = given[0].map_blocks(np.asarray, name=f"call-{next(_calls_made)}")
        wait(client.persist(mdhnp.dask.apply(COMPUTATIONS[case.computation], first, *given[1:])))

    calls = []
    for workers, client in enumerate(clients, 1):
        rng, given = da.random.default_rng(0), []
        for n, shape in enumerate(case.shapes(1.0)):
            size = shape[0] if n in case.copied else -(-shape[0] // workers)
            given.append(client.persist(rng.random(shape, np.float32, chunks=(size, *shape[1:]))))
            wait(given[-1])
        calls.append(partial(call, client, given))
    return calls[0], calls[1]


def _moving(client: Client) -> float:
    """Time how long a chunk takes from one worker to another."""
    first, second = client.scheduler_info()["workers"]
    array = client.submit(np.ones, _MANY // 4, np.float32, workers=[first], pure=False)
    wait(array)
    begin = time.perf_counter()
    wait(client.submit(len, array, workers=[second], pure=False))
    return time.perf_counter() - begin
