"""`mdhnp.Array` on several devices, in several threads, in other processes."""

import copy
import gc
import operator
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arrays import same
from separate import separate

import mdhnp
from mdhnp.runtime.devices import Device

A = np.arange(24.0).reshape(2, 3, 4)


@pytest.fixture(scope="module")
def places() -> list[Device]:
    """Give all devices, and each again as if it had memory of its own."""
    found = [d for d in mdhnp.devices() if d.runtime != "oclgrind"]
    return [*found, *{separate(d) for d in found} - set(found)]


def test_it_is_brought_from_any_device_to_any_other(places: list[Device]) -> None:
    for first in places:
        a = mdhnp.asarray(A, device=first)[:, ::-1]
        for second in places:
            b = a.to_device(second)
            assert b.device is second
            same(b, A[:, ::-1])
            assert (b is a) == (first is second)
            if b is not a:
                b[...] = 0
                same(a, A[:, ::-1])
    with pytest.raises(ValueError, match="stream"):
        a.to_device(places[0], stream=1)
    with pytest.raises(mdhnp.NoDeviceError):
        a.to_device("no such device")


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": mdhnp.matmul,
    "operator": lambda a, b: a @ b,
    "einsum": lambda a, b: mdhnp.einsum("ij,jk", a, b),
    "einsum of three": lambda a, b: np.einsum("ij,jk,kl", a, a, b),
    "ufunc": np.add,
    "function": lambda a, b: np.concatenate([a, b]),
    "out": lambda a, b: np.matmul(a, a, out=b),
    "assignment": lambda a, b: operator.setitem(a, 0, b[0]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_has_one_device(places: list[Device], call: Callable[[Any, Any], Any]) -> None:
    for first, second in ((places[0], places[-1]), (places[-1], places[0])):
        a, b = (mdhnp.asarray(np.eye(2), device=d) for d in (first, second))
        with pytest.raises(ValueError, match="to_device"):
            call(a, b)


def test_it_is_pickled_with_its_device(where: Device) -> None:
    a = mdhnp.asarray(A)[:, 1:]
    b = pickle.loads(pickle.dumps(a))
    same(b, A[:, 1:])
    assert b.device is where
    b[...] = 0
    same(a, A[:, 1:])
    function, (elements, _) = a.__reduce__()
    assert function(elements, "a device of another machine").device is where


def test_copies_of_a_container_hold_it_once(where: Device) -> None:
    a = mdhnp.asarray(A)
    first, second = copy.deepcopy([a, a])
    assert first is second
    assert first is not a
    assert copy.copy([a])[0] is a


def test_it_dies_with_its_last_reference_and_its_memory_with_the_last_view(where: Device) -> None:
    a = mdhnp.asarray(np.ones(10**6, np.float32))
    held, view = weakref.ref(a), a[::2]
    del a
    gc.collect()
    assert held() is None
    assert (view.numpy() == 1).all()
    if where.own_memory:
        used = mdhnp.memory_info(where).used
        del view
        gc.collect()
        assert mdhnp.memory_info(where).used <= used - 4 * 10**6


def test_threads_share_it(where: Device) -> None:
    a = mdhnp.asarray(np.zeros((8, 100), np.float32))
    factor = mdhnp.asarray(np.eye(100, dtype=np.float32))
    done: list[int] = []

    def work(row: int) -> None:
        mine = a[row]
        for n in range(1, 11):
            mine[...] = n * row
            assert (mine.numpy() == n * row).all()
            assert ((mine @ factor).numpy() == n * row).all()
        done.append(row)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert sorted(done) == list(range(8))
    assert (a.numpy() == 10 * np.arange(8)[:, np.newaxis]).all()


def test_it_says_whose_functions_take_it() -> None:
    a = mdhnp.asarray(A, device="cpu")
    assert a.__array_namespace__() is mdhnp
    assert a.__array_namespace__(api_version=mdhnp.__array_api_version__) is mdhnp
    with pytest.raises(ValueError, match=r"api_version: '1999\.12'"):
        a.__array_namespace__(api_version="1999.12")
