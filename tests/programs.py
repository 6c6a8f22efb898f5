"""Functions of arrays to be fused: which rules rewrite them, and which must not."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import mdhnp

__all__ = ["PROGRAMS", "ROWS", "Program"]

MAPS, FINISH, EQUAL, BESIDE = (
    "F ∘ map(g) = F(g)",
    "map(f) ∘ md_hom(g, ⊗) = md_hom(g, ⊗, finish=f)",
    "(f, f) = f",
    "(md_hom(f, ⊗), md_hom(g, ⊕)) = md_hom((f, g), (⊗, ⊕))",
)
WRITTEN_OUT = "F ∘ reduce(⊗) = F(x₀ ⊗ … ⊗ xₙ)"
ALIKE = "(F(x₀), …, F(xₙ)) = map(F)(x₀, …, xₙ)"
CHAIN = "map(f) ∘ map(g) = map(f) ∘ map(g), tile by tile"
ROWS = "map(f) ∘ reduce(⊗) = map(f) ∘ reduce(⊗), some rows at a time"
SOFTMAX, VARIANCE, REDUCED_SCAN, SCANNED_SCAN = (
    "(m = max(h), Σ exp(h - m) · w) = reduce(rescaled +) ∘ map(h, w)",
    "(m = mean(h), Σ (h - m)²) = (h₀ + Σd / n, Σd² - (Σd)² / n) where d = h - h₀",
    "reduce(⊕) ∘ scan(⊗) = first ∘ reduce(⟨⊕, ⊗⟩) ∘ map(pair)",
    "scan(⊕) ∘ scan(⊗) = map(first) ∘ scan(⟨⊕, ⊗⟩) ∘ map(pair)",
)


class Program(NamedTuple):
    """A function of one matrix, or of a matrix and others of its shape.

    Attributes
    ----------
    function : callable
        What is fused; NumPy computes it, too.
    fires : tuple of str
        Names of rules that rewrite it.
    never : tuple of str
        Names of rules that must not, since a condition fails.
    operands : int
        Number of its matrices.
    dtype : dtype
        Of a type for which that is so.
    """

    function: Callable[..., Any]
    fires: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    operands: int = 1
    dtype: Any = np.float32


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def windows(x: Any, rows: int, columns: int) -> Any:
    """What lies in windows of so many elements, or as many as there are."""
    return np.lib.stride_tricks.sliding_window_view(x, (min(rows, x.shape[0]), min(columns, x.shape[1])))


def softmax_by_none(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1)[:, None])
    return powers * powers / powers.sum(axis=1).reshape(-1, 1)


def weighted(x: Any, v: Any) -> Any:
    """The softmax of rows times a column each, without the softmax."""
    largest = x.max(axis=1, keepdims=True)
    return (np.exp(x - largest) * v).sum(axis=1) / np.exp(x - largest).sum(axis=1)


def log_sum_exp(x: Any) -> Any:
    largest = x.max(axis=0)
    return largest + np.log(np.exp(x - largest).sum(axis=0))


def power(x: Any, squares: int) -> Any:
    """Give x to the power of 2 to the power of `squares`."""
    for _ in range(squares):
        x = x * x
    return x


def twice(x: Any) -> Any:
    """Sums that are equal, and cannot be one: neighbours of the second ones are read."""
    a, b = x.sum(axis=1), x.sum(axis=1)
    return a, b + 1, mdhnp.stencil(b, np.ones(3, np.float32), mode="nearest")


def mean(x: Any, mode: str = "constant") -> Any:
    """Means of neighbours."""
    return mdhnp.stencil(x, lambda n: n[-1, 0] + n[0, -1] + n[0, 0] + n[0, 1] + n[1, 0], mode)


def standardised(x: Any) -> Any:
    return (x - x.mean(axis=0)) / (x.std(axis=0) + np.float32(1))


def gradient(x: Any) -> Any:
    """Differences of neighbours, and their length."""
    down, right = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]
    return np.sqrt(down * down + right * right)


def kernel_matrix(x: Any, y: Any) -> Any:
    squares = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1) - 2 * (x @ y.T)
    return np.exp(np.maximum(squares, 0) * np.float32(-0.5))


PROGRAMS = {
    "hypotenuse": Program(lambda a, b: np.sqrt(a * a + b * b), (MAPS,), (FINISH, BESIDE), 2),
    "softmax": Program(softmax, (MAPS, SOFTMAX, ROWS)),
    "softmax, axes put in later": Program(softmax_by_none, (MAPS, SOFTMAX, ROWS)),
    "softmax of columns": Program(lambda x: softmax(x.T).T, (MAPS, SOFTMAX), (ROWS,)),
    "a product with a softmax": Program(lambda x, y: softmax(x) @ y.T, (SOFTMAX, ROWS), (), 2),
    "nearest": Program(lambda x, y: np.square(x[:, None] - y).sum(axis=2).argmin(axis=1), (MAPS, ROWS), (), 2),
    "a sum, and what it scales": Program(lambda x: (y := x.sum(axis=1), x / y[:, None]), (), (ROWS,)),
    "rows of sums of all": Program(lambda x: (x.max() - x).sum(axis=1), (MAPS,), (ROWS,)),
    "weighted softmax": Program(weighted, (MAPS, SOFTMAX), (), 2),
    "weighted by squares": Program(
        lambda x, v: (np.exp(x - x.max(axis=1, keepdims=True)) * v * x * v).sum(axis=1), (MAPS, SOFTMAX), (), 2
    ),
    "weighted by a power": Program(lambda x: (np.exp(x - x.max()) * power(x, 7)).sum(), (MAPS,), (SOFTMAX,)),
    "log-sum-exp": Program(log_sum_exp, (MAPS, SOFTMAX)),
    "another maximum": Program(lambda x, y: np.exp(x - y.max(axis=1)[:, None]).sum(axis=1), (MAPS,), (SOFTMAX,), 2),
    "the minimum": Program(lambda x: np.exp(x.min(axis=1)[:, None] - x).sum(axis=1), (MAPS,), (SOFTMAX,)),
    "the maximum along others": Program(lambda x: np.exp(x - x.max(axis=0)).sum(axis=1), (MAPS,), (SOFTMAX,)),
    "exp of twice": Program(lambda x: np.exp(2 * (x - x.max(axis=1)[:, None])).sum(axis=1), (MAPS,), (SOFTMAX,)),
    "mean and variance": Program(lambda x: (x.mean(axis=1), x.var(axis=1)), (EQUAL, VARIANCE)),
    "standardised": Program(standardised, (EQUAL, MAPS, VARIANCE)),
    "second moment": Program(lambda x: ((x - x.mean(axis=0)) ** 2).sum(axis=0), (MAPS, VARIANCE)),
    "third moment": Program(lambda x: ((x - x.mean(axis=0)) ** 3).sum(axis=0), (MAPS,), (VARIANCE,)),
    "squares of others": Program(lambda x, y: ((y - x.mean(axis=0)) ** 2).sum(axis=0), (MAPS,), (VARIANCE,), 2),
    "half the mean": Program(lambda x: ((x - x.sum(axis=0) / 2) ** 2).sum(axis=0), (MAPS,), (VARIANCE,)),
    "extremes": Program(lambda x: (x.min(axis=1), x.max(axis=1), x.sum(axis=1)), (BESIDE,)),
    "along different axes": Program(lambda x: (x.min(axis=1), x.max(axis=0)), (), (BESIDE,)),
    "of different arrays": Program(lambda x, y: (x.min(axis=1), y.max(axis=1)), (), (BESIDE, ALIKE), 2),
    "halves": Program(lambda x: (x[::2].min(axis=1), x[1::2].min(axis=1)), (ALIKE,), (BESIDE,)),
    "one after the other": Program(lambda x: (x + 1, (x + 1).sum(axis=1)), (EQUAL,), (MAPS,)),
    "a map that stays": Program(lambda x: (x + 1, (x + 1) * 2), (EQUAL, FINISH), (MAPS,)),
    "normalised": Program(lambda x: x / np.sqrt((x * x).sum(axis=1, keepdims=True) + 1), (MAPS, FINISH)),
    "finished in another order": Program(lambda x: x.sum(axis=1)[::-1] + 1, (), (FINISH,)),
    "finished and spread": Program(lambda x: x.sum(axis=1)[:, None] + x[:, :1] * x[:1], (MAPS,), (FINISH,)),
    "kernel matrix": Program(kernel_matrix, (MAPS, FINISH), (WRITTEN_OUT,), 2),
    "sums over triples": Program(
        lambda x, y: np.exp(-((x[:, None, None] - y[:, None] * x) ** 2).sum(3)).sum((1, 2)), (MAPS, WRITTEN_OUT), (), 2
    ),
    "least of triples": Program(
        lambda x, y: ((x[:, None, None] - y[:, None] * x) ** 2).sum(3).min((1, 2)), (MAPS, WRITTEN_OUT), (), 2
    ),
    "turned": Program(lambda x: (np.exp(x).T + 1) @ x, (MAPS,)),
    "slices of a map": Program(lambda x: np.square(x)[1:, ::-1] - np.square(x)[:-1], (EQUAL, MAPS)),
    "gradient": Program(gradient, (MAPS,)),
    "means of means": Program(lambda x: mean(mean(x)), (CHAIN,), (MAPS,)),
    "means of a map's": Program(lambda x: mean(mean(np.exp(x), "nearest"), "mirror"), (CHAIN,)),
    "means that are wanted, too": Program(lambda x: (y := mean(x), mean(y)), (), (CHAIN,)),
    "means beyond the other end": Program(lambda x: mean(mean(x), "wrap"), (), (CHAIN,)),
    "joined": Program(lambda x: np.square(x).reshape(-1) + 1, (MAPS,)),
    "joined and added up": Program(lambda x: (np.square(x) + 1).reshape(-1).sum(), (MAPS,)),
    "joined, then every fifth": Program(lambda x: np.square(x).reshape(-1)[4::5] + 1, (MAPS,)),
    "joined, then some": Program(lambda x: np.square(x).reshape(-1)[::2] + 1, (), (MAPS,)),
    "joined and turned round": Program(lambda x: np.square(x).reshape(-1)[::-1] + 1, (), (MAPS,)),
    "split": Program(lambda x: np.square(x.reshape(-1)).reshape(x.shape[::-1]) + 1, (MAPS,)),
    "split and turned": Program(lambda x: np.square(x)[:, :, None].reshape(x.shape[0], 1, -1).T + x[0, 0], (MAPS,)),
    "cut across": Program(lambda x: np.square(x).reshape(x.shape[::-1]) + 1, (), (MAPS,)),
    "scanned as one": Program(lambda x: np.cumsum(np.square(x).reshape(-1)), (), (MAPS,)),
    "same sums": Program(lambda x: x.sum(axis=1, keepdims=True) * x.sum(axis=1)[0], (EQUAL,)),
    "same maximum, without axes": Program(lambda x: (x - x.max(keepdims=True)) * x.max() + x, (EQUAL,)),
    "same sums, both wanted": Program(lambda x: (x.sum(axis=1, keepdims=True), x.sum(axis=1)), (BESIDE,), (EQUAL,)),
    "largest prefix": Program(lambda x: np.cumsum(x, axis=1).max(axis=1), (REDUCED_SCAN,)),
    "sum of products": Program(
        lambda x: np.cumprod(x, axis=0).sum(axis=0), (REDUCED_SCAN,), (SCANNED_SCAN,), 1, np.int64
    ),
    "sums of products": Program(
        lambda x: np.cumsum(np.cumprod(x, axis=1), axis=1), (SCANNED_SCAN,), (REDUCED_SCAN,), 1, np.int64
    ),
    "sums of windows": Program(lambda x: windows(np.square(x), 2, 3)[::2, 1:].sum(axis=(2, 3)), (MAPS,)),
    "windows turned": Program(lambda x: windows(x + 1, 1, 3).T.max(axis=0), (MAPS,)),
    "sums of products of floats": Program(lambda x: np.cumprod(x, axis=0).sum(axis=0), (), (REDUCED_SCAN,)),
    "largest prefix of integers": Program(
        lambda x: np.cumsum(x, axis=1).max(axis=1), (), (REDUCED_SCAN,), 1, np.int32
    ),
    "product of sums": Program(lambda x: np.cumsum(x, axis=1).prod(axis=1), (), (REDUCED_SCAN,)),
    "sums of sums": Program(lambda x: np.cumsum(np.cumsum(x, axis=1), axis=1), (), (SCANNED_SCAN,)),
    "along another axis": Program(lambda x: np.cumprod(x, axis=1).sum(axis=0), (), (REDUCED_SCAN,)),
    "a scan that stays": Program(lambda x: (y := np.cumprod(x, axis=1), y.sum(axis=1)), (), (REDUCED_SCAN,)),
    "scan of a product": Program(lambda x, y: np.cumsum(x * y, axis=1) + 1, (MAPS, FINISH), (), 2),
    "places": Program(lambda x: (x.argmax(axis=1), x.max(axis=1)), (BESIDE,)),
    "several operands": Program(lambda x, y: np.einsum("ij,kj,kl->il", x + 1, y, y * 2), (MAPS,), (), 2),
    "nothing to do": Program(lambda x: x.sum(axis=1)),
}  # fmt: skip


def value_of(x: Any) -> Any:
    """Elements of an Array, or what it is."""
    return x.numpy() if isinstance(x, mdhnp.Array) else x
