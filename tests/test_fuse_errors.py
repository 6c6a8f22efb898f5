"""`fuse`: what it refuses, in words that help, and that NumPy is itself again afterwards."""

import re
import threading
from typing import Any

import numpy as np
import pytest
from test_fuse import X

import mdhnp


def branching(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def in_place(x: Any) -> Any:
    x = x * 2
    x += 1
    return x


def into_part(x: Any) -> Any:
    x[0] = 1
    return x


def elements(x: Any) -> Any:
    return x.tolist()


def decomposed(x: Any) -> Any:
    return np.linalg.svd(x)


REFUSED = {
    "a branch": (branching, "elements of an array are asked for in line 2"),
    "a number": (lambda x: float(x.sum()), "elements of an array are asked for in line"),
    "elements": (elements, "elements of an array are asked for in line"),
    "printed": (lambda x: f"{x}", "elements of an array are asked for in line"),
    "weights": (lambda x: mdhnp.stencil(x, x + 1), "weights: have no elements yet in line"),
    "in place": (in_place, "changed in place in line 3"),
    "a part in place": (into_part, "changed in place in line 2"),
    "no function of that meaning": (decomposed, "svd"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_yet_is_an_error_with_its_line(name: str) -> None:
    function, message = REFUSED[name]
    begin = function.__code__.co_firstlineno
    message = re.sub(r"line (\d)$", lambda found: f"line {begin + int(found[1]) - 1}", message)
    with pytest.raises(TypeError, match=message):
        mdhnp.fuse(function)(X)


HELPLESS = {
    "no function": lambda x: np.median(x, axis=0),
    "no argument": lambda x: np.average(x, returned=True),
    "singular values": lambda x: np.linalg.norm(x, 2),
    "a method of a ufunc": np.subtract.reduce,
    "a type": lambda x: np.round(x * 1j, 1),
    "coordinates": lambda x: np.gradient(x, [1.0, 2.0, 4.0], axis=0),
    "a mask": lambda x: x[x > 0],
    "a row by a mask": lambda x: x.__setitem__([0, 1], x[1:]),
    "a copy": lambda x: np.copyto(np.zeros((3, 4)), x),
    "records": lambda x: mdhnp.prl({"a": x[0]}, {"a": x[1]}, m=0.95, u={"a": 0.01}),
    "elements": np.ma.masked_array,
    "memory": lambda x: x.svm,
    "a buffer": lambda x: x.buffer,
    "a queue": lambda x: x.queue,
    "bytes": np.from_dlpack,
    "a number": lambda x: int(x[0, 0]),
    "sorted": np.sort,
    "a sorted method": lambda x: x.argsort(),
    "all": lambda x: np.allclose(x, x + 1),
}


@pytest.mark.parametrize("fallback", ["auto", "numpy"])
@pytest.mark.parametrize("name", HELPLESS)
def test_errors_advise_nothing_that_does_not_help(name: str, fallback: Any) -> None:
    """Inside of a traced function `.numpy()` and `config.fallback` do not."""
    with (
        mdhnp.config(fallback=fallback),
        pytest.raises((TypeError, IndexError, AttributeError, BufferError), match=r"fuse|dl_device") as caught,
    ):
        mdhnp.fuse(HELPLESS[name])(X)
    assert ".numpy()" not in str(caught.value)
    assert "fallback" not in str(caught.value)


def test_numpys_own_functions_are_back_after_tracing() -> None:
    before, others = np.asarray, []

    def function(x: Any) -> Any:
        thread = threading.Thread(target=lambda: others.append(np.asarray([1, 2])))
        thread.start()
        thread.join()
        assert type(np.asarray([3])) is np.ndarray
        assert type(np.array(np.ones(2))) is np.ndarray
        with pytest.raises(ValueError, match="copy"):
            np.asarray(x, np.float64, copy=False)
        return np.asarray(x) + 1

    np.testing.assert_array_equal(mdhnp.fuse(function)(X), X + 1)
    assert type(others[0]) is np.ndarray
    with pytest.raises(mdhnp.TracingError):
        mdhnp.fuse(elements)(X)
    assert np.asarray is before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(([1, 2],), "argument 0 is a list"), ((X, {}), "argument 1 is a dict")],
)
def test_arguments_that_are_no_constants_are_named(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        mdhnp.fuse(lambda x, *_: x)(*arguments)


def test_types_without_kernels_are_left_to_numpy() -> None:
    names = np.array(["a", "b"], object)
    with mdhnp.config(fallback="numpy"):
        assert list(mdhnp.fuse(lambda x: x + x)(names)) == ["aa", "bb"]


def test_only_functions_are_fused() -> None:
    with pytest.raises(TypeError, match="takes a function of arrays, not 3"):
        mdhnp.fuse(3)  # type: ignore[arg-type]
