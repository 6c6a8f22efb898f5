"""What recombines the results of an MDH's parts: combinations of partial results, scans of totals, scans that go on.

For each kind of dimension but concatenated ones, whose parts write what is wanted. All that cuts an MDH is made of this
(`cut.py`; reductions and scans over work-groups), whoever computes the parts.
"""

from dataclasses import replace

from mdhnp.mdh.combine import CC, Combine
from mdhnp.mdh.function import Function
from mdhnp.mdh.mdhom import MdHom, dimension_names
from mdhnp.mdh.stages import combining, finish_inputs, renumber_finish
from mdhnp.mdh.trace import Recorder
from mdhnp.mdh.views import View, contiguous, numbered

__all__ = ["carrying", "combination", "left_for_later", "partial", "prefixes"]


def partial(h: MdHom, dim: int) -> MdHom:
    """Give what computes one partial result where dimension `dim` is reduced, or the total where it is scanned.

    It lies over all dimensions that are not reduced, and those that have to be combined later, in C order.
    """
    left = left_for_later(h, dim)
    combine = tuple([
        Combine("pw", c.operator) if d == dim else CC if d in left else c for d, c in enumerate(h.combine)
    ])  # fmt: skip
    return replace(h, combine=combine, outputs=_partials(h, h.extents, _kept(h, dim)), finish=None)


def combination(h: MdHom, dim: int, count: int, *, finish: bool = True) -> MdHom:
    """Give what combines stacks of `count` partial results of neighbours along their first axis.

    `h` is the whole, or any part that gave partial results; `dim` was cut: where several reduced ones were, any. With
    `finish` it gives results of the whole, from the inputs that `finish` reads (:func:`finish_inputs`) after the
    stacks, too; else one partial result.
    """
    kept = _kept(h, dim)
    extents = tuple([count if d == dim else n if d in kept else 1 for d, n in enumerate(h.extents)])
    left = left_for_later(h, dim) if finish else ()
    combine = tuple([
        Combine("pw", c.operator) if d == dim else c if d in left else CC for d, c in enumerate(h.combine)
    ])  # fmt: skip
    inputs = _stacks(h, dim, extents)
    outputs = h.outputs if finish else _partials(h, extents, kept)
    if finish:
        inputs = (*inputs, *[_still(h.inputs[n], h.dims("pw")) for n in finish_inputs(h)])
    return _ordered(h, dim, extents, combine, inputs, outputs, renumber_finish(h) if finish else None)


def prefixes(h: MdHom, dim: int, count: int) -> MdHom:
    """Give what scans stacks of totals along their first axis, in order."""
    extents = tuple([count if d == dim else n if d in _kept(h, dim) else 1 for d, n in enumerate(h.extents)])
    combine = tuple([Combine("ps", c.operator) if d == dim else CC for d, c in enumerate(h.combine)])
    inputs = _stacks(h, dim, extents)
    return _ordered(h, dim, extents, combine, inputs, numbered(inputs, "C"), None)


def _ordered(
    h: MdHom,
    dim: int,
    extents: tuple[int, ...],
    combine: tuple[Combine, ...],
    inputs: tuple[View, ...],
    outputs: tuple[View, ...],
    finish: Function | None,
) -> MdHom:
    """An MDH on stacks, whose first dimension is their first axis but for those combined later; unnamed."""
    left = [d for d in left_for_later(h, dim) if combine[d].kind != "cc"]
    order = [*left, dim, *[d for d in _kept(h, dim) if d not in left]]
    new = dict(zip(order, dimension_names(len(order)), strict=True))
    names = tuple([new.get(d, "") for d in range(h.rank)])
    return combining(h, extents, combine, inputs, outputs, finish, names, order)


def left_for_later(h: MdHom, dim: int) -> tuple[int, ...]:
    """Dimensions that must be combined after `dim`: those before it, unless all combining may change places."""
    operators = {c.operator for c in h.combine if c.operator is not None}
    if len(operators) == 1 and all([op.commutative for op in operators]):
        return ()
    return tuple([d for d in range(dim) if h.combine[d].kind != "cc"])


def _kept(h: MdHom, dim: int) -> tuple[int, ...]:
    """Dimensions of partial results."""
    left = left_for_later(h, dim)
    return tuple([d for d, c in enumerate(h.combine) if d != dim and (c.kind != "pw" or d in left)])


def _partials(h: MdHom, extents: tuple[int, ...], kept: tuple[int, ...]) -> tuple[View, ...]:
    return tuple([contiguous(f"P{n}", t, extents, kept) for n, t in enumerate(h.scalar.dtypes)])


def _stacks(h: MdHom, dim: int, extents: tuple[int, ...]) -> tuple[View, ...]:
    return _partials(h, extents, (dim, *_kept(h, dim)))


def _still(v: View, dims: tuple[int, ...]) -> View:
    """A view of which only accesses are used that do not move with some dimensions, so that none has to."""
    accesses = tuple([
        tuple([i.moved([0 if d in dims else c for d, c in enumerate(i.coefficients)]) for i in a])
        for a in v.accesses
    ])  # fmt: skip
    return replace(v, accesses=accesses)


def carrying(h: MdHom, dim: int) -> MdHom:
    """The scan that goes on from totals, its last inputs: prefixes are combined with them before they are finished."""
    operator = h.combine[dim].operator
    assert operator is not None
    types, count = h.scalar.dtypes, len(h.scalar.dtypes)
    parameters = (*types, *h.scalar.parameters, *types)
    recorder = Recorder()
    given = recorder.parameters(parameters)
    final = recorder.paste(operator.function, [*given[-count:], *given[:count]])
    last = operator.function
    if h.finish is not None:
        final, last = recorder.paste(h.finish, [*final, *given[count:-count]]), h.finish
    finish = Function(parameters, tuple(recorder.body), final, last.text, last.contract)
    carry = numbered(_partials(h, h.extents, _kept(h, dim)), "C")
    scalar = replace(h.scalar, parameters=(*h.scalar.parameters, *types))
    return replace(h, scalar=scalar, inputs=(*h.inputs, *carry), finish=finish)
