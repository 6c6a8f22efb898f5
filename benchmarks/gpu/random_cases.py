"""Random computations without matrix instructions, described as `benchmarks.ranking.CASES` are.

Transpositions, maps of permuted views, reductions over several axes, some with factors, and stencils, of 10^6 to 10^8
points: with extents that divide nothing, and small ones, also innermost.
"""

import random
from collections.abc import Sequence
from itertools import product
from math import prod

__all__ = ["Described", "random_cases"]

#: Scalar function, operator and reduced dimensions, views, extents, type.
Described = tuple[str, str, str, str, str]

_DIMS = "ijklm"
#: Bytes of all arrays, at most.
_MOST = 1.2e9


def random_cases(count: int, seed: int) -> list[Described]:
    """Draw computations; the same seed gives the same ones."""
    rng, found = random.Random(seed), list[Described]()
    kinds = (_transposed, _permuted, _reduced, _transposed, _weighted, _stencil, _permuted, _reduced, _stencil)
    while len(found) < count:
        drawn = kinds[len(found) % len(kinds)](rng)
        if drawn is not None and drawn not in found:
            found.append(drawn)
    return found


def _extents(rng: random.Random, rank: int) -> dict[str, int]:
    """Give so many extents of 10^6 to 10^8 points: small ones, multiples of powers of two, and any others."""
    total, sizes = 10 ** rng.uniform(6, 8), [0] * rank
    for d in range(1, rank):
        if rng.random() < 0.25:
            sizes[d] = rng.randint(2, 20)
    rng.shuffle(sizes)
    free = [d for d in range(rank) if not sizes[d]]
    shares = [rng.uniform(0.5, 1.5) for _ in free]
    left = total / prod(n for n in sizes if n)
    for d, share in zip(free, shares, strict=True):
        n = max(round(left ** (share / sum(shares))), 2)
        step = rng.choice((1, 1, 1, 4, 10, 32))
        sizes[d] = -(-n // step) * step
    return dict(zip(_DIMS[:rank], sizes, strict=True))


def _type(rng: random.Random) -> str:
    return rng.choice(("f4", "f4", "f4", "f4", "f4", "f4", "f8", "i4", "f2"))


def _described(
    function: str, combined: str, inputs: list[str], output: str, extents: dict[str, int], dtype: str, mode: str = ""
) -> Described | None:
    """Describe a computation; None if its arrays are too large."""
    arrays = {view: prod(extents.get(d, 1) for d in view[2:-1].split(",")) for view in (*inputs, output)}
    if sum(arrays.values()) * int(dtype[1]) > _MOST:
        return None
    sizes = " ".join(f"{d} {n}" for d, n in extents.items())
    return function, combined, f"{', '.join(inputs)} -> {output}{mode and ' | ' + mode}", sizes, dtype


def _view(name: str, dims: list[str]) -> str:
    return f"{name}[{','.join(dims)}]"


def _shuffled(rng: random.Random, dims: list[str]) -> list[str]:
    return rng.sample(dims, len(dims))


def _transposed(rng: random.Random) -> Described | None:
    extents = _extents(rng, rng.choice((2, 2, 3, 3, 4, 4, 5)))
    dims = [*extents]
    turned = _shuffled(rng, dims)
    if turned == dims:
        return None
    return _described("identity", "", [_view("x", dims)], _view("y", turned), extents, _type(rng))


def _permuted(rng: random.Random) -> Described | None:
    """A map of two or three views in different orders, some of which lack dimensions."""
    extents = _extents(rng, rng.choice((2, 3, 3, 4)))
    dims = [*extents]
    inputs = [_view("x", _shuffled(rng, dims))]
    for name in "yz"[: rng.randint(1, 2)]:
        some = dims if rng.random() < 0.5 else rng.sample(dims, rng.randint(1, len(dims)))
        inputs.append(_view(name, _shuffled(rng, some)))
    function = rng.choice(("multiply", "plus", "distance") if len(inputs) == 2 else ("line", "sum"))
    return _described(function, "", inputs, _view("o", dims), extents, _type(rng))


def _combined(rng: random.Random, dims: list[str]) -> list[str]:
    return sorted(rng.sample(dims, rng.randint(1, len(dims) if len(dims) < 3 or rng.random() < 0.1 else len(dims) - 1)))


def _reduced(rng: random.Random) -> Described | None:
    """A reduction over some axes, of elements or of distances from what is kept."""
    extents = _extents(rng, rng.choice((2, 2, 3, 3, 4, 5)))
    dims = [*extents]
    combined = _combined(rng, dims)
    kept = [d for d in dims if d not in combined]
    output = kept if rng.random() < 0.7 else _shuffled(rng, kept)
    inputs, function = [_view("x", dims)], rng.choice(("identity", "identity", "square", "exp"))
    dtype = _type(rng)
    if kept and rng.random() < 0.3:
        inputs, function = [*inputs, _view("m", kept)], "spread"
    if function == "exp" and dtype == "i4":
        function = "identity"
    operator = f"{rng.choice(('add', 'add', 'max'))} {''.join(combined)}"
    return _described(function, operator, inputs, _view("s", output), extents, dtype)


def _weighted(rng: random.Random) -> Described | None:
    """A sum over some axes of elements times factors that some dimensions move."""
    extents = _extents(rng, rng.choice((2, 3, 3, 4)))
    dims = [*extents]
    combined = _combined(rng, dims)
    kept = [d for d in dims if d not in combined]
    moved = {*combined[:1], *rng.sample(dims, rng.randint(0, len(dims) - 1))}
    factor = _shuffled(rng, sorted(moved))
    output = kept if rng.random() < 0.7 else _shuffled(rng, kept)
    function, operator = rng.choice((("multiply", "add"), ("multiply", "add"), ("distance", "add"), ("plus", "min")))
    inputs = [_view("x", dims), _view("w", factor)]
    return _described(function, f"{operator} {''.join(combined)}", inputs, _view("s", output), extents, _type(rng))


def _stencil(rng: random.Random) -> Described | None:
    """A sum of neighbours, some with weights, inside of an array or with what lies outside."""
    rank = rng.choice((1, 2, 2, 2, 3, 3, 3))
    extents, reach, shape = _extents(rng, rank), rng.choice((1, 1, 1, 2)), rng.choice(("cross", "cross", "box", "line"))
    mode, dtype = rng.choice(("", "", "constant", "nearest", "mirror")), rng.choice(("f4", "f4", "f4", "f4", "f8"))
    function = rng.choice(("sum", "weighed"))
    if min(extents.values()) <= 2 * reach or (shape == "box" and reach == 2 and rank == 3):
        return None
    return _neighbours([*extents], reach, shape, function, mode, extents, dtype)


def _neighbours(
    dims: Sequence[str], reach: int, shape: str, function: str, mode: str, extents: dict[str, int], dtype: str
) -> Described | None:
    """Describe a stencil: of all neighbours so far away, those along one dimension each, or along the middle one."""
    places, along = [*product(range(-reach, reach + 1), repeat=len(dims))], len(dims) // 2
    if shape == "cross":
        places = [p for p in places if sum(map(bool, p)) <= 1]
    elif shape == "line":
        places = [p for p in places if not any(n for d, n in enumerate(p) if d != along)]
    shift = 0 if mode else reach
    moved = [[f"{d}{n + shift:+d}" if n + shift else d for d, n in zip(dims, p, strict=True)] for p in places]
    views, output = [_view("x", indices) for indices in moved], _view("y", [*dims])
    found = _described(function, "", [_view("x", [*dims])], output, extents, dtype, mode)
    if found is None:
        return None
    factors = [f"w[{n}]" for n in range(len(places))] if function == "weighed" else []
    inputs = ", ".join([*views, *factors])
    return function, "", f"{inputs} -> {output}{mode and ' | ' + mode}", *found[3:]


#: Computations whose default schedules were far from the best.
NAMED: list[Described] = [
    ("identity", "", "x[i,j,k,l] -> y[l,j,k,i]", "i 60 j 70 k 80 l 90", "f4"),
    ("multiply", "add jl", "x[i,j,k,l], w[j,l] -> s[i,k]", "i 90 j 100 k 80 l 110", "f4"),
    ("multiply", "add j", "x[i,j,k], w[k,j] -> s[i,k]", "i 600 j 500 k 400", "f4"),
    ("identity", "add i", "x[i,j] -> s[j]", "i 8192 j 8192", "f4"),
    ("spread", "add i", "x[i,j], m[j] -> s[j]", "i 8192 j 8192", "f4"),
    *filter(
        None,
        (
            _neighbours("ijk", 1, "box", "weighed", "", {"i": 382, "j": 382, "k": 382}, "f4"),
            _neighbours("ijk", 1, "cross", "weighed", "constant", {"i": 384, "j": 384, "k": 384}, "f4"),
            _neighbours("ij", 2, "box", "weighed", "constant", {"i": 4096, "j": 4096}, "f4"),
        ),
    ),
]
