"""The demo's calls and their data: each a few lines of what a user would write, beside what users write today."""

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mdhnp
from mdhnp.demo import data
from mdhnp.demo.peers import gaussian_peer, gradients, jacobi, link, link_by_library, min_plus, smooth
from mdhnp.demo.timing import Case

__all__ = ["AGREEMENT", "GAUSSIAN", "THRESHOLDS", "all_cases", "differences", "mean_of_six", "persons", "pictures"]

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


def all_cases() -> Iterator[Case]:
    """Give the cases in the order of the table."""
    yield from _digits()
    yield _contraction()
    yield from _stencils()
    yield from _linkage()
    yield _scan()


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
    yield Case(
        'einsum("ni,nj->ij", x, x)',
        "digits, 1797×64",
        lambda: mdhnp.einsum("ni,nj->ij", centred, centred),
        lambda: np.einsum("ni,nj->ij", centred, centred, optimize=True),
        "np.einsum, optimized",
        lambda: wide.T @ wide,
    )

    tiles = images.reshape(-1, 8, 8)
    angle = np.pi / 8 * np.outer(np.arange(8), np.arange(8) + 0.5)
    cosines = (np.cos(angle) * np.sqrt(np.where(np.arange(8) == 0, 1, 2) / 8)[:, None]).astype(np.float32)
    transform = "ij,njk,lk->nil"
    yield Case(
        f'einsum("{transform}", c, x, c)',
        "cosines of digits",
        lambda: mdhnp.einsum(transform, cosines, tiles, cosines),
        lambda: np.einsum(transform, cosines, tiles, cosines, optimize=True),
        "np.einsum, optimized",
        lambda: cosines.astype(float) @ tiles @ cosines.T.astype(float),
    )

    values, vectors = np.linalg.eigh(wide.T @ wide / len(wide))
    whiten = (vectors / np.sqrt(values + 1e-3)).astype(np.float32)
    yield Case(
        "matmul(x, w)",
        "digits, whitening",
        lambda: mdhnp.matmul(centred, whiten),
        lambda: np.matmul(centred, whiten),
        "np.matmul",
        lambda: wide @ whiten,
    )

    gram = images @ images.T
    yield Case(
        "gemm(x, x, trans_b=True)",
        "digits, Gram matrix",
        lambda: mdhnp.gemm(images, images, trans_b=True),
        lambda: images @ images.T,
        "np.matmul",
        lambda: images.astype(float) @ images.T.astype(float),
    )
    start = np.random.default_rng(0).random(len(gram), np.float32)
    yield Case(
        "gemv(gram, v)",
        "1797×1797",
        lambda: mdhnp.gemv(gram, start),
        lambda: gram @ start,
        "np.matmul",
        lambda: gram.astype(float) @ start,
    )
    pixels = images.ravel()
    yield Case(
        "dot(p, p)",
        "all 115008 pixels",
        lambda: mdhnp.dot(pixels, pixels),
        lambda: np.dot(pixels, pixels),
        "np.dot",
        lambda: pixels.astype(float) @ pixels,
    )

    # Shortest ways of two steps between near digits: what Isomap repeats until nothing changes.
    some = wide[:600]
    distance = np.sqrt(((some[:, None] - some) ** 2).sum(axis=2)).astype(np.float32)
    near = np.where(distance <= np.partition(distance, 10, axis=1)[:, 10:11], distance, np.float32(np.inf))
    shortest = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")
    yield Case(
        "md_hom(…)(d, d), min-plus",
        "600 digits' neighbours",
        lambda: shortest(near, near),
        lambda: min_plus(near, near),
        "NumPy, by rows",
        lambda: min_plus(near.astype(float), near.astype(float)),
    )


