"""What `mdhnp.Array` computes by operators and methods is what ndarray does."""

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arrays import close, filled, same
from separate import alternating, separate

import mdhnp
from mdhnp.runtime.devices import Device

A = np.arange(24.0).reshape(2, 3, 4)

BINARY = [
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("lt", "le", "gt", "ge", "eq", "ne"),
]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]


def pair(name: str) -> tuple[Any, Any]:
    kind = np.int32 if name in BITS else np.float32
    return (1 + filled((4, 4), kind)) % 5 + 1, (1 + filled((4, 4), kind)) % 3 + 1


@pytest.mark.parametrize("number", range(len(BINARY + BITS)), ids=[*BINARY, *BITS].__getitem__)
def test_operators_are_numpys(device: Device, number: int) -> None:
    """Beside Arrays they take ndarrays, lists, tuples and numbers, on either side."""
    name = [*BINARY, *BITS][number]
    a, b = pair(name)
    compute = getattr(operator, name)
    where = alternating(device, number)
    numbers = [2] if where.own_memory else [2, b.dtype.type(2), np.asarray(2, b.dtype)]  # there all are kernels
    with mdhnp.device(where), mdhnp.config(host="auto"):
        others = [(b, mdhnp.asarray(b)), (b, b), *((x, x) for x in ([b[0]] if name == "matmul" else numbers))]
        others += [(x, x) for x in (b.tolist(), tuple(b[0].tolist()), b[1].tolist())]
        for theirs, ours in others:
            for found, expected in (
                (compute(mdhnp.asarray(a), ours), compute(a, theirs)),
                (compute(ours, mdhnp.asarray(a)), compute(theirs, a)),
            ):
                close(found, expected, where)


@pytest.mark.parametrize("number", range(8 + len(BITS)), ids=[*BINARY[:8], *BITS].__getitem__)
def test_operators_change_an_array_in_place(device: Device, number: int) -> None:
    name = [*BINARY[:8], *BITS][number]
    with mdhnp.device(alternating(device, number)):
        change_in_place(name)


def test_a_list_is_not_repeated_by_an_array(device: Device) -> None:
    three = mdhnp.asarray(3, device=device)
    same([1, 2] * three, np.array([3, 6]))
    same(three * (1, 2), np.array([3, 6]))


def test_lists_are_read_in_each_call(device: Device) -> None:
    a, given = mdhnp.asarray([1, 2], device=device), [3, 4]
    for n in range(4):
        given[1] = n
        same(a - given, np.array([-2, 2 - n]))


def test_lists_with_operators_of_their_own_compute_by_these(device: Device) -> None:
    class Own(list[int]):
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "own"

    assert mdhnp.asarray([1, 2], device=device) + Own([3, 4]) == "own"


def test_no_list_has_arrays_copied_from_a_device(device: Device) -> None:
    apart, here = mdhnp.asarray([1, 2], device=separate(device)), mdhnp.asarray([3, 4], device=device)
    for listed in ([apart[0], apart[1]], [[1, 2], apart]):
        for compute in (operator.add, operator.pow):
            with pytest.raises(ValueError, match="takes no list of Arrays in a device's own memory"):
                compute(here, listed)
    same(operator.add(here, [here[0], here[1]]), np.array([6, 8]))


def change_in_place(name: str) -> None:
    a, b = pair(name)
    changed = mdhnp.asarray(a.copy())
    view, before = changed[1:], changed
    changed = getattr(operator, f"i{name.rstrip('_')}")(changed, b)
    assert changed is before
    expected = getattr(operator, name)(a, b)
    np.testing.assert_allclose(changed.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(view.numpy(), expected[1:], rtol=1e-5)


def test_operators_in_place_refuse_what_does_not_fit(where: Device) -> None:
    whole = mdhnp.asarray(filled(3, np.int32))
    with pytest.raises(TypeError, match=r"float64.* cannot be put into .* int32"):
        whole += 1.5
    with pytest.raises(ValueError, match=r"\(2, 3\) cannot be put into one of \(3,\)"):
        whole += np.ones((2, 3), np.int32)
    same(whole, filled(3, np.int32))


@pytest.mark.parametrize("name", ["neg", "pos", "abs", "invert"])
def test_operators_of_one_array_are_numpys(where: Device, name: str) -> None:
    expected = filled((2, 3), np.int32) - 2
    same(getattr(operator, name)(mdhnp.asarray(expected)), getattr(operator, name)(expected))


@pytest.mark.parametrize("other", ["x", None, {1.0}, {}, object], ids=repr)
def test_operators_take_nothing_else(other: Any) -> None:
    a = mdhnp.asarray(A, device="cpu")
    for compute in (operator.add, operator.lt, operator.iadd, operator.matmul):
        with pytest.raises(TypeError, match=r"not supported|unsupported"):
            compute(a, other)
    with pytest.raises(TypeError):
        other + a
    assert (a == other) is False


METHODS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(axis=1),
    "sum of all": lambda x: x.sum(),
    "prod": lambda x: x.prod(axis=0),
    "mean": lambda x: x.mean(axis=(0, 1)),
    "var": lambda x: x.var(axis=0, ddof=1),
    "std": lambda x: x.std(keepdims=True),
    "min": lambda x: x.min(axis=-1),
    "max": lambda x: x.max(),
    "argmin": lambda x: x.argmin(axis=1),
    "argmax": lambda x: x.argmax(),
    "all": lambda x: x.all(axis=0),
    "any": lambda x: x.any(),
    "clip": lambda x: x.clip(3, 9),
    "round": lambda x: x.round(),
    "conj": lambda x: x.conj(),
    "dot": lambda x: x.dot(np.ones(4)),
    "cumsum": lambda x: x.cumsum(),
    "cumsum along": lambda x: x.cumsum(axis=1),
    "cumprod": lambda x: x.cumprod(2, np.float32),
    "ravel": lambda x: x.T.ravel(),
    "flatten": lambda x: x.flatten(),
    "squeeze": lambda x: x[:1].squeeze(0),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "astype": lambda x: x.astype(np.float32),
    "astype of the same": lambda x: x.astype(np.float64, copy=False),
}


@pytest.mark.parametrize("call", METHODS.values(), ids=METHODS)
def test_methods_are_ndarrays(call: Callable[[Any], Any]) -> None:
    """By the functions of their names."""
    expected = np.asarray(call(A))
    with mdhnp.device("cpu") as where, mdhnp.config(host="auto"):
        found = call(mdhnp.asarray(A))
    assert (found.device, found.dtype, found.shape) == (where, expected.dtype, expected.shape)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_astype_copies_where_it_is_told_to() -> None:
    a = mdhnp.asarray(A, device="cpu")
    assert a.astype(np.float64, copy=False) is a
    assert not np.shares_memory(a.astype(np.float64).numpy(), a.numpy())
    with pytest.raises(TypeError, match="float128"):
        a.astype(np.longdouble)


@pytest.mark.parametrize("name", ["__neg__", "__pos__", "__abs__", "__invert__"])
def test_operators_of_one_operand_take_no_arguments(name: str) -> None:
    a = mdhnp.asarray([1, -2], device="cpu")
    assert not inspect.signature(getattr(a, name)).parameters
    np.testing.assert_array_equal(getattr(a, name)().numpy(), getattr(a.numpy(), name)())
    with pytest.raises(TypeError, match="argument"):
        getattr(a, name)(a)
