"""What the Python array API standard (2024.12) says of matmul, tensordot, vecdot and outer, as properties.

Elements are small whole numbers, so that every type gives exact results.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import mdhnp

#: Types whose promotion the standard defines; vecdot, matmul and the others take numbers only.
KINDS = [["i1", "i2", "i4", "i8", "u1", "u2", "u4"], ["u1", "u2", "u4", "u8"], ["f4", "f8", "c8", "c16"]]
few = settings(max_examples=20)
sides = st.integers(0, 5)


def pairs(shapes: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Two arrays of these shapes, of types that are promoted."""
    types = st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.sampled_from(kind), st.sampled_from(kind)))

    def fill(drawn: Any) -> list[Any]:
        both, dtypes, seed = drawn
        rng = np.random.default_rng(seed)
        arrays = []
        for shape, dtype in zip(both, map(np.dtype, dtypes), strict=True):
            numbers = rng.integers(0 if dtype.kind == "u" else -3, 4, shape)
            arrays.append((numbers + 1j * rng.integers(-3, 4, shape) if dtype.kind == "c" else numbers).astype(dtype))
        return arrays

    return st.tuples(shapes, types, st.integers(0, 99)).map(fill)


def check(result: Any, expected: Any, x1: Any, x2: Any) -> None:
    assert result.dtype == np.result_type(x1.dtype, x2.dtype)
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result, expected.astype(result.dtype))


@st.composite
def matrices(draw: Any) -> Any:
    """Shapes of matmul's operands: stacks that broadcast, one of them perhaps a vector."""
    n, k, m = draw(sides), draw(sides), draw(sides)
    stacks = draw(mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=2, max_side=3)).input_shapes
    first, second = (*stacks[0], n, k), (*stacks[1], k, m)
    return draw(st.sampled_from([(first, second), ((k,), second), (first, (k,)), ((k,), (k,))]))


@few
@given(pairs(matrices()))
def test_matmul(device, operands):
    x1, x2 = operands
    a = x1[np.newaxis, :] if x1.ndim == 1 else x1
    b = x2[:, np.newaxis] if x2.ndim == 1 else x2
    expected = (a[..., :, :, np.newaxis] * b[..., np.newaxis, :, :]).sum(axis=-2)
    expected = expected[..., 0, :] if x1.ndim == 1 else expected
    expected = expected[..., 0] if x2.ndim == 1 else expected
    for namespace in (mdhnp, mdhnp.linalg):
        check(namespace.matmul(x1, x2), expected, x1, x2)


@few
@given(pairs(mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=3, max_side=5).map(
    lambda drawn: tuple((*s[:-1], drawn.result_shape[-1]) for s in drawn.input_shapes))), st.data())  # fmt: skip
def test_vecdot(device, operands, data):
    x1, x2 = operands
    axis = data.draw(st.integers(-min(x1.ndim, x2.ndim), -1))
    x1, x2 = (np.moveaxis(x, -1, axis) for x in (x1, x2))
    expected = (np.moveaxis(x1, axis, -1).conj() * np.moveaxis(x2, axis, -1)).sum(axis=-1)
    for namespace in (mdhnp, mdhnp.linalg):
        check(namespace.vecdot(x1, x2, axis=axis), expected, x1, x2)


@few
@given(pairs(st.tuples(st.lists(sides, max_size=2), st.lists(sides, max_size=2), st.lists(sides, max_size=2)).map(
    lambda s: (s[0] + s[1], s[1] + s[2]))), st.data())  # fmt: skip
def test_tensordot(device, operands, data):
    x1, x2 = operands
    most = max(n for n in range(min(x1.ndim, x2.ndim) + 1) if x1.shape[x1.ndim - n :] == x2.shape[:n])
    count = data.draw(st.sampled_from([n for n in range(most + 1) if x1.shape[x1.ndim - n :] == x2.shape[:n]]))
    outer = x1.reshape(x1.shape + (1,) * (x2.ndim - count)) * x2.reshape((1,) * (x1.ndim - count) + x2.shape)
    expected = outer.sum(axis=tuple(range(x1.ndim - count, x1.ndim))) if count else outer
    order = data.draw(st.permutations(range(count)))
    axes = [x1.ndim - count + n for n in order], list(order)
    for namespace in (mdhnp, mdhnp.linalg):
        check(namespace.tensordot(x1, x2, axes=count), expected, x1, x2)
        check(namespace.tensordot(x1, x2, axes=axes), expected, x1, x2)


@few
@given(pairs(st.tuples(st.tuples(sides), st.tuples(sides))))
def test_outer(device, operands):
    x1, x2 = operands
    check(mdhnp.linalg.outer(x1, x2), x1[:, np.newaxis] * x2, x1, x2)


def test_bad_shapes():
    for call in (
        lambda: mdhnp.matmul(np.ones((2, 3)), np.ones((2, 3))),
        lambda: mdhnp.matmul(np.ones(()), np.ones((2, 3))),
        lambda: mdhnp.vecdot(np.ones(3), np.ones(4)),
        lambda: mdhnp.vecdot(np.ones(1), np.ones(4)),
        lambda: mdhnp.tensordot(np.ones((2, 3)), np.ones((2, 3)), axes=1),
        lambda: mdhnp.linalg.outer(np.ones((2, 3)), np.ones(3)),
    ):
        with pytest.raises(ValueError):
            call()
