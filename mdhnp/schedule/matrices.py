"""Which MDHs are sums of products that matrix instructions compute, and when a schedule may use one."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from mdhnp.mdh import Computation, MdHom, pw
from mdhnp.mdh.function import Function, identity_function
from mdhnp.mdh.trace import Recorder, Symbol
from mdhnp.schedule.atoms import ATOMS, Atom
from mdhnp.schedule.layout import PREPARED, WIDEST, copied_ahead, packed, swizzles, tile_itemsize, tile_strides
from mdhnp.schedule.schedule import DeviceCaps, Schedule, require, tile_counts
from mdhnp.settings import Level

#: Lanes along the columns of a result, and along its rows.
ACROSS, DOWN = 4, 8

#: Columns of a wide instruction, at most.
MOST_COLUMNS = 256
#: Work-items that multiply by wide instructions, at most: more would wait for ever for the registers that they ask for
#: (codegen/opencl/ptx.py).
MOST_WORKERS = 256
#: Tiles in flight with producers, at most: each has two of a work-group's 15 barriers, and two are for other things.
MOST_STAGES = 6
#: Terms that an instruction which cuts off what does not fit adds to one sum, at most, where sums of local tiles are
#: shorter: products of 4096³ by 3xtf32 then have half the error of cuBLAS's float32 (NVIDIA H100).
MOST_ROUNDED = 64
_BYTE = 255

#: The number of an input, and which of its accesses.
Factor = tuple[int, int]


class Product(NamedTuple):
    """A product of two accesses that is added, or subtracted; or of a byte of each, the lowest is number 0."""

    left: Factor
    right: Factor
    negated: bool
    bytes: tuple[int, int] | None = None

    def turned(self) -> "Product":
        return Product(self.right, self.left, self.negated, self.bytes and self.bytes[::-1])


#: For each result of an MDH, the products that are added at each point.
Products = tuple[tuple[Product, ...], ...]


def products(h: MdHom) -> Products | None:
    """Return what is summed, real and imaginary parts for example; None where some result is no sum of products."""
    f, operator = h.scalar, h.operator
    if operator is None or not all(operator.adds) or f.texts or h.dims("ps") or h.index_sources:
        return None
    found = tuple([tuple(_products(h, f, n, False)) for n in f.results])
    # Products of floats that a function adds itself may have to be rounded each.
    exact = f.contract or all(t.kind in "iu" for t in f.dtypes)
    several = any(len(some) > 1 for some in found)
    return None if any(None in some for some in found) or (several and not exact) else found  # type: ignore[return-value]


def _products(h: MdHom, f: Function, n: int, negated: bool) -> Iterator[Product | None]:
    """Yield the products that an instruction adds, and None for what is none."""
    step = f.body[n]
    if step.op in {"add", "subtract"}:
        for count, arg in enumerate(step.args):
            yield from _products(h, f, arg, negated ^ (count == 1 and step.op == "subtract"))
    elif step.op == "negative":
        yield from _products(h, f, step.args[0], not negated)
    elif step.op == "multiply":
        (one, minus, left), (other, turned, right) = (_factor(h, f, arg, step.dtype) for arg in step.args)
        numbers = None if left is None or right is None else (left, right)
        alike = (left is None) == (right is None)
        known = one is not None and other is not None and alike
        yield Product(one, other, negated ^ minus ^ turned, numbers) if known else None  # type: ignore[arg-type]
    else:
        yield None


def _factor(h: MdHom, f: Function, n: int, dtype: np.dtype[Any]) -> tuple[Factor | None, bool, int | None]:
    """Return the access that is a factor of products of a type, whether it is negated, and the number of its byte.

    Float16 is multiplied as float32, conjugates have negative parts.
    """
    step, negated, byte = f.body[n], False, None
    while step.op in {"negative", "bitwise_and", "right_shift"} or (step.op == "cast" and step.dtype == dtype):
        if step.op == "bitwise_and":
            byte = 0 if f.body[step.args[1]].literal == str(_BYTE) else -1
        elif step.op == "right_shift":
            shift = f.body[step.args[1]].literal
            byte = int(shift) // 8 if byte == 0 and shift else -1
        negated ^= step.op == "negative"
        step = f.body[step.args[0]]
    return (h.accesses[step.position] if step.op == "param" and byte != -1 else None), negated, byte


def multiplied(h: MdHom) -> int:
    """Return how many products are added at each point, in all results."""
    return sum(map(len, products(h) or ()))


def oriented(h: MdHom, rows: int, columns: int, terms: int) -> Products | None:
    """Return the products, of each the factor that moves along rows and terms first, then that along columns and terms.

    None where some factor is none of both.
    """

    def moves(factor: Factor) -> tuple[bool, ...]:
        return tuple([h.inputs[factor[0]].depends_on(d) for d in (rows, columns, terms)])

    left, right = (True, False, True), (False, True, True)
    turned = [[p if moves(p.left) == left else p.turned() for p in some] for some in products(h) or ()]
    fits = all((moves(p.left), moves(p.right)) == (left, right) for some in turned for p in some)
    return tuple(map(tuple, turned)) if turned and fits else None


def operands(h: MdHom, rows: int, columns: int, terms: int) -> tuple[tuple[Factor, ...], tuple[Factor, ...]] | None:
    """Return the factors that move along rows and terms, then those along columns and terms; None if there are none."""
    found = [p for some in oriented(h, rows, columns, terms) or () for p in some]
    return (
        (tuple(dict.fromkeys(p.left for p in found)), tuple(dict.fromkeys(p.right for p in found))) if found else None
    )


def allowed(h: MdHom) -> tuple[Atom, ...]:
    """Return the instructions whose products are as exact as an MDH asks for, on any device.

    In a fixed order those that round each sum as a multiply-add does, the first term first: of a product a point.
    """
    found = [p for some in products(h) or () for p in some]
    types = {h.inputs[number].dtype.name for p in found for number, _ in (p.left, p.right)}
    result, *others = {t.name for t in h.scalar.dtypes}
    negated = any(p.negated for p in found)
    if not found or others or any(p.bytes for p in found):
        return ()
    if h.precision == "fixed" and (negated or len(found) > len(h.scalar.results) or h.finish is not None):
        return ()
    able = [atom for atom in ATOMS.values() if not negated or atom.packed == 1]
    able = [atom for atom in able if not atom.wide or atom.packed == 1 or len(found) == 1]
    able = [atom for atom in able if not atom.rounds or h.precision != "fixed"]
    return tuple(atom for atom in able if types <= atom.held(h.precision) and _summed(result, atom))


def _summed(result: str, atom: Atom) -> bool:
    """Whether an instruction's sums give those of a type; sums of integers are right modulo any power of two."""
    kinds, sizes = zip(*[(t.kind, t.itemsize) for t in map(np.dtype, (result, atom.result))], strict=True)
    most = atom.places if atom.places > 1 else sizes[1]
    return result == atom.result or ({*kinds} <= {*"iu"} and sizes[0] <= most)


