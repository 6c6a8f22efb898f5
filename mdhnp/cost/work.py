"""What an MDH asks for, whoever computes it: operations by type, bytes; and the seconds that a machine takes for it.

Operations are counted in simple ones of vectors, by one table of weights. Seconds are those where no schedule is known,
by kernels and by NumPy; what a known schedule makes of work the models in `schedule/` say. By operations, too, pairs
of operands are chosen that are multiplied first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import NamedTuple

from mdhnp.cost.machine import Machine, NumpyRates
from mdhnp.mdh import Computation, Function, MdHom, View

#: Simple operations that one of these takes as long as; all others are simple. Measured as what one more operation of
#: each kind adds to a sum over 4 million points in float32, relative to a multiplication: by kernels on one core of an
#: AMD EPYC (Zen 5), between those of Intel's runtime, which are nearer, and those of PoCL. Remainders are computed
#: element by element and take some hundred times as long in float32, but few integers' do. Of OpenCL C text (`text`)
#: nothing is known.
_WEIGHTS = {
    "param": 0, "const": 0, "index": 0, "positive": 0, "cast": 0.5, "maximum": 2, "minimum": 2, "fmax": 2, "fmin": 2,
    "sign": 2, "divide": 3, "reciprocal": 3, "sqrt": 5, "exp": 9, "exp2": 8, "log": 14, "log2": 14, "log10": 14,
    "expm1": 25, "log1p": 25, "sin": 30, "cos": 30, "tan": 30, "arcsin": 15, "arccos": 15, "arctan": 17, "arctan2": 28,
    "sinh": 25, "cosh": 25, "tanh": 20, "arcsinh": 35, "arccosh": 35, "arctanh": 45, "cbrt": 40, "hypot": 12,
    "power": 40, "logaddexp": 55, "nextafter": 9, "remainder": 100, "fmod": 100, "floor_divide": 100,
    "text": 10,
}  # fmt: skip
#: Simple operations in the time that one of a row's two outermost vectors is read in, if some of it may lie outside:
#: half of 8 cycles, as measured of vectors twice as wide (Intel Xeon; two convolutions of 64 x 64 and 1024 x 1024).
_BORDER = 128
#: Simple operations that take as long as a pass of a NumPy ufunc over an element takes besides: by NumPy 2.4 on the
#: same core, on arrays in its caches, remainders take 50 times as long as additions, `exp` 3 times.
_PASS = 4
#: What an operation of two operands that share labels counts, and a twentieth more of two that share none.
_SHARING, _APART = 20, 21
#: Multiply-adds up to which OpenBLAS uses one thread.
_ONE_THREAD = 1 << 20
#: Bytes of operands and results that a core's caches hold.
_CORE_CACHES = 1 << 20
#: Bytes of arrays that a CPU's last cache may hold already: Xeon's and EPYC's have 32 to 64 MB for a program.
_CACHED = 64 << 20


class Work(NamedTuple):
    """Operations and bytes."""

    #: Simple operations (by `weight`; a multiplication and its addition are two) in types of up to 32 bits, and in
    #: MDHs that compute in double precision.
    float32: float
    float64: float
    #: Bytes of all elements of inputs that are read, each once, and of results.
    read: int
    written: int


class NumpyWork(NamedTuple):
    """What NumPy's function for an MDH does."""

    #: Character of the result's type.
    char: str
    #: Multiply-adds that BLAS does, in that type.
    multiplied: int
    #: Points of all other loops; a sixth of them where these walk along rows of real numbers.
    walked: int
    #: Bytes of operands and results.
    moved: int
    #: Bytes that are copied, to be in another order or of another type.
    copied: int


def work(h: Computation) -> Work:
    """Return what an MDH, or several as one, asks for.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, md_hom, pw
    >>> a, b = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    >>> work(md_hom(np.multiply, {"i": cc, "k": pw("add")}, "A[i,k], b[k] -> c[i]").bind(a, b))
    Work(float32=12.0, float64=0.0, read=36, written=8)
    """
    single = double = 0.0
    for one in h.mdhoms:
        if any([t.char in "dD" for t in one.dtypes]):
            double += operation_count(one)
        else:
            single += operation_count(one)
    return Work(single, double, sum([bytes_read(h, v) for v in h.inputs]), sum([v.element_bytes for v in h.outputs]))


def bytes_read(h: Computation, view: View) -> int:
    """Return the bytes of an input's elements, where its points read them all."""
    return min(prod(view.shape), h.points * len(view.accesses)) * view.dtype.itemsize


def operation_count(h: MdHom) -> float:
    """Return the simple operations of all points, of combining them and of what is done with results."""
    kept = prod([n for n, c in zip(h.extents, h.combine, strict=True) if c.kind != "pw"])
    combined = 0.0 if h.operator is None else weight(h.operator.function)
    return h.points * (weight(h.scalar) + combined) + kept * (0.0 if h.finish is None else weight(h.finish))


