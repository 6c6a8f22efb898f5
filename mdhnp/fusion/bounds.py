"""Where a function of indices gives -inf: from which index of one dimension on, for each index of another one.

So a causal mask, written as ``np.where(j <= i, scores, -np.inf)``, says that most tiles hold nothing that counts.
"""

from dataclasses import replace

from mdhnp.mdh import Function
from mdhnp.mdh.function import Instruction, literal_value

_COMPARISONS = ("less", "less_equal", "greater", "greater_equal")


def last_that_counts(f: Function, dim: int, row: int) -> int | None:
    """Give the least c so that the only result is -inf where index(dim) > index(row) + c; None where there is none."""
    return _until(f, f.results[0], dim, row) if len(f.results) == 1 else None


def apart(f: Function, dim: int, row: int) -> tuple[int, Function, Function] | None:
    """Take the mask off a function that is -inf just where index(dim) > index(row) + c; None where it has no such mask.

    Gives c, the function without it, and the mask as a function of the first parameter.
    """
    root = f.body[f.results[0]]
    if len(f.results) > 1 or root.op != "where" or f.body[root.args[0]].op not in _COMPARISONS:
        return None
    condition, value, other = root.args
    until, first = _holds_until(f, condition, dim, row), Instruction("param", (), f.parameters[0])
    if until is None or not _is_nothing(f, other) or root.dtype != first.dtype:
        return None
    masked = (*f.body[:value], first, *f.body[value + 1 :])
    return until, replace(f, results=(value,)), replace(f, body=masked)


def _is_nothing(f: Function, n: int) -> bool:
    step = f.body[n]
    return step.op == "const" and literal_value(step.literal, step.dtype) == -float("inf")


def _until(f: Function, n: int, dim: int, row: int) -> int | None:
    step = f.body[n]
    if step.op != "where":
        return None
    condition, value, other = step.args
    if not _is_nothing(f, other):
        return None
    return _least(_holds_until(f, condition, dim, row), _until(f, value, dim, row))


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _holds_until(f: Function, n: int, dim: int, row: int) -> int | None:
    """The same of where a condition holds not."""
    step = f.body[n]
    if step.op in ("logical_and", "bitwise_and"):
        return _least(*[_holds_until(f, a, dim, row) for a in step.args])
    if step.op not in _COMPARISONS:
        return None
    low, high = [_affine(f, a) for a in (step.args if step.op.startswith("less") else step.args[::-1])]
    if low is None or high is None:
        return None
    apart = {d: low.get(d, 0) - high.get(d, 0) for d in (*low, *high)}
    distance = apart.pop(-1, 0) + (step.op in ("less", "greater"))
    factor = apart.pop(dim, 0)
    if factor <= 0 or apart.pop(row, 0) != -factor or any(apart.values()):
        return None
    return -distance // factor


def _affine(f: Function, n: int) -> dict[int, int] | None:
    """Give a whole number as a sum of indices: their factors by dimension, and a constant by -1."""
    step = f.body[n]
    if step.dtype.kind not in "iu":
        return None
    if step.op == "index":
        return {step.position: 1}
    if step.op == "const":
        return {-1: int(literal_value(step.literal, step.dtype))}
    if step.op == "cast":
        return _affine(f, step.args[0])
    if step.op in ("add", "subtract"):
        a, b = (_affine(f, k) for k in step.args)
        sign = 1 if step.op == "add" else -1
        return None if a is None or b is None else {d: a.get(d, 0) + sign * b.get(d, 0) for d in (*a, *b)}
    return None