def as_summed(h: MdHom, atom: Atom) -> MdHom:
    """The same with sums in the type of the schedule's instruction: of wider integers, whose last bits are kept.

    Where its operands are the bytes of integers there is a sum for each place of their products.
    """
    given, types, total, places = h.scalar.dtypes, h.scalar.parameters, np.dtype(atom.result), range(atom.places)
    if {*given} == {total} and atom.places == 1:
        return h
    scalar, finish = Recorder(), Recorder()
    read = dict(zip(h.accesses, scalar.parameters(types), strict=True))
    results, totals = list[int](), [total] * len(given) * len(places)

    def factor(access: Factor, byte: int) -> Any:
        whole = Symbol(scalar, read[access]).astype(total)
        return whole if atom.places == 1 else (whole >> 8 * byte if byte else whole) & _BYTE

    for some, place in product(products(h) or (), places):
        terms = [factor(p.left, n) * factor(p.right, place - n) for p in some for n in range(place + 1)]
        results.append(sum(terms[1:], terms[0]).number)
    numbers = finish.parameters([*totals, *types])
    kept = []
    for n, dtype in enumerate(given):
        sums = [Symbol(finish, numbers[n * len(places) + place]) for place in places]
        kept.append(
            sum([total << 8 * place for place, total in enumerate(sums) if place], sums[0]).astype(dtype).number
        )
    last = finish.paste(h.finish or identity_function(given), [*kept, *numbers[len(totals) :]])
    add = pw("add").resolve(totals)
    return replace(
        h,
        combine=tuple(add if c.kind == "pw" else c for c in h.combine),
        scalar=Function(types, tuple(scalar.body), tuple(results)),
        finish=Function((*totals, *types), tuple(finish.body), last),
    )


def at_precision(h: Computation, precision: Level, atoms: Collection[str] = tuple(ATOMS)) -> Computation:
    """The same at a level of precision; of products at the highest, where none of a device's instructions differs.

    So float64 keeps the highest, and MDHs are told apart only where results may differ.
    """
    if not isinstance(h, MdHom) or precision == h.precision == "highest":
        return h
    if precision == "fixed":
        return replace(h, precision=precision) if any([t.kind in "fc" for t in h.scalar.dtypes]) else h
    asked, exact = (h if h.precision == p else replace(h, precision=p) for p in (precision, "highest"))
    given, enough = ({atom.name for atom in allowed(each)} & {*atoms} for each in (asked, exact))
    return exact if given == enough else asked


