"""Link the records of two large lists on several processes, which may be on several machines.

``python link_on_workers.py 1000000`` links a million new records with as many existing ones: 10^12 pairs.
"""

import sys
from time import perf_counter

import numpy as np
from distributed import Client, LocalCluster

import mdhnp.dask


def records(count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Make persons up."""
    return {
        "name": rng.integers(0, 20_000, count),
        "forename": rng.integers(0, 2_000, count),
        "born": rng.integers(0, 25_000, count),
        "town": rng.integers(0, 500, count),
    }


def main(count: int) -> None:
    """Look for persons of whom some have moved, and some do not know their birthday."""
    rng = np.random.default_rng(0)
    existing = records(count, rng)
    persons = rng.integers(0, count, count)
    new = {field: column[persons] for field, column in existing.items()}
    for field in ("town", "born"):
        changed = rng.random(count) < 0.2
        new[field] = np.where(changed, rng.permutation(new[field]), new[field])

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.register_plugin(mdhnp.dask.Plugin())
        begin = perf_counter()
        sizes = max(1, -(-count // 16)), max(1, -(-count // 4))
        links = mdhnp.dask.prl(new, existing, m=0.9, thresholds=(15, 25), chunks=sizes)
        index, status = (found.result() for found in client.compute([links.index, links.status]))
        seconds = perf_counter() - begin
        mdhnp.dask.collect(client)  # what workers tuned serves later calls of this process, too
    print(f"{count} × {count} records, {links.index.npartitions} × 4 tasks: {seconds:.1f} s")
    print(f"matches: {(status == 2).mean():.0%}, of which right: {(index == persons)[status == 2].mean():.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdecimal() else 2000)
