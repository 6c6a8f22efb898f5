"""Products of sparse matrices beside SciPy's and MKL's on a CPU, beside PyTorch's and CuPy's on a GPU: one table.

Matrices are the examples of pyamg, if that is installed, and made ones: of a grid, of a graph of which a few rows are
long, and of random places. MKL's are made by sparse_dot_mkl, which finds MKL's libraries itself.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from math import exp, log
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import mdhnp
from benchmarks.gpu.measurement import Contestant, by_turns
from benchmarks.gpu.torch_side import Error
from benchmarks.measure import check_equal, compare
from benchmarks.problem import Call
from benchmarks.rows import seconds_text
from mdhnp.runtime.devices import Device, find_device
from mdhnp.tuning import background

__all__ = ["COLUMNS", "table"]

#: Columns of the dense operand; 1 is a vector.
COLUMNS = (1, 16, 64)
#: Seconds of calls in which it is settled who computes.
_SETTLED = 1.0
_PYAMG = (
    "airfoil", "bar", "helmholtz_2D", "knot", "local_disc_galerkin_diffusion", "recirc_flow", "unit_cube",
    "unit_square",
)  # fmt: skip


def _matrices(dtype: str | None) -> Iterator[tuple[str, Any]]:
    """Give matrices by name, in CSR; those of pyamg in a type of their own, or real ones in one."""
    from scipy import sparse

    rng = np.random.default_rng(0)

    def of_rows(count: int, length: int) -> Any:
        ends = np.arange(count + 1) * length
        return sparse.csr_array((rng.random(ends[-1]), rng.integers(0, count, ends[-1]), ends), (count, count))

    side = 300
    ones = np.ones(side * side)
    diagonals = [-ones, -ones, 4 * ones, -ones, -ones]
    grid = sparse.diags_array(diagonals, offsets=[-side, -1, 0, 1, side], shape=(side * side, side * side))
    made = {
        "grid, 300²": sparse.csr_array(grid),
        "graph, 65,536 of 16": _graph(16, 16, rng),
        "50,000 rows of 50": of_rows(50_000, 50),
        "200,000 rows of 8": of_rows(200_000, 8),
    }
    try:
        example = import_module("pyamg.gallery").load_example
    except ImportError:
        example = None
    examples = {} if example is None else {name: sparse.csr_array(example(name)["A"].tocsr()) for name in _PYAMG}
    for name, matrix in (examples | made).items():
        if dtype is not None and matrix.dtype.kind == "c":
            continue
        kept = matrix if dtype is None else matrix.astype(dtype)
        kept.indices, kept.indptr = kept.indices.astype(np.int32), kept.indptr.astype(np.int32)
        yield name, kept


def _graph(levels: int, edges: int, rng: np.random.Generator) -> Any:
    """An R-MAT graph: a few of its nodes have many edges."""
    from scipy import sparse

    count = 1 << levels
    rows, columns = np.zeros((2, count * edges), np.int64)
    for _ in range(levels):
        u = rng.random(rows.size)
        rows = 2 * rows + (u > 0.76)
        columns = 2 * columns + (((u > 0.57) & (u < 0.76)) | (u > 0.95))
    return sparse.csr_array((np.ones(rows.size), (rows, columns)), (count, count))


class _Side(NamedTuple):
    """A library's product, what waits for it, and what gives its result to the host."""

    name: str
    product: Call
    wait: Call = lambda: None
    result: Callable[[Any], Any] = lambda found: found


def _on_cpu(matrix: Any, x: Any) -> Iterator[_Side]:
    yield _Side("mdhnp", lambda: mdhnp.matmul(matrix, x))
    yield _Side("SciPy", lambda: matrix @ x)
    try:
        multiply = import_module("sparse_dot_mkl").dot_product_mkl
    except (ImportError, OSError):
        return
    from scipy import sparse

    taken = sparse.csr_matrix(matrix)
    yield _Side("MKL", lambda: multiply(taken, x))


