"""Person records as a cancer registry compares them, generated; and what a programmer without mdhnp does with them.

Takes a number of records and a seed; gives columns by name. The scheme and its probabilities are those of the record
linkage in Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms".
"""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["AGREEMENT", "encode", "people", "repeat_some", "weights"]

Array = npt.NDArray[Any]
Columns = dict[str, Array]

#: Probability of agreement in records of one person: the registry's 14 fields.
AGREEMENT = {f"{kind}{n}": 0.975 for kind in ("surname", "forename", "birth_name") for n in (1, 2, 3)} | {
    "day": 0.99,
    "month": 0.99,
    "year": 0.99,
    "gender": 0.999,
    "municipality": 0.9,
}


def people(count: int, seed: int) -> Columns:
    """Make records: few names are frequent and many rare; second and third names are mostly missing."""
    random = np.random.default_rng(seed)
    names = np.array([f"name{n}" for n in range(5000)])
    found: Columns = {}
    for field in AGREEMENT:
        if field[-1] in "123":
            found[field] = names[np.minimum(random.zipf(1.3, count), len(names)) - 1]
            if field[-1] != "1":
                found[field][random.random(count) < {"2": 0.8, "3": 0.95}[field[-1]]] = ""
    found["day"] = random.integers(1, 29, count)
    found["month"] = random.integers(1, 13, count)
    found["year"] = random.integers(1920, 2005, count)
    found["gender"] = random.integers(1, 3, count)
    found["municipality"] = random.integers(10000, 12000, count)
    return found


def repeat_some(new: Columns, existing: Columns) -> None:
    """Make every other new record one of the existing ones, with a changed municipality in a tenth of them."""
    random = np.random.default_rng(3)
    count = len(new["day"])
    source = random.integers(0, len(existing["day"]), count)
    moved = random.random(count) < 0.1
    for field, column in new.items():
        chosen = np.arange(count) % 2 == 0
        if field == "municipality":
            chosen &= ~moved
        column[chosen] = existing[field][source[chosen]]


def encode(new: Columns, existing: Columns) -> tuple[tuple[Array, Array], Array]:
    """Encode the values with pandas: both sides' codes, and every new record's chance agreement, by field."""
    import pandas

    count, other = len(new["day"]), len(existing["day"])
    codes = np.empty((len(AGREEMENT), count), np.int32), np.empty((len(AGREEMENT), other), np.int32)
    chance = np.empty((len(AGREEMENT), count))
    for f, field in enumerate(AGREEMENT):
        both, _ = pandas.factorize(np.concatenate([new[field], existing[field]]))
        codes[0][f], codes[1][f] = both[:count], both[count:]
        frequency = np.bincount(codes[1][f], minlength=int(both.max()) + 1) / other
        chance[f] = np.clip(frequency, 1 / (other + 1), other / (other + 1))[codes[0][f]]
    return codes, chance


def weights(chance: Array) -> tuple[Array, Array]:
    """Give the weights of agreement and of disagreement, float32, by field and new record."""
    rate = np.array(list(AGREEMENT.values()))[:, None]
    return np.log2(rate / chance).astype(np.float32), np.log2((1 - rate) / (1 - chance)).astype(np.float32)
