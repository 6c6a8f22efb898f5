"""From NumPy's types to those that kernels compute with: complex numbers as pairs of reals, float16 in float32.

A complex array is two interleaved real ones: one view of the real parts and one of the imaginary parts, over the same
buffer. So tiles, vectors and packing serve complex numbers without knowing them, and packing one view copies a plane.
A float16 is a float32 that was rounded; partial results are not rounded before they are complete. It must not know
stages, schedules or OpenCL.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mdhnp.mdh.combine import Combine, Operator
from mdhnp.mdh.complex import FORMULAS, where
from mdhnp.mdh.function import Function, Instruction, identity_function, literal_value
from mdhnp.mdh.mdhom import MdHom
from mdhnp.mdh.trace import Recorder, Symbol
from mdhnp.mdh.views import View

_HALF, _SINGLE, _DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
_PARTS: dict[np.dtype[Any], np.dtype[Any]] = {np.dtype(np.complex64): _SINGLE, np.dtype(np.complex128): _DOUBLE}

#: A value in kernels' types: one symbol, or real and imaginary part.
_Parts = tuple[Symbol, ...]
#: Positions and types of the parameters that stand for one.
_Slots = tuple[tuple[int, np.dtype[Any]], ...]


class Lowered(NamedTuple):
    """An MDH in kernels' types, and the input or output of the original behind each of its views."""

    mdhom: MdHom
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def lower(h: MdHom) -> Lowered:
    """Give the MDH that computes `h` without complex numbers and float16 arithmetic; `h` itself where it has none.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.ones(3, np.complex64)
    >>> total = md_hom(np.multiply, {"k": pw("add")}, "x[k], y[k] -> z[]").bind(z, z)
    >>> print(lower(total).mdhom)
    md_hom((((x0 * x2) - (x1 * x3)), ((x0 * x3) + (x1 * x2))), (+,)) ∘ (x[k], x[k], y[k], y[k]) -> z[], z[]
    """
    every = tuple(range(len(h.inputs))), tuple(range(len(h.outputs)))
    if not any(t == _HALF or t in _PARTS for t in h.dtypes):
        return Lowered(h, *every)
    inputs = [(n, part) for n, v in enumerate(h.inputs) for part in _planes(v)]
    first = {n: place for place, (n, _) in reversed([*enumerate(inputs)])}
    inputs = [(n, v.renumbered(first)) for n, v in inputs]
    outputs = [(n, part.renumbered(first)) for n, v in enumerate(h.outputs) for part in _planes(v)]
    accesses = _slots((v.dtype, len(v.accesses)) for v in h.inputs)
    scalar = _rewrite(h.scalar, accesses)
    combine, finish = h.combine, h.finish
    if h.operator is not None:
        # Float16 results as float32, which partial results are kept in.
        recorder = Recorder(scalar.body)
        results = tuple([_wide(Symbol(recorder, n)).number for n in scalar.results])
        scalar = replace(scalar, body=tuple(recorder.body), results=results)
        combine = tuple(c if c.operator is None else Combine(c.kind, _operator(c.operator)) for c in h.combine)
        if finish is None and _HALF in h.scalar.dtypes:
            finish = replace(identity_function(h.scalar.dtypes), parameters=(*h.scalar.dtypes, *h.scalar.parameters))
    if finish is not None:
        count = len(scalar.results)
        shifted = [tuple((count + p, t) for p, t in slots) for slots in accesses]
        finish = _rewrite(finish, [*_result_slots(h.scalar.dtypes), *shifted])
    views = tuple(v for _, v in inputs), tuple(v for _, v in outputs)
    segments = tuple([s._replace(source=first[s.source]) for s in h.segments])
    mdhom = MdHom(h.extents, combine, scalar, *views, finish, h.names, h.nested, h.precision, segments)
    return Lowered(mdhom, tuple(n for n, _ in inputs), tuple(n for n, _ in outputs))


def _planes(v: View) -> tuple[View, ...]:
    """The view, or the views of a complex one's real and imaginary parts."""
    if v.dtype not in _PARTS:
        return (v,)
    fill = complex(literal_value(v.fill, v.dtype))
    strides = tuple(2 * s for s in v.strides)
    return tuple(
        replace(v, dtype=_PARTS[v.dtype], strides=strides, offset=2 * v.offset + n, fill=repr(part))
        for n, part in enumerate((fill.real, fill.imag))
    )


def _slots(groups: Iterable[tuple[np.dtype[Any], int]]) -> list[_Slots]:
    """The parameters of so many values of a type each: all real parts of them come before all imaginary parts."""
    slots: list[_Slots] = []
    first = 0
    for dtype, count in groups:
        part = _PARTS.get(dtype)
        for n in range(first, first + count):
            slots.append(((n, dtype),) if part is None else ((n, part), (n + count, part)))
        first += count if part is None else 2 * count
    return slots


