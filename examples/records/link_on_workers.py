"""
Linking records on several processes
====================================

Two large lists of records are dask arrays, made by the workers that use them. ``mdhnp.dask.prl`` links them in parts:
so many new records with so many existing ones. Workers may be on several machines.

``python link_on_workers.py --records 1000000`` links a million records with a million, which are 10¹² pairs.
"""

import argparse
from time import perf_counter

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import mdhnp.dask

# %%
# Records are made up, the same for the same person wherever they are made.

#: How many values each field has.
FIELDS = {"name": 20_000, "forename": 2_000, "born": 25_000, "town": 500}
THRESHOLDS = (15, 25)


def scattered(numbers):
    """Give other numbers, the same for the same: none is near to those of its neighbours."""
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):  # of splitmix64
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def records(persons):
    """Make up the records of persons by their numbers, wherever these are."""
    seeds = persons.astype(np.uint64) * np.uint64(len(FIELDS)) + np.uint64(1)
    values = {field: scattered(seeds + np.uint64(n)) for n, field in enumerate(FIELDS)}
    return {field: (value % np.uint64(FIELDS[field])).astype(np.int64) for field, value in values.items()}


# %%
# Half of the persons are strangers, some have moved, and of some the birthday is wrong. Workers import this file:
# the guard at its end is needed.


def main(count):
    """Link so many records with as many, and draw the weights."""
    sizes = max(1, -(-count // 16)), max(1, -(-count // 4))
    rng = da.random.default_rng(0)
    # Blocks are made by the workers: no record is in what this process sends them.
    existing = records(da.arange(count, chunks=sizes[0]))
    persons = rng.integers(0, 2 * count, count, chunks=sizes[0])
    new = records(persons)
    for field in ("town", "born"):
        changed = rng.random(count, chunks=sizes[0]) < 0.2
        new[field] = da.where(changed, rng.integers(0, FIELDS[field], count, chunks=sizes[0]), new[field])

    # Two processes take seconds to start, which few records are not worth: for these, workers are threads.
    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": count > 10_000, "dashboard_address": ":0"}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        client.register_plugin(mdhnp.dask.Plugin())
        begin = perf_counter()
        links = mdhnp.dask.prl(new, existing, m=0.9, thresholds=THRESHOLDS, chunks=sizes)
        asked = client.compute([links.index, links.weight, links.status, persons])
        index, weight, status, right = (found.result() for found in asked)
        seconds = perf_counter() - begin
        mdhnp.dask.collect(client)  # what workers tuned serves later calls of this process, too
    print(f"{count} × {count} records, {-(-count // sizes[0])} × 4 tasks: {seconds:.1f} s")
    print(f"matches: {(status == 2).mean():.0%}, of which right: {(index == right)[status == 2].mean():.1%}")
    assert (index == right)[status == 2].mean() > 0.99

    _, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    parts, names = [weight[right < count], weight[right >= count]], ["has a partner", "stranger"]
    axes.hist(parts, bins=50, stacked=True, label=names, color=["C0", "C3"])
    for threshold in THRESHOLDS:
        axes.axvline(threshold, color="0.3", linestyle="--")
    axes.set(xlabel="weight of the best pair (bits); dashed: thresholds", ylabel="records")
    axes.legend()
    plt.show()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--records", type=int, default=2000, metavar="N", help="of each list (default 2000)")
    main(parser.parse_known_args()[0].records)
