"""NumPy's functions and ufuncs on Arrays: the package's functions on the device, or a TypeError; never a silent copy.

On a device with memory of its own NumPy cannot read what is there: who tries ends the process.
"""

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from adapted import CALLS, ERRORS, WRONG, matrix
from arrays import close, filled, same
from separate import separate

import mdhnp
from mdhnp.calls.operands import SUPPORTED
from mdhnp.frontend import array_functions as protocols
from mdhnp.frontend.array_adapted import ADAPTED
from mdhnp.frontend.composed import COMPOSED
from mdhnp.runtime.devices import Device

A, B = 1 + filled((4, 6)) % 5, 1 + filled((6, 4)) % 3
V, N = np.linspace(0.1, 0.9, 6, dtype=np.float32), np.arange(6, dtype=np.int32) - 2

#: Calls of functions, from matrices, a vector of numbers between 0 and 1 and one of whole numbers.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "einsum": lambda a, b, v, n: np.einsum("ij,jk", a, b),
    "einsum, sublists": lambda a, b, v, n: np.einsum(a, [0, 1], v, [1], [0]),
    "einsum, optimize": lambda a, b, v, n: np.einsum("ij,jk,kl->il", a, b, a, optimize=False),
    "dot": lambda a, b, v, n: np.dot(a, b),
    "vdot": lambda a, b, v, n: np.vdot(v, v),
    "inner": lambda a, b, v, n: np.inner(a, v),
    "outer": lambda a, b, v, n: np.outer(v, n),
    "tensordot": lambda a, b, v, n: np.tensordot(a, b, axes=1),
    "tensordot, positions": lambda a, b, v, n: np.tensordot(a, b, ([1], [0])),
    "kron": lambda a, b, v, n: np.kron(v, v),
    "trace": lambda a, b, v, n: np.trace(a, 1),
    "linalg.multi_dot": lambda a, b, v, n: np.linalg.multi_dot([a, b, a]),
    "linalg.matmul": lambda a, b, v, n: np.linalg.matmul(a, b),
    "linalg.outer": lambda a, b, v, n: np.linalg.outer(v, v),
    "linalg.tensordot": lambda a, b, v, n: np.linalg.tensordot(a, b, axes=1),
    "linalg.vecdot": lambda a, b, v, n: np.linalg.vecdot(a, v),
    "linalg.trace": lambda a, b, v, n: np.linalg.trace(a),
    "linalg.norm": lambda a, b, v, n: np.linalg.norm(a),
    "linalg.norm, axis": lambda a, b, v, n: np.linalg.norm(a, axis=1, keepdims=True),
    "linalg.norm, position": lambda a, b, v, n: np.linalg.norm(a, None, 0),
    "linalg.norm, integers": lambda a, b, v, n: np.linalg.norm(n),
    "linalg.norm, complex": lambda a, b, v, n: np.linalg.norm(a * 1j + b.T, axis=(0, 1)),
    "sum": lambda a, b, v, n: np.sum(a),
    "sum, position": lambda a, b, v, n: np.sum(a, 0),
    "sum, keywords": lambda a, b, v, n: np.sum(a, axis=1, dtype=np.float64, out=None, keepdims=True),
    "prod": lambda a, b, v, n: np.prod(v),
    "mean": lambda a, b, v, n: np.mean(a, axis=0),
    "var": lambda a, b, v, n: np.var(a, axis=0, ddof=1),
    "std": lambda a, b, v, n: np.std(a, correction=1),
    "max": lambda a, b, v, n: np.max(a, axis=1),
    "amin": lambda a, b, v, n: np.amin(a, axis=1, keepdims=True),
    "argmax": lambda a, b, v, n: np.argmax(a, axis=1),
    "any": lambda a, b, v, n: np.any(n),
    "all": lambda a, b, v, n: np.all(a, axis=0),
    "count_nonzero": lambda a, b, v, n: np.count_nonzero(a, axis=1),
    "cumsum": lambda a, b, v, n: np.cumsum(a),
    "cumsum, axis": lambda a, b, v, n: np.cumsum(a, 1, dtype=np.float64),
    "cumprod": lambda a, b, v, n: np.cumprod(a, axis=0),
    "cumulative_sum": lambda a, b, v, n: np.cumulative_sum(v, include_initial=True),
    "diff": lambda a, b, v, n: np.diff(a, axis=0),
    "clip": lambda a, b, v, n: np.clip(n, 0, 2),
    "clip, keywords": lambda a, b, v, n: np.clip(a, a_min=2, a_max=None),
    "round": lambda a, b, v, n: np.round(v),
    "around": lambda a, b, v, n: np.around(v),
    "round, decimals": lambda a, b, v, n: np.round(v, 1),
    "around, tens": lambda a, b, v, n: np.around(a, -1),
    "ptp": lambda a, b, v, n: np.ptp(a, axis=1),
    "average": lambda a, b, v, n: np.average(a, 1, v),
    "cov": lambda a, b, v, n: np.cov(a, rowvar=False),
    "gradient": lambda a, b, v, n: np.gradient(a, 2, axis=0),
    "gradient, array": lambda a, b, v, n: np.gradient(A, v[1]),
    "nan_to_num": lambda a, b, v, n: np.nan_to_num(np.where(n > 0, np.inf, v), posinf=7),
    "nan_to_num, complex": lambda a, b, v, n: np.nan_to_num(np.where(n > 0, np.inf, 1j * v), posinf=7),
    "pad": lambda a, b, v, n: np.pad(a, 2, constant_values=((1, 2), (3, 4))),
    "pad, wrap": lambda a, b, v, n: np.pad(a, ((9, 1), (0, 2)), "wrap"),
    "where": lambda a, b, v, n: np.where(n > 0, v, -v),
    "concatenate": lambda a, b, v, n: np.concatenate((a, b.T), 1),
    "concatenate, flat": lambda a, b, v, n: np.concatenate((a, v), axis=None),
    "stack": lambda a, b, v, n: np.stack([v, n], axis=1),
    "vstack": lambda a, b, v, n: np.vstack([a, v]),
    "hstack": lambda a, b, v, n: np.hstack([v, n]),
    "hstack of matrices": lambda a, b, v, n: np.hstack([a, b.T]),
    "reshape": lambda a, b, v, n: np.reshape(a, (2, -1)),
    "ravel": lambda a, b, v, n: np.ravel(a.T),
    "roll": lambda a, b, v, n: np.roll(a, 2, axis=1),
    "tile": lambda a, b, v, n: np.tile(v, (2, 1)),
    "repeat": lambda a, b, v, n: np.repeat(a, 2, axis=0),
    "copy": lambda a, b, v, n: np.copy(a.T),
    "zeros_like": lambda a, b, v, n: np.zeros_like(a),
    "full_like": lambda a, b, v, n: np.full_like(a, 3, dtype=np.int16),
    "tril": lambda a, b, v, n: np.tril(a),
    "meshgrid": lambda a, b, v, n: np.meshgrid(v, n),
    "real": lambda a, b, v, n: np.real(a),
    "zeros": lambda a, b, v, n: np.zeros((2, 3), like=v),
    "arange": lambda a, b, v, n: np.arange(2, 7, like=v),
    # Views.
    "transpose": lambda a, b, v, n: np.transpose(a),
    "transpose, axes": lambda a, b, v, n: np.transpose(a[None], (1, 2, 0)),
    "swapaxes": lambda a, b, v, n: np.swapaxes(a, 0, 1),
    "moveaxis": lambda a, b, v, n: np.moveaxis(a[None], 0, -1),
    "rollaxis": lambda a, b, v, n: np.rollaxis(a, 1),
    "expand_dims": lambda a, b, v, n: np.expand_dims(a, (0, 2)),
    "squeeze": lambda a, b, v, n: np.squeeze(a[:1]),
    "flip": lambda a, b, v, n: np.flip(a),
    "fliplr": lambda a, b, v, n: np.fliplr(a),
    "flipud": lambda a, b, v, n: np.flipud(m=a),
    "rot90": lambda a, b, v, n: np.rot90(a, 3),
    "windows": lambda a, b, v, n: np.lib.stride_tricks.sliding_window_view(a, 2, axis=1)[:, ::2].max(axis=2),
    "diagonal": lambda a, b, v, n: np.diagonal(a, offset=1),
    "linalg.diagonal": lambda a, b, v, n: np.linalg.diagonal(a),
    "matrix_transpose": lambda a, b, v, n: np.linalg.matrix_transpose(a),
    "atleast_1d": lambda a, b, v, n: np.atleast_1d(v[0]),
    "atleast_3d": lambda a, b, v, n: np.atleast_3d(a),
    "broadcast_to": lambda a, b, v, n: np.broadcast_to(v, (3, 6)),
    "split": lambda a, b, v, n: np.split(a, 2),
    "array_split": lambda a, b, v, n: np.array_split(a, 4, axis=1),
    "hsplit": lambda a, b, v, n: np.hsplit(a, [1, 3]),
    "unstack": lambda a, b, v, n: np.unstack(a, axis=1),
    # Ufuncs and their methods.
    "matmul": lambda a, b, v, n: np.matmul(a, b),
    "vecdot": lambda a, b, v, n: np.vecdot(a, v),
    "vecmat": lambda a, b, v, n: np.vecmat(v, b),
    "exp": lambda a, b, v, n: np.exp(v),
    "arccos": lambda a, b, v, n: np.arccos(v),
    "arctan2": lambda a, b, v, n: np.arctan2(v, n),
    "power": lambda a, b, v, n: np.power(v, 2),
    "absolute": lambda a, b, v, n: np.absolute(n),
    "rint": lambda a, b, v, n: np.rint(v),
    "invert": lambda a, b, v, n: np.invert(n),
    "left_shift": lambda a, b, v, n: np.left_shift(n, 1),
    "logical_not": lambda a, b, v, n: np.logical_not(n),
    "isfinite": lambda a, b, v, n: np.isfinite(v),
    "add": lambda a, b, v, n: np.add(a, v),
    "maximum": lambda a, b, v, n: np.maximum(v, np.float32(0.5)),
    "add, defaults": lambda a, b, v, n: np.add(a, v, where=True, casting="same_kind", order="K", subok=True),
    "add.reduce": lambda a, b, v, n: np.add.reduce(a),
    "add.reduce, all": lambda a, b, v, n: np.add.reduce(a, axis=None, keepdims=True),
    "multiply.reduce": lambda a, b, v, n: np.multiply.reduce(v, 0, np.float64),
    "maximum.reduce": lambda a, b, v, n: np.maximum.reduce(a, axis=(0, 1)),
    "logical_or.reduce": lambda a, b, v, n: np.logical_or.reduce(n),
    "add.accumulate": lambda a, b, v, n: np.add.accumulate(a),
    "multiply.accumulate": lambda a, b, v, n: np.multiply.accumulate(a, axis=1),
    "subtract.outer": lambda a, b, v, n: np.subtract.outer(v, n),
    "subtract.outer of a list": lambda a, b, v, n: np.subtract.outer([1, 2], n),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_numpys_on_the_device(device: Device, name: str) -> None:
    call, before = FUNCTIONS[name], mdhnp.fallback_counts()
    place = separate(device) if list(FUNCTIONS).index(name) % 4 else device
    with mdhnp.device(place) as where, mdhnp.config(host="auto"):  # where the host's memory is used, NumPy computes
        close(call(*map(mdhnp.asarray, (A, B, V, N))), call(A, B, V, N), where)
    assert mdhnp.fallback_counts() == before


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_a_few_lines_are_numpys_of_all_types(name: str, pytestconfig: pytest.Config) -> None:
    """Each with every other type, as most functions have several calls here; with `--long` with all."""
    supported, every = sorted(SUPPORTED, key=str), 1 if pytestconfig.getoption("--long") else 2
    with mdhnp.device("cpu") as where, mdhnp.config(host="auto"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of special values and means of nothing
        for dtype in supported[[*CALLS].index(name) % every :: every]:
            a = matrix(dtype)
            if dtype.kind == "c" and name.startswith(("round, ", "around")):
                with pytest.raises(TypeError, match="round: decimals are given, and x has dtype complex"):
                    CALLS[name](mdhnp.asarray(a))
                continue
            try:
                expected = CALLS[name](a)
            except ERRORS as error:
                assert dtype.kind in "bc"  # which some functions do not take
                with pytest.raises(next(e for e in ERRORS if isinstance(error, e))):
                    CALLS[name](mdhnp.asarray(a))
                continue
            types = [np.asarray(e).dtype for e in (expected if isinstance(expected, tuple) else (expected, a))]
            rounding = 4 * max([float(np.finfo(t).eps) if t.kind in "fc" else 2e-15 for t in types])
            close(CALLS[name](mdhnp.asarray(a)), expected, where, rounding, 8 * rounding)


@pytest.mark.parametrize("name", WRONG)
def test_errors_of_functions_of_a_few_lines_are_numpys(where: Device, name: str) -> None:
    (call, words), a = WRONG[name], matrix(np.dtype(np.float64))
    with pytest.raises(ERRORS, match=words) as numpys:
        call(a)
    with pytest.raises(next(e for e in ERRORS if isinstance(numpys.value, e)), match=words):
        call(mdhnp.asarray(a))


def test_numbers_that_are_not_finite_are_exchanged_in_place(where: Device) -> None:
    holed = np.array([1, np.nan, np.inf], np.float32)
    a = mdhnp.asarray(holed, copy=True)
    assert np.nan_to_num(a, copy=False, posinf=5) is a
    same(a, np.nan_to_num(holed, posinf=5))
    whole = mdhnp.asarray(N)
    assert np.nan_to_num(whole, copy=False) is whole


MIXED: dict[str, Callable[..., Any]] = {
    "ndarray @ a": lambda a: B @ a,
    "a @ ndarray": lambda a: a @ B,
    "ndarray + a": lambda a: A + a,
    "scalar * a": lambda a: np.float32(2) * a,
    "matmul": lambda a: np.matmul(B, a),
    "multiply": lambda a: np.multiply(2, a),
    "add a list": lambda a: np.add([1, 2, 3, 4, 5, 6], a),
    "less": lambda a: np.less(A.T.copy().T, a),
    "dot": lambda a: np.dot(B, a),
    "concatenate": lambda a: np.concatenate([A, a]),
    "where": lambda a: np.where(A > 2, a, 0),
}


@pytest.mark.parametrize("call", MIXED.values(), ids=MIXED)
def test_ndarrays_beside_arrays_go_to_the_device(where: Device, call: Callable[..., Any]) -> None:
    close(call(mdhnp.asarray(A)), call(A), where)


LOOKS: tuple[Callable[[Any], Any], ...] = (
    np.shape, np.ndim, np.size, np.common_type, np.iscomplexobj, np.isrealobj,
    lambda a: np.size(a, 1), lambda a: np.result_type(a, 1.0, "i8"), lambda a: np.result_type(a[0, 0], np.float16),
    lambda a: np.can_cast(a, "f2"), lambda a: np.may_share_memory(a, a[1]), lambda a: np.shares_memory(a[0], a[1]),
    lambda a: np.einsum_path("ij,kj,kl", a, a, a)[0],
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(LOOKS)))
def test_functions_of_shapes_and_types_read_no_element(where: Device, number: int) -> None:
    assert LOOKS[number](mdhnp.asarray(A)) == LOOKS[number](A)


