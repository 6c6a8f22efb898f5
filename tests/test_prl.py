"""Record linkage against a plain reference that compares the values pair by pair, on every device."""

from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdhnp.frontend.prl import Links, prl
from mdhnp.runtime.devices import Device
from mdhnp.runtime.devices import device as use

VOCABULARY = {
    "name": ["ann", "bob", "cyd", "dee", "eve", "", None],
    "town": ["x", "y", None],
    "day": [1, 2, 3, 4, 5],
    "size": [1.5, 2.25, float("nan")],
}
M = {"name": 0.97, "town": 0.9, "day": 0.99, "size": 0.8}
U = {"name": {"ann": 0.05, "bob": 0.002, None: 0.3}, "town": 0.25, "day": {1: 0.3, 2: 0.11}}
OPTIONS: dict[str, dict[str, Any]] = {
    "frequencies": {},
    "frequencies, default": {"default_u": 0.9},
    "given": {"u": U},
    "given, default": {"u": U, "default_u": 0.01},
    "a block": {"u": U, "blocking": ["day"], "thresholds": (1, 4)},
    "blocks": {"blocking": [("name", "town"), {"day", "size"}], "thresholds": (0.5, 3.5)},
    "thresholds": {"thresholds": (-1, 2)},
}


def people(count: int, seed: int, fields: Any = VOCABULARY) -> dict[str, list[Any]]:
    random = np.random.default_rng(seed)
    return {f: [VOCABULARY[f][n] for n in random.integers(0, len(VOCABULARY[f]), count)] for f in fields}


def plain(value: Any) -> Any:
    return None if value is None or value == "" or value != value else value  # noqa: PLR0124


def reference(
    new: Any,
    existing: Any,
    m: Any,
    u: Any = None,
    default_u: Any = None,
    blocking: Any = None,
    thresholds: Any = (15, 45),
    dtype: str = "f4",
) -> Links:
    fields = list(m)
    left, right = ([[plain(v) for v in side[f]] for f in fields] for side in (new, existing))
    count, other = len(left[0]), len(right[0])
    weight, same = np.zeros((count, other), dtype), np.zeros((len(fields), count, other), bool)
    for f, field in enumerate(fields):
        for i, x in enumerate(left[f]):
            chance = min(max(right[f].count(x) / other, 1 / (other + 1)), other / (other + 1))
            given = (u or {}).get(field)
            if default_u is not None and (x is None or isinstance(given, dict)):
                chance = default_u
            if isinstance(given, dict):
                chance = given.get(x, chance)
            elif given is not None and x is not None:
                chance = given
            same[f, i] = [x == y for y in right[f]]
            agree, differ = np.log2(m[field] / chance), np.log2((1 - m[field]) / (1 - chance))
            weight[i] += np.where(same[f, i], agree, differ).astype(dtype)  # as rounding decides ties
    if blocking is not None:
        sets = [[fields.index(f) for f in ([b] if isinstance(b, str) else b)] for b in blocking]
        weight = np.where(np.any([same[b].all(0) for b in sets], 0), weight, 0)
    best = weight.max(1)
    return Links(weight.argmax(1), best, np.where(best > thresholds[1], 2, np.where(best < thresholds[0], 0, 1)))


def check(found: Links, wanted: Links, dtype: str = "f4") -> None:
    assert (found.index.dtype, found.weight.dtype, found.status.dtype) == ("i4", dtype, "i1")
    np.testing.assert_array_equal(found.index, wanted.index)
    np.testing.assert_allclose(found.weight, wanted.weight, rtol=1e-5 if dtype == "f4" else 1e-12, atol=1e-5)
    np.testing.assert_array_equal(found.status, wanted.status)


@pytest.mark.parametrize(
    ("option", "dtype", "sizes"),
    [
        *((option, dtype, (37, 101)) for option in OPTIONS for dtype in ("f4", "f8")),
        *((o, "f4", s) for o in ("frequencies", "blocks") for s in [(1, 1), (7, 1), (1, 13), (130, 67)]),
    ],
    ids=str,
)
def test_pairs(device: Device, option: str, dtype: str, sizes: tuple[int, int]) -> None:
    options = OPTIONS[option]
    new, existing = people(sizes[0], 1), people(sizes[1], 2)
    check(prl(new, existing, m=M, dtype=dtype, **options), reference(new, existing, M, dtype=dtype, **options), dtype)


