"""Contractions of any number of operands: one MDH for one or two, pair by pair along a path for more.

Takes labelled axes and arrays' layouts. It must not know what subscripts look like, nor devices.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.cost import first_pair, shared_labels
from mdhnp.frontend.contraction import Terms, contraction, extents
from mdhnp.frontend.map_reduce import convert, pointwise
from mdhnp.mdh import Graph, MdHom, Step

Array = npt.NDArray[Any]

#: Where a contraction's operands are among all, which the results of those before it follow; its terms, its labels.
_Positions = tuple[tuple[int, ...], Terms, str]
_Product = Callable[[Terms, str, Sequence[Array]], MdHom]

#: Operands up to which two methods search paths; those of a step that others were joined to, at most.
_SEARCHED, _TOGETHER = 8, 8


def contracted(terms: Terms, output: str, arrays: Sequence[Array], dtype: Any, optimize: Any) -> MdHom | Graph:
    """Multiply all operands and add over the labels that are not in the output; the result is C-contiguous.

    `optimize` says in which order more than two operands are contracted: the name of a method of opt_einsum's, with a
    limit of memory or without, or a path; all at once for False and None. Where no path was given, a temporary each of
    whose elements would be read once, by what multiplies it, is none: that multiplies what it would be made of.
    """
    if len(arrays) < 3 or optimize is False or optimize is None:
        return contraction(terms, output, arrays, dtype)
    # Temporaries of float16 operands are float32, as all of it would be in one kernel.
    computed = np.dtype(np.float32) if dtype == np.float16 else dtype
    graph = along_path(terms, output, arrays, optimize, partial(contraction, dtype=computed))
    if computed == dtype:
        return graph
    last = stand_in(graph.steps[-1].mdhom.outputs[0].shape, computed)
    rounded = Step(pointwise(convert(computed, dtype), [last]), graph.results)
    return Graph.ending(len(arrays), [*graph.steps, rounded])


def along_path(terms: Terms, output: str, arrays: Sequence[Array], optimize: Any, product: _Product) -> Graph:
    """Contract operands along a path by products that take what `contraction` takes; else as in :func:`contracted`."""
    values = list(arrays)
    steps = []
    for positions, now, kept in contractions(terms, output, tuple(a.shape for a in arrays), optimize):
        h = product(now, kept, [values[p] for p in positions])
        steps.append(Step(h, positions))
        (view,) = h.outputs
        values.append(stand_in(view.shape, view.dtype))
    return Graph.ending(len(arrays), steps)


def stand_in(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Give something with the layout of a C-contiguous array, and no memory of its own."""
    strides = [dtype.itemsize * prod(shape[n + 1 :]) for n in range(len(shape))]
    return np.lib.stride_tricks.as_strided(np.empty((), dtype), shape, strides)


def hashable(optimize: Any) -> Any:
    """Make what to find a path by hashable; an explicit path loses NumPy's mark."""
    if optimize is None or isinstance(optimize, bool | str):
        return optimize
    if not isinstance(optimize, tuple | list):
        raise TypeError(f"optimize is True, False, a method's name or a path, not {optimize!r}")
    steps = optimize[1:] if optimize and isinstance(optimize[0], str) and optimize[0] == "einsum_path" else optimize
    return tuple(tuple(step) if isinstance(step, list) else step for step in steps)


def is_path(optimize: Any) -> bool:
    """Whether a hashable `optimize` says the very path, and not how to find one."""
    return isinstance(optimize, tuple) and not (optimize and isinstance(optimize[0], str))


@lru_cache(maxsize=1024)
def contractions(terms: Terms, output: str, shapes: tuple[tuple[int, ...], ...], method: Any) -> tuple[_Positions, ...]:
    """Give the contractions of a path in order."""
    sizes = extents(terms, shapes)
    given = is_path(method)
    path = method if given else _path(terms, output, shapes, method)
    left = list(enumerate(terms))
    steps: list[_Positions] = []
    for positions in path:
        order = sorted(positions)
        if not order or order[-1] >= len(left) or order[0] < 0 or len(set(order)) < len(order):
            raise ValueError(f"step {positions} of the path does not fit {len(left)} operands")
        now = [left[p] for p in order]
        left = [operand for p, operand in enumerate(left) if p not in order]
        needed = output + "".join(term for _, term in left)
        kept = _kept([term for _, term in now], needed, sizes) if left else output
        left.append((len(terms) + len(steps), kept))
        steps.append((tuple(place for place, _ in now), tuple(term for _, term in now), kept))
    if len(left) != 1:
        raise RuntimeError(f"the path leaves {len(left)} operands uncontracted")
    return tuple(steps) if given else _joined(steps, len(terms))


