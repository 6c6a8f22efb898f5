"""Chains: maps that one kernel computes tile by tile give what they give one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chains import assert_is_exact, assert_stays_inside, blurred, random_chain, random_stream
from random_functions import Seeded
from running import expected
from schedules import CAPS, MATRICES, schedule

import mdhnp
from mdhnp.calls import kernels
from mdhnp.fusion import cost
from mdhnp.mdh import Chain, Graph, MdHom, Step, chain, footprints, rings
from mdhnp.mdh.canonical import fingerprint
from mdhnp.mdh.views import contiguous
from mdhnp.schedule.chains import chain_memory, pays
from mdhnp.schedule.check import check
from mdhnp.schedule.default import candidates, default
from mdhnp.schedule.schedule import DeviceCaps, IllegalSchedule, Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device


@pytest.mark.parametrize("seed", range(60))
def test_regions_hold_all_that_is_read_of_them(seed: int) -> None:
    p = Seeded(seed)
    made, _ = random_chain(p)
    tile = [p.integer(1, n) for n in made.extents]
    found = footprints(made.graph, tile)
    for corner in product(*[range(0, n, t) for n, t in zip(made.extents, tile, strict=True)]):
        _assert_inside(made, found, corner, tile)


def _assert_inside(made: Chain, found: Any, corner: tuple[int, ...], tile: list[int]) -> None:
    """As the kernel does: the last map's tile says where the regions before it begin, and so on.

    At an end it counts as whole, since vectors there begin earlier than it does.
    """
    last = len(made.mdhoms) - 1
    begins = [max(min(c, n - t), 0) for c, t, n in zip(corner, tile, made.extents, strict=True)]
    boxes = {last: [(b, min(b + t, n)) for b, t, n in zip(begins, tile, made.extents, strict=True)]}
    for n in reversed(range(last)):
        h, region = made.mdhoms[n], found[n]
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
                read = np.arange(*boxes[n][d]) * bool(access[d].dims()) + access[d].constant
                read = _folded(read, view.shape[d], view.boundary)
                assert np.all((read >= box[d][0]) & (read < box[d][1])), (n, d)


def _folded(read: Any, extent: int, boundary: str | None) -> Any:
    if boundary == "constant":
        return read[(read >= 0) & (read < extent)]
    mode = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect"}.get(boundary or "")
    return read if mode is None else np.pad(np.arange(extent), 99, mode=mode)[read + 99]


@pytest.mark.parametrize("seed", range(60))
def test_rings_hold_all_that_is_read_of_them(seed: int) -> None:
    """As the kernel does: each map advances by a tile in each round, within what is needed of it at all."""
    p = Seeded(seed)
    made, _ = random_chain(p, 24, 1)
    d, last = p.integer(0, made.rank - 1), len(made.mdhoms) - 1
    extents = [h.extents[d] for h in made.mdhoms]
    tile = p.integer(1, min(extents))
    found, begin = rings(made.graph, d, tile), p.integer(0, extents[last] - 1)
    end = min(begin + tile * p.integer(1, 4), extents[last])
    first = [max(begin + ring.before, 0) for ring in found]
    ends = [min(end + ring.ahead, extent) for ring, extent in zip(found, extents, strict=True)]
    assert (first[last], ends[last]) == (begin, end)
    held: list[dict[int, int]] = [{} for _ in found]
    early = -(-max([ring.ahead - ring.before for ring in found]) // tile) * tile
    for now in range(begin - early, end, tile):
        for n, (step, ring) in enumerate(zip(made.graph.steps, found, strict=True)):
            points = [x for x in range(now + ring.ahead, now + ring.ahead + tile) if first[n] <= x < ends[n]]
            for value, view in zip(step.inputs, step.mdhom.inputs, strict=True):
                if points and value >= made.graph.given:
                    m = made.graph.made_by[value][0]
                    read = np.array([x * bool(a[d].dims()) + a[d].constant for x in points for a in view.accesses])
                    read = _folded(read, extents[m], view.boundary)
                    assert all(held[m].get(x % found[m].points) == x for x in read), (n, m)
            held[n] |= {x % ring.points: x for x in points}


@pytest.mark.parametrize("seed", [*range(50), 420, 441])
def test_random_kernels(seed: int) -> None:
    """No access out of bounds, no race: also of local memory."""
    p = Seeded(seed)
    made, _ = random_chain(p, 16)
    assert_stays_inside(made, schedule(p, made))


@pytest.mark.parametrize("seed", range(50))
def test_random_streams(seed: int) -> None:
    made, _, s = random_stream(Seeded(seed), 16)
    assert_stays_inside(made, s)


@pytest.mark.parametrize("seed", range(40))
def test_random_streams_give_what_their_maps_do(device: Device, seed: int) -> None:
    assert_is_exact(device, *random_stream(Seeded(2000 + seed), 60, in_ring=seed % 2 > 0))


@pytest.mark.parametrize("seed", range(40))
def test_random_chains(device: Device, seed: int) -> None:
    p = Seeded(1000 + seed)
    made, arrays = random_chain(p, 60, in_ring=seed % 8 > 3)
    s = default(made, device.caps) if seed % 4 == 0 else schedule(p, made)
    assert_is_exact(device, made, arrays, s)


@pytest.mark.parametrize("caps", [CAPS, MATRICES], ids=["cpu", "gpu"])
def test_schedules(caps: Any) -> None:
    some = [random_chain(Seeded(n))[0] for n in range(10)]
    for made in (blurred(300, 500), blurred(3, 2), blurred(30, 40, 50), *some):
        found = [*islice(candidates(made, caps), 20)]
        assert len({*found}) == len(found)
        for s in found:
            check(made, s, caps)
    assert any([s.streamed == 0 for s in candidates(blurred(30, 40, 50), caps)])
    assert chain_memory(made, s) <= caps.local_memory


def test_what_a_schedule_of_a_chain_must_not() -> None:
    made = blurred(40, 30)
    s = replace(Schedule.plain((40, 30), 1), local_tile=(8, 15))
    vectors = {"vector_dim": 1, "vector_width": 2, "private_tile": (1, 2), "local_tile": (8, 14)}
    for wrong, words in (
        ({"private_copies": (True,)}, "copies no inputs"),
        ({"vector_dim": 0, "vector_width": 4, "private_tile": (4, 1)}, "vector_dim: 0"),
        ({"vector_dim": 1, "vector_width": 16, "private_tile": (1, 16), "local_tile": (8, 30)}, None),
        ({"local_tile": (40, 30)}, "local memory"),
        ({"streamed": 2}, "streamed: 2 is no dimension"),
        ({"streamed": 0}, None),
        ({"streamed": 0, "num_wg": (5, 1)}, "streamed: work-groups have one tile"),
        ({"streamed": 1, **vectors}, "streamed: 1 is the dimension of vectors"),
    ):
        caps = replace(CAPS, local_memory=4000) if words == "local memory" else CAPS
        if words is None:
            check(made, replace(s, **wrong), caps)
            continue
        with pytest.raises(IllegalSchedule, match=words):
            check(made, replace(s, **wrong), caps)


def test_only_chains_are_streamed() -> None:
    one = blurred(40, 30).mdhoms[-1]
    with pytest.raises(IllegalSchedule, match="streamed: only maps of a chain"):
        check(one, replace(Schedule.plain((40, 30), 1), local_tile=(8, 15), streamed=0), CAPS)


def test_a_streamed_tile_is_no_longer_than_a_map() -> None:
    h = blurred(40, 30).mdhoms[-1]
    few = contiguous("y", np.dtype("f4"), (10, 30), (0, 1))
    first = replace(h, extents=(10, 30), outputs=(few,))
    last = replace(h, inputs=(replace(h.inputs[0], shape=few.shape, strides=few.strides),))
    made = chain(Graph(1, (Step(first, (0,)), Step(last, (1,))), (2,)))
    assert made is not None
    s = replace(Schedule.plain((40, 30), 1), local_tile=(10, 15), streamed=0)
    check(made, s, CAPS)
    with pytest.raises(IllegalSchedule, match="streamed: a tile is longer than a map's 10 points"):
        check(made, replace(s, local_tile=(11, 15)), CAPS)


@pytest.mark.parametrize(
    ("extents", "dimension"), [((256, 256, 256), 0), ((512, 128, 512), 0), ((2048, 2048), -1), ((1 << 20,), -1)]
)
def test_chains_of_three_dimensions_are_streamed(extents: tuple[int, ...], dimension: int) -> None:
    caps = replace(CAPS, local_memory=256 << 10, l2=1 << 20)
    assert default(blurred(*extents), caps).streamed == dimension


@pytest.mark.parametrize(
    ("extents", "cpu", "gpu"), [((256, 256, 256), True, False), ((64, 64, 64), True, True), ((3000, 2000), True, True)]
)
def test_where_chains_pay(extents: tuple[int, ...], cpu: bool, gpu: bool) -> None:
    made = blurred(*extents)
    for caps, pay in ((replace(CAPS, local_memory=256 << 10, l2=1 << 20), cpu), (MATRICES, gpu)):
        assert pays(made, default(made, caps), caps) == pay


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
    assert (0 if found is None else len(found.mdhoms)) == (maps and len(graph.steps))


def test_a_chain_is_told_from_its_last_map_and_from_others() -> None:
    one, other = blurred(20, 30), blurred(20, 30, mode="nearest")
    kinds = {fingerprint(h) for h in (one, other, one.mdhoms[-1], other.mdhoms[-1])}
    assert len(kinds) == 4
    assert one == blurred(20, 30)


def _eight(x: Any) -> Any:
    for _ in range(8):
        x = _mean(x)
    return x


def test_fused_stencils_are_chains(device: Device) -> None:
    x = np.random.default_rng(0).normal(size=(300, 200)).astype(np.float32)
    fused = mdhnp.fuse(_eight)
    (step,) = fused.rewriting(x).after.steps
    assert isinstance(step.mdhom, Chain)
    np.testing.assert_array_equal(fused(x), _eight(x))


@pytest.mark.parametrize(
    ("weights", "shape", "pays"),
    [((3, 3), (3072, 3072), True), ((9,), (1 << 24,), True), ((5, 5), (4096, 4096), False), ((17,), (1 << 24,), False)],
)
def test_chains_of_two_are_of_few_weights(weights: tuple[int, ...], shape: tuple[int, ...], pays: bool) -> None:
    """With more the border of tiles costs more than the memory that nothing is written to."""
    w = np.ones(weights, np.float32)

    def both(x: Any) -> Any:
        return mdhnp.stencil(np.maximum(mdhnp.stencil(x, w), 0), w)

    steps = mdhnp.fuse(both).rewriting(np.empty(shape, np.float32)).after.steps
    assert [isinstance(s.mdhom, Chain) for s in steps] == ([True] if pays else [False, False])


def _convolved(x: Any, w: Any, v: Any, **options: Any) -> Any:
    return mdhnp.conv2d(np.maximum(mdhnp.conv2d(x, w, **options), 0), v, **options)


@pytest.mark.parametrize(
    ("channels", "size", "extent", "one"),
    [
        (1, 3, 64, True), (1, 3, 1024, True), (1, 5, 256, False), (1, 5, 1024, True), (2, 3, 64, False),
        (2, 3, 512, True), (2, 3, 1024, True), (4, 3, 224, False), (4, 3, 768, True), (2, 5, 256, False),
        (6, 3, 1024, False),
    ],
)  # fmt: skip
def test_two_convolutions_are_a_chain_where_that_is_faster(channels: int, size: int, extent: int, one: bool) -> None:
    """As measured by Intel's runtime on a Xeon."""
    x, w = np.empty((1, channels, extent, extent), np.float32), np.empty((channels, channels, size, size), np.float32)
    steps = mdhnp.fuse(_convolved).rewriting(x, w, w, padding="same").after.steps
    assert [isinstance(s.mdhom, Chain) for s in steps] == ([True] if one else [False, False])


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("options", [{"padding": "same"}, {}, {"dilation": 2, "padding": 1}], ids=str)
@pytest.mark.parametrize("channels", [(1, 1, 1), (2, 5, 3), (3, 4, 1)], ids=str)
def test_chains_of_convolutions(
    device: Device, channels: tuple[int, ...], options: dict[str, Any], layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each map sees all channels of what another one gives."""
    monkeypatch.setattr(cost, "_of_chain", lambda h: 0.0)
    monkeypatch.setattr(kernels, "pays", lambda *_: True)
    numbers = np.random.default_rng(0)
    x = numbers.integers(-3, 4, (2, channels[0], 21, 40)).astype(np.float32)
    filters = [numbers.integers(-3, 4, (k, c, 3, 3)).astype(np.float32) for c, k in pairwise(channels)]
    want = _convolved(x, *filters, **options)
    if layout == "NHWC":
        x, filters, want = (
            x.transpose(0, 2, 3, 1),
            [w.transpose(2, 3, 1, 0) for w in filters],
            want.transpose(0, 2, 3, 1),
        )
    shown = mdhnp.explain(mdhnp.fuse(partial(_convolved, layout=layout, **options)), x, *filters)
    assert [isinstance(plan.mdhom, Chain) for plan in shown.launches] == [True]
    found = mdhnp.fuse(partial(_convolved, layout=layout, **options))(x, *filters)
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("output", ["i,j", "j,i", "i,29-j", "i,j,0", "i+30*j"])
def test_short_sums_may_be_written_otherwise_than_point_by_point(device: Device, output: str) -> None:
    """Maps of chains are not: what inlines them asks for an axis of each dimension."""
    dims = {"i": mdhnp.cc, "j": mdhnp.cc, "r": mdhnp.pw("add")}
    sums = mdhnp.md_hom(np.multiply, dims, f"x[i,j+r], w[r] -> y[{output}]")
    x, w = _whole(30, 32), _whole(3)

    def then(x: Any, w: Any) -> Any:
        y = sums(x, w)
        return mdhnp.stencil(y, np.ones((3,) * y.ndim, np.float32), "constant")

    for function in (then, lambda x, w: sums(x, w) + 1):
        np.testing.assert_array_equal(mdhnp.fuse(function)(x, w), function(x, w))


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolutions_of_groups_are_fused_with_others(device: Device, groups: int) -> None:
    x, w = _whole(1, 4, 20, 20), _whole(4, 4 // groups, 3, 3)
    conv = partial(mdhnp.conv2d, groups=groups, padding="same")
    for function in (lambda x, w: np.maximum(conv(conv(x, w), w), 0), lambda x, w: conv(x, w) + 1):
        np.testing.assert_array_equal(mdhnp.fuse(function)(x, w), function(x, w))


def _whole(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)


@pytest.mark.parametrize("extent", [128, 256])
def test_steps_in_three_dimensions_are_chains_where_arrays_are_large(extent: int) -> None:
    """Those that stay in a cache are as fast one by one."""
    far = [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]

    def eight(x: Any) -> Any:
        for _ in range(8):
            x = mdhnp.stencil(x, lambda n: sum([n[d] for d in far[1:]], n[far[0]]) * np.float32(1 / 6), "constant")
        return x

    steps = mdhnp.fuse(eight).rewriting(np.empty((extent,) * 3, np.float32)).after.steps
    assert {isinstance(s.mdhom, Chain) for s in steps} == {extent == 256}


@pytest.mark.parametrize("rank", [7, 15])
def test_no_dimension_has_the_name_of_another_variable(device: Device, rank: int) -> None:
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
def test_chains_too_large_for_a_device_are_taken_apart(
    device: Device, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).normal(size=(300, 200)).astype(np.float32)

    def nothing_fits(h: MdHom, caps: DeviceCaps) -> Schedule:
        return default(h, replace(caps, local_memory=100) if isinstance(h, Chain) else caps)

    limit = {"allocation": ("largest_array", lambda device: x.nbytes - 1), "local": ("default", nothing_fits)}
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
