"""The demo's calls and their data: each a few lines of what a user would write, beside what users write today."""

from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mdhnp
from mdhnp.demo import data
from mdhnp.demo.peers import gaussian_peer, gradients, jacobi, link, link_by_library, min_plus, smooth
from mdhnp.demo.timing import Calls, Case

Array = NDArray[Any]

#: Binomial weights, the usual stand-in for a Gaussian of 5×5.
GAUSSIAN = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]).astype(np.float32) / 256

#: Probability m that a field agrees in two records of one person: names 0.975 and parts of the date of birth 0.99, as
#: cancer registries set them; address fields as their municipality key, 0.9.
AGREEMENT = {
    "given_name": 0.975, "surname": 0.975, "year": 0.99, "month": 0.99, "day": 0.99, "street_number": 0.9,
    "address_1": 0.9, "suburb": 0.9, "postcode": 0.9, "state": 0.9,
}  # fmt: skip

#: Below the first no match, above the second a match, in bits.
THRESHOLDS = (15.0, 45.0)


def differences(n: Any) -> Any:
    """Half the difference of the neighbours of `n` along rows and along columns."""
    return (n[0, 1] - n[0, -1]) / 2, (n[1, 0] - n[-1, 0]) / 2


def mean_of_six(n: Any) -> Any:
    """Mean of the neighbours of `n` in three dimensions, as Jacobi's method for the heat equation takes it."""
    return (n[1, 0, 0] + n[-1, 0, 0] + n[0, 1, 0] + n[0, -1, 0] + n[0, 0, 1] + n[0, 0, -1]) / 6


def einsum(subscripts: str) -> Calls:
    """Return an einsum beside NumPy's."""

    def in_numpy(*arrays: Array) -> Array:
        # The optimized order may end with a view whose memory is in another order; our result is in C order.
        return np.asarray(np.einsum(subscripts, *arrays, optimize=True), order="C")

    return f'einsum("{subscripts}", …)', partial(mdhnp.einsum, subscripts), "np.einsum, optimized", in_numpy


#: Computations that the command line knows by these names, too.
CALLS: Mapping[str, Calls] = {
    "matmul": ("matmul(a, b)", mdhnp.matmul, "np.matmul", np.matmul),
    "dot": ("dot(a, b)", mdhnp.dot, "np.dot", np.dot),
    "gemv": ("gemv(a, x)", mdhnp.gemv, "np.matmul", np.matmul),
    "gemm": ("gemm(a, b)", mdhnp.gemm, "np.matmul", np.matmul),
    "gaussian": (
        'stencil(a, gaussian, "reflect")', partial(mdhnp.stencil, weights=GAUSSIAN, mode="reflect"),
        "NumPy slices", partial(smooth, weights=GAUSSIAN),
    ),
    "gradient": (
        'stencil(a, differences, "nearest")', partial(mdhnp.stencil, weights=differences, mode="nearest"),
        "NumPy slices", gradients,
    ),
    "jacobi": (
        "stencil(a, mean of 6 neighbours)", partial(mdhnp.stencil, weights=mean_of_six), "NumPy slices", jacobi
    ),
    "minplus": (
        "md_hom(…)(a, b), min-plus",
        mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]"),
        "NumPy, by rows", min_plus,
    ),
    "integral": (
        "md_hom(…)(a), prefix sums",
        mdhnp.md_hom(lambda x: x, {"i": mdhnp.ps("add"), "j": mdhnp.ps("add")}, "x[i,j] -> y[i,j]"),
        "np.cumsum, twice", lambda a: a.cumsum(axis=0, dtype=a.dtype).cumsum(axis=1, dtype=a.dtype),
    ),
    "prl": (
        "prl(new, existing, m=…)", partial(mdhnp.prl, m=AGREEMENT, thresholds=THRESHOLDS),
        "NumPy, 100 at a time", partial(link, m=AGREEMENT, thresholds=THRESHOLDS),
    ),
}  # fmt: skip


def all_cases() -> Iterator[Case]:
    """Give the cases in the order of the table."""
    yield from _digits()
    yield from _patches()
    yield _contraction()
    yield from _stencils()
    yield from _linkage()
    yield Case.of(CALLS["integral"], "photograph, int32", data.picture().astype(np.int32))


def pictures() -> dict[str, Array]:
    """Compute the photograph's filtered versions, by file name."""
    photograph = data.picture().astype(np.float32)
    smoothed = mdhnp.stencil(photograph, GAUSSIAN, mode="reflect")
    across, down = mdhnp.stencil(photograph, differences, mode="nearest")
    return {"photograph": photograph, "smoothed": smoothed, "edges": 255 - 4 * np.hypot(across, down)}


def persons() -> tuple[dict[str, Array], dict[str, Array], Array]:
    """Give the person records with the date of birth in three columns, and the truth.

    The social security number is left out, since it alone would find nearly every pair.
    """
    new, existing, truth = data.febrl4()
    for side in (new, existing):
        born = side["date_of_birth"].astype("U8")
        for name, part in (("year", slice(0, 4)), ("month", slice(4, 6)), ("day", slice(6, 8))):
            side[name] = np.array([date[part] for date in born.tolist()])
    return new, existing, truth


