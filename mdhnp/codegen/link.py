"""What a nest is told from outside: its place among others of a kernel, and the sizes that are a kernel's arguments."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mdhnp.codegen.ir.index import Index, constant
from mdhnp.mdh import Affine, MdHom
from mdhnp.schedule.schedule import Schedule
from mdhnp.schedule.split import splits


def sizes(h: MdHom, s: Schedule) -> dict[str, int]:
    """Give the arguments by which a general kernel learns its sizes, in order, and what they are for this MDH.

    For dimension ``i``: ``i_e`` is its extent, ``i_wg`` the work-groups along it, ``i_c`` the points of each. For view
    ``A``: ``A_s0`` is the stride of axis 0, ``A_o`` the offset. Short strides and offsets of 0 are none of them, nor
    the one work-group along a reduced dimension of a kernel that splits none.
    """
    found, split = {}, splits(h, s)
    for d, extent in enumerate(h.extents):
        found[f"{h.names[d]}_e"] = extent
        if split or h.combine[d].kind == "cc":
            found[f"{h.names[d]}_wg"] = s.num_wg[d]
            found[f"{h.names[d]}_c"] = -(-extent // (s.local_tile[d] * s.num_wg[d])) * s.local_tile[d]
    for view in (*h.inputs, *h.outputs):
        strides = zip(view.strides, view.short_strides(), strict=True)
        found |= {f"{view.name}_s{axis}": stride for axis, (stride, short) in enumerate(strides) if not short}
        found |= {f"{view.name}_o": view.offset} if view.offset else {}
    return found


def index_at(index: Affine, point: Mapping[int, Index]) -> Index:
    """Write an index of an access at a point, which has an index of the IR for each dimension that moves it."""
    total = constant(index.constant)
    for d in index.dims():
        total = total + point[d] * index.coefficients[d]
    return total


@dataclass(frozen=True)
class NestLink:
    """What a nest is told that is one of several in a kernel: what it computes, and what of arrays memory holds."""

    #: Where each dimension begins, if not at 0.
    origin: tuple[Index, ...] = ()
    #: Whether steps that would stick out of an extent begin earlier, and compute points again; of several work-items
    #: two would write those.
    pulls: bool = False
    #: Of arrays of which memory holds a part only, by name: where its first element would lie.
    moved: Mapping[str, Index] = field(default_factory=dict)
    #: Of dimensions of which only a part is computed: where that begins and ends.
    limits: Mapping[int, tuple[Index, Index]] = field(default_factory=dict)
    #: Of arrays of which memory holds some points along an axis only, by name: the axis, and how many. Index i lies
    #: where i modulo that does.
    rings: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: Dimensions whose loops over local tiles stand around this nest's.
    opened: tuple[int, ...] = ()
    #: Those of them of which each tile is whole, since one that would stick out begins earlier.
    whole: tuple[int, ...] = ()
    #: What the names of its work-items' local memory begin with.
    prefix: str = ""
