"""Split an MDH into stages, each of which one kernel schema can compute.

One stage either reduces with one commutative operator, or reduces one dimension in order, or scans one dimension;
everything else (nested operators, several scans, a scan of a reduction) is several such stages over temporaries,
from the last dimension to the first, as the definition nests them. Stages compute in kernels' types: a complex array is
an argument twice.

The same recombines the results of an MDH's parts, whoever computes them (`cut.py`; reductions and scans over
work-groups): combinations of partial results, scans of totals, scans that go on. Parts of concatenated dimensions write
what is wanted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from mdhnp.mdh.arithmetic import lower
from mdhnp.mdh.canonical import select_dims
from mdhnp.mdh.combine import CC, Combine
from mdhnp.mdh.function import Function, identity_function
from mdhnp.mdh.mdhom import Computation, MdHom, dimension_names
from mdhnp.mdh.trace import Recorder
from mdhnp.mdh.views import View, contiguous, numbered


class Argument(NamedTuple):
    """What a stage or kernel works on: the `position`-th input, output or temporary, or size of the program.

    Or, where arrays may begin anywhere in a buffer, how many bytes from its beginning an input or output does.
    """

    role: Literal["input", "output", "temporary", "size", "offset of input", "offset of output"]
    position: int

    @property
    def offset(self) -> "Argument":
        """How many bytes from the beginning of its buffer an input or output begins."""
        return Argument("offset of input" if self.role == "input" else "offset of output", self.position)


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
    first = groups[0]
    alive = [d for d in range(h.rank) if d not in first or h.combine[d].kind != "pw"]
    outputs = _partials(h, h.extents, alive, "T")
    combine = tuple(c if d in first or c.kind == "cc" else CC for d, c in enumerate(h.combine))
    head = replace(h, combine=combine, outputs=outputs, finish=None, nested=False)
    found = [Stage(head, _arguments("input", len(h.inputs)), _arguments("temporary", len(outputs)))]
    for n, group in enumerate(groups[1:], start=1):
        last = n == len(groups) - 1
        found.append(_link(h, alive, group, n * len(outputs), last))
        alive = [d for d in alive if d not in group or h.combine[d].kind != "pw"]
    return tuple(found)


def _groups(h: MdHom) -> list[frozenset[int]]:
    """Dimensions to combine together, in the order of combination; empty where all are concatenated."""
    groups: list[list[int]] = []
    combining = [*reversed(h.combined)]
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


def _link(h: MdHom, alive: list[int], group: frozenset[int], start: int, last: bool) -> Stage:
    """A later stage: reads the temporaries before `start`, combines `group`, writes the next ones or the outputs."""
    count = len(h.scalar.dtypes)
    extents = tuple(h.extents[d] if d in alive else 1 for d in range(h.rank))
    inputs, sources = _partials(h, h.extents, alive, "T", start - count), _arguments("temporary", count, start - count)
    if last:
        outputs, targets = None, _arguments("output", len(h.outputs))
        sources = (*sources, *(Argument("input", n) for n in finish_inputs(h)))
    else:
        left = [d for d in alive if d not in group or h.combine[d].kind != "pw"]
        outputs, targets = _partials(h, h.extents, left, "T", start), _arguments("temporary", count, start)
    along = {d: h.combine[d] for d in group}
    return Stage(_combining(h, along, extents, inputs, outputs, h.names, alive), sources, targets)


def _combining(
    h: MdHom,
    along: Mapping[int, Combine],
    extents: tuple[int, ...],
    inputs: tuple[View, ...],
    outputs: tuple[View, ...] | None,
    names: tuple[str, ...],
    order: list[int],
) -> MdHom:
    """Give an MDH of the dimensions in `order` that combines partial results of `h`, its inputs, `along` some of them.

    Without outputs it gives the results, from the inputs that `finish` reads (:func:`finish_inputs`), too.
    """
    finish = None
    if outputs is None:
        # Those are used that do not move with the others, so that none has to.
        inputs = (*inputs, *[h.inputs[n].still(h.dims("pw")) for n in finish_inputs(h)])
        outputs, finish = h.outputs, renumber_finish(h)
    combine = tuple([along.get(d, CC) for d in range(h.rank)])
    parameters = tuple([v.dtype for v in inputs for _ in v.accesses])
    scalar = replace(identity_function(h.scalar.dtypes), parameters=parameters)
    nested = len({c.operator for c in along.values()}) > 1
    return select_dims(MdHom(extents, combine, scalar, inputs, outputs, finish, names, nested, h.precision), order)


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
    old = [p for p, (n, _) in enumerate(h.accesses, len(results)) if n in carried]
    place = {p: new for new, p in enumerate(old, 2 * len(results))} | {p: p for p in range(len(results))}
    parameters = (*results, *results, *(h.inputs[n].dtype for n in carried))
    return h.finish.substituted(parameters, lambda s: replace(s, position=place.get(s.position, 0)))


def partial(h: MdHom, dim: int) -> MdHom:
    """Give what computes one partial result where dimension `dim` is reduced, or the total where it is scanned.

    It lies over all dimensions that are not reduced, and those that have to be combined later, in C order.
    """
    left = left_for_later(h, dim)
    combine = tuple(
        [Combine("pw", c.operator) if d == dim else CC if d in left else c for d, c in enumerate(h.combine)]
    )
    return replace(h, combine=combine, outputs=_partials(h, h.extents, _kept(h, dim)), finish=None)


def combination(h: MdHom, dim: int, count: int, *, finish: bool = True, kind: Literal["pw", "ps"] = "pw") -> MdHom:
    """Give what combines stacks of `count` partial results of neighbours along their first axis.

    `h` is the whole, or any part that gave partial results; `dim` was cut: where several reduced ones were, any. With
    `finish` it gives results of the whole, from the inputs that `finish` reads (:func:`finish_inputs`) after the
    stacks, too; else one partial result. Its first dimension is that of the stacks, but for those combined later.
    """
    kept, left = _kept(h, dim), left_for_later(h, dim) if finish else ()
    extents = tuple([count if d == dim else n if d in kept else 1 for d, n in enumerate(h.extents)])
    along = {d: h.combine[d] for d in left} | {dim: Combine(kind, h.combine[dim].operator)}
    stacks = _partials(h, extents, (dim, *kept))
    outputs = None if finish else numbered(stacks, "C") if kind == "ps" else _partials(h, extents, kept)
    order = [*left, dim, *[d for d in kept if d not in left]]
    new = dict(zip(order, dimension_names(len(order)), strict=True))
    return _combining(h, along, extents, stacks, outputs, tuple([new.get(d, "") for d in range(h.rank)]), order)


def prefixes(h: MdHom, dim: int, count: int) -> MdHom:
    """Give what scans stacks of totals along their first axis, in order."""
    return combination(h, dim, count, finish=False, kind="ps")


def left_for_later(h: MdHom, dim: int) -> tuple[int, ...]:
    """Dimensions that must be combined after `dim`: those before it, unless all combining may change places."""
    operators = {c.operator for c in h.combine if c.operator is not None}
    if len(operators) == 1 and all([op.commutative for op in operators]):
        return ()
    return tuple([d for d in h.combined if d < dim])


def _kept(h: MdHom, dim: int) -> tuple[int, ...]:
    """Dimensions of partial results."""
    left = left_for_later(h, dim)
    return tuple([d for d, c in enumerate(h.combine) if d != dim and (c.kind != "pw" or d in left)])


def _partials(
    h: MdHom, extents: tuple[int, ...], kept: Sequence[int], name: str = "P", start: int = 0
) -> tuple[View, ...]:
    """C-contiguous arrays of partial results over some dimensions, in the rank of `h`."""
    types = enumerate(h.scalar.dtypes, start)
    return tuple([contiguous(f"{name}{n}", t, extents, tuple(kept)) for n, t in types])


def carrying(h: MdHom, dim: int) -> MdHom:
    """The scan that goes on from totals, its last inputs: prefixes are combined with them before they are finished."""
    operator = h.combine[dim].operator
    assert operator is not None
    types, count = h.scalar.dtypes, len(h.scalar.dtypes)
    parameters = (*types, *h.scalar.parameters, *types)
    recorder = Recorder()
    given = recorder.parameters(parameters)
    final, last = recorder.paste(operator.function, [*given[-count:], *given[:count]]), operator.function
    if h.finish is not None:
        final, last = recorder.paste(h.finish, [*final, *given[count:-count]]), h.finish
    finish = Function(parameters, tuple(recorder.body), final, last.contract)
    carry = numbered(_partials(h, h.extents, _kept(h, dim)), "C")
    scalar = replace(h.scalar, parameters=(*h.scalar.parameters, *types))
    return replace(h, scalar=scalar, inputs=(*h.inputs, *carry), finish=finish)
