"""Many threads of mixed calls: right results, no growth. Rounds of one second, or of a minute with `--long`."""

import gc
import threading
import time

import numpy as np
import pytest

import mdhnp
from mdhnp.calls.store import entries

A = np.random.default_rng(0).random((40, 30), np.float32)
V = np.arange(30)
#: Calls of all ways through the frontend: one kernel, chains, results in place, NumPy.
CALLS = (
    lambda np_: np_.einsum("ij,kj->ik", A, A),
    lambda np_: np_.einsum("ij,j,kj->ik", A, V, A[::2]),
    lambda np_: np_.matmul(A.T, A),
    lambda np_: np_.matmul(A, V, out=np.empty(40)),
    lambda np_: np_.dot(A, V),
    lambda np_: np_.tensordot(A, A[:7], axes=(1, 1)),
    lambda np_: np_.outer(V, V),
    lambda np_: np_.trace(A),
    lambda np_: np_.kron(A[:3, :4], V[:5]),
    lambda np_: np_.vdot(A, A),
    lambda np_: np_.inner(V.astype(complex), A),
    lambda np_: np_.dot(V.astype(np.longdouble), V),
    lambda np_: np_.linalg.multi_dot([A, A.T, A]),
)

#: Bytes that a round of calls may take and keep; it makes some ten thousand, whose results take 100 MB.
LITTLE = 10e6


def resident() -> int:
    """Bytes of memory that the process has."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def work(seed: int, expected: list, seconds: float, done: list) -> None:
    rng = np.random.default_rng(seed)
    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end:
        for n in rng.permutation(len(CALLS)):
            if rng.random() < 0.5:
                result = CALLS[n](mdhnp)
            else:
                with mdhnp.patch():
                    result = CALLS[n](np)
            np.testing.assert_allclose(result, expected[n], rtol=1e-4)
        rounds += 1
    done.append(rounds)


def run(expected: list, seconds: float) -> None:
    done: list[int] = []
    threads = [threading.Thread(target=work, args=(seed, expected, seconds, done)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(seconds + 120)
    assert len(done) == 8 and min(done) > 0  # a thread that failed or hangs is not among them


@pytest.mark.parametrize("seconds", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_mixed_calls_in_eight_threads(device, seconds):
    expected = [call(np) for call in CALLS]
    run(expected, 0.5)
    plans = len(entries)
    growth = []
    # Compilers at work in the background and fresh threads' heaps take memory once; a leak takes it every time.
    while not growth or (growth[-1] > LITTLE and len(growth) < 6):
        gc.collect()
        before = resident()
        run(expected, seconds)
        gc.collect()
        growth.append(resident() - before)
    assert len(entries) == plans
    assert growth[-1] <= LITTLE, f"bytes of growth, round by round: {growth}"
