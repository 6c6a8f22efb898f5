"""Arguments that few calls have: arrays without axes, masks beside an ellipsis, indices that do not fit, as NumPy's."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from separate import separate

import mdhnp
from mdhnp.runtime.devices import Device

X = np.arange(42.0).reshape(2, 3, 7)
ONE = np.array(3.0)
EVEN = np.arange(7) % 2 == 0

#: Of a namespace and arrays that are made by a function.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        f"{name} of a number along {axis}": lambda xp, made, name=name, axis=axis: getattr(xp, name)(
            made(ONE), axis=axis
        )
        for name in (
            "sum",
            "prod",
            "max",
            "min",
            "all",
            "any",
            "argmax",
            "argmin",
            "count_nonzero",
            "mean",
            "var",
            "std",
        )
        for axis in (0, -1, 1)
    },
    **{
        f"norm of a number along {axis}": lambda xp, made, axis=axis: xp.linalg.vector_norm(made(ONE), axis=axis)
        for axis in (None, 0, -1, (), (0,))
    },
    "mean of a number where": lambda xp, made: xp.mean(made(ONE), axis=0, where=made(ONE > 0)),
    "sum of a number along a tuple": lambda xp, made: xp.sum(made(ONE), axis=(0,)),
    "max, axes kept": lambda xp, made: xp.max(made(ONE), axis=0, keepdims=True),
    "argmax, axes kept": lambda xp, made: xp.argmax(made(ONE), axis=0, keepdims=True),
    "var, ddof": lambda xp, made: xp.var(made(X), axis=1, ddof=1),
    "std, ddof": lambda xp, made: xp.std(made(X), ddof=1.5, where=made(X > 3)),
    "std, ddof and correction": lambda xp, made: xp.std(made(X), ddof=1, correction=2),
    "std, no ddof, but a correction": lambda xp, made: xp.std(made(X), ddof=0, correction=2),
    "var where, in another byte order": lambda xp, made: xp.var(made(X.astype(">f2")), axis=2, where=made(X % 2 > 0)),
    "linspace from an element to another": lambda xp, made: xp.linspace(made(X)[0, 1, 2], made(X)[1, 0, 0], 5),
    "mean of many axes": lambda xp, made: xp.mean(made(X.reshape((1,) * 38 + X.shape)), axis=-1),
    "product of many axes": lambda xp, made: made(X.reshape((2,) + (1,) * 40 + (3, 7))) * made(X[:, None] + X[0, 0]),
    "take of a number": lambda xp, made: xp.take(made(ONE), np.array([0, -1]), axis=-1),
    "take of a number along too many": lambda xp, made: xp.take(made(ONE), np.array([0]), axis=1),
    "repeat of a number": lambda xp, made: xp.repeat(made(ONE), 2, axis=0),
    "repeat of a number along too many": lambda xp, made: xp.repeat(made(ONE), 2, axis=1),
}

KEYS: dict[str, Any] = {
    "mask behind an ellipsis": (..., EVEN),
    "mask of another size behind an ellipsis": (..., EVEN[:1]),
    "mask of two axes behind an ellipsis": (..., np.ones((3, 7), bool)),
    "mask before an ellipsis": (np.array([True, False]), ..., 0),
    "mask between": (0, ..., [True] * 7),
    "mask behind a new axis": (None, ..., EVEN),
    "mask that does not fit": (np.ones(3, bool),),
    "mask of too many axes": (..., np.ones((2, 3, 7, 1), bool)),
    "too many": (0, 0, 0, np.ones(2, bool)),
    "indices that are not broadcast": ([0, 1], [0, 1, 2]),
    "mask behind a new axis alone": (None, np.array([True, False])),
    "indices on both sides of an ellipsis": ([1, 0, 1], ..., [0, 6, -1]),
    "indices on both sides of an ellipsis of no axes": (slice(None), [1, 0, 1], ..., [0, 6, 3]),
    "indices on both sides of a new axis": ([1, 0], None, [0, 2]),
    "indices behind a slice backwards": (slice(None, None, -1), slice(1, None), [0, 0, 3]),
    "a number, an ellipsis and indices": (1, ..., [[0], [3]]),
    "an index outside": (..., [0, 7]),
    "two ellipses": (..., [0], ...),
    "no index": (..., []),
    "true": (True,),
    "false": (False,),
    "true beside others": (0, np.True_, [0, 2]),
    "false beside others": (slice(None), False, None, 1),
    "an array that is true": (..., np.array(True)),
    "a float": (0.5,),
}
#: What is put where these keys say: numbers, and arrays of the shape that is read there, or of an axis more.
VALUES: dict[str, Callable[[Any], Any]] = {
    "a number": lambda read: 7,
    "as many": lambda read: -1 - np.arange(np.size(read), dtype=np.float32).reshape(np.shape(read)),
    "one axis more": lambda read: np.full((1, *np.shape(read)), -0.5),
    "one": lambda read: [5],
    "too many": lambda read: np.ones((*np.shape(read), 2)),
}
#: Of an array without axes or with one, where one element is put.
PLACES = [(shape, key) for shape, keys in {
    (3,): (0, (0, ...), [0], np.int64(2)), (): ((), ...), (2, 3): ((0, 1), (1, slice(1, 2))),
}.items() for key in keys]  # fmt: skip


def same(ours: Callable[[], Any], numpys: Callable[[], Any], kinds: Any = None) -> None:
    """Either the same elements, or an error of the same kind, or of given ones."""
    try:
        wanted = numpys()
    except Exception as error:
        kind = kinds or next(k for k in type(error).__mro__ if k.__module__ in ("builtins", "numpy.exceptions"))
        with pytest.raises(kind):
            ours()
        return
    found = ours()
    found = found.numpy() if isinstance(found, mdhnp.Array) else np.ma.filled(found, 0)
    wanted = np.ma.filled(wanted, 0)
    assert (found.shape, found.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("kind", ["ndarray", "Array", "own memory"])
def test_functions(call: Callable[[Any, Any], Any], kind: str, device: Device) -> None:
    where = separate(device) if kind == "own memory" else device
    made = np.asarray if kind == "ndarray" else lambda a: mdhnp.asarray(a, device=where)
    same(lambda: call(mdhnp, made), lambda: call(np, np.asarray))


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_keys(key: Any, device: Device) -> None:
    for where in (device, separate(device)):
        a = mdhnp.asarray(X, device=where)
        same(lambda a=a: a[key], lambda: X[key])


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_keys_where_something_is_put(key: Any, value: Callable[[Any], Any], device: Device) -> None:
    try:
        given = value(X[key])
    except IndexError:
        given = 7
    for where in (device, separate(device)):
        put_alike(where, X, key, given)


@pytest.mark.parametrize("value", [2.5, [2.5], [[2.5]], [1, 2], []], ids=str)
@pytest.mark.parametrize(("shape", "key"), PLACES, ids=str)
def test_single_elements_that_are_put(shape: tuple[int, ...], key: Any, value: Any, device: Device) -> None:
    for given in (value, np.array(value)):
        for where in (device, separate(device)):
            put_alike(where, np.zeros(shape), key, given)


def put_alike(where: Device, x: Any, key: Any, value: Any) -> None:
    """Put a value into an Array, also one on the device, as NumPy does into an ndarray."""

    def changed(a: Any, value: Any) -> Any:
        a[key] = value
        return a

    for given in (value, mdhnp.asarray(value, device=where)) if isinstance(value, np.ndarray) else (value,):
        same(
            lambda given=given: changed(mdhnp.asarray(x, device=where, copy=True), given),
            lambda: changed(x.copy(), value),
        )


@pytest.mark.parametrize("name", ["sum", "max", "mean", "var", "argmin"])
def test_iterators_are_refused(name: str) -> None:
    for given in ((n for n in range(3)), map(float, [1, 2])):
        with pytest.raises(TypeError, match=rf"^{name}: takes .* no iterator; give a list"):
            getattr(mdhnp, name)(given)


REDUCTIONS = (
    "sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "argmax", "argmin", "count_nonzero",
)  # fmt: skip
#: What kernels do not take, and NumPy computes.
OTHERS: dict[str, Any] = {
    "masked": np.ma.masked_array(X[0], X[0] % 3 == 1),
    "matrix": X[0].view(np.matrix),
    "objects": X[0].astype(object),
    "fractions": np.array([[Fraction(n, 3) for n in range(1, 4)]] * 2),
    "records": np.array([[(0, 0.0), (1, 2.0)]], [("a", "i4"), ("b", "f4")]),
    "texts": np.array([["a", "b"], ["c", ""]], np.dtypes.StringDType()),
    "longdouble": X[0].astype(np.longdouble),
}
OF_OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        f"{name} along {axis}": lambda xp, x, name=name, axis=axis: getattr(xp, name)(x, axis=axis)
        for name in REDUCTIONS
        for axis in (None, 0, 1)
    },
    "sum, axes kept": lambda xp, x: xp.sum(x, axis=0, keepdims=True),
    "take": lambda xp, x: np.asarray(xp.take(x, [0, 0], axis=0)),
    "take of all": lambda xp, x: np.asarray(xp.take(x, [1, 0])).ravel(),  # of matrices an ndarray here
    "sort": lambda xp, x: xp.sort(x, axis=-1),
    "argsort": lambda xp, x: xp.argsort(x, axis=-1),
    "flip": lambda xp, x: xp.flip(x, axis=0),
}


@pytest.mark.parametrize("call", OF_OTHERS.values(), ids=OF_OTHERS)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("x", OTHERS.values(), ids=OTHERS)
def test_what_kernels_do_not_take(call: Callable[[Any, Any], Any], x: Any) -> None:
    same(lambda: call(mdhnp, x), lambda: call(np, x), (TypeError, ValueError))


@pytest.mark.parametrize("wanted", [">f8", ">f4", ">i4"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "cumulative_sum", "trace"])
def test_types_of_another_byte_order(name: str, wanted: str) -> None:
    x, axis = X[0], {} if name == "trace" else {"axis": 0}
    for of in (x, x.astype(">f8"), mdhnp.asarray(x, device="cpu")):
        same(
            lambda of=of: getattr(mdhnp, name)(of, dtype=wanted, **axis),
            lambda: getattr(np, name)(x, dtype=wanted, **axis),
        )


@pytest.mark.parametrize("optimize", [False, True])
def test_types_of_another_byte_order_in_products(optimize: bool) -> None:
    """np.einsum refuses them where it takes several steps; elsewhere the bytes of its results are swapped."""
    with pytest.raises(TypeError, match=r"^einsum: dtype: takes .* as float64, not >f8$"):
        mdhnp.einsum("ij,kj->ik", X[0], X[1], dtype=">f8", optimize=optimize)
    with pytest.raises(TypeError, match=r"^matmul: dtype: takes .* as float64, not >f8$"):
        mdhnp.matmul(X[0], X[1].T, dtype=">f8")
