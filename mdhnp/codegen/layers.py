"""The loops of the three layers and what stands around them: signature, ids, tiles, and tests for what lies inside."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from mdhnp.codegen.access import GLOBAL, Context
from mdhnp.codegen.ctypes import memory_type
from mdhnp.codegen.nest import Linear, Nest
from mdhnp.codegen.reduce import tile_points
from mdhnp.codegen.tiles import copy_tiles, tile_start
from mdhnp.codegen.writer import advance
from mdhnp.mdh import Function, MdHom, View

__all__ = ["bounded_checks", "group_loops", "head", "ids", "inside_checks", "step_inside", "step_loops"]


@contextmanager
def head(c: Context, name: str, extra: Sequence[str] = ()) -> Iterator[None]:
    """Write the kernel's signature; its body is written inside the context."""
    inputs = [f"{GLOBAL} const {memory_type(v.dtype)} *restrict {v.name}" for v in c.nest.h.inputs]
    views, paired = c.nest.h.outputs, c.nest.paired
    outputs = [
        f"{GLOBAL} {memory_type(v.dtype)} *restrict {v.name}" for n, v in enumerate(views) if n - 1 not in paired
    ]
    sizes = [f"const {c.nest.index_type} {size}" for size in c.nest.sizes]
    offsets = [f"const long {pointer}_at" for pointer in c.offsets]
    c.writer.line(f"// {c.nest.h}")
    c.writer.line(f"__kernel __attribute__(({', '.join(_attributes(c.nest))}))")
    with c.writer.block(f"void {name}({', '.join([*inputs, *extra, *outputs, *sizes, *offsets])})"):
        c.writer.line(f"#pragma OPENCL FP_CONTRACT {'ON' if _may_contract(c.nest.h) else 'OFF'}")
        for view in (*c.nest.h.inputs, *views):
            if view.name in c.offsets:
                const = "const " if view in c.nest.h.inputs else ""
                typed = f"{GLOBAL} {const}{memory_type(view.dtype)} *"
                c.writer.line(f"{view.name} = ({typed})(({GLOBAL} {const}char *){view.name} + {view.name}_at);")
        for n in paired:
            c.writer.line(f"{GLOBAL} {memory_type(views[n].dtype)} *const {views[n + 1].name} = {views[n].name};")
        yield


def _attributes(nest: Nest) -> list[str]:
    """Give the kernel's attributes.

    LLVM cuts vectors of 64 bytes in halves where it believes that 32 are better, as it does for each processor with
    AVX-512 that PoCL's knows. Told that a function has wide ones it does not, and multiplies up to twice as fast.
    """
    types = [*nest.result_dtypes, *(v.dtype for v in nest.h.inputs)]
    nbytes = nest.s.vector_width * max(t.itemsize for t in types)
    wide = [f"min_vector_width({8 * min(nbytes, 64)})"] if nbytes > 32 else []
    return [f"reqd_work_group_size({nest.s.work_items}, 1, 1)", *wide]


def _may_contract(h: MdHom) -> bool:
    """Whether a fused multiply-add can change nothing but the rounding of a sum of products.

    A scalar function that adds and multiplies itself means what NumPy computes, with every product rounded.
    """
    functions = [h.scalar, *([h.finish] if h.finish else [])]
    if h.operator is not None:
        functions.append(h.operator.function)
    elif h.finish is not None and _multiplies(h.scalar) and _adds(h.finish):
        return False  # nothing is combined in between, so that both may stand in one expression
    return all(f.contract or not (_multiplies(f) and _adds(f)) for f in functions)


def _multiplies(f: Function) -> bool:
    return any(f.body[n].op in ("multiply", "square") for n in f.live())


def _adds(f: Function) -> bool:
    return any(f.body[n].op in ("add", "subtract") for n in f.live())


def ids(c: Context) -> None:
    """Declare work-group and work-item ids of each dimension, taken apart in the schedule's order."""
    nest, one = c.nest, Linear((), 1)
    groups = [nest.groups(d) for d in range(nest.h.rank)]
    items = [Linear((), n) for n in nest.s.num_wi]
    for letter, counts, order, call in (
        ("g", groups, nest.s.group_order, "get_group_id(0)"),
        ("w", items, nest.s.item_order, "get_local_id(0)"),
    ):
        several = [d for d in order if counts[d] != one]
        if several:
            c.writer.line(f"const int {letter} = {call};")
        divisor = one
        for d in several:
            text = letter if divisor == one else f"{letter} / {divisor.atom}"
            divisor = divisor * counts[d]
            text = text if d == several[-1] else f"{text} % {counts[d]}"
            c.writer.line(f"const int {nest.name(d)}_{letter} = {text};")


