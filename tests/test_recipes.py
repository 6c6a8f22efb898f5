"""Calls that are found again by kinds: they give what NumPy gives, and the errors that the functions give."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp import native
from mdhnp.calls import observe
from mdhnp.calls.observe import Made
from mdhnp.calls.recipes import learning, recipe_of
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
    "masks": lambda m, x: [x(X)[x(n < X)] for n in (0, 3, 99)],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_give_what_numpy_gives_however_often(name: str) -> None:
    numpys = CALLS[name](np, np.asarray)
    for _ in range(4):
        for found, right in zip(CALLS[name](mdhnp, lambda a: mdhnp.asarray(a, device="cpu")), numpys, strict=True):
            assert (found.dtype, found.shape) == (right.dtype, right.shape)
            np.testing.assert_allclose(found.numpy(), right, rtol=1e-6)


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
    one = Made(("add",), False, (x, y), ((number, y),), result)
    assert recipe_of([one], (x, number), result) == (("add",), False, (0, (1, y.dtype)))
    assert recipe_of([one], (number, x), result) == (("add",), False, (1, (0, y.dtype)))
    assert recipe_of([one], (number, x, number), result) is False  # another call tells
    for made, given, gives in (
        ([one, one], (x, number), result), ([], (x,), result), ([one], (x, number), object()), ([one], (x,), result),
        ([one], (x, 8), result), ([one._replace(what=None)], (x, number), result),
        ([one._replace(operands=(x, None), lifted=())], (x, None), result),
    ):  # fmt: skip
        assert recipe_of(made, given, gives) is None


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
        return observe.called(("add",), False, (x,), lambda: n)

    found = native.Method(inner, learning(inner), recipes, False, 1, _PLACE)
    for n in range(2000):
        for _ in range(2):
            with observe.calls() as made:
                assert found(x, f"{n}") == f"{n}"
            assert [each.result for each in made] == [f"{n}"]
    assert 0 < len(recipes) <= 512
    assert len(asked) == 4000
    assert observe.learning == 0