def test_what_decides_reads_elements(where: Device) -> None:
    a = mdhnp.asarray(A)
    assert np.allclose(a, A * (1 + 1e-6)) is True
    assert np.array_equal(a, A) is True
    assert np.array_equal(a, A.T) is np.array_equal(a, A + 1) is False


def test_several_results_are_put_into_arrays(where: Device) -> None:
    quotients, rest = mdhnp.empty(6, dtype="f4"), mdhnp.empty(6, dtype="f4")
    found = np.divmod(mdhnp.asarray(V) * 9, V, out=(quotients, rest))
    assert found[0] is quotients
    assert found[1] is rest
    close(found, np.divmod(V * 9, V), where)


def test_tables_name_functions_that_ask_arrays() -> None:
    for function in (*protocols._LOOKS, *protocols._VIEWS, *ADAPTED, *COMPOSED):
        assert type(function) is type(np.sum)
    for name in protocols._METHODS.values():
        assert callable(getattr(mdhnp, name))


@pytest.mark.parametrize("function", sorted(protocols._VIEWS, key=lambda f: f.__name__), ids=lambda f: f.__name__)
def test_views_share_memory(where: Device, function: Callable[..., Any]) -> None:
    arguments: dict[str, Any] = {
        "array_split": (2,), "dsplit": (2,), "expand_dims": (0,), "hsplit": (2,),
        "moveaxis": (0, 1), "rollaxis": (2,), "split": (2,), "swapaxes": (0, 1), "vsplit": (2,),
    }  # fmt: skip
    a = mdhnp.asarray(filled((2, 2, 2)))
    found = function(a, *arguments.get(function.__name__, ()))
    view = found if type(found) is mdhnp.Array else found[0]
    a[...] = 5
    assert (view.numpy() == 5).all()