def _digits() -> Iterator[Case]:
    """Handwritten digits, the usual first steps of machine learning."""
    images, _ = data.digits()
    centred = images - images.mean(axis=0)
    wide = centred.astype(np.float64)
    yield Case.of(einsum("ni,nj->ij"), "digits, 1797×64, with itself", centred, centred)

    angle = np.pi / 8 * np.outer(np.arange(8), np.arange(8) + 0.5)
    cosines = (np.cos(angle) * np.sqrt(np.where(np.arange(8) == 0, 1, 2) / 8)[:, None]).astype(np.float32)
    yield Case.of(einsum("ij,njk,lk->nil"), "cosines of digits", cosines, images.reshape(-1, 8, 8), cosines)

    gram = images @ images.T
    transposed = partial(mdhnp.gemm, trans_b=True)
    yield Case.of(
        ("gemm(a, a, trans_b=True)", transposed, "np.matmul", lambda a, b: a @ b.T),
        "digits, Gram matrix", images, images,
    )  # fmt: skip
    # NumPy's own sum of so many numbers is off by 1.3e-5.
    yield Case.of(CALLS["dot"], "Gram matrix, with itself", gram.ravel(), gram.ravel(), tolerance=1e-4)

    # Shortest ways of two steps between near digits: what Isomap repeats until nothing changes.
    some = wide[:600]
    distance = np.sqrt(((some[:, None] - some) ** 2).sum(axis=2)).astype(np.float32)
    near = np.where(distance <= np.partition(distance, 10, axis=1)[:, 10:11], distance, np.float32(np.inf))
    yield Case.of(CALLS["minplus"], "600 digits' neighbours", near, near)


def _patches() -> Iterator[Case]:
    """All 8×8 patches of the photograph: whitened, and the right-hand side of a least-squares fit to one value each."""
    windows = np.lib.stride_tricks.sliding_window_view(data.picture().astype(np.float32) / 255, (8, 8))
    patches = windows.reshape(-1, 64) - windows.mean()
    values, vectors = np.linalg.eigh(patches.T @ patches / len(patches))
    yield Case.of(CALLS["matmul"], "photograph's patches, whitening", patches, vectors / np.sqrt(values + 1e-3))
    fit = partial(mdhnp.gemv, trans=True)
    calls = "gemv(a, x, trans=True)", fit, "np.matmul", lambda a, x: a.T @ x
    values = np.random.default_rng(0).random(len(patches), np.float32)
    # NumPy's own sums are off by 1.5e-4.
    yield Case.of(calls, f"{len(patches)}×64", patches, values, tolerance=1e-3)


def _contraction() -> Case:
    """One contraction of coupled-cluster theory, CCSD(T), from the TCCG list, with generated tensors."""
    extents = {"a": 24, "b": 16, "c": 16, "d": 16, "e": 24, "f": 16, "g": 24}
    rng = np.random.default_rng(0)
    a, b = (rng.random([extents[label] for label in term], np.float32) for term in ("badg", "cgfe"))
    return Case.of(einsum("badg,cgfe->fedcba"), "generated, CCSD(T)", a, b)


def _stencils() -> Iterator[Case]:
    photograph = data.picture().astype(np.float32)
    call, ours, *_ = CALLS["gaussian"]
    calls = (call, ours, *gaussian_peer())
    tiles = np.tile(photograph, (4, 4))
    right = partial(smooth, tiles.astype(float), GAUSSIAN)
    yield Case.of(calls, "16 photographs, 2048×2048", tiles, expected=right)
    yield Case.of(CALLS["gradient"], "photograph, 2 results", photograph)
    heat = np.random.default_rng(0).random((130, 130, 130), np.float32)
    yield Case.of(CALLS["jacobi"], "generated, 130×130×130", heat)


def _linkage() -> Iterator[Case]:
    new, existing, truth = persons()

    def note(links: mdhnp.Links) -> str:
        right = links.index == truth
        texts = []
        for what, chosen in (("matches", links.status == 2), ("with possible matches", links.status >= 1)):
            precision, recall = right[chosen].mean(), right[chosen].sum() / len(truth)
            texts.append(f"{what}: {chosen.sum()}, precision {precision:.4f}, recall {recall:.4f}")
        return "; ".join([*texts, f"the true record is the heaviest for {right.mean():.2%}"])

    yield Case.of(CALLS["prl"], "febrl4, 5000×5000", new, existing, note=note)
    if find_spec("recordlinkage") is None:
        return
    few = {name: column[:100] for name, column in new.items()}
    _, ours, _, in_numpy = CALLS["prl"]
    library = partial(link_by_library, m=AGREEMENT, thresholds=THRESHOLDS)
    calls = ("prl(new[:100], existing, m=…)", ours, "recordlinkage", library)
    yield Case.of(calls, "febrl4, 100×5000", few, existing, expected=partial(in_numpy, few, existing))