@settings(max_examples=12)
@given(data=st.data())
def test_any(device: Device, data: st.DataObject) -> None:
    fields = data.draw(st.lists(st.sampled_from(list(VOCABULARY)), min_size=1, unique=True))
    new, existing = (people(data.draw(st.integers(1, 12)), data.draw(st.integers(0, 9)), fields) for _ in range(2))
    probability = st.sampled_from([0.1, 0.3, 0.57, 0.9, 0.99])
    m = {f: data.draw(probability) for f in fields}
    options = {
        "u": {f: data.draw(probability) for f in fields if data.draw(st.booleans())},
        "default_u": data.draw(st.none() | probability),
        "thresholds": (0.123, 2.345),
        "blocking": data.draw(st.none() | st.lists(st.sets(st.sampled_from(fields), min_size=1), min_size=1)),
    }
    with use(device):
        check(prl(new, existing, m=m, **options), reference(new, existing, m, **options))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_similarities_and_weights_of_one_s_own(device: Device, dtype: str) -> None:
    """A difference of numbers, one that is a boolean, and a field that is compared as ever."""
    new, existing = people(17, 1), people(53, 2)
    similarity = {
        "day": lambda a, b: np.maximum(0, 1 - np.abs(a - b) / 3),
        "size": lambda a, b: np.logical_not(a * 2 > b),
    }
    weights = {"size": (3.5, -1.25), "town": (2, -2)}
    found = prl(
        new, existing, m={"day": 0.9, "name": 0.8}, u=U | {"day": 0.2}, weights=weights, similarity=similarity,
        blocking=["town", "name"], thresholds=(0.5, 4), dtype=dtype,
    )  # fmt: skip
    wanted = np.zeros((17, 53))
    for i, j in np.ndindex(*wanted.shape):
        a, b = ({f: plain(v[n]) for f, v in side.items()} for side, n in ((new, i), (existing, j)))
        if a["town"] != b["town"] and a["name"] != b["name"]:
            continue
        chance = existing["name"].count(a["name"]) / 53
        known = U["name"].get(a["name"], min(max(chance, 1 / 54), 53 / 54))
        wanted[i, j] += np.log2(0.8 / known) if a["name"] == b["name"] else np.log2(0.2 / (1 - known))
        wanted[i, j] += 2 if a["town"] == b["town"] else -2
        part = max(0, 1 - abs(a["day"] - b["day"]) / 3)
        wanted[i, j] += part * np.log2(0.9 / 0.2) + (1 - part) * np.log2(0.1 / 0.8)
        part = float(not a["size"] * 2 > b["size"]) if None not in (a["size"], b["size"]) else a["size"] == b["size"]
        wanted[i, j] += part * 3.5 + (1 - part) * -1.25
    best = wanted.max(1)
    np.testing.assert_allclose(found.weight, best, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(wanted[np.arange(17), found.index], best, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found.status, np.where(best > 4, 2, np.where(best < 0.5, 0, 1)))


def test_ties_keep_the_first(device: Device) -> None:
    existing = {"a": np.array([3, 1, 2, 1, 2, 1] * 50)}
    found = prl({"a": np.array([1, 2, 9])}, existing, m=0.9, u={"a": 0.1})
    np.testing.assert_array_equal(found.index, [1, 2, 0])


def test_weights_are_bits_and_use_the_new_records_value(device: Device) -> None:
    u = {"a": {"x": 0.125, "y": 0.5}}
    found = prl({"a": ["x", "y"]}, {"a": ["x", "z"]}, m=0.5, u=u, thresholds=(0, 1.5), dtype="f8")
    np.testing.assert_allclose(found.weight, [2.0, 0.0])
    np.testing.assert_array_equal(found.status, [2, 1])
    found = prl({"a": ["x"]}, {"a": ["y"]}, m=0.5, u=u, dtype="f8")
    np.testing.assert_allclose(found.weight, np.log2(0.5 / 0.875))


def test_thresholds_are_possible_matches_themselves(device: Device) -> None:
    found = prl({"a": [1, 2]}, {"a": [1, 2]}, m=0.5, u={"a": {1: 0.125, 2: 0.25}}, thresholds=(1, 2), dtype="f8")
    np.testing.assert_array_equal(found.status, [1, 1])


def test_pairs_outside_of_the_blocks_score_zero(device: Device) -> None:
    new, existing = {"a": [1, 2], "b": [1, 1]}, {"a": [7, 1], "b": [1, 2]}
    found = prl(new, existing, m=0.9, u={"a": 0.05, "b": 0.001}, blocking="a", thresholds=(1, 2))
    np.testing.assert_array_equal(found.index, [1, 0])
    np.testing.assert_allclose(found.weight, [np.log2(0.9 / 0.05) + np.log2(0.1 / 0.999), 0], rtol=1e-5, atol=1e-7)


FORMS = {
    "structured": lambda c: np.rec.fromarrays(list(c.values()), names=list(c)).view(np.ndarray),
    "objects": lambda c: {k: np.array(v, object) for k, v in c.items()},
    "bytes and floats": lambda c: {k: np.asarray(v).astype("S" if k == "name" else "f8") for k, v in c.items()},
    "strided": lambda c: {k: np.repeat(v, 2)[::2] for k, v in c.items()},
    "strings": lambda c: {"name": np.array(c["name"], np.dtypes.StringDType()), "day": tuple(c["day"])},
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_records(device: Device, form: str) -> None:
    new, existing = (
        {f: [v or "zoe" for v in c] for f, c in people(29, seed, ["name", "day"]).items()} for seed in (3, 4)
    )
    m = {"name": 0.97, "day": 0.99}
    check(prl(FORMS[form](new), FORMS[form](existing), m=m), reference(new, existing, m))


def test_dates_of_any_unit_and_masks(device: Device) -> None:
    days = [date(1990, 1, 2), None, date(2001, 3, 4)]
    new, existing = ({"born": np.array(days, unit)} for unit in ("M8[D]", "M8[ns]"))
    np.testing.assert_array_equal(prl(new, existing, m=0.9).index, [0, 1, 2])
    masked = {"n": np.ma.array([5, 6, 7], mask=[False, True, False])}
    np.testing.assert_array_equal(prl(masked, {"n": [6.0, np.nan, 5.0]}, m=0.9, u={"n": 0.01}).index, [2, 1, 0])


def test_missing_values_beside_text_and_in_masked_records(device: Device) -> None:
    nan = float("nan")
    np.testing.assert_array_equal(prl({"a": ["nan", nan]}, {"a": [nan, "nan"]}, m=0.9).index, [1, 0])
    rows = np.ma.array([("x", 1), ("y", 2)], mask=[(False, False), (True, False)], dtype=[("a", "U1"), ("b", "i4")])
    found = prl(rows, {"a": ["y", None, "x"], "b": [2, 2, 1]}, m=0.9)
    np.testing.assert_array_equal(found.index, [2, 1])


@pytest.mark.parametrize("missing", [{"unknown", 0}, "unknown", lambda v: v == "unknown"], ids=["set", "text", "test"])
def test_own_missing_values(device: Device, missing: Any) -> None:
    new, existing = {"a": ["unknown", "x", ""]}, {"a": ["x", ""]}
    found = prl(new, existing, m=0.9, u={"a": 0.1}, default_u=0.6, missing=missing)
    np.testing.assert_array_equal(found.index, [1, 0, 1])
    np.testing.assert_allclose(found.weight, np.log2([1.5, 9, 1.5]), rtol=1e-6)


def test_fields_chosen_and_probabilities_by_field(device: Device) -> None:
    new, existing = people(9, 5), people(11, 6)
    chosen = ["town", "name"]
    wanted = reference(new, existing, {"town": 0.9, "name": 0.9})
    check(prl(new, existing, m=0.9, fields=chosen), wanted)
    check(prl(new, existing, m={"town": 0.9, "name": 0.9}), wanted)
    check(prl(new, existing, m=0.9, fields=chosen, default_u={"name": 0.2, "town": 0.2}),
          reference(new, existing, {"town": 0.9, "name": 0.9}, default_u=0.2))  # fmt: skip


@pytest.mark.parametrize("sizes", [(3, 0), (0, 3), (0, 0)], ids=str)
def test_no_records(sizes: tuple[int, int]) -> None:
    found = prl({"a": ["x"] * sizes[0]}, {"a": ["x"] * sizes[1]}, m=0.9)
    assert found.index.tolist() == [-1] * sizes[0]
    assert found.weight.tolist() == [-np.inf] * sizes[0]
    assert found.status.tolist() == [0] * sizes[0]
    assert [part.dtype for part in found] == [np.int32, np.float32, np.int8]


ROWS = {"a": ["x", "y"], "b": [1, 2]}


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"m": 1.0}, ValueError, "m: 1.0"),
        ({"m": {"a": 0.9, "b": 0}}, ValueError, r"m\['b'\]: 0"),
        ({"m": {"a": "high"}}, ValueError, "no probability"),
        ({"m": {"a": 0.9, "c": 0.9}}, KeyError, "new: has no column 'c'"),
        ({"m": {}}, ValueError, "fields"),
        ({"fields": ["a", "a"]}, ValueError, "twice"),
        ({"fields": ["a", "b"], "m": {"a": 0.9}}, ValueError, "m: no probability for field 'b'"),
        ({"fields": ["a"], "m": {"a": 0.9, "b": 0.9}}, ValueError, "m: 'b' is none of the fields"),
        ({"u": {"a": 1.5}}, ValueError, r"u\['a'\]: 1.5"),
        ({"u": {"a": {"x": 0.0}}}, ValueError, r"u\['a'\]\['x'\]: 0.0"),
        ({"u": {"z": 0.5}}, ValueError, "u: 'z'"),
        ({"default_u": -1}, ValueError, "default_u: -1"),
        ({"blocking": [["a", "z"]]}, ValueError, "blocking: 'z'"),
        ({"blocking": []}, ValueError, "blocking"),
        ({"blocking": [[]]}, ValueError, "blocking"),
        ({"blocking": ["a"], "thresholds": (0, 1)}, ValueError, "positive with blocking"),
        ({"thresholds": (2, 1)}, ValueError, "thresholds"),
        ({"thresholds": (1, float("nan"))}, ValueError, "thresholds"),
        ({"thresholds": 3}, ValueError, "thresholds"),
        ({"dtype": "i4"}, TypeError, "dtype: int32"),
        ({"weights": {"z": (1, 2)}}, ValueError, "weights: 'z'"),
        ({"weights": {"a": (1, 2, 3)}}, ValueError, r"weights\['a'\]: \(1, 2, 3\)"),
        ({"weights": {"a": (1, float("inf"))}}, ValueError, r"weights\['a'\]"),
        ({"similarity": {"z": np.equal}}, ValueError, "similarity: 'z'"),
        ({"similarity": {"a": np.equal}}, TypeError, "field 'a' holds <U1"),
        ({"similarity": {"b": lambda a, b: (a, b)}}, ValueError, r"similarity\['b'\]: gives 2 values"),
        ({"similarity": {"b": lambda a, b: "x"}}, TypeError, r"similarity\['b'\]: returned str"),
        ({"existing": {"a": ["x"]}}, KeyError, "existing: has no column 'b'"),
        ({"existing": {"a": ["x"], "b": [1, 2]}}, ValueError, "existing: column 'b' has 2 records"),
        ({"existing": {"a": [["x"]], "b": [1]}}, ValueError, "existing: column 'a' has 2 axes"),
        ({"existing": {"a": [1], "b": [1]}}, ValueError, "'a' holds text in new and numbers in existing"),
        ({"new": np.ones(3)}, TypeError, "new: an array without named fields"),
        ({"new": [1]}, TypeError, "new: list has no named columns"),
    ],
)
def test_errors(change: dict[str, Any], error: type[Exception], text: str) -> None:
    arguments: dict[str, Any] = {"new": ROWS, "existing": ROWS, "m": 0.9} | change
    with pytest.raises(error, match=text):
        prl(arguments.pop("new"), arguments.pop("existing"), **arguments)
