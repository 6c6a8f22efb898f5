"""What gathers and scatters take on a GPU, beside PyTorch: ``python -m benchmarks.gpu.indices``.

Each line is a kind of indices: rows are taken where they say (``take`` beside ``index_select``), added there in order
(``add.at`` beside ``index_add_`` by its deterministic algorithm) and in any order (``unordered=True`` beside
``index_add_``). Microseconds are of a call, the least of three means of several; indices have been looked at before,
but for those under "changed", which are in each call.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

import mdhnp

__all__ = ["CASES", "Case", "main", "measured"]


Given = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


class Case(NamedTuple):
    """So many indices of so many rows, of so many float32 each."""

    indices: int
    rows: int
    columns: int
    #: Each row as often as others; or most of them few rows: the first one 15 %; or all one row.
    kind: str = "even"

    def draw(self) -> Given:
        """Draw rows, indices of them, and a row for each index."""
        rng = np.random.default_rng(0)
        places = {
            "even": lambda: rng.integers(0, self.rows, self.indices),
            "few": lambda: (self.rows * rng.random(self.indices) ** 6).astype(np.int64),
            "one": lambda: np.full(self.indices, self.rows - 1),
        }
        shape = (self.columns,) if self.columns > 1 else ()
        rows, values = (rng.random((n, *shape), np.float32) for n in (self.rows, self.indices))
        return rows, places[self.kind](), values


CASES = (
    Case(10**6, 10**5, 64), Case(10**6, 10**5, 64, "few"), Case(10**6, 10**5, 64, "one"), Case(10**6, 100, 64),
    Case(10**6, 10**5, 256), Case(10**7, 10**6, 1), Case(10**7, 10**6, 1, "few"), Case(10**7, 10**6, 1, "one"),
    Case(10**7, 100, 1), Case(10**6, 10**6, 1), Case(10**4, 10**4, 64),
)  # fmt: skip


def measured(of: Callable[[], Any], wait: Callable[[], Any], calls: int = 10) -> float:
    """Microseconds of a call; fewer calls of long ones."""
    of()
    wait()
    start = time.perf_counter()
    of()
    wait()
    calls = max(1, min(calls, int(0.05 / (time.perf_counter() - start))))
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(calls):
            of()
        wait()
        best = min(best, (time.perf_counter() - start) / calls)
    return best * 1e6


def _by_torch(given: Given) -> dict[str, float]:
    x, i, v = (torch.from_numpy(a).to("cuda") for a in given)
    wait = torch.cuda.synchronize
    found = {
        "index_select": measured(lambda: torch.index_select(x, 0, i), wait),
        "index_add_": measured(lambda: x.index_add_(0, i, v), wait),
    }
    torch.use_deterministic_algorithms(True)
    found["in order"] = measured(lambda: x.index_add_(0, i, v), wait)
    torch.use_deterministic_algorithms(False)
    return found


def _by_mdhnp(given: Given, device: Any) -> dict[str, float]:
    a, at, b = (mdhnp.asarray(each, device=device) for each in given)

    def wait() -> None:
        mdhnp.synchronize(device)

    def change() -> None:
        at[:1] = given[1][0]

    def changed() -> None:
        change()
        mdhnp.take(a, at, 0)

    return {
        "take": measured(lambda: mdhnp.take(a, at, 0), wait),
        "changed": measured(changed, wait) - measured(change, wait),
        "unordered": measured(lambda: mdhnp.add.at(a, at, b, unordered=True), wait),
        "add.at": measured(lambda: mdhnp.add.at(a, at, b), wait),
    }


def main() -> None:
    """Print a table."""
    device = next(d for d in mdhnp.devices() if d.caps.kind == "gpu")
    print(f"{device.name}, PyTorch {torch.__version__}, mdhnp {mdhnp.__version__}; microseconds", flush=True)
    columns = ["index_select", "take", "changed", "in order", "add.at", "index_add_", "unordered"]
    print(f"{'indices':>9} {'rows':>8} {'columns':>8} kind  " + " ".join(f"{c:>12}" for c in columns), flush=True)
    with mdhnp.config(host="never"):
        for case in CASES:
            given = case.draw()
            found = _by_torch(given)
            torch.cuda.empty_cache()
            found |= _by_mdhnp(given, device)
            said = f"{case.indices:9} {case.rows:8} {case.columns:8} {case.kind:5} "
            print(said + " ".join(f"{found[c]:12.0f}" for c in columns), flush=True)


if __name__ == "__main__":
    main()
