"""For each rule of fusion a function that it rewrites, and for each of its conditions one that just fails that."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from programs import (
    ALIKE,
    BESIDE,
    CHAIN,
    EQUAL,
    FINISH,
    MAPS,
    REDUCED_SCAN,
    ROWS,
    SCANNED_SCAN,
    SOFTMAX,
    VARIANCE,
    WRITTEN_OUT,
    mean,
    softmax,
)

import mdhnp
from mdhnp import cc, index, md_hom, ps, pw

__all__ = ["FIRES", "MISSES", "Made"]


class Made(NamedTuple):
    """A function of a matrix, or of several of one shape, and for which shape and type it is made."""

    function: Callable[..., Any]
    shape: tuple[int, int] = (6, 5)
    operands: int = 1
    dtype: Any = np.float32


KEPT, REDUCED, SCANNED = {"i": cc, "j": cc}, {"i": cc, "j": pw("add")}, {"i": cc, "j": ps("add")}
LARGEST = {"i": cc, "j": pw("max")}

# What is written is turned, along the six rows.
turned = md_hom(lambda v: v * v, KEPT, "x[i,j] -> y[5-i,j]")
turned_largest = md_hom(lambda v: v, LARGEST, "x[i,j] -> y[5-i]")
turned_mean = md_hom(lambda v: v, REDUCED, "x[i,j] -> y[5-i]", finish=lambda total, v: total / np.float32(5))
turned_product = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "x[i,k], x[j,k] -> y[5-i,j]")
turned_sums = md_hom(lambda v: v, SCANNED, "x[i,j] -> y[5-i,j]")
largest_of_turned = md_hom(lambda v: v, LARGEST, "x[5-i,j] -> y[i]")
largest_up_to_turned = md_hom(lambda v: v, {"i": cc, "j": ps("max")}, "x[5-i,j] -> y[i,j]")

# OpenCL C text of several results, which only a step of its own calls.
text_sums = md_hom(
    "void both(float v, float *a, float *b) { *a = v; *b = 2 * v; }", REDUCED, "x[i,j] -> y[i], z[i]",
    results=(np.float32, np.float32),
)  # fmt: skip

# Reductions and scans that read what others give.
powers = md_hom(lambda v, m: np.exp(v - m), REDUCED, "x[i,j], m[i] -> y[i]")
powers_of_columns = md_hom(lambda v, m: np.exp(v - m), REDUCED, "x[i,j], m[j] -> y[i]")
powers_of_turned = md_hom(lambda v, m: np.exp(v - m), REDUCED, "x[i,j], m[5-i] -> y[i]")
negative_powers = md_hom(lambda v, m: np.exp(m - v), REDUCED, "x[i,j], m[i] -> y[i]")
weighted_powers = md_hom(lambda v, m, w: np.exp(v - m) * w, REDUCED, "x[i,j], m[i], w[i,j] -> y[i]")
squares = md_hom(lambda v, m: (v - m) ** 2, REDUCED, "x[i,j], m[i] -> y[i]")
squares_of_columns = md_hom(lambda v, m: (v - m) ** 2, REDUCED, "x[i,j], m[j] -> y[i]")
squares_of_turned = md_hom(lambda v, m: (v - m) ** 2, REDUCED, "x[i,j], m[5-i] -> y[i]")
squares_and_more = md_hom(
    lambda v, m, w: (v - m) ** 2, REDUCED, "x[i,j], m[i], w[i] -> y[i]", finish=lambda total, v, m, w: total + w
)
cubes = md_hom(lambda v, m: (v - m) ** 3, REDUCED, "x[i,j], m[i] -> y[i]")
distance = md_hom(lambda v, m: v - m, LARGEST, "x[i,j], m[i] -> y[i]")
largest_so_far = md_hom(lambda v: v, {"i": cc, "j": ps("max")}, "x[i,j] -> y[i,j]")
largest_times_place = md_hom(lambda v: v, LARGEST, "x[i,j] -> y[i]", finish=lambda total, v: total * index(0))
largest_up_to_place = md_hom(
    lambda v: v, {"i": cc, "j": ps("max")}, "x[i,j] -> y[i,j]", finish=lambda total, v: total * index(1)
)


def shifted(x: Any, times: int) -> Any:
    """What is left of each row's largest element, so many times."""
    for n in range(times):
        x = np.tanh(x - n * x.max(axis=1, keepdims=True))
    return x


def means(x: Any, times: int) -> Any:
    """Means of means."""
    for _ in range(times):
        x = mean(x)
    return x


