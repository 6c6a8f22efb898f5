"""Arrays of other libraries, and Arrays for them, by DLPack."""

from typing import Any

import numpy as np
import pytest
from arrays import filled, same

import mdhnp
from mdhnp.runtime.devices import Device

A = filled((4, 6))


class Legacy:
    """A library that knows an older version of the protocol."""

    def __init__(self, elements: Any) -> None:
        self.elements = elements

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.elements.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def test_arrays_of_other_libraries_are_used_in_place(where: Device) -> None:
    for theirs in (A.copy(), Legacy(A.copy())):
        found = mdhnp.from_dlpack(theirs)
        same(found, A)
        assert found.device is where
        memory = theirs if isinstance(theirs, np.ndarray) else theirs.elements
        assert where.own_memory or np.shares_memory(found.numpy(), memory)
    assert not np.shares_memory(mdhnp.from_dlpack(A, copy=True).numpy(), A)
    for strided in (A.T, A[:, ::2], A[1:, 1]):
        same(mdhnp.from_dlpack(strided), strided)
    a = mdhnp.asarray(A)
    assert mdhnp.from_dlpack(a) is a
    if where.own_memory:
        with pytest.raises(BufferError, match="copy=False"):
            mdhnp.from_dlpack(A, copy=False)
    else:
        assert np.shares_memory(mdhnp.from_dlpack(A, copy=False).numpy(), A)


def test_it_is_given_to_other_libraries(where: Device) -> None:
    a = mdhnp.asarray(A.copy())[1:, ::2]
    for found in (np.from_dlpack(a, device="cpu"), np.from_dlpack(a, device="cpu", copy=True)):
        np.testing.assert_array_equal(found, A[1:, ::2])
    found[...] = 0
    same(a, A[1:, ::2])  # it was a copy
    assert a.__dlpack_device__()[0] == (4 if where.own_memory else 1)
    with pytest.raises(BufferError):
        a.__dlpack__(max_version=(1, 0), dl_device=(2, 0))
    if where.own_memory:
        for given in ({}, {"copy": True}):
            with pytest.raises(BufferError, match=r"dl_device=\(1, 0\)"):
                np.from_dlpack(a, **given)
        with pytest.raises(BufferError, match="copy=False"):
            np.from_dlpack(a, device="cpu", copy=False)
        for _ in range(2):  # what is kept for `numpy` is nobody else's
            np.from_dlpack(a, device="cpu")[...] = 7
            same(a, A[1:, ::2])
    else:
        np.from_dlpack(a)[...] = 0
        same(a, np.zeros_like(A[1:, ::2]))


@pytest.mark.parametrize("theirs", [3, [1.0], None], ids=repr)
def test_what_has_no_protocol_is_an_error(theirs: Any) -> None:
    with pytest.raises(AttributeError, match="__dlpack"):
        mdhnp.from_dlpack(theirs)


def test_tensors_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6.0).reshape(2, 3)
    array = mdhnp.from_dlpack(tensor, device="cpu")
    tensor[0, 1] = 7
    back = torch.from_dlpack(array)
    assert array.tolist() == back.tolist() == tensor.tolist() and back.data_ptr() == tensor.data_ptr()
    np.testing.assert_array_equal(mdhnp.matmul(tensor, tensor.T), tensor.numpy() @ tensor.numpy().T, strict=True)