def _contraction() -> Case:
    """One contraction of coupled-cluster theory, CCSD(T), from the TCCG list, with generated tensors."""
    extents = {"a": 24, "b": 16, "c": 16, "d": 16, "e": 24, "f": 16, "g": 24}
    rng = np.random.default_rng(0)
    a, b = (rng.random([extents[label] for label in term], np.float32) for term in ("badg", "cgfe"))
    subscripts = "badg,cgfe->fedcba"

    def in_numpy(x: Array, y: Array) -> Array:
        # Without the copy NumPy gives a view whose memory is in another order.
        return np.ascontiguousarray(np.einsum(subscripts, x, y, optimize=True))

    return Case(
        f'einsum("{subscripts}", a, b)',
        "generated, CCSD(T)",
        lambda: mdhnp.einsum(subscripts, a, b),
        lambda: in_numpy(a, b),
        "np.einsum, optimized",
        lambda: in_numpy(a.astype(float), b.astype(float)),
    )


def differences(n: Any) -> Any:
    """Half the difference of the neighbours of `n` along rows and along columns."""
    return (n[0, 1] - n[0, -1]) / 2, (n[1, 0] - n[-1, 0]) / 2


def mean_of_six(n: Any) -> Any:
    """Mean of the neighbours of `n` in three dimensions, as Jacobi's method for the heat equation takes it."""
    return (n[1, 0, 0] + n[-1, 0, 0] + n[0, 1, 0] + n[0, -1, 0] + n[0, 0, 1] + n[0, 0, -1]) / 6


def _stencils() -> Iterator[Case]:
    photograph = data.picture().astype(np.float32)
    name, peer = gaussian_peer(photograph)
    yield Case(
        'stencil(p, gaussian, "reflect")',
        "photograph, 512×512",
        lambda: mdhnp.stencil(photograph, GAUSSIAN, mode="reflect"),
        peer,
        name,
        lambda: smooth(photograph.astype(float), GAUSSIAN),
    )
    yield Case(
        'stencil(p, differences, "nearest")',
        "photograph, 2 results",
        lambda: mdhnp.stencil(photograph, differences, mode="nearest"),
        lambda: gradients(photograph),
        "NumPy slices",
        lambda: gradients(photograph.astype(float)),
    )
    heat = np.random.default_rng(0).random((130, 130, 130), np.float32)
    yield Case(
        "stencil(v, mean of 6 neighbours)",
        "generated, 130×130×130",
        lambda: mdhnp.stencil(heat, mean_of_six),
        lambda: jacobi(heat),
        "NumPy slices",
        lambda: jacobi(heat.astype(float)),
    )


def _linkage() -> Iterator[Case]:
    new, existing, truth = persons()
    today = partial(link, new, existing, AGREEMENT, THRESHOLDS)

    def note(links: mdhnp.Links) -> str:
        right = links.index == truth
        texts = []
        for what, chosen in (("matches", links.status == 2), ("with possible matches", links.status >= 1)):
            precision, recall = right[chosen].mean(), right[chosen].sum() / len(truth)
            texts.append(f"{what}: {chosen.sum()}, precision {precision:.4f}, recall {recall:.4f}")
        return "; ".join([*texts, f"the true record is the heaviest for {right.mean():.2%}"])

    yield Case(
        "prl(new, existing, m=…)",
        "febrl4, 5000×5000",
        lambda: mdhnp.prl(new, existing, m=AGREEMENT, thresholds=THRESHOLDS),
        today,
        "NumPy, 100 by 5000",
        today,
        note=note,
    )
    if find_spec("recordlinkage") is None:
        return
    few = {name: column[:100] for name, column in new.items()}
    yield Case(
        "prl(new[:100], existing, m=…)",
        "febrl4, 100×5000",
        lambda: mdhnp.prl(few, existing, m=AGREEMENT, thresholds=THRESHOLDS),
        partial(link_by_library, few, existing, AGREEMENT, THRESHOLDS),
        "recordlinkage",
        partial(link, few, existing, AGREEMENT, THRESHOLDS),
    )


def _scan() -> Case:
    photograph = data.picture().astype(np.int32)
    integral = mdhnp.md_hom(lambda x: x, {"i": mdhnp.ps("add"), "j": mdhnp.ps("add")}, "x[i,j] -> y[i,j]")
    return Case(
        "md_hom(…)(p), integral image",
        "photograph, int32",
        lambda: integral(photograph),
        lambda: photograph.cumsum(axis=0, dtype=np.int32).cumsum(axis=1, dtype=np.int32),
        "np.cumsum, twice",
        lambda: photograph.cumsum(axis=0).cumsum(axis=1),
    )