#: By a rule's name.
FIRES: dict[str, Made] = {
    EQUAL: Made(lambda x: x.sum(axis=1) * x.sum(axis=1)),
    MAPS: Made(lambda x: (x * 2).sum(axis=1)),
    FINISH: Made(lambda x: x.sum(axis=1) * 2),
    BESIDE: Made(lambda x: (x.min(axis=1), x.max(axis=1))),
    WRITTEN_OUT: Made(lambda x: (x @ x.T).min(axis=1), (6, 2)),
    CHAIN: Made(lambda x: means(x, 8)),
    ALIKE: Made(lambda x: (np.cumsum(x[:3], axis=1), np.cumsum(x[3:], axis=1))),
    ROWS: Made(softmax),
    SOFTMAX: Made(lambda x: powers(x, x.max(axis=1))),
    VARIANCE: Made(lambda x: squares(x, x.mean(axis=1))),
    REDUCED_SCAN: Made(lambda x: np.cumsum(x, axis=1).max(axis=1)),
    SCANNED_SCAN: Made(lambda x: largest_so_far(np.cumsum(x, axis=1))),
}

#: By a rule's name and that of the one condition that fails.
MISSES: dict[tuple[str, str], Made] = {
    (EQUAL, "written_plainly"): Made(lambda x: turned(x) * turned(x)),
    (EQUAL, "read_as_written"): Made(lambda x: (x.sum(axis=1), x.sum(axis=1).reshape(2, 3) * 2)),
    (EQUAL, "same_computation"): Made(lambda x: x.sum(axis=1) * x.max(axis=1)),
    (EQUAL, "no_result_in_another_shape"): Made(lambda x: (x.sum(axis=1), x.sum(axis=1, keepdims=True))),
    (MAPS, "known"): Made(lambda x: (x * 2).sum(axis=1), (0, 5)),
    (MAPS, "first_is_map"): Made(lambda x: x.sum(axis=1)[::-1] * 2),
    (MAPS, "first_is_only_read"): Made(lambda x: (y := x * 2, y.sum(axis=1))),
    (MAPS, "loads_few"): Made(lambda x: mdhnp.stencil(x, np.ones((5, 5), np.float32), mode="wrap") @ x.T),
    (MAPS, "written_plainly"): Made(lambda x: turned(x).sum(axis=1)),
    (MAPS, "read_in_order"): Made(lambda x: (x * 2).reshape(-1)[::2].sum()),
    (FINISH, "known"): Made(lambda x: text_sums(x)[0] * 2),
    (FINISH, "last_is_map"): Made(lambda x: np.cumsum(x.sum(axis=1))),
    (FINISH, "combines_or_stays"): Made(lambda x: (x + 1) * 2),
    (FINISH, "point_by_point"): Made(lambda x: x.sum(axis=1)[::-1] * 2),
    (FINISH, "not_through_others"): Made(lambda x: (y := x.sum(axis=1)) * np.cumsum(y)[::-1]),
    (BESIDE, "known"): Made(lambda x: (x.min(axis=1), *text_sums(x))),
    (BESIDE, "same_points"): Made(lambda x: (x.min(axis=1), x.max(axis=0))),
    (BESIDE, "few_results"): Made(lambda x: [(x * np.float32(n)).sum(axis=1) for n in range(2, 19)]),
    (BESIDE, "same_read"): Made(lambda x: (x.min(axis=1), x[::-1].max(axis=1))),
    (BESIDE, "reads_once_or_shares"): Made(lambda x, y, z: (x @ y, x @ z), (40, 40), 3),
    (BESIDE, "independent"): Made(lambda x: distance(x, x.sum(axis=1))),
    (WRITTEN_OUT, "known"): Made(lambda x: (x @ x.T).min(axis=1), (6, 0)),
    (WRITTEN_OUT, "first_is_short"): Made(lambda x: (x @ x.T).min(axis=1), (200, 65)),
    (WRITTEN_OUT, "gives_more_than_it_reads"): Made(lambda x: (x @ x.T).min(axis=1)),
    (WRITTEN_OUT, "first_is_only_read"): Made(lambda x: (y := x @ x.T, y.min(axis=1)), (6, 2)),
    (WRITTEN_OUT, "written_plainly"): Made(lambda x: turned_product(x).min(axis=1), (6, 2)),
    (WRITTEN_OUT, "read_in_order"): Made(lambda x: (x @ x.T).reshape(-1)[::4].min(), (6, 2)),
    (CHAIN, "only_read_by_last"): Made(lambda x: (y := mean(x), mean(y))),
    (CHAIN, "few_maps"): Made(lambda x: means(x, 9)),
    (CHAIN, "is_a_chain"): Made(lambda x: mean(mean(x), "wrap")),
    (ROWS, "has_rows"): Made(lambda x: (x * 2).sum(axis=1), (6, 16)),
    (ROWS, "few_links"): Made(lambda x: shifted(x, 6)),
    (ROWS, "rows_lie_together"): Made(lambda x: softmax(x.T)),
    (ROWS, "shared_lie_along_results"): Made(lambda x, y: softmax(x) @ y.T, (600, 600), 2),
    (ROWS, "no_products"): Made(lambda x, y: softmax(x) @ y.T, (6, 5), 2),
    (SOFTMAX, "known"): Made(lambda x: powers(x, x.max(axis=1)), (0, 5)),
    (SOFTMAX, "written_plainly"): Made(lambda x: powers_of_turned(x, turned_largest(x))),
    (SOFTMAX, "same_reduction"): Made(lambda x: powers_of_columns(x, x.max(axis=0))),
    (SOFTMAX, "not_through_others"): Made(lambda x: weighted_powers(x, y := x.max(axis=1), x * y[:, None])),
    (SOFTMAX, "largest_then_exponentials"): Made(lambda x: negative_powers(x, x.max(axis=1))),
    (VARIANCE, "known"): Made(lambda x: squares(x, x.mean(axis=1)), (0, 5)),
    (VARIANCE, "written_plainly"): Made(lambda x: squares_of_turned(x, turned_mean(x))),
    (VARIANCE, "same_reduction"): Made(lambda x: squares_of_columns(x, x.mean(axis=0))),
    (VARIANCE, "not_through_others"): Made(lambda x: squares_and_more(x, y := x.mean(axis=1), np.cumsum(y))),
    (VARIANCE, "mean_then_squares"): Made(lambda x: cubes(x, x.mean(axis=1))),
    (VARIANCE, "few_terms"): Made(lambda x: squares(x, x.mean(axis=1)), (2, 1 + (1 << 20))),
    (REDUCED_SCAN, "known"): Made(lambda x: np.cumsum(x, axis=1).max(axis=1), (0, 5)),
    (REDUCED_SCAN, "written_plainly"): Made(lambda x: largest_of_turned(turned_sums(x), i=6)),
    (REDUCED_SCAN, "reduces"): FIRES[SCANNED_SCAN],
    (REDUCED_SCAN, "combines_a_scan"): Made(lambda x: np.cumsum(x, axis=1).max(axis=0)),
    (REDUCED_SCAN, "scan_distributes"): Made(lambda x: np.cumsum(x, axis=1).sum(axis=1)),
    (REDUCED_SCAN, "only_read_by_last"): Made(lambda x: (y := np.cumsum(x, axis=1), y.max(axis=1))),
    (REDUCED_SCAN, "finishes_alone"): Made(lambda x: largest_times_place(np.cumsum(x, axis=1))),
    (SCANNED_SCAN, "known"): Made(lambda x: largest_so_far(np.cumsum(x, axis=1)), (0, 5)),
    (SCANNED_SCAN, "written_plainly"): Made(lambda x: largest_up_to_turned(turned_sums(x), i=6)),
    (SCANNED_SCAN, "scans"): FIRES[REDUCED_SCAN],
    (SCANNED_SCAN, "combines_a_scan"): Made(lambda x: largest_so_far(np.cumsum(x, axis=0))),
    (SCANNED_SCAN, "scan_distributes"): Made(lambda x: np.cumsum(np.cumsum(x, axis=1), axis=1)),
    (SCANNED_SCAN, "only_read_by_last"): Made(lambda x: (y := np.cumsum(x, axis=1), largest_so_far(y))),
    (SCANNED_SCAN, "finishes_alone"): Made(lambda x: largest_up_to_place(np.cumsum(x, axis=1))),
    (ALIKE, "known"): Made(lambda x: (text_sums(x[:3])[0], text_sums(x[3:])[0])),
    (ALIKE, "read_by_single_steps"): Made(lambda x: [text_sums(np.cumsum(x[n : n + 3], axis=1)) for n in (0, 3)]),
    (ALIKE, "makes_fewer"): Made(lambda x, y: (np.cumsum(x, axis=1), np.cumsum(y, axis=1)), operands=2),
}