# Results put into Arrays.

OUT: dict[str, tuple[Any, Callable[..., Any]]] = {
    "matmul": (((4, 4), "f4"), lambda a, b, c: np.matmul(a, b, out=c)),
    "matmul, position": (((4, 4), "f4"), np.matmul),
    "matmul, wider": (((4, 4), "f8"), lambda a, b, c: np.matmul(a, b, out=c)),
    "einsum": (((4, 4), "f4"), lambda a, b, c: np.einsum("ij,jk", a, b, out=c)),
    "dot": (((4, 4), "f4"), np.dot),
    "add": (((4, 6), "f4"), lambda a, b, c: np.add(a, 1, out=c)),
    "add, wider": (((4, 6), "f8"), lambda a, b, c: np.add(a, b.T, c)),
    "ndarrays": (((4, 6), "f4"), lambda a, b, c: np.add(A, 1, out=c)),
    "sum": (((6,), "f4"), lambda a, b, c: np.sum(a, axis=0, out=c)),
    "sum, position": (((6,), "f4"), lambda a, b, c: np.sum(a, 0, None, c)),
    "method sum": (((6,), "f4"), lambda a, b, c: a.sum(0, out=c)),
    "method max": (((4,), "f4"), lambda a, b, c: a.max(axis=1, out=c)),
    "method round": (((4, 6), "f4"), lambda a, b, c: a.round(1, out=c)),
    "add.reduce": (((6,), "f4"), lambda a, b, c: np.add.reduce(a, out=c)),
    "concatenate": (((8, 6), "f4"), lambda a, b, c: np.concatenate([a, b.T], out=c)),
    "clip": (((4, 6), "f4"), lambda a, b, c: np.clip(a, 2, 3, out=c)),
    "divide, where": (((4, 6), "f4"), lambda a, b, c: np.divide(a, a - 2, out=c, where=A != 2)),
    "cumsum": (((24,), "f4"), lambda a, b, c: np.cumsum(a, out=c)),
}


