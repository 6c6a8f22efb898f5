"""Arrays that are read in another shape than they are made in: split and joined axes, moved into indices.

An array's elements lie in C order in both shapes. So an index in one is an index in the other, as long as no dimension
runs across the end of an axis; one that does is taken apart.

Source: Hagedorn et al., "High Performance Stencil Code Generation with Lift", `split` and `join`, and the rules that
move them through maps.
"""

from collections.abc import Sequence

from mdhnp.mdh import Affine, MdHom, View
from mdhnp.mdh.views import Access, Place, composed, row_major

__all__ = ["Splits", "parts", "splits", "unraveled"]

#: Dimensions that are taken apart, and the extents of their parts, outermost first.
Splits = dict[int, tuple[int, ...]]


def splits(h: MdHom, views: Sequence[tuple[View, tuple[int, ...]]]) -> Splits | None:
    """Say which dimensions must be taken apart so that views are of arrays of other shapes; None where none can be."""
    found: Splits = {}
    for view, shape in views:
        for access in view.accesses:
            for d, c in enumerate(_flat(access, view.shape, h.extents)[0]):
                sizes = _cut(h.extents[d], c, row_major(shape))
                if sizes is None or found.setdefault(d, sizes) != sizes:
                    return None
    found = {d: sizes for d, sizes in found.items() if len(sizes) > 1}
    combine = [h.combine[d] for d in found]
    if any([h.nested or c.kind == "ps" or (c.operator and not c.operator.commutative) for c in combine]):
        return None
    place, extents = parts(h, found)
    fits = all([
        unraveled(composed(a, place, len(extents)), v.shape, shape, extents)
        for v, shape in views for a in v.accesses
    ])  # fmt: skip
    return found if fits else None


def _cut(extent: int, step: int, strides: Sequence[int]) -> tuple[int, ...] | None:
    """Take a dimension apart that moves by so much, where it runs across the ends of axes with such strides."""
    sizes, begin = list[int](), step
    for stride in sorted({s for s in strides if step < s < step * extent}):
        if step < 0 or stride % begin or extent % (stride // begin):
            return None
        sizes.insert(0, stride // begin)
        extent //= stride // begin
        begin = stride
    return (extent, *sizes)


def parts(h: MdHom, found: Splits) -> tuple[Place, tuple[int, ...]]:
    """Give the place of an MDH in one whose dimensions are the parts of its own, and the extents of these."""
    each = [found.get(d, (n,)) for d, n in enumerate(h.extents)]
    extents = tuple([n for sizes in each for n in sizes])
    place, first = [], 0
    for sizes in each:
        steps = [0] * len(extents)
        steps[first : first + len(sizes)] = row_major(sizes)
        place.append(Affine(tuple(steps)))
        first += len(sizes)
    return tuple(place), extents


def unraveled(access: Access, shape: tuple[int, ...], other: tuple[int, ...], extents: Sequence[int]) -> Access | None:
    """Give an access to an array of some shape as one to the same elements in another; None where it is no such one."""
    steps, constant = _flat(access, shape, extents)
    if min(steps, default=0) < 0:
        return None
    found = []
    for stride in row_major(other):
        here = [c // stride if c % stride == 0 else 0 for c in steps]
        steps = [c if c % stride else 0 for c in steps]
        at, constant = divmod(constant, stride)
        if constant + sum([c * (n - 1) for c, n in zip(steps, extents, strict=True)]) >= stride:
            return None
        found.append(Affine(tuple(here), at))
    return tuple(found)


def _flat(access: Access, shape: tuple[int, ...], extents: Sequence[int]) -> tuple[list[int], int]:
    """How far each dimension moves an access in C order, and where it begins."""
    steps, constant = [0] * len(extents), 0
    for index, stride in zip(access, row_major(shape), strict=True):
        constant += stride * index.constant
        for d in index.dims():
            steps[d] += stride * index.coefficients[d] * (extents[d] > 1)
    return steps, constant
