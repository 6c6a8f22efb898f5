"""Brief einsums: NumPy makes them until describing them costs little beside what they have cost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp import config
from mdhnp.calls import lifecycle, loading, observe
from mdhnp.calls.plans import ByNumpy, Undescribed
from mdhnp.calls.steps import InSteps
from mdhnp.calls.store import entries, forget

#: Subscripts and shapes of calls of one array, of two and of three: with labels that one of them has alone, none in
#: common, matrix products in stacks and transposed, whole sums, diagonals, without axes.
BRIEF = [
    ("ab->ba", (6, 7)), ("ab->", (6, 7)), ("aab->b", (5, 5, 3)), ("abc->cb", (3, 4, 5)), ("->", ()),
    ("ab,bc->ac", (6, 7), (7, 8)), ("ab,cb->ca", (6, 7), (8, 7)), ("abc,acd->abd", (4, 5, 6), (4, 6, 7)),
    ("ab,ab->a", (6, 7), (6, 7)), ("a,b->ba", (6,), (7,)), ("abd,bce->bdc", (8, 6, 74), (6, 19, 8)),
    ("a,bc->a", (32,), (34, 340)), ("eab,abd->e", (44, 2, 29), (2, 29, 50)), (",a->a", (), (5,)),
    ("ab,bc,cd->ad", (6, 7), (7, 8), (8, 9)), ("ab,ab,b->ba", (30, 40), (30, 40), (40,)),
    ("...a,ab->...b", (3, 4), (4, 5)), (",->", (), ()), (",,->", (), (), ()),
]  # fmt: skip
#: Three operands of types in which pairs of them overflow, or are another operation.
MIXED: list[tuple[Any, ...]] = [
    (np.full(4, 200, "u1"), np.full(4, 200, "u1"), np.ones(4, "i8")),
    (np.full(4, 1e30, "f4"), np.full(4, 1e30, "f4"), np.full(4, 1e-30)),
    (np.ones(4, "?"), np.ones(4, "?"), np.ones(4, "i8")),
    (np.full(4, 1 << 31, "u4"), np.full(4, 2, "u4"), np.ones(4)),
]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget()
    monkeypatch.setattr(lifecycle, "DESCRIBING", 1e3)  # however slow the machine is now
    with config(host="auto", tuning="off", fallback="numpy"):
        yield
    forget()


def arrays(shapes: tuple[tuple[int, ...], ...], dtype: str) -> list[Any]:
    rng = np.random.default_rng(0)
    return [np.asarray(rng.integers(0, 4, shape)).astype(dtype) for shape in shapes]


def plans() -> list[Any]:
    return [entry.plan for entry in entries.values()]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4", "?", "f2"])
@pytest.mark.parametrize("case", BRIEF, ids=lambda case: case[0])
def test_results_are_numpys(case: tuple[Any, ...], dtype: str) -> None:
    text, *shapes = case
    operands = arrays(tuple(shapes), dtype)
    expected, before = np.einsum(text, *operands), mdhnp.host_counts().get("einsum", 0)
    for _ in range(3):
        found = mdhnp.einsum(text, *operands)
        assert type(found) is type(expected if expected.shape else expected[()])
        assert found.dtype == expected.dtype
        assert found.flags.c_contiguous
        np.testing.assert_allclose(found, expected, rtol=1e-2 if dtype == "f2" else 1e-5)
        assert not any([np.shares_memory(found, a) for a in operands])
    if "..." not in text and dtype != "f2":
        assert [type(plan) for plan in plans()] == [Undescribed]
        assert mdhnp.host_counts()["einsum"] == before + 3


@pytest.mark.parametrize("operands", MIXED, ids=lambda operands: " ".join([a.dtype.str for a in operands]))
@pytest.mark.parametrize("text", ["i,i,i->", "i,i,i->i", "i,j,j->i", "i,j,k->ijk"])
def test_operands_of_several_types_are_multiplied_in_that_of_the_result(text: str, operands: tuple[Any, ...]) -> None:
    for _ in range(2):
        np.testing.assert_allclose(mdhnp.einsum(text, *operands), np.einsum(text, *operands), rtol=1e-6)
    text = text.replace("i,", "hi,", 1).replace("->", "->h")
    large = (np.repeat(operands[0][None], 5000, 0), *operands[1:])
    np.testing.assert_allclose(mdhnp.einsum(text, *large), np.einsum(text, *large), rtol=1e-6)


def test_what_einsum_does_not_warn_of() -> None:
    a, b = np.array([1, np.inf], "e"), np.array([1, 0], "e")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(mdhnp.einsum("i,i->", a, b))


def test_axes_of_a_product_are_those_that_are_given() -> None:
    a, b, axes = np.ones((3, 2)), np.ones((3, 4)), [(1, 0), (0, 1), (0, 1)]
    np.testing.assert_array_equal(mdhnp.matmul(a, b, axes=axes), np.matmul(a, b, axes=axes))


@pytest.mark.parametrize("shapes", [((6, 7), (7, 8)), ((500, 600), (600, 100))], ids=["compiled", "timed each"])
def test_they_are_described_once_that_is_worth_it(
    shapes: tuple[tuple[int, ...], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    operands = arrays(shapes, "f4")
    for _ in range(40):
        found = mdhnp.einsum("ab,bc->ac", *operands)
    assert [type(plan) for plan in plans()] == [Undescribed]
    for entry in entries.values():
        monkeypatch.setattr(entry.watcher, "_price", 0.0)
    for _ in range(40):
        np.testing.assert_allclose(mdhnp.einsum("ab,bc->ac", *operands), found, rtol=1e-5)
    assert [type(plan) for plan in plans()] == [ByNumpy]


@pytest.mark.parametrize(("first", "computes"), [((9, 30, 34), True), ((90, 300, 340), False)], ids=["brief", "long"])
def test_brief_steps_of_one_einsum_are_computed_by_its_own_function(first: tuple[int, ...], *, computes: bool) -> None:
    a, b = arrays(((188,), first), "f4")
    mdhnp.einsum("b,cda->bc", a, b)
    for entry in list(entries.values()):
        if isinstance(entry.plan, Undescribed):
            entry.plan.describe()
    (plan,) = [plan for plan in plans() if isinstance(plan, InSteps)]
    assert (plan.host is not None) == computes
    before = mdhnp.host_counts()["einsum"]
    for _ in range(3):
        np.testing.assert_allclose(mdhnp.einsum("b,cda->bc", a, b), np.outer(a, b.sum((1, 2))), rtol=1e-5)
    assert mdhnp.host_counts()["einsum"] == before + 3 * (1 if computes else 2)


@pytest.mark.parametrize(("text", "shape"), [("ab->", (300, 100)), ("abc->a", (9, 60, 60))])
def test_sums_stay_with_their_function_once_they_are_described(text: str, shape: tuple[int, ...]) -> None:
    (a,) = arrays((shape,), "f4")
    found = mdhnp.einsum(text, a)
    (entry,) = entries.values()
    entry.plan.describe()
    (plan,) = plans()
    assert isinstance(plan, ByNumpy)
    assert plan.function.name == f'numpy.einsum("{text}")'
    np.testing.assert_array_equal(mdhnp.einsum(text, a), found)


def test_who_looks_on_sees_a_description() -> None:
    operands = arrays(((6, 7), (7, 8)), "f4")
    for _ in range(2):
        mdhnp.einsum("ab,bc->ac", *operands)
    with observe.observe() as seen:
        found = mdhnp.einsum("ab,bc->ac", *operands)
    assert [type(plan) for plan, _ in seen] == [ByNumpy]
    assert [type(plan) for plan in plans()] == [ByNumpy]
    np.testing.assert_allclose(found, operands[0] @ operands[1])


@pytest.mark.parametrize(
    ("text", "given", "settings"),
    [
        ("ab,bc->ac", ((6, 7), (7, 8)), {"host": "never"}),
        ("ab,bc->ac", ((6, 7), (7, 8)), {"specialise": "always"}),
        ("ab,bc->ac", ((6, 7), (7, 8)), {"memory_limit": 1 << 20}),
        ("ab,bc->ac", ((6, 1), (7, 8)), {}),
        ("ab,bc->ac", ((0, 7), (7, 8)), {}),
        ("ab,bc,cd->ad", ((600, 700), (700, 170), (170, 180)), {}),
        ("ab,bc->ac", ((600, 700), (700, 800)), {}),
    ],
)
def test_others_are_described_at_once(text: str, given: tuple[Any, ...], settings: dict[str, Any]) -> None:
    loading.load()
    dtype = "i8" if given[0] == (600, 700) else "f4"  # which NumPy multiplies for a tenth of a second
    with config(**settings):
        mdhnp.einsum(text, *arrays(given, dtype))
    assert not any([isinstance(plan, Undescribed) for plan in plans()])


def test_another_memory_order_is_described() -> None:
    a, b = arrays(((6, 7), (8, 7)), "f4")
    found = mdhnp.einsum("ab,bc->ac", np.asfortranarray(a), b.T)
    assert found.strides == np.einsum("ab,bc->ac", np.asfortranarray(a), b.T).strides
    assert not any([isinstance(plan, Undescribed) for plan in plans()])


@pytest.mark.parametrize("shapes", [((6, 7), (7, 8)), ((7,), (7, 8)), ((6, 7), (7,)), ((7,), (7,))])
def test_products_of_matrices_are_brief_too(shapes: tuple[tuple[int, ...], ...]) -> None:
    operands = arrays(shapes, "f4")
    for _ in range(3):
        found, expected = mdhnp.matmul(*operands), np.matmul(*operands)
        np.testing.assert_allclose(found, expected)
        assert type(found) is type(expected)
    assert [type(plan) for plan in plans()] == [Undescribed]


@pytest.mark.parametrize("text", ["ab,bc->ad", "ab,bc->aa", "ab,b->a", "ab"])
def test_errors_are_those_of_a_description(text: str) -> None:
    with pytest.raises(ValueError, match=r"output|several times|axes|operands"):
        mdhnp.einsum(text, np.ones((2, 3)), np.ones((3, 2)))
