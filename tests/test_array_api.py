"""What the namespace offers is what the Python array API standard (2024.12) says, and NumPy where that says nothing.

Hypothesis draws the arguments of each function (`namespace_calls.py`). Shapes and types of the results are those of
array_api_strict, where that takes the arguments; values, special ones too, and errors are NumPy's. The Arrays are on a
CPU device whose calls NumPy computes, as the MDHs say: so nothing is compiled. What kernels compute of every type is
in `test_array_kernels.py`.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from namespace_calls import CALLS

import mdhnp
from mdhnp.runtime.programs import compiled

array_api_strict.set_array_api_strict_flags(api_version="2024.12")

#: Python's types of errors.
ERRORS = (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError)


def offered() -> set[str]:
    """The namespace's functions that the standard has, or NumPy; but not those that are NumPy's own."""
    extensions = [f"{space}.{name}" for space in ("linalg", "fft") for name in getattr(mdhnp, space).__all__]
    names = [*mdhnp.__all__, *extensions]
    return {name for name in names if _is_function(mdhnp, name) and (
        _is_function(array_api_strict, name) or _is_function(np, name)) and _of(mdhnp, name) is not _of(np, name)
    }  # fmt: skip


def _of(namespace: Any, name: str) -> Any:
    for part in name.split("."):
        namespace = getattr(namespace, part, None)
    return namespace


def _is_function(namespace: Any, name: str) -> bool:
    return callable(_of(namespace, name)) and not isinstance(_of(namespace, name), type)


def test_all_functions_are_in_the_table() -> None:
    assert offered() == {*CALLS}


def test_the_standard_is_offered() -> None:
    later, own = {"isin"}, {name for name in array_api_strict.__all__ if "strict" in name.lower()}
    assert {name for name in {*array_api_strict.__all__} - later - own if not hasattr(mdhnp, name)} == set()
    for space in ("linalg", "fft"):
        offered = {*getattr(mdhnp, space).__all__}
        assert {*getattr(array_api_strict, space).__all__} <= offered


def converted(value: Any, array: Callable[[Any], Any], dtype: Callable[[Any], Any]) -> Any:
    """Exchange Arrays and types in arguments."""
    if isinstance(value, tuple | list):
        return type(value)(converted(v, array, dtype) for v in value)
    if isinstance(value, mdhnp.Array):
        return array(value)
    return dtype(value) if isinstance(value, np.dtype | type) else value


def attempt(namespace: Any, name: str, args: Any, options: Any) -> Any:
    """Give a call's result, or its error."""
    try:
        return _of(namespace, name)(*args, **options)
    except Exception as error:
        return error


def of_strict(value: Any) -> Any:
    """Give arguments as those of array_api_strict."""
    array, namespace = array_api_strict.asarray, array_api_strict
    return converted(value, lambda x: array(x.numpy()), lambda t: getattr(namespace, np.dtype(t).name))


@pytest.fixture(scope="module", autouse=True)
def nothing_is_compiled() -> Iterator[None]:
    """NumPy computes, but for what measures once how fast a device is."""
    before = compiled()
    yield
    assert compiled() - before < 16


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=15)
@given(st.data())
def test_functions_are_the_standards_and_numpys(name: str, data: st.DataObject) -> None:
    with mdhnp.device("cpu") as device, mdhnp.config(host="auto"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of special values and means of nothing
        args, options = data.draw(CALLS[name])
        found = attempt(mdhnp, name, args, options)
        numpys = attempt(np, name, *converted((args, options), lambda x: x.numpy(), lambda t: t))
        if isinstance(numpys, Exception):
            assert isinstance(found, next(error for error in ERRORS if isinstance(numpys, error)))
            return
        assert not isinstance(found, Exception), found
        if name == "unique_values":
            numpys = np.sort(numpys)  # which are in no order since NumPy 2.3
        for ours, theirs in zip(several(found), several(numpys), strict=True):
            if isinstance(ours, mdhnp.Array):
                assert ours.device is device
                assert (ours.shape, ours.dtype) == (np.shape(theirs), theirs.dtype)
                if not name.startswith("empty"):
                    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-6)
            else:
                assert repr(ours) == repr(theirs)
        if not _is_function(array_api_strict, name):
            return
        standards = attempt(array_api_strict, name, of_strict(args), {k: of_strict(v) for k, v in options.items()})
        if not isinstance(standards, Exception):
            for ours, theirs in zip(several(found), several(standards), strict=True):
                if isinstance(ours, mdhnp.Array):
                    assert (ours.shape, ours.dtype.name) == (theirs.shape, _name(theirs.dtype))
                elif isinstance(ours, np.dtype):
                    assert ours.name == _name(theirs)


def several(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]
