"""Split an MDH into stages, each of which one kernel schema can compute.

One stage either reduces with one commutative operator, or reduces one dimension in order, or scans one dimension;
everything else (nested operators, several scans, a scan of a reduction) is several such stages over temporaries,
from the last dimension to the first, as the definition nests them. Stages compute in kernels' types: a complex array is
an argument twice.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from mdhnp.mdh.arithmetic import lower
from mdhnp.mdh.canonical import select_dims
from mdhnp.mdh.combine import CC, Combine
from mdhnp.mdh.function import Function, identity_function
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.views import View, contiguous

__all__ = ["Argument", "Stage", "combining", "finish_inputs", "renumber_finish", "stages"]


class Argument(NamedTuple):
    """What a stage or kernel works on: the `position`-th input, output or temporary, or size of the program.

    Or, where arrays may begin anywhere in a buffer, how many bytes from its beginning an input or output does.
    """

    role: Literal["input", "output", "temporary", "size", "offset of input", "offset of output"]
    position: int


@dataclass(frozen=True)
class Stage:
    """A computation of one kernel schema, and the buffers behind its views."""

    mdhom: Computation
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]


def stages(h: Computation) -> tuple[Stage, ...]:
    """Give the stages that compute `h` one after the other; temporaries are numbered in order.

    Examples
    --------
    >>> import numpy as np
    >>> sums = md_hom(lambda x: x, {"i": ps("add"), "j": pw("add")}, "A[i,j] -> O[i]")
    >>> for stage in stages(sums.bind(np.ones((4, 5)))):
    ...     print(stage.mdhom)
    md_hom(id, (++, +)) ∘ (A[i,j]) -> T0[i]
    md_hom(id, (ps(+),)) ∘ (T0[i]) -> O[i]
    """
    if not isinstance(h, MdHom):
        return (_alone(h),)
    lowered = lower(h)
    sources = {"input": lowered.inputs, "output": lowered.outputs}

    def original(a: Argument) -> Argument:
        return Argument(a.role, sources[a.role][a.position]) if a.role in sources else a

    return tuple(
        Stage(s.mdhom, tuple(map(original, s.inputs)), tuple(map(original, s.outputs))) for s in _nested(lowered.mdhom)
    )


def _alone(h: Computation) -> Stage:
    return Stage(h, _arguments("input", len(h.inputs)), _arguments("output", len(h.outputs)))


def _nested(h: MdHom) -> tuple[Stage, ...]:
    """The stages of an MDH in kernels' types."""
    groups = _groups(h)
    if len(groups) <= 1:
        return (_alone(h),)
    found: list[Stage] = []
    first = groups[0]
    alive = [d for d in range(h.rank) if d not in first or h.combine[d].kind != "pw"]
    outputs = _temporaries(h, alive, 0)
    combine = tuple(c if d in first or c.kind == "cc" else CC for d, c in enumerate(h.combine))
    head = replace(h, combine=combine, outputs=outputs, finish=None, nested=False)
    found.append(Stage(head, _arguments("input", len(h.inputs)), _arguments("temporary", len(outputs))))
    for n, group in enumerate(groups[1:], start=1):
        last = n == len(groups) - 1
        found.append(_link(h, alive, group, n * len(outputs), last))
        alive = [d for d in alive if d not in group or h.combine[d].kind != "pw"]
    return tuple(found)


def _groups(h: MdHom) -> list[frozenset[int]]:
    """Dimensions to combine together, in the order of combination; empty where all are concatenated."""
    groups: list[list[int]] = []
    combining = [d for d in reversed(range(h.rank)) if h.combine[d].kind != "cc"]
    if not h.nested:
        # With one operator the order is free as long as it commutes; reducing first leaves less to scan.
        op = h.operator
        if op is None or op.commutative:
            combining.sort(key=lambda d: h.combine[d].kind == "ps")
    for d in combining:
        op = h.combine[d].operator
        joins = bool(groups) and h.combine[d] == h.combine[groups[-1][0]] and h.combine[d].kind == "pw"
        if joins and op is not None and op.commutative:
            groups[-1].append(d)
        else:
            groups.append([d])
    return [frozenset(g) for g in groups]


def _arguments(role: Literal["input", "output", "temporary"], count: int, start: int = 0) -> tuple[Argument, ...]:
    return tuple(Argument(role, start + n) for n in range(count))


def _temporaries(h: MdHom, alive: list[int], start: int) -> tuple[View, ...]:
    """C-contiguous arrays over the dimensions that are left, in the rank of `h`."""
    return tuple(contiguous(f"T{start + n}", t, h.extents, tuple(alive)) for n, t in enumerate(h.scalar.dtypes))


def _link(h: MdHom, alive: list[int], group: frozenset[int], start: int, last: bool) -> Stage:
    """A later stage: reads the temporaries before `start`, combines `group`, writes the next ones or the outputs."""
    count = len(h.scalar.dtypes)
    extents = tuple(h.extents[d] if d in alive else 1 for d in range(h.rank))
    combine = tuple(h.combine[d] if d in group else CC for d in range(h.rank))
    inputs = _temporaries(h, alive, start - count)
    sources = _arguments("temporary", count, start - count)
    finish = None
    if last:
        outputs, targets = h.outputs, _arguments("output", len(h.outputs))
        finish = renumber_finish(h)
        carried = finish_inputs(h)
        inputs = (*inputs, *(h.inputs[n] for n in carried))
        sources = (*sources, *(Argument("input", n) for n in carried))
    else:
        left = [d for d in alive if d not in group or h.combine[d].kind != "pw"]
        outputs, targets = _temporaries(h, left, start), _arguments("temporary", count, start)
    return Stage(combining(h, extents, combine, inputs, outputs, finish, h.names, alive), sources, targets)


def combining(
    h: MdHom,
    extents: tuple[int, ...],
    combine: tuple[Combine, ...],
    inputs: tuple[View, ...],
    outputs: tuple[View, ...],
    finish: Function | None,
    names: tuple[str, ...],
    order: list[int],
) -> MdHom:
    """Give an MDH that combines partial results of `h`, its first inputs, over the dimensions in `order`."""
    parameters = tuple([v.dtype for v in inputs for _ in v.accesses])
    scalar = replace(identity_function(h.scalar.dtypes), parameters=parameters)
    nested = len({c.operator for c in combine if c.operator is not None}) > 1
    return select_dims(MdHom(extents, combine, scalar, inputs, outputs, finish, names, nested), order)


def finish_inputs(h: MdHom) -> tuple[int, ...]:
    """Inputs that `finish` reads, in order."""
    if h.finish is None:
        return ()
    count = len(h.scalar.dtypes)
    return tuple(sorted({h.accesses[p - count][0] for p in h.finish.used_parameters() if p >= count}))


def renumber_finish(h: MdHom) -> Function | None:
    """Fit `finish` to a later MDH that combines partial results of `h`, and then reads :func:`finish_inputs`."""
    if h.finish is None:
        return None
    results = h.scalar.dtypes
    carried = [n for n, _ in h.accesses if n in finish_inputs(h)]
    place = {p: p for p in range(len(results))}
    following = 2 * len(results)
    for number, (n, _) in enumerate(h.accesses):
        if n in carried:
            place[len(results) + number] = following
            following += 1

    parameters = (*results, *results, *(h.inputs[n].dtype for n in carried))
    return h.finish.substituted(parameters, lambda s: replace(s, position=place.get(s.position, 0)))