@contextmanager
def group_loops(
    c: Context, dims: Sequence[int], all_dims: Sequence[int] | None = None, first: bool = True
) -> Iterator[None]:
    """Write the loops over a work-group's local tiles in the given dimensions, with the copies between them.

    Inputs are copied inside the innermost loop that moves them; `all_dims` are the dimensions of all loops of the
    kernel, of which those not in `dims` are opened later by the caller.
    """
    nest = c.nest
    all_dims = dims if all_dims is None else all_dims
    moving = [d for d in all_dims if nest.moving(d)]
    if first:
        for d in all_dims:
            if nest.several(d) and d not in moving:
                _tile_begin(c, d)
        copy_tiles(c, _copied_at(nest, moving, None))
    with ExitStack() as loops:
        for d in dims:
            if d in moving:
                loops.enter_context(c.writer.block(_tile_loop(c, d)))
                _tile_count(c, d)
                copy_tiles(c, _copied_at(nest, moving, d))
        yield


def _copied_at(nest: Nest, moving: Sequence[int], loop: int | None) -> list[int]:
    """Inputs with a local copy whose innermost moving loop is `loop`."""
    found = []
    for n, copy in enumerate(nest.s.local_copies):
        if copy is not None:
            deepest = [d for d in moving if nest.h.inputs[n].depends_on(d)]
            if (deepest[-1] if deepest else None) == loop:
                found.append(n)
    return found


def _tile_begin(c: Context, d: int) -> None:
    """The only local tile of a work-group in a dimension."""
    name = c.nest.name(d)
    c.writer.line(f"const {c.nest.index_type} {name}_l = {name}_g * {c.nest.s.local_tile[d]};")
    _tile_count(c, d)


def _tile_loop(c: Context, d: int) -> str:
    nest, name, t = c.nest, c.nest.name(d), c.nest.index_type
    begin, end = "0", str(nest.extent(d))
    if nest.grouped(d):
        begin = f"{name}_g * {nest.literal(nest.chunk(d))}"
        end = f"min({begin} + {nest.chunk(d)}, {nest.literal(nest.extent(d))})"
    return f"for ({t} {name}_l = {begin}; {name}_l < {end}; {advance(f'{name}_l', nest.s.local_tile[d])})"


def _tile_count(c: Context, d: int) -> None:
    nest, name, t = c.nest, c.nest.name(d), c.nest.index_type
    if not nest.even(d):
        left = f"{nest.extent(d)} - {name}_l"
        c.writer.line(f"const {t} {name}_n = min({nest.literal(nest.s.local_tile[d])}, {left});")


def step_loops(c: Context, stack: ExitStack) -> None:
    """Open the local layer's loops over private tiles of the kept dimensions and declare their first points."""
    nest, t = c.nest, c.nest.index_type
    for d in nest.s.local_order:
        if d in nest.kept and not nest.single(d):
            name = nest.name(d)
            head_text = (
                f"for ({t} {name}_p = 0; {name}_p < {tile_points(nest, d)}; {advance(f'{name}_p', nest.s.step(d))})"
            )
            stack.enter_context(c.writer.block(head_text))
    for d in nest.kept:
        c.writer.line(f"const {t} {nest.name(d)} = {tile_start(nest, d) + nest.local(d)};")


def step_inside(c: Context, d: int) -> str:
    """Whether the work-items' current step lies inside the extent."""
    nest = c.nest
    begin = tile_start(nest, d) if nest.single(d) else tile_start(nest, d) + Linear(((f"{nest.name(d)}_p", 1),))
    return begin.at_most(nest.extent(d) + -nest.s.step(d))


def bounded_checks(c: Context, view: View) -> list[str]:
    """Conditions for all accesses of the current step to lie inside an array with a boundary mode."""
    nest = c.nest
    spans: dict[int, tuple[Linear, int]] = {}
    for d in range(nest.h.rank):
        begin, points = tile_start(nest, d), nest.s.local_tile[d]
        if d in nest.kept:
            begin = begin if nest.single(d) else begin + Linear(((f"{nest.name(d)}_p", 1),))
            points = nest.s.step(d)
        spans[d] = (begin, points)
    return inside_checks(view, spans)


def inside_checks(view: View, spans: Mapping[int, tuple[Linear, int]]) -> list[str]:
    """Conditions for all accesses to lie inside the array; `spans` gives each dimension's first point and how many."""
    checks = []
    for axis, size in enumerate(view.shape):
        for coefficients in dict.fromkeys(a[axis].coefficients for a in view.accesses):
            constants = [a[axis].constant for a in view.accesses if a[axis].coefficients == coefficients]
            low, reach = Linear((), min(constants)), max(constants) - min(constants)
            for d, coefficient in enumerate(coefficients):
                begin, points = spans[d]
                low = low + begin * coefficient
                low = low + coefficient * (points - 1) if coefficient < 0 else low
                reach += abs(coefficient) * (points - 1)
            checks += [low.at_least(0), low.at_most(size - 1 - reach)]
    return checks
