"""Calls on arrays of the host in parts whose copies and kernels go on side by side."""

import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from separate import separate

import mdhnp
from mdhnp.calls import kernels
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Leaf
from mdhnp.calls.store import forget
from mdhnp.cost import Link, Machine
from mdhnp.mdh import cc, interpret, md_hom, pw, stretches
from mdhnp.runtime import overlap as overlapping
from mdhnp.runtime import resident, transfers
from mdhnp.runtime.devices import Device
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.pool import Pool
from mdhnp.runtime.transfers import watched
from mdhnp.tuning.times import KERNELS, NUMPY, remember

X, Y, V = (np.random.default_rng(0).integers(-3, 4, shape).astype("f4") for shape in ((90, 11), (11, 50), (9000,)))

TWO, THREE = np.float32(2), np.array(3, np.float32)
CUBE = np.random.default_rng(1).integers(-3, 4, (4, 11, 5)).astype("f4")


@pytest.fixture
def where(device: Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """Give a device with memory of its own, on which small calls are computed in parts, too."""
    slow = Machine("gpu", 0.0, 1.0, 1.0, 1.0, Link(0.0, 1.0), Link(0.0, 1.0))
    monkeypatch.setattr(kernels, "machine_of", lambda _, large: slow)
    monkeypatch.setattr(kernels, "_BYTES", 1000)
    monkeypatch.setattr(kernels, "_SHARE", 0.0)
    monkeypatch.setattr(transfers, "LARGE", 512)
    forget()
    with mdhnp.device(separate(device)) as found, mdhnp.config(specialise="always"):
        yield found
    forget()


CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any], int]] = {
    "product": (lambda: mdhnp.matmul(X, Y), lambda: X @ Y, 8),
    "product with a transposed operand": (lambda: mdhnp.matmul(X, X.T), lambda: X @ X.T, 8),
    "map": (lambda: mdhnp.einsum("i,i->i", V, V), lambda: V * V, 8),
    "uneven": (lambda: mdhnp.einsum("i,i->i", V[:8999], V[1:]), lambda: V[:8999] * V[1:], 8),
    "neighbours": (
        lambda: mdhnp.md_hom(lambda a, b: a - b, {"i": cc}, "x[i], x[i+2] -> y[i]")(V), lambda: V[:-2] - V[2:], 8,
    ),
    "neighbours beyond the ends": (
        lambda: mdhnp.md_hom(lambda a, b: a - b, {"i": cc}, "x[i-1], x[i+2] -> y[i]", boundary={"x": "nearest"})(V),
        lambda: V[[0, *range(8999)]] - V[[*range(2, 9000), 8999, 8999]], 8,
    ),
    "rows": (lambda: mdhnp.einsum("ij->i", V.reshape(600, 15)), lambda: V.reshape(600, 15).sum(1), 8),
    "columns": (lambda: mdhnp.einsum("ij->j", V.reshape(15, 600)), lambda: V.reshape(15, 600).sum(0), 1),
    "numbers": (
        lambda: mdhnp.md_hom(lambda a, s, t: a * s + t, {"i": cc}, "x[i], s[], t[] -> y[i]")(V, TWO, THREE),
        lambda: V * 2 + 3, 8,
    ),
    "mean of rows": (lambda: mdhnp.mean(V.reshape(600, 15), axis=1), lambda: V.reshape(600, 15).mean(1), 8),
    "axes in another order": (
        lambda: mdhnp.einsum("ij,jkl->ikl", X, CUBE.transpose(1, 0, 2)),
        lambda: np.einsum("ij,jkl->ikl", X, CUBE.transpose(1, 0, 2)), 1,
    ),
    "a sum": (lambda: mdhnp.einsum("i->", V), V.sum, 1),
    "with gaps": (lambda: mdhnp.einsum("i,i->i", V[::2], V[::2]), lambda: V[::2] * V[::2], 1),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_calls_in_parts_give_what_whole_ones_do(where: Device, case: str) -> None:
    ours, numpys, parts = CASES[case]
    for _ in range(2):
        with observe() as seen:
            got = ours()
        seen = [each for each in seen if isinstance(each[0], Leaf)]
        np.testing.assert_allclose(got, numpys(), rtol=1e-6)
        assert len(seen) == parts
        assert len({id(plan) for plan, _ in seen}) <= 2 + ("ends" in case)


def test_what_all_parts_read_is_copied_once(where: Device) -> None:
    with watched() as copies:
        mdhnp.matmul(X, Y)
    assert sum(c.nbytes for c in copies if c.to_device) == X.nbytes + Y.nbytes
    assert sum(c.nbytes for c in copies if not c.to_device) == 90 * 50 * 4


def test_calls_in_parts_are_prepared_as_a_whole(where: Device) -> None:
    (ready,) = mdhnp.prepare(mdhnp.matmul, X, Y)
    assert (ready.mdhom.extents, ready.device) == ((90, 50, 11), where)
    assert ready.seconds is not None
    for seconds, parts in ((1e-9, 8), (1.0, 1)):
        remember(ready.mdhom, where, {KERNELS: seconds, NUMPY: 1e-3})
        forget()
        with mdhnp.config(host="auto", specialise="auto"), observe() as seen:
            np.testing.assert_array_equal(mdhnp.matmul(X, Y), X @ Y)
        seen = [each for each in seen if isinstance(each[0], Leaf)]
        assert len(seen) == parts


def test_calls_on_arrays_are_prepared_as_they_are(where: Device) -> None:
    """Not in parts, nor beside NumPy, which computes nothing there; and no kernel for all sizes takes their place."""
    x, y = mdhnp.asarray(X), mdhnp.asarray(Y)
    with observe() as before:
        (ready,) = mdhnp.prepare(mdhnp.matmul, x, y)
    assert (ready.seconds, ready.numpy_seconds, len(before)) == (None, None, 1)
    with mdhnp.config(specialise="auto"), observe() as seen:
        np.testing.assert_array_equal(mdhnp.matmul(x, y).numpy(), X @ Y)
    ((plan, _),) = seen
    assert plan.origins == ("default",)


def test_blocks_are_taken_before_the_queue_of_copies_waits(where: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later ones may be of kernels that the copies do not wait for."""
    order: list[str] = []
    take, after = Pool.take, overlapping.after
    monkeypatch.setattr(Pool, "take", lambda *given: (order.append("taken"), take(*given))[1])
    monkeypatch.setattr(overlapping, "after", lambda *given: (order.append("waits"), after(*given))[1])
    np.testing.assert_array_equal(mdhnp.matmul(X, Y), X @ Y)
    first = order.index("waits")
    assert order[:first] == ["taken"] * 9  # eight parts of one operand, and the other
    assert "taken" not in order[first:]


@pytest.mark.parametrize("at", ["kernel", "sending", "receiving"])
def test_a_part_that_fails_leaves_nothing_behind(where: Device, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mdhnp.matmul(X, Y)
    held, count = mdhnp.memory_info(where).used, [0]
    owner, name = {
        "kernel": (Executable, "new"), "sending": (resident, "upload_into"), "receiving": (resident, "download_into"),
    }[at]  # fmt: skip
    work = getattr(owner, name)

    def failing(*given: Any) -> Any:
        count[0] += 1
        if count[0] == 3:
            raise mdhnp.LaunchError("a part failed")
        return work(*given)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing)
        with pytest.raises(mdhnp.LaunchError, match="a part failed"):
            mdhnp.matmul(X, Y)
    gc.collect()  # the error's frames
    assert mdhnp.memory_info(where).used == held
    np.testing.assert_array_equal(mdhnp.matmul(X, Y), X @ Y)


def test_stretches_are_what_the_definition_gives() -> None:
    rows = md_hom(lambda a, b: a * b, {"i": cc, "k": pw("add")}, "x[i,k], y[i+1,k] -> z[i]").bind(X[:-1], X)
    parts = stretches(rows, 4)
    assert [p.mdhom.extents[0] for p in parts] == [23, 23, 23, 20]
    found = [interpret(p.mdhom, *(a[s] for a, s in zip((X[:-1], X), p.inputs, strict=True))) for p in parts]
    np.testing.assert_array_equal(np.concatenate(found), interpret(rows, X[:-1], X))
    assert stretches(replace(rows, inputs=tuple(replace(v, strides=(22, 2)) for v in rows.inputs)), 4) == ()