@pytest.mark.parametrize("name", OUT)
def test_results_are_put_into_arrays(where: Device, name: str) -> None:
    (shape, dtype), call = OUT[name]
    out, expected = mdhnp.asarray(np.zeros(shape, dtype)), np.zeros(shape, dtype)
    view = out[:1]
    assert call(mdhnp.asarray(A), mdhnp.asarray(B), out) is out
    call(A, B, expected)
    close(out, expected, where)
    close(view, expected[:1], where)


def test_copyto(where: Device) -> None:
    a, b = mdhnp.asarray(A.copy()), mdhnp.asarray(B)
    np.copyto(a, b.T)
    same(a, B.T)
    np.copyto(a, 3)
    np.copyto(a[0], V)
    same(a[:2], np.vstack([V, np.full_like(V, 3)]))
    np.copyto(a, 1.5, "unsafe")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: np.add(a, 1, out=np.zeros((4, 6))), "add: out must be an Array.*not ndarray"),
        (lambda a: np.matmul(a, B, out=np.zeros((4, 4))), "matmul: out must be an Array.*not ndarray"),
        (lambda a: a.sum(out=np.zeros(())), "sum: out must be an Array.*not ndarray"),
        (lambda a: np.sum(a, out=np.zeros(())), "sum: out must be an Array.*not ndarray"),
        (lambda a: operator.iadd(A.copy(), a), "add: out must be an Array.*not ndarray"),
        (lambda a: np.copyto(A.copy(), a), "copyto: dst must be an Array"),
        (lambda a: np.copyto(mdhnp.asarray(N), a), "copyto: float32 cannot be put into .* int32"),
        (lambda a: np.add(a, 1, out=mdhnp.asarray(N)), "add: float32 cannot be put into .* int32"),
        (lambda a: np.sum(a, axis=0, out=mdhnp.asarray(N)), "sum: float32 cannot be put"),
    ],
)
def test_out_of_another_kind_is_a_type_error(where: Device, call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call(mdhnp.asarray(A))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.add(a, 1, out=mdhnp.asarray(np.zeros(3))),
        lambda a: np.matmul(a, B, out=mdhnp.asarray(np.zeros((3, 3)))),
        lambda a: np.sum(a, axis=0, out=mdhnp.asarray(np.zeros(4))),
        lambda a: np.sum(a, axis=5),
        lambda a: np.concatenate([a, mdhnp.asarray(B)]),
        lambda a: np.split(a, 5),
    ],
)
def test_bad_values_are_value_errors_as_in_numpy(where: Device, call: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError):
        call(mdhnp.asarray(A))


class Theirs:
    """An array of another library, which says what NumPy's functions do with it."""

    def __array_ufunc__(self, *_: Any, **__: Any) -> str:
        return "theirs"

    def __array_function__(self, *_: Any) -> str:
        return "theirs"


def test_other_libraries_may_say_what_happens() -> None:
    a = mdhnp.asarray(A, device="cpu")
    assert np.add(a, Theirs()) == np.add(Theirs(), a) == "theirs"
    assert np.concatenate([a, Theirs()]) == "theirs"
    assert np.add(1, 1, out=(Theirs(),)) == "theirs"


def test_calls_are_the_same_while_numpy_is_patched(where: Device) -> None:
    with mdhnp.patch():
        close(np.einsum("ij,jk", mdhnp.asarray(A), B), A @ B, where)
        close(np.matmul(mdhnp.asarray(A), B), A @ B, where)
    close(np.matmul(mdhnp.asarray(A), B), A @ B, where)
