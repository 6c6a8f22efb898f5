"""Calls that are found again by kinds: they give what NumPy gives, and the errors that the functions give."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp import native
from mdhnp.calls import observe
from mdhnp.calls.observe import Kind, Made, learner, recipe_of
from mdhnp.frontend.public import _PLACE

compiled = pytest.mark.skipif(native.Method is None, reason="the package was installed without a C compiler")

X = np.arange(12.0, dtype=np.float32).reshape(3, 4) - 5
AT = np.array([2, 0, -1])
#: Of a namespace and what makes its arrays. Kinds that are alike but in one thing follow each other.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "numbers": lambda m, x: [x(X) + 1, x(X) + 2, x(X) + 2.5, 1 - x(X), x(X) + True, x(X) * 1j, x(X) < 3],
    "types of numbers": lambda m, x: [x(AT) + 1, x(AT) + 1.0, x(AT) + True, x(AT.astype(np.int8)) + 1, x(AT > 0) + 1],
    "bounds": lambda m, x: [m.clip(x(X), 1, 2), m.clip(x(X), 2, 1), m.clip(x(AT), 0, 1), m.clip(x(X), min=3)],
    "bounds by name": lambda m, x: [m.clip(x(X), max=n, min=k) for n, k in ((2, 2), (2, 2), (3, 1), (1, 1), (4, 0))],
    "bounds of wider types": lambda m, x: [m.clip(x(AT.astype(np.int8)), x(AT * 200), n) for n in (5, 5, 1000, 5)],
    "beyond": lambda m, x: [m.less(x(AT.astype(np.int8)), n) for n in (1, 1, 1000, -1000, 1)],
    "clip beyond": lambda m, x: [m.clip(x(AT.astype(np.int8)), n, 5) for n in (1, 1, -1000, 1)],
    "clip to what another bound is": lambda m, x: [
        m.clip(x(AT.astype(t)), *bounds) for t, bounds in (
            *[(np.uint16, (-1, 0))] * 4, (np.uint16, (0, 2)), *[(np.int8, (127, 200))] * 4, (np.int8, (0, 1)),
        )
    ],
    "powers": lambda m, x: [x(X) ** 2, x(X) ** 3, x(X) ** 2.0, 2.0 ** x(X), x(AT) ** 2, x(AT) ** 1],
    "axes": lambda m, x: [m.sum(x(X), axis=axis, keepdims=keep) for axis in (0, 1, (0, 1), -1) for keep in (0, 1)],
    "means": lambda m, x: [m.mean(x(X[:n]), axis=axis) for axis in (None, 0, 1) for n in (1, 2, 3)],
    "spreads": lambda m, x: [m.var(x(X), correction=c) for c in (0, 1, 1.0)] + [m.std(x(X), axis=1)],
    "places": lambda m, x: [m.argmax(x(a)) for a in (X, X[::2], X.T, X[:1])] + [m.argmin(x(X), axis=0)],
    "types named": lambda m, x: [m.sum(x(AT), dtype=t) for t in (np.float32, np.int64, "int8", np.dtype("f8"))],
    "scans": lambda m, x: [m.cumulative_sum(x(X), axis=a) for a in (0, 1)] + [m.diff(x(X), n=n) for n in (1, 2)],
    "choices": lambda m, x: [m.where(x(X > 0), x(X), n) for n in (0, 1, 2.0)],
    "taken": lambda m, x: [m.take(x(X), x(AT), axis=a) for a in (0, 1, None)] + [m.take(x(X[:0]), x(AT), axis=1)],
    "indices": lambda m, x: [x(X)[x(AT)], x(X)[:, x(AT)], x(X)[x(AT), x(AT)], x(X)[1, x(AT)], x(X)[x(AT), 1:3]],
    "order": lambda m, x: [m.sort(x(a), axis=n) for a in (X, AT[None] + 0.5) for n in (0, 1)] + [m.argsort(x(AT))],
    "found": lambda m, x: [*m.nonzero(x(X)), *m.unique_all(x(AT)), m.searchsorted(x(AT[:1]), x(AT))],
    "masks": lambda m, x: [x(X)[x(n < X)] for n in (0, 3, 99)] + [x(X)[1:, x(X[0] < n)] for n in (0, 9, -4)],
    "put": lambda m, x: [_put(x, *put) for put in _PUT],
    "views": lambda m, x: [
        m.permute_dims(x(X), (1, 0)), m.matrix_transpose(x(X)), m.swapaxes(x(X), 0, 1), m.moveaxis(x(X), 0, 1),
        m.expand_dims(x(X), axis=1), m.squeeze(x(X[:1])), *[m.flip(x(X), axis=a) for a in (None, 0, 1)],
        *m.unstack(x(X)), *m.unstack(x(X[:2, :1]), axis=1), m.broadcast_to(x(X[:1]), (2, 4)),
        *m.broadcast_arrays(x(X), x(X[:1])), *m.broadcast_arrays(x(X), x(X)), m.linalg.diagonal(x(X[:, :3])),
    ],
    "shapes": lambda m, x: [
        f(a) for a in (x(X), x(X[::-1]), x(X.T), x(X[:, ::2])) for f in (
            lambda a: m.reshape(a, -1), lambda a: m.reshape(a, (2, -1)), lambda a: a.ravel(),
            lambda a: a.reshape(-1, 2), lambda a: m.reshape(a, (-1,), copy=True),
        )
    ],
    "joined": lambda m, x: [
        m.concat([x(X), x(X[:1])]), m.concat([x(X), x(AT)], axis=None), m.concat((x(X), x(X)), axis=1),
        m.stack([x(X), x(X)]), m.stack([x(X), x(X.astype(int))], axis=-1), m.roll(x(X), 1), m.roll(x(X[:2]), 1),
        m.roll(x(X), (1, 2), axis=(0, 1)), m.tile(x(X), (2, 1)), m.tile(x(AT), 3), m.repeat(x(X), 2),
        m.repeat(x(X), 2, axis=1), m.repeat(x(AT), x(abs(AT))), m.pad(x(X), 1), m.pad(x(X[:2]), 1),
        *m.meshgrid(x(AT), x(X[0])), m.tril(x(X)), m.triu(x(X), k=1),
    ],
    "like others": lambda m, x: [
        f(a) for a in (x(X), x(X.T), x(AT)) for f in (
            m.zeros_like, m.ones_like, lambda a: m.full_like(a, 2), lambda a: m.full_like(a, 3),
            lambda a: m.zeros_like(a, dtype="int8"), lambda a: a.copy(), lambda a: a.astype(np.int16), m.real, m.imag,
        )
    ],
    "matrices": lambda m, x: [
        f(x(a)) for a in (X[:, :3] + 9 * np.eye(3, dtype="f4"), X[:2, :2] + 9 * np.eye(2, dtype="f4")) for f in (
            m.linalg.det, m.linalg.inv, m.linalg.pinv, m.linalg.matrix_rank, m.linalg.matrix_norm, m.linalg.trace,
            lambda a: m.linalg.matrix_norm(a, ord=2), lambda a: m.linalg.slogdet(a).logabsdet, m.linalg.svdvals,
            lambda a: abs(m.linalg.qr(a).R), lambda a: m.linalg.solve(a, a), m.linalg.vector_norm,
        )
    ],
    "vectors": lambda m, x: [
        m.linalg.cross(x(X[:, :3]), x(X[:, 1:])), m.linalg.vecdot(x(X), x(X)), m.outer(x(AT), x(X[0])),
        m.linalg.multi_dot([x(X), x(X.T), x(X)]), m.vdot(x(X), x(X)), m.vdot(x(X), x(X.reshape(-1))), m.trace(x(X)),
    ],
    "transforms": lambda m, x: [
        f(x(a)) for a in (X, X[:2]) for f in (
            m.fft.fft, m.fft.rfft, m.fft.fftn, m.fft.fftshift, m.fft.ifftshift, lambda a: m.fft.fft(a, n=3),
            lambda a: m.fft.fft(a, axis=0), lambda a: m.fft.fftshift(a, axes=0),
        )
    ],
    "truth": lambda m, x: [
        f(a) for a in (x(X), x(AT), x(X > 0), x(X[:, ::2].T)) for f in (
            m.logical_not, lambda a: m.logical_and(a, a), lambda a: m.logical_or(a, 0), lambda a: m.logical_xor(a, 2.5),
            m.count_nonzero, lambda a: m.count_nonzero(a, axis=0),
        )
    ],
}  # fmt: skip


#: Of which array, where, what: in turn, with kinds that are alike.
_PUT: list[tuple[Any, Any, Any]] = [
    (X, X > 0, 1), (X, X > 3, 1), (X, X > 9, 7.5), (X, (slice(1, None), X[0] > -4), 2), (X, 1, X[0]), (X, 2, X[0]),
    (X, AT, X), (X, AT[:2], X[:2]), (X, (AT, 1), 3), (AT, AT > 0, AT[AT > 0] * 2), (X, (..., 1), AT),
    (X, slice(0, 2), X[1:]), (X, 0, 4),
]  # fmt: skip


def _put(x: Any, into: Any, key: Any, value: Any) -> Any:
    """Put elements into an array; what is given in arrays is given in those that `x` makes."""
    made, inner = x(into.copy()), lambda given: x(given) if isinstance(given, np.ndarray) else given
    made[tuple(map(inner, key)) if isinstance(key, tuple) else inner(key)] = inner(value)
    return made


@pytest.mark.parametrize("name", CALLS)
def test_calls_give_what_numpy_gives_however_often(name: str) -> None:
    numpys = CALLS[name](np, np.asarray)
    for _ in range(4):
        for found, right in zip(CALLS[name](mdhnp, lambda a: mdhnp.asarray(a, device="cpu")), numpys, strict=True):
            assert (found.dtype, found.shape) == (np.asarray(right).dtype, np.shape(right))
            np.testing.assert_allclose(found.numpy(), right, rtol=1e-5, atol=1e-5)


@compiled
def test_calls_are_made_without_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    x, at = mdhnp.asarray(X, device="cpu"), mdhnp.asarray(AT, device="cpu")
    made: list[Callable[[Any], Any]] = [
        lambda n: x + n, lambda n: n - x, lambda n: mdhnp.clip(x, -n, max=n), lambda n: mdhnp.mean(x, axis=0),
        lambda n: x.sum(1), lambda n: mdhnp.argmax(x), lambda n: mdhnp.take(x, at, axis=0), lambda n: x[:, at],
        lambda n: mdhnp.where(x > 0, x, n), lambda n: x**3,
    ]  # fmt: skip
    for f in made:
        f(1), f(1)
    from mdhnp.frontend import elementwise, indexing, maps, places, reductions

    for module in (maps, reductions, places, indexing, elementwise):
        monkeypatch.setattr(module, "call", None)
    for f in made:
        f(2)


@pytest.mark.parametrize(
    ("right", "wrong", "error"),
    [
        (lambda x, at: x[at], lambda x, at: x[at + 5], IndexError),
        (lambda x, at: mdhnp.take(x, at, axis=0), lambda x, at: mdhnp.take(x, at + 5, axis=0), IndexError),
        (lambda x, at: at.astype(np.int8) + 1, lambda x, at: at.astype(np.int8) + 1000, OverflowError),
        (lambda x, at: x + x, lambda x, at: x + x[:2], ValueError),
        (lambda x, at: x + x[:1], lambda x, at: x + x[:2], ValueError),
        (lambda x, at: mdhnp.sum(x, axis=1), lambda x, at: mdhnp.sum(x, axis=1.0), TypeError),
        (lambda x, at: mdhnp.max(x), lambda x, at: mdhnp.max(x[:0]), ValueError),
        (lambda x, at: at**2, lambda x, at: at**-2, ValueError),
    ],
)  # fmt: skip
def test_errors_are_the_functions(right: Any, wrong: Any, error: Any) -> None:
    x, at = mdhnp.asarray(X, device="cpu"), mdhnp.asarray(AT, device="cpu")
    with pytest.raises(error) as before:
        wrong(x, at)
    for _ in range(3):
        right(x, at)
        with pytest.raises(error) as after:
            wrong(x, at)
        assert str(after.value) == str(before.value)


def test_settings_and_who_looks_on_are_asked_each_time() -> None:
    x = mdhnp.asarray(X, device="cpu")
    for _ in range(3):
        assert (x + 1).shape == x.shape
    with observe.observe() as seen:
        x + 1
    assert len(seen) == 1


def test_a_recipe_is_one_call_on_what_was_given() -> None:
    x, y, number, result = np.ones(3), np.ones(()), 7, object()
    one = Made(("add",), Kind.ROUTINE, (x, y), ((number, y),), result)
    assert recipe_of([one], (x, number), result) == (("add",), Kind.ROUTINE, (0, (1, y.dtype)))
    assert recipe_of([one], (number, x), result) == (("add",), Kind.ROUTINE, (1, (0, y.dtype)))
    assert recipe_of([one], (number, x, number), result) is False  # another call tells
    for made, given, gives in (
        ([one, one], (x, number), result), ([], (x,), result), ([one], (x, number), object()), ([one], (x,), result),
        ([one], (x, 8), result), ([one._replace(what=None)], (x, number), result),
        ([one._replace(operands=(x, None), lifted=())], (x, None), result),
    ):  # fmt: skip
        assert recipe_of(made, given, gives) is None
    host = one._replace(kind=Kind.READS, operands=(x, (1, None), "C"), lifted=())
    assert recipe_of([host], (x, number), result) == (("add",), Kind.READS, (0, ((1, None),), ("C",)))
    assert recipe_of([host._replace(operands=(x, [1]))], (x,), result) is None  # which may be another one by then


def test_a_device_that_is_named_is_where_the_result_is() -> None:
    near, *others = [d for d in mdhnp.devices() if d.kind == "cpu" and d.runtime != "oclgrind"]
    for there in others:
        for x in [mdhnp.asarray(X, device=there)] * 4 + [mdhnp.asarray(X, device=near)]:
            for found in (mdhnp.astype(x, "f8", device=there.runtime), mdhnp.zeros_like(x, device=there.runtime)):
                assert found.device is there


@compiled
def test_calls_that_fail_leave_nothing_behind() -> None:
    x = mdhnp.asarray(X, device="cpu")
    for _ in range(5):
        with pytest.raises(OverflowError):
            mdhnp.clip(x, 1, 1 << 2000)
    assert observe._lifted.get() == ()


@compiled
def test_what_has_no_hash_is_told_by_the_function() -> None:
    class Meta(type):
        __hash__ = None  # type: ignore[assignment]

    wrong = Meta("Wrong", (), {})
    for _ in range(3):
        with pytest.raises(TypeError, match="sum: the result has dtype object"):
            mdhnp.sum(mdhnp.asarray(X, device="cpu"), dtype=wrong)


@compiled
def test_no_more_recipes_are_kept_than_some_and_blocks_nest() -> None:
    x, recipes, asked = np.ones(3), {}, list[Any]()  # type: ignore[var-annotated]

    def inner(x: Any, n: str) -> Any:
        asked.append(n)
        return observe.called(("add",), Kind.ROUTINE, (x,), lambda: n)

    found = native.Method(inner, learner(inner), recipes, False, 1, _PLACE)
    for n in range(2000):
        for _ in range(2):
            with observe.calls() as made:
                assert found(x, f"{n}") == f"{n}"
            assert [each.result for each in made] == [f"{n}"]
    assert 0 < len(recipes) <= 512
    assert len(asked) == 4000
    assert observe.learning == 0


@compiled
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_operands_are_told_by_their_arrays(form: str, held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    there: Any = (lambda a: mdhnp.asarray(a, device="cpu")) if held else np.asarray
    entries = sparse.csr_array(np.array([[0, 2, 0], [3, 0, 1.0]])).asformat(form)
    a = mdhnp.SparseArray(entries, device="cpu") if held else entries
    for x in (np.array([1.0, 10, 100]), np.arange(6.0).reshape(3, 2)):
        given, right = (a, there(x)), entries @ x
        if form == "csc":
            given, right = (there(x[:2]).T, a), x[:2].T @ entries
        calls = [lambda given=given: mdhnp.matmul(*given)]
        if held:
            calls.append(lambda given=given: given[0] @ given[1])
        for call in calls:
            for _ in range(3):  # at the first one of all it is learned which parts tell matrices of a type
                call()
            with monkeypatch.context() as patched:
                patched.setattr("mdhnp.frontend.gufuncs.call", None)
                for _ in range(3):
                    np.testing.assert_array_equal(call().numpy() if held else call(), right)
        if not held:
            entries.data = entries.data * 2
            np.testing.assert_array_equal(mdhnp.matmul(*given), 2 * right)


@compiled
def test_sparse_operands_with_other_columns_are_refused_however_often() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    a, x = sparse.csr_array(np.array([[0, 2, 0], [3, 0, 1.0]])), np.ones(3)
    wider = sparse.csr_array((a.data, a.indices, a.indptr), shape=(2, 4))
    for _ in range(4):
        np.testing.assert_array_equal(mdhnp.matmul(a, x), [2, 4])
        with pytest.raises(ValueError, match="operands of shapes"):
            mdhnp.matmul(wider, x)
        np.testing.assert_array_equal(mdhnp.einsum("ij->i", wider), [2, 4])
        assert mdhnp.einsum("ij,j->ij", a, x).nnz == 3


@compiled
def test_entries_left_over_are_no_entries_however_often() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    whole, cut = sparse.csr_array(np.ones((4, 4))), sparse.csr_array(np.ones((4, 4)))
    cut.indptr[:] = np.minimum(cut.indptr, 8)
    for a, total in [(whole, 16)] * 4 + [(cut, 8)]:
        assert mdhnp.einsum("ij,j->", a, np.ones(4)) == total


@compiled
@pytest.mark.parametrize("zero", [0.0, 0j])
@pytest.mark.parametrize("name", ["full_like", "pad"])
def test_zeros_of_other_signs_are_other_numbers(name: str, zero: Any) -> None:
    x = mdhnp.asarray(np.ones(2, type(zero)), device="cpu")
    calls = {"full_like": lambda z: mdhnp.full_like(x, z), "pad": lambda z: mdhnp.pad(x, 1, constant_values=z)}
    for z in [zero] * 4 + [-zero] * 4:
        found = calls[name](z).numpy()[0]
        assert (np.signbit(found.real), np.signbit(found.imag)) == (np.signbit(z.real), np.signbit(z.imag))