def _result_slots(dtypes: Sequence[np.dtype[Any]]) -> list[_Slots]:
    """The parameters of partial results, in float32 for float16."""
    return _slots((_SINGLE if t == _HALF else t, 1) for t in dtypes)


def _operator(op: Operator) -> Operator:
    """A combine operator on partial results, which are not rounded to float16 in between."""
    dtypes = op.function.dtypes
    identity = op.identity
    if identity is not None:
        numbers = [(literal, literal_value(literal, t)) for literal, t in zip(identity, dtypes, strict=True)]
        identity = tuple(
            part
            for (literal, z), t in zip(numbers, dtypes, strict=True)
            for part in ((repr(float(z.real)), repr(float(z.imag))) if t in _PARTS else (literal,))
        )
    function = _rewrite(op.function, _result_slots((*dtypes, *dtypes)), rounded=False)
    return replace(op, function=function, identity=identity)


def _rewrite(f: Function, given: Sequence[_Slots], *, rounded: bool = True) -> Function:
    """Write a function on kernels' types: `given` are the parameters that stand for each of its own.

    Float16 results of operations are rounded as NumPy's are, unless `rounded` is false: then all of it is float32.
    """
    recorder = Recorder()
    parameters = dict(slot for slots in given for slot in slots)
    half = _HALF if rounded else _SINGLE
    values: dict[int, _Parts] = {}
    for n in f.live():
        step = f.body[n]
        args = [values[a] for a in step.args]
        if step.op == "param":
            parts = tuple(recorder.add(Instruction("param", (), t, p)) for p, t in given[step.position])
            values[n] = tuple(p.astype(half) for p in parts) if step.dtype == _HALF else parts
        elif step.dtype in _PARTS or any(len(a) > 1 for a in args):
            values[n] = _complex(step, args, recorder)
        elif step.op == "cast":
            values[n] = (_cast(args[0][0], half if step.dtype == _HALF else step.dtype),)
        else:
            dtype = _SINGLE if step.dtype == _HALF and step.op != "const" else step.dtype
            wide = [_wide(part) for (part,) in args]
            if step.op == "nextafter" and step.dtype == _HALF:
                value = _next_half(*wide)
            else:
                value = recorder.add(replace(step, args=tuple(part.number for part in wide), dtype=dtype))
            values[n] = (value.astype(half) if step.dtype == _HALF else value,)
    results = tuple(part.number for r in f.results for part in values[r])
    types = tuple(parameters[p] for p in range(len(parameters)))
    operations = {f.body[n].op for n in f.live()}
    # NumPy's own complex product is fused, too; sums of products that the caller wrote are not.
    contract = f.contract or not operations & {"add", "subtract"}
    return Function(types, tuple(recorder.body), results, contract)


def _wide(x: Symbol) -> Symbol:
    return x.astype(_SINGLE) if x.dtype == _HALF else x


def _next_half(x: Any, y: Any) -> Any:
    """The float16 next to `x` in the direction of `y`, once it is rounded to one.

    The next one is 2^-11 to 2^-10 of a number away, or half as far below powers of two. So a step of a little more
    than 2^-11 of the number is more than half of the way and less than one and a half of it.
    """
    number = x.dtype.type
    size = np.minimum(np.abs(x), number(2**16))  # where the first float16 would be that is none any more
    step = np.maximum(size * number(2**-11 + 2**-17), number(2**-24 - 2**-26))  # of which the smallest are 2^-24 apart
    start = np.copysign(size, x)
    moved = where(y > x, start + step, start - step)
    return where(x == y, x, where(np.isnan(x) | np.isnan(y), x + y, moved))


def _cast(x: Symbol, dtype: np.dtype[Any]) -> Symbol:
    """Convert as NumPy does: to float16 by way of float32, but for float64."""
    if dtype == _HALF and x.dtype != _DOUBLE:
        x = x.astype(_SINGLE)
    return (x if dtype == _HALF else _wide(x)).astype(dtype)


def _complex(step: Instruction, args: Sequence[_Parts], recorder: Recorder) -> _Parts:
    """One operation that takes or gives complex numbers."""
    if step.op == "const":
        z = complex(literal_value(step.literal, step.dtype))
        return tuple(recorder.constant(part, _PARTS[step.dtype]) for part in (z.real, z.imag))
    if step.op == "cast":
        value, dtype = args[0], step.dtype
        if dtype == np.bool_:
            return ((value[0] != 0) | (value[1] != 0),)
        if dtype not in _PARTS:
            return (_cast(value[0], dtype),)
        part = _PARTS[dtype]
        imaginary = value[1].astype(part) if len(value) == 2 else recorder.constant(0, part)
        return _wide(value[0]).astype(part), imaginary
    if step.op == "where":
        (condition,), left, right = args
        return tuple(where(condition, a, b) for a, b in zip(left, right, strict=True))
    found = FORMULAS[step.op](*args)
    return found if isinstance(found, tuple) else (found,)
