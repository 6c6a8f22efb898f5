"""Temporaries within a limit of memory: loops of steps, what they hold, and their values."""

import subprocess
import sys
from math import prod
from typing import Any

import numpy as np
import opt_einsum
import pytest
from cases import assert_same, magnitude, subscripts

import mdhnp
from mdhnp.frontend.contraction import parse
from mdhnp.frontend.pairwise import contracted, stand_in
from mdhnp.fusion.within import cost, limited
from mdhnp.mdh import Graph
from mdhnp.mdh.loop import Loop, part_of_steps
from mdhnp.runtime import pool
from mdhnp.runtime.handle import Device

Array = np.ndarray[Any, Any]

#: Of two kept dimensions, of one, of none; with a path that has a dimension in two temporaries, and with larger ones.
SIX = "ij,ik,il,jk,jl,kl->ij"
CASES = [
    (SIX, ((5,) * 2,) * 6, None),
    (SIX, ((5,) * 2,) * 6, [(0, 2), (0, 1), (0, 2), (1, 2), (0, 1)]),
    ("ig,ij,jg->g", ((11, 37), (11, 13), (13, 37)), None),
    ("ab,bc,cd->ad", ((17, 19), (19, 23), (23, 11)), None),
    ("ab,bc,cd->", ((17, 19), (19, 23), (23, 11)), None),
    ("ab,bc,cd,de->ea", ((17, 19), (19, 23), (23, 11), (11, 5)), None),
    ("aab,bc,cd->da", ((7, 7, 19), (19, 23), (23, 11)), None),
    ("ab...,bc,cd->...ad", ((17, 19, 3), (19, 23), (23, 11)), None),
]


def graph_of(text: str, shapes: Any, path: Any = None) -> Graph:
    terms, output = parse(text, tuple(map(len, shapes)))
    method = "auto" if path is None else tuple(path)
    found = contracted(terms, output, [stand_in(s, np.dtype("f4")) for s in shapes], np.dtype("f4"), method)
    assert isinstance(found, Graph)
    return found