def check_atom(h: MdHom, s: Schedule, caps: DeviceCaps) -> None:
    """Raise IllegalSchedule where the schedule's matrix instruction cannot compute the private tile."""
    if not s.atom:
        return
    require(s.atom in caps.atoms, f"atom: the device has no {s.atom}")
    atom, (rows, columns, terms) = ATOMS[s.atom], s.atom_dims
    m, _, k = atom.shape
    kinds = tuple(h.combine[d].kind for d in s.atom_dims)
    require(kinds == ("cc", "cc", "pw"), "atom_dims: rows and columns are no concatenated, terms no reduced dimension")
    found = operands(h, rows, columns, terms)
    require(found is not None, "atom: no sum of products of an input with rows and terms by one with columns and terms")
    assert found is not None
    every = {factor: d for side, d in zip(found, (rows, columns), strict=True) for factor in side}
    rounded = "".join(f", and rounds {name}" for _, name in atom.rounded)
    require(atom in allowed(h), f"atom: {s.atom} is for {', '.join(atom.values)}{rounded}")
    ahead = {*copied_ahead(h, s)}
    require({number for number, _ in every} <= ahead, "atom: its operands are tiles that are copied ahead")
    if packed(s) or swizzles(s):
        lying = [(panels if atom.wide else in_rows)(h, s, factor, d) for factor, d in every.items()]
        length = f"{WIDEST} bytes{', or more in blocks,' if atom.wide else ''}"
        require(None not in lying, f"local_copies: no rows of {length} along the atom's terms, rows or columns")
        require({number for number, _ in every} == ahead, "local_copies: others than the operands are copied ahead")
    lanes = s.num_wi[columns] % ACROSS == 0 and s.num_wi[rows] % DOWN == 0
    require(lanes, f"num_wi: no multiples of {DOWN} along the atom's rows and of {ACROSS} along its columns")
    require((s.vector_dim, s.vector_width) == (columns, 2), "vector_dim: an atom's lanes have pairs of columns")
    require(s.private_tile[rows] * DOWN % m == 0, f"private_tile: {DOWN} lanes' rows are no multiple of {m}")
    depth = s.private_tile[terms] == k and s.local_tile[terms] % k == 0
    require(depth, f"private_tile: an atom has {k} terms, a local tile a multiple of them")
    others = [d for d in h.dims("pw") if d != terms]
    require(all(s.private_tile[d] == 1 for d in others), "private_tile: only the atom's terms are unrolled")
    short = not atom.rounds or s.combine_on == "local" or one_sum(h)
    require(short, "combine_on: the atom's sums are short, so for each local tile")
    points = s.combine_every * prod(s.local_tile[d] for d in h.dims("pw")) * max(map(len, products(h) or ()))
    often = not atom.rounds or s.combine_every == 1 or (atom.wide and points <= MOST_ROUNDED)
    require(often, "combine_every: the atom's sums are short, so for each local tile")
    if atom.wide:
        _check_wide(h, s, atom, {number for number, _ in every} == ahead)
    if h.extents[terms] % s.local_tile[terms]:
        plain = all(h.inputs[n].axis_of(terms, access) is not None for n, access in every)
        require(plain, "local_tile: partial along the atom's terms, which an operand has not along an axis alone")


def _check_wide(h: MdHom, s: Schedule, atom: Atom, only_operands: bool) -> None:
    """Raise IllegalSchedule where several subgroups cannot compute the schedule's matrix instruction together."""
    _, columns, _ = s.atom_dims
    found = operands(h, *s.atom_dims)
    assert found is not None
    above, across = ([d for d in h.dims("cc") if h.inputs[side[0][0]].depends_on(d)] for side in found)
    items = prod(s.num_wi[d] for d in above if d not in across)
    alone = s.num_wi[columns] == ACROSS and items * ACROSS == s.work_items and items % (atom.warps * DOWN) == 0
    require(alone, f"num_wi: {ACROSS} along the atom's columns, multiples of {atom.warps * DOWN} along all rows")
    most = f"num_wi: {s.work_items} beside producers, who have registers for {MOST_WORKERS}"
    require(s.work_items <= MOST_WORKERS, most)
    count = prod(s.private_tile[d] for d in across) * ACROSS
    able = count <= MOST_COLUMNS and (atom.rounds or count % 16 == 0 or count in (8, 24))
    require(able, f"private_tile: {count} columns, of which there is no instruction (at most {MOST_COLUMNS})")
    single = all(s.step(d) == 1 for d in above if d in across)
    require(single, "private_tile: several points along dimensions that move both factors")
    tiles = tile_counts(h.extents, s.local_tile)
    require(all(tiles[d] == s.num_wg[d] for d in h.dims("cc")), "num_wg: several local tiles, and producers for one")
    require(only_operands, "local_copies: others than the operands are copied ahead")
    count = len({number for side in found for number, _ in side})
    copied = sum(copy is not None for copy in s.local_copies)
    require(copied == count, "local_copies: others than the operands are copied")
    if swizzles(s):
        require(count == len(found), "atom: both factors are one input")
        two = all(s.private_tile[d] == (2 if d == s.atom_dims[0] else 1) for d in above)
        require(two, f"private_tile: a subgroup has {2 * DOWN} rows beside each other")
        nearest = next(d for d in s.item_order if d in above and s.num_wi[d] > 1)
        require(nearest == s.atom_dims[0], "item_order: subgroups with neighbouring rows are no neighbours")
    enough = PREPARED < s.stages <= MOST_STAGES
    require(enough, f"stages: {s.stages}, from {PREPARED + 1}, as so many are read or prepared, to {MOST_STAGES}")