def loads(h: MdHom) -> float:
    """Return the elements that are loaded for a point, where one that several results read is loaded once for them."""
    kept = [d for d, c in enumerate(h.combine) if c.kind != "pw"]
    accesses = [access for view in h.inputs for access in view.accesses]
    moving = [{d for index in access for d in index.dims()} for access in accesses]
    return sum([1 / max(prod([h.extents[d] for d in kept if d not in dims]), 1) for dims in moving])


def slides(h: MdHom) -> bool:
    """Whether it reduces what neighbouring results read, too, as convolutions do."""
    reduced, extents = h.dims("pw"), h.extents
    for index in [index for view in h.inputs for access in view.accesses for index in access if len(index.dims()) > 1]:
        reach = sum([abs(c) * (extents[d] - 1) for d, c in enumerate(index.coefficients) if d in reduced])
        if any([0 < abs(c) <= reach for d, c in enumerate(index.coefficients) if d not in reduced]):
            return True
    return False


def at_borders(h: MdHom) -> float:
    """Return the operations that a map's point takes longer because vectors at both ends of rows lie outside, too."""
    last = [access[-1] for view in h.inputs if view.boundary for access in view.accesses if access]
    return sum([2 * _BORDER / max(h.extents[-1], 1) for index in last if index.dims() and index.constant])


@lru_cache(maxsize=1024)
def weight(function: Function) -> float:
    """Return the simple operations that one application of a function takes as long as.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import trace
    >>> weight(trace(lambda x: np.exp(x) + 1, [np.float32]))
    10.0
    """
    return float(sum(weights(function).values()))


def weights(function: Function) -> dict[int, float]:
    """Return the simple operations of each instruction that some result depends on, by its position in the body."""
    return {n: _WEIGHTS.get(function.body[n].op, 1) for n in function.live()}


def passes(function: Function) -> int:
    """Return the additions of whole arrays that NumPy's ufuncs for a function take as long as, at least one."""
    each = [step.op for step in (function.body[n] for n in function.live()) if step.op not in ("param", "const")]
    return max(round(sum([1 + (_WEIGHTS.get(op, 1) - 1) / _PASS for op in each])), 1)


def seconds(work: Work, machine: Machine, *, cached: bool = False) -> float:
    """Return the seconds that no schedule gets below, the launch aside: the roofline (Williams et al., 2009).

    Where arrays may be `cached`, a CPU reads what its last cache holds in no time.
    """
    computing = (work.float32 / machine.float32 + work.float64 / machine.float64) / 2  # a multiply-add is two
    held = _CACHED if cached and machine.kind == "cpu" else 0
    return max(computing, (work.read + work.written - held) / machine.memory)


def numpy_seconds(work: NumpyWork, rates: NumpyRates) -> tuple[float, float]:
    """Return the seconds that a function of NumPy's takes by estimate, and at least."""
    double = work.char in "dD"
    parts = 4 if work.char in "FD" else 1  # multiply-adds of real numbers in one of complex ones
    core, threads = (rates.float64, rates.threads64) if double else (rates.float32, rates.threads32)
    loop = {"e": rates.loop_float16, "F": rates.loop_complex64, "D": rates.loop_complex128}.get(work.char, rates.loop)
    multiplied = parts * work.multiplied
    few, fastest = min(multiplied, _ONE_THREAD), max(threads, core)
    multiplying = few / core + (multiplied - few) / fastest
    # BLAS reads ahead while it multiplies; loops that walk through arrays wait for them.
    waiting = work.walked / loop + work.copied / rates.copying
    floor = max(multiplied / fastest, max(work.moved - _CACHED, 0) / rates.memory)
    reading = work.moved / (rates.cache if work.moved <= _CORE_CACHES else rates.memory)
    return rates.call + max(multiplying, reading) + waiting, rates.call + floor


def shared_labels(terms: Sequence[str], output: str) -> list[str]:
    """Return the labels of each operand that are in the output or in another operand.

    Others are summed over before any product (mdhnp/fusion/least_work.py): they cost none.
    """
    having = Counter([label for term in terms for label in {*term}])
    return ["".join([label for label in term if label in output or having[label] > 1]) for term in terms]


def first_pair(terms: Sequence[str], output: str, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return which two of several operands to multiply first: with the others at once, that is the fewest operations.

    Two that have labels, but none in common, come first only where that saves more than a twentieth: what was
    multiplied by a vector is then multiplied by a stack of them.
    """
    shared = [{*labels} for labels in shared_labels(terms, output)]

    def operations(pair: tuple[int, int]) -> int:
        """Count multiplications, and additions where labels are summed over."""
        a, b = (shared[n] for n in pair)
        others = {*output}.union(*[shared[n] for n in range(len(terms)) if n not in pair])
        first, kept = a | b, (a | b) & others
        last = kept.union(others)
        each = ((first, first != kept), (last, last != {*output}))
        weight = _APART if a and b and a.isdisjoint(b) else _SHARING
        return weight * sum([prod([sizes[label] for label in labels]) * (1 + sums) for labels, sums in each])

    return min(combinations(range(len(terms)), 2), key=operations)