def run(graph: Graph, loops: tuple[Loop, ...], arrays: list[Array]) -> list[Any]:
    """Evaluate by definition: all values, those inside of loops missing."""
    values: list[Any] = [*arrays, *[None] * sum([len(s.mdhom.outputs) for s in graph.steps])]
    by_last, inside = {loop.last: loop for loop in loops}, {n for loop in loops for n in loop.steps}
    for n, step in enumerate(graph.steps):
        (made,) = graph.values(n)
        if n in by_last:
            loop = by_last[n]
            (view,) = step.mdhom.outputs
            total = np.zeros(view.shape, view.dtype)
            for ends in loop.bounds(graph):
                part = part_of_steps(graph, loop, *ends)
                found = run(part.graph, loop.inner, [values[r.value][r.region] for r in part.reads])[-1]
                total[part.region] = total + found if loop.reduces(graph) else found
            values[made] = total
        elif n not in inside:
            (values[made],) = Graph.of(step.mdhom).interpret(*[values[p] for p in step.inputs])
    return values


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]} {c[2] or ''}")
def test_loops_hold_no_more_than_the_limit_and_give_the_same(case: Any) -> None:
    text, shapes, _ = case
    graph, rng = graph_of(*case), np.random.default_rng(0)
    arrays = [rng.integers(-3, 4, s).astype(np.float32) for s in shapes]
    wanted = np.einsum(text, *arrays)
    most, (_, least) = limited(graph, 1 << 40).nbytes, limited(graph, 0)
    assert least < most / 2
    for limit in (most, most - 1, most // 2, least):
        loops, nbytes = limited(graph, limit)
        assert nbytes <= limit
        assert bool(loops) == (limit < most)
        np.testing.assert_array_equal(run(graph, loops, arrays)[-1], wanted)
    assert limited(graph, least - 1).nbytes >= least


def test_larger_parts_are_cheaper() -> None:
    graph = graph_of(SIX, ((1024,) * 2,) * 6)
    for few, more in ((1 << 24, 1 << 26), (1 << 26, 1 << 30), (1 << 30, 1 << 40)):
        assert cost(graph, limited(graph, few).loops) >= cost(graph, limited(graph, more).loops)
    assert [loop.parts(graph) for loop in limited(graph, 1 << 28).loops] == [32]


def least(call: Any) -> int:
    """The bytes that an error names as the least."""
    with pytest.raises(MemoryError, match=r"^einsum: memory_limit: temporaries take \d+ bytes at least") as error:
        call()
    bytes_ = int(str(error.value).split()[4])
    assert f"memory_limit={bytes_} would do" in str(error.value)
    return bytes_


@pytest.mark.parametrize("number", range(len(CASES)))
def test_values(where: Device, number: int) -> None:
    text, shapes, path = CASES[number]
    dtype = ("f4", "i4", "f2", "?", "c8")[number % 5]
    path = path or opt_einsum.contract_path(text, *shapes, shapes=True)[0]
    rng = np.random.default_rng(0)
    arrays = [(rng.random(s) * (1 + (dtype != "f2"))).astype(dtype) for s in shapes]
    exact = [a.astype("f8") if dtype == "f2" else a for a in arrays]
    wanted, size = np.einsum(text, *exact).astype(dtype), np.einsum(text, *map(magnitude, exact))
    labels = parse(text, tuple(map(len, shapes)))[0]
    extents = {c: n for term, s in zip(labels, shapes, strict=True) for c, n in zip(term, s, strict=True)}
    terms = prod(extents.values())
    given = [mdhnp.asarray(a) for a in arrays]

    def check(*operands: Any, **kwargs: Any) -> None:
        found = mdhnp.einsum(text, *operands, **kwargs)
        assert_same(found if isinstance(found, np.ndarray | np.generic) else found.numpy()[()], wanted, size, terms)

    needed = least(lambda: mdhnp.einsum(text, *given, optimize=path, memory_limit=1))
    for limit in (needed, 2 * needed)[number % 2 :]:
        check(*arrays, memory_limit=limit, optimize=path)
        check(*given, memory_limit=limit, optimize=path)
        said = mdhnp.explain(mdhnp.einsum, text, *given, memory_limit=limit, optimize=path)
        assert f"may take {limit}" in said.summary
    with mdhnp.config(memory_limit=needed):
        check(*given, optimize=path)
    check(*given, memory_limit=0)  # in one kernel
    assert "one kernel" in mdhnp.explain(mdhnp.einsum, text, *given, memory_limit=0).summary


def test_random_einsums(where: Device) -> None:
    rng, cut = np.random.default_rng(2), 0
    drawn = (subscripts(rng, 5) for _ in range(200))
    for text, shapes in [(text, shapes) for text, shapes in drawn if len(shapes) > 2][:10]:
        arrays = [rng.integers(-3, 4, s) for s in shapes]
        given, path = [mdhnp.asarray(a) for a in arrays], opt_einsum.contract_path(text, *shapes, shapes=True)[0]
        try:
            result = mdhnp.einsum(text, *given, optimize=path, memory_limit=1)
        except MemoryError as error:
            result = mdhnp.einsum(text, *given, optimize=path, memory_limit=int(str(error).split()[4]))
            cut += 1
        np.testing.assert_array_equal(result.numpy(), np.einsum(text, *arrays), text)
    assert cut > 3


def test_results_go_where_they_are_wanted(where: Device) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.random((20, 20)) for _ in range(6)]
    wanted = np.einsum(SIX, *arrays, optimize=True)
    out = np.empty((20, 40))[:, ::2]
    assert mdhnp.einsum(SIX, *arrays, out=out, memory_limit=20_000) is out
    np.testing.assert_allclose(out, wanted)
    given, into = [mdhnp.asarray(a) for a in arrays], mdhnp.zeros((20, 20))
    assert mdhnp.einsum(SIX, *given, out=into, memory_limit=20_000) is into
    np.testing.assert_allclose(into.numpy(), wanted)
    found = mdhnp.einsum(SIX, *arrays, order="F", memory_limit=20_000)
    assert found.flags.f_contiguous
    np.testing.assert_allclose(found, wanted)
    least_plus = mdhnp.einsum("ij,jk,kl->il", *arrays[:3], multiply=np.add, add="min", memory_limit=0)
    ways = arrays[0][:, :, None, None] + arrays[1][:, :, None] + arrays[2]
    np.testing.assert_allclose(least_plus, ways.min(axis=(1, 2)))


