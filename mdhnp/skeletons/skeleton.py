"""What all skeletons share: a computation for each combination of the arrays' axes and types, made when it is needed.

Knows arrays' shapes and types; computes nothing but by `md_hom`.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.errors import ARGUMENTS, raise_named
from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.frontend.map_reduce import operand
from mdhnp.mdh import MdHom, trace
from mdhnp.mdh.combine import CombineSpec
from mdhnp.mdh.mdhom import dimension_names

Shape = tuple[int, ...]
DTypes = tuple[np.dtype[Any], ...]

SYSTEMS = 'Gorlatch & Steuwer, "Towards High-Level Programming for Systems with Many Cores"'
RESULTS = (
    "dtype or sequence of dtype, optional: What text gives that returns none of NumPy's types, or several results "
    "through pointers."
)


@dataclass(frozen=True, eq=False, repr=False)
class Skeleton:
    """A pattern that functions have customised: call it on arrays.

    `origin` is the call that made it, by which it is printed and pickled. `structure` gives what computations depend on
    for arrays of some shapes, `make` the computation for that and types. What customised it: a function of elements,
    the types that text of one returns, an operator that combines these.
    """

    origin: "partial[Skeleton]"
    structure: Callable[[tuple[Shape, ...]], Hashable]
    make: Callable[[Any, DTypes], Computation]
    function: Callable[..., Any] | str | None = None
    results: Any = None
    operator: CombineSpec | None = None
    _made: dict[Hashable, Computation] = field(default_factory=dict)

    def __call__(self, *arrays: npt.ArrayLike) -> Any:
        """Compute; a Python number counts as in NumPy, by the types of the arrays beside it."""
        try:
            given = operands(arrays)
            return self.computation(*given)(*given)
        except ARGUMENTS as error:
            raise_named(self.origin.func.__name__, error)

    def __repr__(self) -> str:
        named = {k: v for k, v in self.origin.keywords.items() if v is not None and v is not False}
        given = [*map(repr, self.origin.args), *[f"{k}={v!r}" for k, v in named.items()]]
        return f"{self.origin.func.__name__}({', '.join(given)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self.origin, ()

    def bind(self, *arrays: npt.ArrayLike) -> MdHom:
        """Give the MdHom for these arrays, for printing, interpreting or scheduling by hand."""
        given = operands(arrays)
        return self.computation(*given).bind(*given)

    def computation(self, *arrays: Any) -> Computation:
        """Give the computation for arrays of these shapes and types; it stays the same while their axes match alike."""
        structure = self.structure(tuple([tuple(a.shape) for a in arrays]))
        dtypes = tuple([a.dtype for a in arrays])
        found = self._made.get((structure, dtypes))
        # Where two threads make one at once, both keep the first.
        return found or self._made.setdefault((structure, dtypes), self.make(structure, dtypes))


def operands(given: Sequence[Any]) -> tuple[Any, ...]:
    """Give arrays for array-likes; Python's numbers get the type that they and the arrays have in common."""
    if all([hasattr(a, "ndim") for a in given]):
        return tuple(given)
    weak = [isinstance(a, int | float | complex) and not isinstance(a, bool | np.generic) for a in given]
    arrays = [a if w else operand(a) for a, w in zip(given, weak, strict=True)]
    if not any(weak) or all(weak):
        return tuple([operand(a) for a in arrays])
    common = np.result_type(*[a if w else a.dtype for a, w in zip(arrays, weak, strict=True)])
    return tuple([np.asarray(a, common) if w else a for a, w in zip(arrays, weak, strict=True)])


def results_of(results: Any) -> tuple[npt.DTypeLike, ...]:
    """Give the types that a caller says text returns."""
    return () if results is None else tuple(results) if isinstance(results, list | tuple) else (results,)


def computation(
    scalar: Callable[..., Any] | str,
    combine: Mapping[str, CombineSpec],
    inputs: Sequence[str],
    dtypes: DTypes,
    results: Any = None,
    count: int | None = None,
    **options: Any,
) -> Computation:
    """Give the computation of accesses, whose results keep the concatenated and scanned dimensions.

    `results` are the types that text returns; `count` is the number of results, where the scalar function's is another.
    """
    types = results_of(results)
    if count is None:
        count = max(len(types), 1) if isinstance(scalar, str) else len(trace(scalar, dtypes).results)
    kept = [name for name, operator in combine.items() if operator.kind != "pw"]
    outputs = [access(f"O{n}", kept) for n in range(count)]
    return md_hom(scalar, combine, f"{', '.join(inputs)} -> {', '.join(outputs)}", results=types or None, **options)


def access(array: str, indices: Sequence[str]) -> str:
    return f"{array}[{','.join(indices)}]"


def accesses(indices: Sequence[Sequence[str]]) -> list[str]:
    """Write one access to each array."""
    return [access(f"A{n}", each) for n, each in enumerate(indices)]


@lru_cache(maxsize=1024)
def broadcast(shapes: tuple[Shape, ...]) -> tuple[int, tuple[tuple[str, ...], ...]]:
    """Give how many dimensions arrays have together, and each one's indices: "0" along axes that are broadcast."""
    whole = np.broadcast_shapes(*shapes)
    dims, indices = list(enumerate(dimension_names(len(whole)))), []
    for shape in shapes:
        own = zip(shape, dims[len(whole) - len(shape) :], strict=True)
        indices.append(tuple(["0" if n == 1 != whole[d] else name for n, (d, name) in own]))
    return len(whole), tuple(indices)
