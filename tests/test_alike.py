"""Lists: independent calls of one kind in a fused function are one step, whatever their operands are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from separate import separate
from test_fusion import equal

import mdhnp
from mdhnp.cost import usual
from mdhnp.fusion.rewrite import Rewriting, on_gpu, rewriting, rewritings
from mdhnp.fusion.rules import RULES
from mdhnp.fusion.rules.alike import ALIKE
from mdhnp.runtime.handle import Device

cc, pw = mdhnp.cc, mdhnp.pw
last = pw(lambda a, b: b)
added = pw(lambda a, b: (a[0] + b[0], a[1] + b[1]))
both = mdhnp.md_hom(lambda v: (v, v * v), {"i": cc, "j": added}, "x[i,j] -> s[i], t[i]")

#: What is done with an element of a list, and an array that all share.
EACH: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda x, w: x @ w,
    "product of its own": lambda x, w: x.T @ x,
    "the other way round": lambda x, w: w @ x,
    "map": lambda x, w: np.exp(x) * w,
    "sum": lambda x, w: x.sum(),
    "sums, then a product": lambda x, w: (x @ w).sum(axis=0) @ w,
    "one after the other": lambda x, w: np.cumsum(np.cumsum(x @ w, axis=0)[::-1], axis=1),
    "in another shape": lambda x, w: np.cumsum(x @ w, axis=0).reshape(-1)[1:] * 2,
    "softmax": lambda x, w: np.exp(x - x.max(axis=1, keepdims=True)),
    "neighbours": lambda x, w: mdhnp.stencil(x, np.ones((3, 3), np.float32), mode="reflect"),
    "places": lambda x, w: x.argmax(axis=1),
    "custom": lambda x, w: mdhnp.md_hom(lambda v: v, {"i": cc, "j": last}, "x[i,j] -> y[i]")(x),
    "two results": lambda x, w: both(x)[1],
    "its index": lambda x, w: mdhnp.md_hom(lambda v: v + mdhnp.index(1), {"i": cc, "j": cc}, "x[i,j] -> y[i,j]")(x),
    "rows elsewhere": lambda x, w: x[np.array([2, 0, 1])],
    "nothing": lambda x, w: x[:0] @ w,
    "two boxes": lambda x, w: x[:1, :2] * x[:2, :1],
    "itself and a box in it": lambda x, w: x - x[:1, :1],
}  # fmt: skip


def launches(h: Any) -> float:
    """The price of a step where nothing but launches counts."""
    return 1.0


def apart(count: int, dtype: Any = np.float32, seed: int = 0, shape: tuple[int, ...] = (3, 3)) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [*rng.integers(-3, 4, (count, *shape)).astype(dtype)]


SOURCES: dict[str, Callable[[Any, int], Any]] = {
    "separate": lambda given, n: given[n],
    "a row": lambda given, n: given[-1][n],
    "from behind": lambda given, n: given[-1][::-1][n],
    "turned": lambda given, n: given[n].T,
    "the same": lambda given, n: given[0],
    "computed": lambda given, n: np.cumsum(given[n], axis=0),
}


@settings(max_examples=25)
@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64, np.int64, np.float16]), seed=st.integers(0, 9))
def test_lists_are_rewritten_to_what_computes_the_same(data: Any, dtype: Any, seed: int) -> None:
    element = st.tuples(st.sampled_from([*EACH]), st.sampled_from([*SOURCES]), st.integers(0, 4))
    elements = data.draw(st.lists(element, min_size=1, max_size=7))
    repeated = data.draw(st.lists(st.integers(0, len(elements) - 1), max_size=2))

    def function(w: Any, *given: Any) -> Any:
        found = [EACH[what](SOURCES[source](given, n), w) for what, source, n in elements]
        return [*found, *[found[n] for n in repeated]]

    arrays = [*apart(6, dtype, seed), np.stack(apart(5, dtype, seed + 10))]
    written = mdhnp.fuse(function).rewriting(*arrays)
    constants = mdhnp.fuse(function).traced(arrays, mdhnp.frontend.fuse.arrays_of(len(arrays))).constants
    with np.errstate(all="ignore"):
        wanted = written.before.interpret(*arrays, *constants)
        for rules in ((ALIKE,), (ALIKE, *RULES), RULES):
            equal(rewriting(written.before, rules, launches).after.interpret(*arrays, *constants), wanted)


def of_list(function: Callable[[Any, Any], Any], count: int) -> Callable[..., Any]:
    return lambda w, *xs: [function(x, w) for x in xs[:count]]


@pytest.mark.parametrize("name", ["product", "product of its own", "map", "sum", "one after the other", "two results"])
@pytest.mark.parametrize("count", [3, 61])
def test_as_many_steps_are_left_as_chunks_have(name: str, count: int) -> None:
    found = mdhnp.fuse(of_list(EACH[name], count)).rewriting(*apart(count + 1))
    after = rewriting(found.before, (ALIKE,), launches).after
    each, chunks = len(found.before.steps) // count, -(-count // 60)
    assert len(after.steps) <= min(chunks * (each + 1), each * count)
    assert len(after.results) == count


@pytest.mark.parametrize("count", [60, 130])
def test_chunks_are_full_before_there_is_another_one(count: int) -> None:
    test_as_many_steps_are_left_as_chunks_have("product", count)


@pytest.mark.parametrize("name", ["two boxes", "itself and a box in it"])
def test_boxes_of_several_shapes_of_one_array_are_copied_each(name: str) -> None:
    arrays = apart(6)
    before = mdhnp.fuse(of_list(EACH[name], 5)).rewriting(*arrays).before
    after = rewriting(before, (ALIKE,), launches).after
    assert len(after.steps) == 3
    equal(after.interpret(*arrays), before.interpret(*arrays))


@pytest.mark.parametrize("function", [lambda x, w: x @ w, lambda x, w: np.abs(x @ w)])
def test_complex_products_are_eight_a_kernel_at_most(function: Callable[[Any, Any], Any]) -> None:
    """Of 16 the text is compiled for ten seconds."""
    arrays = [np.empty((512, 4), np.complex64), *(np.empty((512, 512), np.complex64) for _ in range(16))]
    after = mdhnp.fuse(of_list(function, 16)).rewriting(*arrays).after
    assert max([len(step.mdhom.last.outputs) for step in after.steps]) == 8


def rewritten_for_gpu(function: Callable[..., Any], *arrays: Any) -> Rewriting:
    return on_gpu(mdhnp.fuse(function).rewriting(*arrays), usual("gpu", 132))


@pytest.mark.parametrize("size", [16, 64, 128])
def test_products_of_separate_matrices_take_three_launches_on_gpus(size: int) -> None:
    arrays = [np.empty((size, size), np.float32) for _ in range(64)]
    found = rewritten_for_gpu(lambda *m: [a @ b for a, b in zip(m[:32], m[32:], strict=True)], *arrays)
    assert len(found.after.steps) == 3
    searched = {name: len(r.after.steps) for name, r in rewritings(found.before, usual("gpu", 132)).items()}
    assert searched["all rules"] == 3 and 32 in searched.values()
    assert len(rewritten_for_gpu(lambda w, *m: [a @ w for a in m], *arrays[:33]).after.steps) <= 2
    assert len(rewritten_for_gpu(lambda s: [a @ a for a in s], np.empty((32, size, size))).after.steps) == 1


def test_what_takes_longer_to_copy_is_left_as_it_is() -> None:
    arrays = [np.empty((1, 1 << 28), np.float32)] * 3
    found = rewritten_for_gpu(lambda *m: [a.sum() for a in m], *arrays)
    assert len(found.after.steps) == 3 and not found.applied


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float16, np.int16, np.bool_])
@pytest.mark.parametrize("separately", [True, False])
def test_kernels_give_what_numpy_gives(dtype: Any, separately: bool, device: Device) -> None:
    def function(w: Any, whole: Any, *xs: Any) -> Any:
        found = [x @ w for x in xs]
        return found, [a @ w for a in whole], found[1], {"sums": [x.sum(axis=1) for x in found[:3]]}, found[0].T[1:]

    count = 9 if dtype == np.complex64 else 5  # eight complex ones are one kernel
    arrays = [*apart(1, dtype), np.stack(apart(3, dtype)), *apart(count, dtype, 1)]
    wanted = function(*arrays)
    with mdhnp.device(device), mdhnp.config(host="never"):
        where = separate(device)
        given = [mdhnp.asarray(a, device=where) for a in arrays] if separately else arrays
        found = mdhnp.fuse(function)(*given)
        shown = mdhnp.explain(mdhnp.fuse(function), *given)
    for f, w in zip(leaves(found), leaves(wanted), strict=True):
        assert type(f) is (mdhnp.Array if separately else np.ndarray)
        assert not separately or f.device is where
        equal([f.numpy() if separately else f], [w])
    assert len(shown.launches) <= 6
    if not separately:
        for f in leaves(found):
            assert not any(np.shares_memory(f, a) for a in arrays)


def leaves(found: Any) -> list[Any]:
    if isinstance(found, dict):
        found = [*found.values()]
    return [leaf for one in found for leaf in leaves(one)] if isinstance(found, list | tuple) else [found]


def test_special_values_stay_where_they_are(device: Device) -> None:
    arrays = [np.array([v, 1], np.float32) for v in (np.nan, -0.0, 0.0, np.inf, -np.inf, 1e-40)]
    with mdhnp.device(device), mdhnp.config(host="never"):
        for function in (lambda *xs: [x[::-1] + x * 0 for x in xs], lambda *xs: [-x.max(keepdims=True) for x in xs]):
            with np.errstate(all="ignore"):
                wanted = function(*arrays)
                for f, w in zip(mdhnp.fuse(function)(*arrays), wanted, strict=True):
                    np.testing.assert_array_equal(f, w)
                    np.testing.assert_array_equal(np.signbit(f[f == 0]), np.signbit(w[w == 0]))


def test_results_can_be_changed_apart() -> None:
    arrays = apart(20)
    with mdhnp.config(host="never"):
        first, second, *_ = mdhnp.fuse(lambda *xs: [x @ x for x in xs])(*arrays)
    first[:] = 9
    np.testing.assert_array_equal(second, arrays[1] @ arrays[1])


def test_lists_of_other_fused_functions() -> None:
    inner = mdhnp.fuse(lambda *xs: [x.T @ x for x in xs])
    arrays = apart(20)
    assert inner.rewriting(*arrays).after.parts
    with mdhnp.config(host="never"):
        found = mdhnp.fuse(lambda *xs: [y[1:] + 1 for y in inner(*xs)])(*arrays)
    equal(found, [(x.T @ x)[1:] + 1 for x in arrays])


@pytest.mark.parametrize("host", ["auto", "never"])
def test_results_without_axes_are_numbers(host: str) -> None:
    with mdhnp.config(host=host):
        found = mdhnp.fuse(lambda *xs: [x.sum() for x in xs])(*apart(20))
    assert [type(f) for f in found] == [np.float32] * 20
    assert found == [x.sum() for x in apart(20)]


def test_bits_are_the_same_on_all_devices(device: Device) -> None:
    rng = np.random.default_rng(0)
    arrays = [*rng.standard_normal((20, 50, 50), np.float32)]
    fused = mdhnp.fuse(lambda *xs: [x @ x for x in xs])
    with mdhnp.config(deterministic=True, host="never"):
        wanted = fused(*arrays)
        with mdhnp.device(device):
            np.testing.assert_array_equal(fused(*arrays), wanted)