def one_sum(h: MdHom) -> bool:
    """Whether sums are of integers, or results are sums rounded to float16, and nothing else.

    Of those even a sum that is cut off by each instruction is far more exact than they are. Whatever else is computed
    of the sums could bring the error to light: a difference, for one.
    """
    if h.scalar.dtypes[0].kind in "iu":
        return True
    if any(v.dtype != np.float16 for v in h.outputs):
        return False
    if h.finish is None:
        return True
    step = h.finish.body[h.finish.results[0]]
    total = h.finish.body[step.args[0]] if step.op == "cast" else step
    return total.op == "param" and total.position == 0


def in_rows(h: MdHom, s: Schedule, factor: Factor, across: int) -> bool | None:
    """Whether the rows of a factor's tile that lanes load together lie along `across`, and not along the terms.

    None where a work-item cannot point at such rows. `across` is the dimension of the instruction's rows, or columns.
    """
    (number, access), copy = factor, s.local_copies[factor[0]]
    view, terms = h.inputs[number], s.atom_dims[2]
    itemsize = tile_itemsize(view, packed=packed(s))
    if copy is None or copy.blocked or itemsize > 4 or ATOMS[s.atom].places > 1:
        return None
    inner, footprint = copy.order[-1], [s.footprint(d) for d in range(h.rank)]
    index, wide = view.accesses[access][inner], WIDEST // itemsize
    begin = index.constant - min(a[inner].constant for a in view.accesses)
    places = tile_strides(view, copy, footprint, s)
    others = [stride for axis, stride in enumerate(places.strides) if axis != inner]
    if any(n % wide for n in (begin, places.size, *others)):
        return None
    # Only elements of two bytes can be transposed as they are loaded.
    along = [d for d in ((terms, across) if itemsize == 2 else (terms,)) if view.axis_of(d, access) == inner]
    return along[0] != terms if along else None


class Panels(NamedTuple):
    """How a factor's tile lies in local memory in swizzled rows: as panels of these, one behind the other.

    Rows are of terms, all of each row or column of the instruction's in one panel; where they are `turned`, they are
    of its rows or columns, and each panel has all terms. Lengths are in elements.
    """

    row: int
    panel: int
    turned: bool


def panels(h: MdHom, s: Schedule, factor: Factor, across: int) -> Panels | None:
    """Return how wide instructions read a factor's tile, along `across` and the terms; None where they cannot.

    Points of another kept dimension follow each other as if they were further ones along `across`.
    """
    (number, access), terms = factor, s.atom_dims[2]
    view, copy, footprint = h.inputs[number], s.local_copies[number], [s.footprint(d) for d in range(h.rank)]
    along, down = view.axis_of(terms, access), view.axis_of(across, access)
    if copy is None or along is None or down is None or copy.blocked not in ((along,), (down,)):
        return None
    turned, (inner,) = copy.blocked == (down,), copy.blocked
    places = tile_strides(view, copy, footprint, s)
    row, panel = places.blocks[inner], places.block_strides[inner]
    others = [d for d in h.dims("cc") if d != across and view.depends_on(d) and footprint[d] > 1]
    axes = [view.axis_of(d, access) for d in others]
    behind = panel * (footprint[across] // row) if turned else row * footprint[across]
    follow = len(others) <= 1 and all(axis is not None and places.strides[axis] == behind for axis in axes)
    size = tile_itemsize(view, packed=True)
    fits = row * size > WIDEST and (size == 2 or not turned) and places.strides[along if turned else down] == row
    return Panels(row, panel, turned) if fits and follow else None
