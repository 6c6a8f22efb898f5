"""One form for all MDHs that need the same kernel.

Drops dimensions of extent 1, fuses dimensions that every view walks through as one, orders and renames the rest. So
``ij,jk`` and ``ab,bc`` share one kernel and one tuned schedule, and a contraction over contiguous indices becomes a
matrix product. It must not know devices.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from typing import TypeVar, cast

from mdhnp.mdh.function import Function, Instruction
from mdhnp.mdh.fused import Fused
from mdhnp.mdh.mdhom import Computation, MdHom, dimension_names
from mdhnp.mdh.views import Affine, Indirect, View, numbered

C = TypeVar("C", bound=Computation)

#: Text of parts that many MDHs have in common; to make it takes much longer than to compare them.
_text = lru_cache(maxsize=4096)(repr)
#: The same of combine operators, which are equal under other names.
_combine_text = lru_cache(maxsize=4096)(lambda combine, names: repr(combine))


def canonical(h: C, *, ones: bool = False) -> C:
    """Give the canonical form: same arrays in the same order, same results, fewest dimensions; of what is fused itself.

    With `ones`, dimensions of extent 1 stay, as if they were longer; axes of length 1, whose strides mean nothing, are
    then as in a C-contiguous array.
    """
    if not isinstance(h, MdHom):
        return h
    form: MdHom = h
    if ones:
        form = replace(h, inputs=tuple(map(_regular, h.inputs)), outputs=tuple(map(_regular, h.outputs)))
    elif 1 in h.extents:
        kept = {s.dim for s in h.segments}  # of which no point may count
        form = select_dims(h, [d for d in range(h.rank) if h.extents[d] != 1 or d in kept])
    while pair := next((pair for pair in permutations(range(form.rank), 2) if _may_fuse(form, *pair)), None):
        form = _fuse(form, *pair)
    form = _order(form)
    inputs, outputs = numbered(map(_merge_axes, form.inputs), "I"), numbered(map(_merge_axes, form.outputs), "O")
    return cast(C, replace(form, inputs=inputs, outputs=outputs, names=dimension_names(form.rank)))


def fingerprint(h: Computation) -> str:
    """Give a hash of a canonical form that is the same in every process."""
    return _digest(h, repr(h.extents), f"{h.inputs!r}, {h.outputs!r}")


def select_dims(h: MdHom, order: list[int]) -> MdHom:
    """Keep the dimensions in `order`; those left out must have extent 1 or be used nowhere."""

    def pick_view(v: View) -> View:
        accesses = tuple([tuple([i.in_order(order) for i in access]) for access in v.accesses])
        return View(v.name, v.dtype, v.shape, v.strides, v.offset, accesses, v.boundary, v.fill)

    def pick_function(f: Function) -> Function:
        if all([s.op != "index" for s in f.body]):
            return f

        def index(s: Instruction) -> Instruction:
            if s.position in order:
                return replace(s, position=order.index(s.position))
            return Instruction("const", (), s.dtype, literal="0")

        return f.substituted(index=index)

    return MdHom(
        tuple([h.extents[d] for d in order]), tuple([h.combine[d] for d in order]), pick_function(h.scalar),
        tuple([pick_view(v) for v in h.inputs]), tuple([pick_view(v) for v in h.outputs]),
        None if h.finish is None else pick_function(h.finish), tuple([h.names[d] for d in order]), h.nested,
        h.precision, tuple([s._replace(dim=order.index(s.dim)) for s in h.segments]), checked=False,
    )  # fmt: skip


def _regular(v: View) -> View:
    strides, step = list(v.strides), 1
    for axis in reversed(range(len(strides))):
        if v.shape[axis] == 1:
            strides[axis] = step
        step = max(step, abs(strides[axis]) * v.shape[axis])
    return replace(v, strides=tuple(strides))


def _may_fuse(h: MdHom, outer: int, inner: int) -> bool:
    """Whether every view walks through two dimensions as one."""
    combine = h.combine[outer]
    if combine != h.combine[inner] or combine.kind == "ps":
        return False
    if combine.operator is not None and not combine.operator.commutative and inner != outer + 1:
        return False
    used = h.scalar.used_indices() | (h.finish.used_indices() if h.finish else frozenset())
    used |= {d for s in h.segments for d in (s.dim, *h.segmented(s))}
    if outer in used or inner in used:
        return False
    return all(_fused_access(v, outer, inner, h.extents[inner]) for v in (*h.inputs, *h.outputs))


def _fused_access(v: View, outer: int, inner: int, extent: int) -> bool:
    """Whether the view's addresses follow the fused dimension, without a boundary in between."""
    for access in v.accesses:
        if any([isinstance(i, Indirect) and (i.through[outer] or i.through[inner]) for i in access]):
            # What is read of the source walks through both as one: whether there is more of them is asked.
            if any([i.coefficients[outer] or i.coefficients[inner] for i in access]):
                return False
            continue
        linear = v.linear(access)
        if linear.coefficients and linear.coefficients[outer] != extent * linear.coefficients[inner]:
            return False
        touched = [i for i in access if i.coefficients[outer] or i.coefficients[inner]]
        if v.boundary is not None and touched:
            return False
        together = len(touched) == 1 and touched[0].coefficients[outer] == extent * touched[0].coefficients[inner]
        alone = len(touched) == 2 and all(
            len(i.dims()) == 1 and i.constant == 0 and max(i.coefficients) == 1 for i in touched
        )
        if touched and not together and not alone:
            return False
    return True