def _path(terms: Terms, output: str, shapes: tuple[tuple[int, ...], ...], method: Any) -> Sequence[tuple[int, ...]]:
    """Give the path that a method of opt_einsum's finds; of its default the better one of two methods'."""
    name, limit = method if isinstance(method, tuple) else (method, None)
    sizes = extents(terms, shapes)
    if len(terms) == 3 and name in (True, "auto") and limit is None:
        return [first_pair(terms, output, sizes), (0, 1)]
    import opt_einsum  # takes 25 ms

    shared = shared_labels(terms, output)
    # Of extents of 0 "dp" finds no path: none is dearer than none.
    equation, rest = f"{','.join(shared)}->{output}", [tuple([max(sizes[c], 1) for c in own]) for own in shared]
    # The default's search for up to 8 operands leaves out paths whose first steps take more operations or memory.
    names = (name, "dp") if name in (True, "auto") and limit is None and len(terms) <= _SEARCHED else (name,)
    found = [opt_einsum.contract_path(equation, *rest, shapes=True, optimize=n, memory_limit=limit) for n in names]
    path: Sequence[tuple[int, ...]] = min(found, key=lambda each: each[1].opt_cost)[0]
    return path


def _joined(steps: Sequence[_Positions], given: int) -> tuple[_Positions, ...]:
    """Put what multiplies a temporary and what makes it in one step, where its elements are all read once.

    It was made without sums, and has all labels of the product: no application of a function more, and it need neither
    be written nor read.
    """
    place = list(range(given))  # where each value is among those that are left; -1: in a step of `apart`
    apart: dict[int, _Positions] = {}
    found: list[_Positions] = []
    for n, (positions, terms, kept) in enumerate(steps):
        labels = {*"".join(terms)}
        operands: list[tuple[int, str]] = []
        for p, term in zip(positions, terms, strict=True):
            made = apart.pop(p, None)
            if made is not None and {*term} == labels and len(made[0]) + len(positions) <= _TOGETHER:
                operands += zip(made[0], made[1], strict=True)
                continue
            if made is not None:
                place[p] = given + len(found)
                found.append(made)
            operands.append((place[p], term))
        now = (tuple([p for p, _ in operands]), tuple([term for _, term in operands]), kept)
        if {*kept} == labels and n + 1 < len(steps):
            apart[len(place)] = now
            place.append(-1)
        else:
            place.append(given + len(found))
            found.append(now)
    return tuple(found)


def _kept(terms: Sequence[str], needed: str, sizes: Mapping[str, int]) -> str:
    """Give the labels of a temporary: operand by operand; where nothing is summed, as the largest operand has them.

    A product without sums takes as long as its operands are walked through, in the order of memory.
    """
    if all([c in needed for term in terms for c in term]):
        terms = sorted(terms, key=lambda term: -prod([sizes[c] for c in term]))
    return "".join(dict.fromkeys([c for term in terms for c in term if c in needed]))


def keep_order(terms: Terms, output: str, arrays: Sequence[Array]) -> str:
    """Give the output's labels, the one of the largest stride first, as ``order="K"`` has them in NumPy.

    NumPy sorts the axes by insertion, beginning with C order: an axis goes inside of those whose strides are larger in
    every operand that moves along both. Operands that are all C-contiguous give C order here, where NumPy may choose
    another.
    """
    layout = tuple((a.shape, a.strides) for a in arrays)
    return _keep_order(terms, output, layout) if not all(a.flags.c_contiguous for a in arrays) else output


@lru_cache(maxsize=1024)
def _keep_order(terms: Terms, output: str, layout: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]) -> str:
    strides = []
    for term, (shape, steps) in zip(terms, layout, strict=True):
        own = dict.fromkeys(term, 0)
        for label, extent, step in zip(term, shape, steps, strict=True):
            own[label] += step if extent != 1 else 0
        strides.append({label: abs(step) for label, step in own.items() if step})
    order: list[str] = []  # innermost first
    for label in reversed(output + "".join(sorted({*"".join(terms)} - {*output}))):
        place = len(order)
        for at in reversed(range(len(order))):
            both = [(own[label], own[order[at]]) for own in strides if label in own and order[at] in own]
            if both and not all(new < old for new, old in both):
                break
            place = at if both else place
        order.insert(place, label)
    return "".join(label for label in reversed(order) if label in output)
