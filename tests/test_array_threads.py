"""Many threads of mixed calls on Arrays: right results, no growth. One second, or a minute with `--long`."""

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_threads import resident

import mdhnp
from mdhnp.runtime.devices import Device

X = np.random.default_rng(0).random((40, 30), np.float32)
V = np.arange(30, dtype=np.float32)


def _assigned(a: mdhnp.Array, v: mdhnp.Array) -> mdhnp.Array:
    b = mdhnp.zeros(a.shape, dtype=a.dtype, device=a.device)
    b[::2, 1:] = v[1:]
    b[1] = 3
    return b


#: Calls of all kinds on Arrays and ndarrays: one kernel, several, views, copies, into memory that is there, reading.
CALLS: tuple[Callable[..., Any], ...] = (
    lambda a, v: a @ a.T,
    lambda a, v: mdhnp.einsum("ij,j,kj->ik", a, v, a[::2]),
    lambda a, v: mdhnp.matmul(a[3:, ::-1], V),
    lambda a, v: mdhnp.tensordot(a, X[:7], axes=(1, 1)),
    lambda a, v: mdhnp.sum(a, axis=0),
    lambda a, v: mdhnp.cumulative_sum(v),
    lambda a, v: mdhnp.asarray(a.T, copy=True),
    lambda a, v: mdhnp.concat([a, a[::-1]]),
    lambda a, v: mdhnp.asarray(X[:5], device=a.device),
    _assigned,
)


def work(seed: int, where: Device, expected: list[Any], seconds: float, done: list[int]) -> None:
    rng = np.random.default_rng(seed)
    a, v = mdhnp.asarray(X, device=where), mdhnp.asarray(V, device=where)
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        kept = [(n, CALLS[n](a, v)) for n in rng.permutation(len(CALLS))]  # enqueued, and read later
        for n, result in kept:
            np.testing.assert_allclose(result.numpy(), expected[n], rtol=1e-4)
        rounds += 1
    done.append(rounds)


def run(where: Device, expected: list[Any], seconds: float) -> None:
    done: list[int] = []
    threads = [threading.Thread(target=work, args=(seed, where, expected, seconds, done)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)
    assert len(done) == 8
    assert min(done) > 0


@pytest.mark.parametrize("seconds", [1.0, pytest.param(60.0, marks=pytest.mark.slow)])
def test_threads_share_a_device(where: Device, seconds: float) -> None:
    a, v = mdhnp.asarray(X), mdhnp.asarray(V)
    expected = [np.array(call(a, v).numpy()) for call in CALLS]
    del a, v
    run(where, expected, 0.5)
    gc.collect()
    mdhnp.synchronize(where)
    before, held = mdhnp.memory_info(where), resident()
    run(where, expected, seconds)
    gc.collect()
    mdhnp.synchronize(where)
    info = mdhnp.memory_info(where)
    assert info.used <= before.used + 10**6
    assert info.free <= before.free + 10**7
    assert resident() < held + 30e6