def _fuse(h: MdHom, outer: int, inner: int) -> MdHom:
    """Replace the pair by one dimension at the place of the inner one."""
    extent = h.extents[outer] * h.extents[inner]

    def through_inner(i: Affine) -> Affine:
        if not isinstance(i, Indirect) or not i.through[outer]:
            return i
        return replace(i, through=tuple([d == inner or (moves and d != outer) for d, moves in enumerate(i.through)]))

    def fuse_view(v: View) -> View:
        v = v.indexed(through_inner)
        axes = {n for access in v.accesses for n, i in enumerate(access) if i.coefficients[outer]}
        inner_axes = {n for access in v.accesses for n, i in enumerate(access) if i.coefficients[inner]}
        if axes and axes != inner_axes:
            (a,), (b,) = axes, inner_axes
            accesses = tuple(tuple(i for n, i in enumerate(access) if n != a) for access in v.accesses)
            shape = tuple(extent if n == b else s for n, s in enumerate(v.shape) if n != a)
            strides = tuple(s for n, s in enumerate(v.strides) if n != a)
            return replace(v, accesses=accesses, shape=shape, strides=strides)
        return v

    # Within one axis the inner coefficient already is the fused one, and the outer dimension falls away.
    wide = tuple(extent if d == inner else 1 if d == outer else n for d, n in enumerate(h.extents))
    fused = replace(h, extents=wide, inputs=tuple(map(fuse_view, h.inputs)), outputs=tuple(map(fuse_view, h.outputs)))
    return select_dims(fused, [d for d in range(h.rank) if d != outer])


def _order(h: MdHom) -> MdHom:
    """Kept dimensions first, outermost in memory first; then scanned ones; then reduced ones."""
    rank = {"cc": 0, "ps": 1, "pw": 2}

    def key(d: int) -> tuple[int, ...]:
        kind = h.combine[d].kind
        op = h.combine[d].operator
        ordered = kind == "ps" or (op is not None and not op.commutative)
        views = h.outputs if kind == "cc" else h.inputs
        strides = [-abs(v.linear(v.accesses[0]).coefficients[d]) for v in views if v.accesses and v.accesses[0]]
        return (rank[kind], d) if ordered and kind != "cc" else (rank[kind], *strides, -h.extents[d], d)

    if h.nested:
        return h
    return select_dims(h, sorted(range(h.rank), key=key))


def _merge_axes(v: View) -> View:
    """Drop axes that no index moves along, into the offset."""
    if v.boundary is not None:
        return v
    fixed = [
        n
        for n in range(len(v.shape))
        if all(a[n] == v.accesses[0][n] and type(a[n]) is Affine and not a[n].dims() for a in v.accesses)
    ]
    offset = v.offset + sum(v.strides[n] * v.accesses[0][n].constant for n in fixed)
    kept = [n for n in range(len(v.shape)) if n not in fixed]
    return replace(
        v,
        shape=tuple(v.shape[n] for n in kept),
        strides=tuple(v.strides[n] for n in kept),
        offset=offset,
        accesses=tuple(tuple(a[n] for n in kept) for a in v.accesses),
    )


def family(h: Computation) -> str:
    """Give a hash of a canonical form without its extents: MDHs of one family differ in sizes only.

    Counts: operators, scalar functions, access pattern, types, precision, and of strides their order, signs and which
    are 0 or 1. What is fused is a family of its own.
    """
    views = []
    for v in (*h.inputs, *h.outputs):
        order = tuple(sorted(range(len(v.strides)), key=lambda a, v=v: -abs(v.strides[a])))  # type: ignore[misc]
        signs = tuple((s > 0) - (s < 0) if abs(s) != 1 else 2 * s for s in v.strides)
        views.append((v.dtype.str, order, signs, v.accesses, v.boundary))
    return _digest(h, repr(h.rank), repr(views))


def _digest(h: Computation, size: str, views: str) -> str:
    import hashlib  # takes as long to load as half of this package

    last = h.last
    functions = f"{_combine_text(last.combine, tuple(map(str, last.combine)))}, {_text(last.scalar)}"
    others = f", {h.graph!r}" if isinstance(h, Fused) else f", {h.precision}" if h.precision != "highest" else ""
    others += f", {last.segments!r}" if last.segments else ""
    text = f"({size}, {functions}, {views}, {_text(last.finish)}, {last.nested!r}){others}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]
