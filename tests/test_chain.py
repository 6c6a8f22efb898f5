"""Chains: maps that one kernel computes tile by tile give what they give one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chains import assert_is_exact, assert_stays_inside, blurred, random_chain
from random_functions import Seeded
from running import expected
from schedules import CAPS, MATRICES, schedule

import mdhnp
from mdhnp.calls import kernels
from mdhnp.mdh import Chain, Graph, MdHom, Step, chain, regions
from mdhnp.mdh.canonical import fingerprint
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.chains import chain_memory, chain_schedules
from mdhnp.schedule.check import check
from mdhnp.schedule.default import default
from mdhnp.schedule.illegal import IllegalSchedule
from mdhnp.schedule.schedule import Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device


@pytest.fixture
def on(device: Device) -> Iterator[None]:
    """All calls run on the device."""
    with mdhnp.device(device):
        yield


@pytest.mark.parametrize("seed", range(60))
def test_regions_hold_all_that_is_read_of_them(seed: int) -> None:
    p = Seeded(seed)
    made, _ = random_chain(p)
    tile = [p.integer(1, n) for n in made.extents]
    found = regions(made.graph, tile)
    for corner in product(*[range(0, n, t) for n, t in zip(made.extents, tile, strict=True)]):
        _assert_inside(made, found, corner, tile)


def _assert_inside(made: Chain, found: Any, corner: tuple[int, ...], tile: list[int]) -> None:
    """As the kernel does: the last map's tile says where the regions before it begin, and so on.

    At an end it counts as whole, since vectors there begin earlier than it does.
    """
    last = len(made.links) - 1
    begins = [max(min(c, n - t), 0) for c, t, n in zip(corner, tile, made.extents, strict=True)]
    boxes = {last: [(b, min(b + t, n)) for b, t, n in zip(begins, tile, made.extents, strict=True)]}
    for n in reversed(range(last)):
        h, region = made.links[n], found[n]
        begins = [min([boxes[m][d][0] + far[d] for m, far in region.reads]) for d in range(h.rank)]
        boxes[n] = [
            (begin := max(0, min(b, extent - size)), begin + size)
            for b, size, extent in zip(begins, region.sizes, h.extents, strict=True)
        ]
    for n, step in enumerate(made.graph.steps):
        for value, view in zip(step.inputs, step.mdhom.inputs, strict=True):
            if value < made.graph.given:
                continue
            box = boxes[made.graph.made_by[value][0]]
            for access, d in product(view.accesses, range(made.rank)):
                read = np.arange(*boxes[n][d]) + access[d].constant
                read = _folded(read, view.shape[d], view.boundary)
                assert np.all((read >= box[d][0]) & (read < box[d][1])), (n, d)


def _folded(read: Any, extent: int, boundary: str | None) -> Any:
    if boundary == "constant":
        return read[(read >= 0) & (read < extent)]
    mode = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect"}.get(boundary or "")
    return read if mode is None else np.pad(np.arange(extent), 99, mode=mode)[read + 99]


@pytest.mark.parametrize("seed", [*range(50), 420, 441])
def test_random_kernels(seed: int) -> None:
    """No access out of bounds, no race: also of local memory."""
    p = Seeded(seed)
    made, _ = random_chain(p, 16)
    assert_stays_inside(made, schedule(p, made))


@pytest.mark.turns
@pytest.mark.parametrize("seed", range(40))
def test_random_chains(device: Device, seed: int) -> None:
    p = Seeded(1000 + seed)
    made, arrays = random_chain(p, 60)
    s = default(made, device.caps) if seed % 4 == 0 else schedule(p, made)
    assert_is_exact(device, made, arrays, s)


@pytest.mark.parametrize("caps", [CAPS, MATRICES], ids=["cpu", "gpu"])
def test_schedules(caps: Any) -> None:
    for made in (blurred(300, 500), blurred(3, 2), *[random_chain(Seeded(n))[0] for n in range(10)]):
        found = chain_schedules(made, caps, 3)
        assert len({*found}) == len(found)
        for s in found:
            check(made, s, caps)
    assert chain_memory(made, s) <= caps.local_memory


def test_what_a_schedule_of_a_chain_must_not() -> None:
    made = blurred(40, 30)
    s = replace(Schedule.plain((40, 30), 1), local_tile=(8, 15))
    for wrong, words in (
        ({"private_copies": (True,)}, "copies no inputs"),
        ({"vector_dim": 0, "vector_width": 4, "private_tile": (4, 1)}, "vector_dim: 0"),
        ({"vector_dim": 1, "vector_width": 16, "private_tile": (1, 16), "local_tile": (8, 30)}, None),
        ({"local_tile": (40, 30)}, "local memory"),
    ):
        caps = replace(CAPS, local_memory=4000) if words == "local memory" else CAPS
        if words is None:
            check(made, replace(s, **wrong), caps)
            continue
        with pytest.raises(IllegalSchedule, match=words):
            check(made, replace(s, **wrong), caps)


def _graph(function: Callable[[Any], Any], *shape: int, dtype: str = "f4") -> Graph:
    return mdhnp.fuse(function).rewriting(np.ones(shape, dtype)).before


def _mean(x: Any, mode: str = "constant") -> Any:
    return mdhnp.stencil(x, lambda n: (n[-1, 0] + n[0, 0] + n[1, 1]) * np.float32(0.5), mode)


@pytest.mark.parametrize(
    ("function", "maps", "dtype"),
    [
        (lambda x: _mean(_mean(x)), 2, "f4"),
        (lambda x: _mean(_mean(x, "valid"), "mirror"), 2, "f4"),
        (lambda x: np.exp(_mean(x))[2:, 1:] + 1, 4, "f4"),
        (_mean, 0, "f4"),
        (lambda x: _mean(_mean(x), "wrap"), 0, "f4"),
        (lambda x: _mean(_mean(x).T), 0, "f4"),
        (lambda x: _mean(x)[::2] + 1, 0, "f4"),
        (lambda x: _mean(x).sum(axis=0), 0, "f4"),
        (lambda x: (a := _mean(x), _mean(a)), 0, "f4"),
        (lambda x: _mean(_mean(x)), 0, "c8"),
        (lambda x: _mean(_mean(x)), 0, "f2"),
    ],
)
def test_what_is_a_chain(function: Any, maps: int, dtype: str) -> None:
    graph = _graph(function, 9, 8, dtype=dtype)
    found = chain(graph)
    assert (0 if found is None else len(found.links)) == (maps and len(graph.steps))


def test_a_chain_is_told_from_its_last_map_and_from_others() -> None:
    one, other = blurred(20, 30), blurred(20, 30, "nearest")
    kinds = {fingerprint(h) for h in (one, other, one.links[-1], other.links[-1])}
    assert len(kinds) == 4
    assert one == blurred(20, 30)


def _eight(x: Any) -> Any:
    for _ in range(8):
        x = _mean(x)
    return x


def test_fused_stencils_are_chains(on: None) -> None:
    x = np.random.default_rng(0).normal(size=(300, 200)).astype(np.float32)
    fused = mdhnp.fuse(_eight)
    (step,) = fused.rewriting(x).after.steps
    assert isinstance(step.mdhom, Chain)
    np.testing.assert_array_equal(fused(x), _eight(x))


@pytest.mark.parametrize("rank", [7, 15])
def test_no_dimension_has_the_name_of_another_variable(on: None, rank: int) -> None:
    def both(x: Any) -> Any:
        for _ in range(2):
            x = mdhnp.stencil(x, lambda n: n[(0,) * rank] + n[(0,) * (rank - 2) + (-1, 1)], "nearest")
        return x

    x = np.random.default_rng(0).integers(-9, 9, (*(1,) * (rank - 2), 19, 40), np.int32)
    fused = mdhnp.fuse(both)
    (step,) = fused.rewriting(x).after.steps
    assert isinstance(step.mdhom, Chain)
    np.testing.assert_array_equal(fused(x), both(x))


@pytest.mark.parametrize("what", ["allocation", "local"])
def test_chains_too_large_for_a_device_are_taken_apart(on: None, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(300, 200)).astype(np.float32)

    def nothing_fits(h: MdHom, caps: DeviceCaps) -> Schedule:
        return default(h, replace(caps, local_memory=100) if isinstance(h, Chain) else caps)

    limit = {"allocation": ("largest_array", lambda device: x.nbytes - 1), "local": ("_default", nothing_fits)}
    monkeypatch.setattr(kernels, *limit[what])
    shown = mdhnp.explain(mdhnp.fuse(_eight), x)
    assert not any(isinstance(plan.mdhom, Chain) for plan in shown.launches)
    np.testing.assert_array_equal(mdhnp.fuse(_eight)(x), _eight(x))


def test_several_results_and_a_value_read_twice() -> None:
    """Taken apart, a chain's maps read what they read in it."""
    graph = _graph(lambda x: _mean(_mean(x)) + _mean(x)[1:-1, 1:-1].sum(), 9, 8)
    h = graph.steps[0].mdhom
    both = MdHom(h.extents, h.combine, replace(h.scalar, results=h.scalar.results * 2), h.inputs, h.outputs * 2)
    last = graph.steps[1].mdhom
    made = chain(Graph(1, (Step(both, (0,)), Step(last, (2,))), (3,)))
    assert made is not None
    x = np.arange(72, dtype=np.float32).reshape(9, 8)
    np.testing.assert_array_equal(expected(made, [x])[0], _mean(_mean(x)))