def test_fused_functions(where: Device) -> None:
    a, b = np.random.default_rng(0).random((2, 60, 60))
    fused = mdhnp.fuse(lambda x, y: np.exp(x @ y / 60).sum(axis=0) + 1)
    wanted = np.exp(a @ b / 60).sum(axis=0) + 1
    given = [mdhnp.asarray(a), mdhnp.asarray(b)]
    with mdhnp.config(memory_limit=8_000):
        np.testing.assert_allclose(fused(*given).numpy(), wanted)
        np.testing.assert_allclose(fused(a, b), wanted)
        (said,) = mdhnp.explain(fused, *given).memory
        assert "would take" in said
    inside = mdhnp.fuse(lambda x, y: np.exp(mdhnp.einsum("ij,jk->ik", x, y, memory_limit=8_000) / 60).sum(axis=0) + 1)
    np.testing.assert_allclose(inside(a, b), wanted)
    assert "may take 8000" in mdhnp.explain(inside, *given).summary
    with mdhnp.config(memory_limit=10), pytest.raises(MemoryError, match=r"fuse: memory_limit: .* at least"):
        fused(*given)


def test_blocks_taken_on_a_device_are_within_the_limit(device: Device) -> None:
    from separate import separate

    from mdhnp.runtime.devices import device as use

    def taken(**kwargs: Any) -> int:
        """Bytes of all blocks: new ones are made where none is free."""
        mdhnp.einsum(SIX, *given, **kwargs)
        pool.release()
        before = pool.pool(chosen).info(0).used
        mdhnp.einsum(SIX, *given, **kwargs)
        info = pool.pool(chosen).info(0)
        return info.used + info.free - before

    with use(separate(device)) as chosen:
        given, limit = [mdhnp.asarray(np.ones((64, 64), np.float32)) for _ in range(6)], 1 << 17
        # Smaller blocks are used again for values of their own size only.
        assert taken(memory_limit=limit) <= 1.5 * limit + (2 << 14)
        assert taken() > 8 * limit


MEASURED = """
import ctypes, gc
import numpy as np, mdhnp
from mdhnp.runtime import results

def status(name):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(name))

def peak(call):
    call()  # which loads, and compiles
    gc.collect()
    results.release()
    ctypes.CDLL(None).malloc_trim(0)
    open("/proc/self/clear_refs", "w").write("5")
    before = status("VmRSS")
    call()
    return status("VmHWM") - before

arrays = [np.ones((200, 200), np.float32) for _ in range(6)]
text = "ij,ik,il,jk,jl,kl->ij"
for host in ("never", "auto"):
    mdhnp.config.host = host
    print(peak(lambda: mdhnp.einsum(text, *arrays, memory_limit=1 << 23)), peak(lambda: mdhnp.einsum(text, *arrays)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells no peak")
def test_measured_peak() -> None:
    ran = subprocess.run([sys.executable, "-c", MEASURED], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for line in ran.stdout.splitlines():
        within, without = map(int, line.split())
        assert within <= (1 << 23) + (1 << 22)  # and a result, and what is loaded meanwhile
        assert without > 1 << 25


@pytest.mark.parametrize("limit", [-1, "1 GB", 2.5, True])
def test_limits_that_are_none(limit: Any) -> None:
    with pytest.raises(ValueError, match=r"einsum: memory_limit: .* is neither None nor a number of bytes"):
        mdhnp.einsum("i,i,i", [1], [2], [3], memory_limit=limit)
    with pytest.raises(ValueError, match=r"config\.memory_limit: .* is neither None nor a number of bytes"):
        mdhnp.config.memory_limit = limit
