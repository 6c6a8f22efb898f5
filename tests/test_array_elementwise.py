"""Elementwise functions on Arrays: layouts, errors, numbers; their values are in `test_array_kernels.py`."""

from typing import Any

import numpy as np
import pytest
from arrays import filled, same
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from separate import separate

import mdhnp
from mdhnp.runtime.devices import Device


@pytest.fixture(params=["shared", "separate"])
def where(request: pytest.FixtureRequest, device: Device) -> Device:
    """Give a device, and it again as if it had memory of its own."""
    return device if request.param == "shared" else separate(device)


@settings(max_examples=10)
@given(st.data())
def test_shapes_and_strides(device: Device, data: st.DataObject) -> None:
    where = data.draw(st.sampled_from([device, separate(device)]))
    shapes = data.draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4)).input_shapes
    arrays, plain = [], []
    for shape in shapes:
        x = filled(shape)
        turn = data.draw(st.sampled_from([
            lambda v: v, lambda v: v.T, lambda v: v[(..., *[slice(None, None, -1)] * v.ndim)]
        ]))  # fmt: skip
        arrays.append(turn(mdhnp.asarray(turn(x).copy(), device=where)))
        plain.append(x)
    same(arrays[0] + arrays[1], plain[0] + plain[1])


def test_results_have_the_operands_order(where: Device) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    a = mdhnp.asarray(x, device=where).transpose(2, 0, 1)
    assert (a + a).strides == (x.transpose(2, 0, 1) * 2).strides
    same(a + a, x.transpose(2, 0, 1) * 2)


def test_parts_of_complex_numbers_are_new_arrays(where: Device) -> None:
    x = filled((2, 3), np.complex64) * (1 + 2j)
    z = mdhnp.asarray(x, device=where)
    for name in ("real", "imag"):
        part = getattr(mdhnp, name)(z)
        part[...] += 1
        same(part, getattr(x, name) + np.float32(1))
    same(z, x)
    same(mdhnp.imag(mdhnp.real(z)), np.zeros((2, 3), np.float32))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda a: mdhnp.add(1, 2), TypeError, "add: no operand is an Array"),
        (lambda a: mdhnp.exp(np.ones(3)), TypeError, "exp: no operand is an Array"),
        (lambda a: mdhnp.add(a, "x"), TypeError, "add: operand 1 is of type str"),
        (lambda a: a + "text", TypeError, "unsupported operand"),
        (lambda a: mdhnp.add(a, mdhnp.zeros(4, device=a.device)), ValueError, "cannot be broadcast"),
        (lambda a: mdhnp.astype(a, "i1") + 300, OverflowError, "300"),
        (lambda a: mdhnp.bitwise_and(a, a), TypeError, "bitwise_and: takes booleans or integers, not float32"),
        (lambda a: mdhnp.astype(a, "i4") ** -1, ValueError, "pow: integers to negative powers"),
        (lambda a: mdhnp.astype(a, "?") ** np.int8(-1), ValueError, "pow: integers to negative powers"),
        (lambda a: mdhnp.astype(a, "u2") ** np.array([1, -1, 2]), ValueError, "pow: integers to negative powers"),
        (lambda a: mdhnp.cbrt(mdhnp.astype(a, "c8")), TypeError, "cbrt: takes .* not complex64"),
        (lambda a: mdhnp.fmax(mdhnp.astype(a, "c8"), 1), TypeError, "fmax: takes"),
        (lambda a: a @ mdhnp.zeros(4, dtype="f4", device=a.device), ValueError, ""),
        (lambda a: a + np.ones(3, object), TypeError, "object"),
    ],
)
def test_errors(where: Device, call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match or None):
        call(mdhnp.asarray(np.ones(3, np.float32), device=where))


def test_numbers_are_no_constants_of_kernels(device: Device) -> None:
    from mdhnp.runtime.programs import compiled

    where = separate(device)
    a = mdhnp.asarray(np.ones(7, np.float32), device=where)
    assert (a * 0.5 + 1).numpy().tolist() == [1.5] * 7
    before = compiled()
    for n in range(20):
        assert (a * (n / 4) + n).numpy().tolist() == [n / 4 + n] * 7
    assert compiled() == before