def _on_gpu(matrix: Any, x: Any, where: Device) -> Iterator[_Side]:
    there, given = mdhnp.SparseArray(matrix, device=where), mdhnp.asarray(x, device=where)

    def wait() -> None:
        mdhnp.matmul(there, given)[:1].numpy()  # calls run in order

    yield _Side("mdhnp", partial(mdhnp.matmul, there, given), wait, lambda found: found.numpy())
    try:
        torch = import_module("torch")
        parts = [torch.from_numpy(a) for a in (matrix.indptr, matrix.indices, matrix.data)]
        with_torch = torch.sparse_csr_tensor(*parts, size=matrix.shape).cuda(), torch.from_numpy(x).cuda()
        yield _Side(
            "PyTorch", lambda: with_torch[0] @ with_torch[1], torch.cuda.synchronize, lambda found: found.cpu().numpy()
        )
    except ImportError:
        pass
    try:
        cupy, form = import_module("cupy"), import_module("cupyx.scipy.sparse")
    except ImportError:
        return
    with_cupy, operand = form.csr_matrix(matrix), cupy.asarray(x)
    yield _Side("CuPy", lambda: with_cupy @ operand, cupy.cuda.Device().synchronize, cupy.asnumpy)


def _row(matrix: Any, columns: int, where: Device, pairs: int) -> tuple[float, dict[str, float]]:
    """Measure one product: seconds of ours, and how often that long the others take.

    Of ndarrays with default settings, so that any device may compute it; of a GPU with what is there.
    """
    gpu = where.own_memory
    rng = np.random.default_rng(1)
    x = rng.random((matrix.shape[1], columns) if columns > 1 else matrix.shape[1]).astype(matrix.dtype)
    ours, *peers = _on_gpu(matrix, x, where) if gpu else _on_cpu(matrix, x)
    for _ in range(2):  # kernels are built, and then compared with SciPy's product
        end = time.perf_counter() + _SETTLED
        while time.perf_counter() < end:
            ours.product()
            ours.wait()  # else a GPU would have seconds of calls before it
        background.wait()
    right = matrix @ x
    for side in (ours, *peers):
        check_equal(abs(side.result(side.product())), abs(right), 1e4 * float(np.finfo(x.dtype).eps), side.name)
    if gpu:
        sides = {side.name: Contestant(side.product, side.wait, Error(0.0, 0.0)) for side in (ours, *peers)}
        times = by_turns(sides, pairs, ours.product)
        own = times[ours.name]
        return median(own), {p.name: median([t / o for t, o in zip(times[p.name], own, strict=True)]) for p in peers}
    found = compare(ours.product, [peer.product for peer in peers], lambda n, result: None, pairs)
    return median(found[0].ours), {p.name: median(c.ratios) for p, c in zip(peers, found, strict=True)}


def table(device: str, numbers: Sequence[int], pairs: int, seconds: float) -> tuple[str, list[str], list[list[str]]]:
    """Measure products with so many columns on a device, for so many seconds at most: a caption, a header and lines."""
    lines, ratios = list[list[str]](), dict[tuple[str, int], list[float]]()
    end = time.monotonic() + seconds
    where = find_device(device)
    for name, matrix in _matrices("f4" if where.own_memory else None):
        for columns in numbers:
            if time.monotonic() > end:
                break
            ours, found = _row(matrix, columns, where, pairs)
            for peer, ratio in found.items():
                ratios.setdefault((peer, columns), []).append(ratio)
            said = [f"{peer} {ratio:.2f}" for peer, ratio in found.items()]
            lines.append([name, f"{matrix.nnz:,}", str(columns), seconds_text(ours), ", ".join(said)])
            print(*lines[-1], sep=" | ", flush=True)
    for columns in numbers:
        said = [
            f"{peer} {exp(sum(map(log, each)) / len(each)):.2f}, least {min(each):.2f}"
            for (peer, count), each in ratios.items()
            if count == columns
        ]
        lines.append(["geometric mean", "", str(columns), "", "; ".join(said)])
    return f"Peer's time over ours, {where.name}; medians", ["matrix", "entries", "columns", "ours", "peers"], lines
