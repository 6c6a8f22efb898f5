"""Named MDHs with schedules that show one feature of the generator each, at sizes that divide nothing.

The golden files and the runs under Oclgrind are made of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from schedules import CAPS
from strategies import Array

from mdhnp.codegen import Program, generate, resized
from mdhnp.mdh import MdHom, Pattern, Stage, canonical, cc, md_hom, ps, pw, stages
from mdhnp.schedule.check import check
from mdhnp.schedule.general import any_sizes, for_all_sizes, form
from mdhnp.schedule.schedule import DeviceCaps, LocalCopy, Schedule
from mdhnp.schedule.split import split, splits


@dataclass(frozen=True)
class Named:
    """An MDH on given arrays, and what of the plain schedule of its first stage is changed.

    A `general` one has the kernel that serves all sizes.
    """

    pattern: Pattern
    shapes: tuple[tuple[int, ...], ...]
    changes: Mapping[str, Any]
    dtype: str = "f4"
    general: bool = False

    def arrays(self) -> tuple[Array, ...]:
        """Small whole numbers, the same ones each time."""
        rng = np.random.default_rng(1)
        arrays = [rng.integers(-2, 3, shape).astype(self.dtype) for shape in self.shapes]
        return tuple(a * (1 + 2j) if a.dtype.kind == "c" else a for a in arrays)

    def mdhom(self) -> MdHom:
        """The MDH on these arrays."""
        return self.pattern.bind(*self.arrays())

    def program(self, caps: DeviceCaps = CAPS) -> Program:
        """The generated program; stages and kernels after the first have plain schedules."""
        if self.general:
            return self._for_all_sizes(*self._stages(), caps)
        return generate(*self.scheduled(caps), caps, plain)

    def scheduled(self, caps: DeviceCaps = CAPS) -> tuple[list[Stage], list[Schedule]]:
        """The stages and their schedules; none of those that serve all sizes."""
        steps = self._stages()
        used = [plain(s.mdhom, caps) for s in steps]
        used[0] = replace(used[0], **self.changes)
        for stage, schedule in zip(steps, used, strict=True):
            check(stage.mdhom, schedule, caps)
        return steps, used

    def _stages(self) -> list[Stage]:
        return [replace(s, mdhom=canonical(s.mdhom)) for s in stages(self.mdhom())]

    def _for_all_sizes(self, stage: Stage, caps: DeviceCaps) -> Program:
        typical = form(stage.mdhom)
        assert typical is not None
        schedule = for_all_sizes(typical, replace(plain(typical, caps), **self.changes), caps)
        assert schedule is not None
        schedule = replace(schedule, num_wg=self.changes["num_wg"])
        if splits(stage.mdhom, schedule):
            second = form(split(stage.mdhom, schedule)[1])
            assert second is not None
            tile, order = (3, *(1 for _ in second.extents[1:])), (*range(1, second.rank), 0)
            rows = replace(plain(second, caps), results="private", local_tile=tile, global_order=order)
            schedule = replace(schedule, second=for_all_sizes(second, rows, caps))
        program = generate([replace(stage, mdhom=typical)], [any_sizes(schedule)], caps)
        return resized(program, stage.mdhom, schedule)


def plain(h: MdHom, caps: DeviceCaps) -> Schedule:
    """The simplest schedule."""
    simple = Schedule.plain(h.extents, len(h.inputs))
    if h.dims("ps"):
        tile = tuple(1 if c.kind == "cc" else n for c, n in zip(h.combine, h.extents, strict=True))
        return replace(simple, local_tile=tile)
    return simple


def _better(a: Any, b: Any) -> Any:
    better = b[0] > a[0]
    return np.where(better, b[0], a[0]), np.where(better, b[1], a[1])


def _product(a: Any, b: Any) -> Any:
    return (a[0] * b[0], b[0] * a[1] + b[1])


def _first(a: Any, b: Any) -> Any:
    return np.where(a != 0, a, b)


GEMM = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")
GEMM_TRANSPOSED = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[j,k] -> C[i,j]")
GEMV = md_hom(
    lambda a, x, y: a * x, {"i": cc, "k": pw("add")}, "A[i,k], x[k], y[i] -> z[i]",
    finish=lambda total, a, x, y: 2 * total + y,
)  # fmt: skip
#: Products of float16 as NumPy computes them: in float32, rounded once.
HALF_GEMM = md_hom(
    lambda a, b: a.astype(np.float32) * b.astype(np.float32), {"i": cc, "j": cc, "k": pw("add")},
    "A[i,k], B[k,j] -> C[i,j]", finish=lambda total, a, b: total.astype(np.float16),
)  # fmt: skip
DOT = md_hom(np.multiply, {"k": pw("add")}, "x[k], y[k] -> z[]")
LARGEST = md_hom(
    lambda x, n: (x, n), {"i": cc, "k": pw(_better, commutative=False, name="better")}, "x[i,k], n[k] -> a[i], b[i]"
)
FIRST = md_hom(lambda x: x, {"k": pw(_first, commutative=False, name="first")}, "x[k] -> y[]")
SUMS = md_hom(lambda x: x, {"j": cc, "i": ps("add")}, "x[i,j] -> y[i,j]")
RECURRENCE = md_hom(
    lambda a, b: (a, b), {"i": ps(_product, commutative=False, identity=(1, 0), name="affine")},
    "a[i], b[i] -> p[i], q[i]",
)  # fmt: skip
BOX = md_hom(lambda x: x, {"i": ps("add"), "j": pw("add")}, "A[i,j] -> O[i]")
CROSS = "x[i-1,j], x[i,j-1], x[i,j], x[i,j+1], x[i+1,j] -> y[i,j]"
RANGE = md_hom(lambda x: (x, x), {"i": cc, "k": pw(("min", "max"))}, "x[k,i] -> low[i], high[i]")
BOTH = md_hom(lambda x: x > 0, {"i": cc, "k": pw("and")}, "x[k,i] -> y[i]")


#: Text that walks over rows and columns, and what it computes.
WALKED = md_hom(
    """float dot(const global float *row, int d, int across, const global float *column, int e, int down) {
        float sum = 0.0f;
        for (int k = 0; k < d; ++k)
            sum += row[k * across] * column[k * down];
        return sum;
    }""", {"i": cc, "j": cc}, "A[i,:], B[:,j] -> C[i,j]",
)  # fmt: skip


def _star(north: Any, west: Any, here: Any, east: Any, south: Any) -> Any:
    return north + west + south + east - 4 * here


def _stencil(mode: str) -> Pattern:
    return md_hom(_star, {"i": cc, "j": cc}, CROSS, boundary={"x": mode})


_MM: tuple[tuple[int, ...], ...] = ((7, 9), (9, 11))
_TREE = {"num_wi": (1, 4), "local_tile": (3, 9), "private_tile": (3, 2), "results": "private"}

KERNELS: dict[str, Named] = {
    # matrix products: dimensions i, j, k
    "gemm_plain": Named(GEMM, _MM, {}),
    "gemm_turned": Named(GEMM_TRANSPOSED, ((3, 9), (11, 9)), dict(
        local_tile=(3, 8, 6), private_tile=(2, 8, 1), vector_dim=1, vector_width=4,
        local_copies=(None, LocalCopy((0, 1), (0,))), private_copies=(True, True), global_order=(1, 2, 0),
    )),
    "gemm_packed": Named(GEMM, _MM, dict(
        num_wg=(2, 1, 1), local_tile=(4, 11, 4), private_tile=(2, 8, 1), vector_dim=1, vector_width=4,
        local_copies=(LocalCopy((0, 1), (0,)), LocalCopy((1, 0), (1,))), private_copies=(True, True), results="local",
    )),
    "gemm_prefetched": Named(GEMM, ((7, 150), (150, 64)), dict(
        num_wg=(1, 2, 1), local_tile=(4, 32, 64), private_tile=(2, 32, 2), vector_dim=1, vector_width=8,
        local_copies=(None, LocalCopy((1, 0), (1,))), private_copies=(True, True), global_order=(1, 2, 0),
        results="global",
    )),
    "gemm_registers": Named(GEMM, _MM, dict(
        local_tile=(2, 8, 4), private_tile=(2, 8, 2), vector_dim=1, vector_width=4, private_copies=(True, True),
        results="private", num_wg=(2, 2, 1),
    )),
    "gemm_in_output": Named(GEMM, _MM, dict(
        local_tile=(4, 4, 4), private_tile=(2, 2, 2), results="global", global_order=(2, 0, 1),
    )),
    "gemm_work_items": Named(GEMM, _MM, dict(
        num_wg=(2, 2, 1), num_wi=(2, 4, 1), local_tile=(4, 8, 3), private_tile=(2, 2, 1), results="private",
        local_copies=(LocalCopy((1, 0)), LocalCopy((0, 1))), item_order=(1, 0, 2),
    )),
    # the next tiles are loaded while the current ones are used
    "gemm_ahead": Named(GEMM, _MM, dict(
        num_wg=(2, 2, 1), num_wi=(2, 4, 1), local_tile=(4, 8, 3), private_tile=(2, 2, 1), results="private",
        local_copies=(LocalCopy((1, 0), pad=1), LocalCopy((0, 1))), item_order=(1, 0, 2), stages=2,
    )),
    "gemm_tree": Named(GEMM, _MM, dict(
        num_wi=(1, 2, 3), local_tile=(2, 4, 6), private_tile=(2, 2, 2), results="private", combine_on="global",
    )),
    "gemm_tree_each_tile": Named(GEMM, _MM, dict(
        num_wi=(1, 2, 3), local_tile=(2, 4, 3), private_tile=(2, 2, 1), results="local", combine_on="local",
    )),
    "gemm_split": Named(GEMM, _MM, dict(
        num_wg=(1, 1, 3), local_tile=(2, 4, 3), private_tile=(2, 4, 1), results="private",
    )),
    # copies inside the outermost, the middle and the innermost of three moving loops
    "copies_at_each_loop": Named(
        md_hom(lambda a, b, c: 100 * a + 10 * b + c, {"i": cc, "j": cc, "k": cc}, "A[i], B[i,j], C[k] -> D[i,j,k]"),
        ((5,), (5, 6), (7,)), dict(local_tile=(2, 2, 3), private_tile=(2, 1, 1), global_order=(0, 1, 2),
        local_copies=(LocalCopy((0,)), LocalCopy((0, 1)), LocalCopy((0,)))), "i4",
    ),
    # kernels' types
    "gemm_half": Named(HALF_GEMM, _MM, dict(
        num_wg=(2, 1, 1), local_tile=(2, 8, 9), private_tile=(2, 8, 1), vector_dim=1, vector_width=8,
        local_copies=(None, LocalCopy((1, 0), (1,))), private_copies=(True, True), results="private",
    ), "f2"),
    "sums_half": Named(
        md_hom(lambda x: x * x, {"i": cc, "j": ps("add")}, "x[j,i] -> y[i,j]"), ((6, 11),),
        dict(local_tile=(4, 6), private_tile=(4, 2), vector_dim=0, vector_width=4, results="private"), "f2",
    ),
    "gemm_complex": Named(GEMM, _MM, dict(
        local_tile=(2, 4, 9), private_tile=(2, 4, 1), vector_dim=1, vector_width=4,
        local_copies=(None, None, LocalCopy((1, 0), (1,)), LocalCopy((1, 0), (1,))), private_copies=(True,) * 4,
        results="private",
    ), "c8"),
    "gemm_complex_in_output": Named(GEMM, _MM, dict(
        num_wg=(2, 1, 1), local_tile=(4, 4, 4), private_tile=(2, 4, 2), vector_dim=1, vector_width=4, results="global",
        global_order=(2, 0, 1),
    ), "c16"),
    "dot_complex": Named(DOT, ((61,), (61,)), dict(
        num_wg=(2,), num_wi=(3,), local_tile=(24,), private_tile=(8,), vector_dim=0, vector_width=4, results="private",
    ), "c8"),
    "transposed_complex": Named(md_hom(np.conj, {"i": cc, "j": cc}, "x[i,j] -> y[j,i]"), ((6, 9),), dict(
        local_tile=(4, 6), private_tile=(4, 1), vector_dim=0, vector_width=4,
    ), "c8"),
    "gemm_gather": Named(
        md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[k,i], B[j,k] -> C[j,i]"), ((9, 7), (11, 9)),
        dict(vector_dim=0, vector_width=4, private_tile=(4, 2, 1), local_tile=(11, 6, 9)),
    ),
    "gemv_finish": Named(GEMV, ((7, 13), (13,), (7,)), dict(
        num_wg=(2, 1), local_tile=(4, 5), private_tile=(4, 1), results="private",
    )),
    "gemv_finish_split": Named(GEMV, ((7, 13), (13,), (7,)), dict(
        num_wg=(2, 3), local_tile=(4, 5), private_tile=(4, 1), results="private",
    )),
    # for all sizes
    "general_gemm": Named(GEMM, _MM, dict(
        num_wg=(2, 2, 1), local_tile=(4, 8, 4), private_tile=(2, 8, 1), vector_dim=1, vector_width=4,
        local_copies=(None, LocalCopy((1, 0), (1,))), results="global", global_order=(1, 2, 0),
    ), general=True),
    "general_gemm_tree": Named(GEMM, _MM, dict(
        num_wg=(3, 2, 1), num_wi=(1, 2, 3), local_tile=(3, 8, 6), private_tile=(3, 4, 2), results="private",
        combine_on="local", vector_dim=1, vector_width=2, local_copies=(LocalCopy((1, 0)), LocalCopy((0, 1))),
    ), general=True),
    "general_gemv": Named(GEMV, ((7, 13), (13,), (7,)), dict(
        num_wg=(2, 1), local_tile=(4, 8), private_tile=(4, 4), vector_dim=1, vector_width=4, results="private",
        combine_on="local",
    ), general=True),
    "general_gemv_split": Named(GEMV, ((7, 13), (13,), (7,)), dict(
        num_wg=(2, 2), local_tile=(4, 8), private_tile=(4, 4), vector_dim=1, vector_width=4, results="private",
        combine_on="local",
    ), general=True),
    "general_first_split": Named(FIRST, ((37,),), dict(
        num_wg=(3,), num_wi=(3,), local_tile=(12,), private_tile=(4,), results="private", combine_on="local",
    ), "i4", general=True),
    "general_range_split": Named(RANGE, ((19, 7),), dict(
        num_wg=(2, 2), num_wi=(2, 2), local_tile=(4, 6), private_tile=(2, 3), results="local",
        combine_on="local",
    ), "i4", general=True),
    "general_star": Named(
        md_hom(_star, {"i": cc, "j": cc}, "x[i,j+1], x[i+1,j], x[i+1,j+1], x[i+1,j+2], x[i+2,j+1] -> y[i,j]"),
        ((9, 19),), dict(num_wg=(2, 2), local_tile=(4, 16), private_tile=(2, 8), vector_dim=1, vector_width=8),
        general=True,
    ),
    # one long reduction
    "dot_vector": Named(DOT, ((61,), (61,)), dict(
        local_tile=(61,), private_tile=(16,), vector_dim=0, vector_width=8, results="private",
    )),
    "dot_vector_tree": Named(DOT, ((61,), (61,)), dict(
        num_wg=(2,), num_wi=(3,), local_tile=(24,), private_tile=(8,), vector_dim=0, vector_width=4, results="private",
    )),
    # other operators
    "range": Named(RANGE, ((9, 7),), dict(_TREE, num_wi=(1, 4)), "i4"),
    "and": Named(BOTH, ((9, 7),), dict(
        local_tile=(4, 9), private_tile=(4, 1), vector_dim=0, vector_width=4, results="private",
    ), "i4"),
    "larger_in_order": Named(LARGEST, ((5, 12), (12,)), dict(
        num_wi=(1, 4), num_wg=(1, 2), local_tile=(2, 8), private_tile=(2, 2), results="private", combine_on="local",
    ), "i4"),
    "first_in_order": Named(FIRST, ((29,),), dict(
        num_wg=(2,), num_wi=(4,), local_tile=(8,), private_tile=(2,), results="private", combine_on="local",
    ), "i4"),
    # scans
    "scan_sequential": Named(SUMS, ((11, 6),), dict(
        local_tile=(4, 5), private_tile=(4, 2), vector_dim=0, vector_width=4, results="private",
    )),
    "scan_work_items": Named(SUMS, ((11, 6),), dict(
        num_wi=(2, 3), local_tile=(4, 6), private_tile=(2, 2), results="private",
        local_copies=(LocalCopy((0, 1)),),
    )),
    "scan_work_groups": Named(RECURRENCE, ((29,), (29,)), dict(
        num_wg=(3,), num_wi=(2,), local_tile=(4,), private_tile=(2,), results="private",
    ), "i4"),
    "scan_of_sums": Named(BOX, ((7, 9),), dict(num_wi=(1, 2), private_tile=(1, 2), combine_on="local")),
    # stencils
    "stencil_inside": Named(
        md_hom(_star, {"i": cc, "j": cc}, "x[i,j+1], x[i+1,j], x[i+1,j+1], x[i+1,j+2], x[i+2,j+1] -> y[i,j]"),
        ((9, 19),), dict(num_wg=(2, 1), local_tile=(4, 8), private_tile=(2, 8), vector_dim=1, vector_width=8),
    ),
    "stencil_constant": Named(_stencil("constant"), ((6, 9),), dict(
        local_tile=(4, 8), private_tile=(2, 4), vector_dim=1, vector_width=4, private_copies=(True,),
    )),
    "stencil_reflect": Named(_stencil("reflect"), ((6, 9),), dict(
        num_wi=(2, 4), num_wg=(2, 1), local_tile=(4, 8), private_tile=(1, 2), local_copies=(LocalCopy((0, 1)),),
    )),
    **{f"stencil_{m}": Named(_stencil(m), ((5, 7),), dict(
        local_tile=(2, 4), private_tile=(2, 4), vector_dim=1, vector_width=4,
    )) for m in ("nearest", "mirror", "wrap")},
    **{f"stencil_rows_{m}": Named(_stencil(m), ((5, 7),), dict(
        local_tile=(2, 4), private_tile=(2, 4), vector_dim=1, vector_width=4, local_copies=(LocalCopy((0, 1)),),
    )) for m in ("constant", "wrap")},
    # Steps of several points end just beside the array, in either direction.
    **{f"stencil_backwards_{m}": Named(
        md_hom(lambda w, a: w + 3 * a, {"i": cc, "j": cc}, "w[i,j], x[12-2*i,19-3*j] -> y[i,j]", boundary={"x": m}),
        ((7, 9), (11, 20)), dict(local_tile=(2, 4), private_tile=(2, 4), vector_dim=1, vector_width=4), "i4",
    ) for m in ("constant", "wrap")},
    "stencil_turned": Named(
        md_hom(_star, {"i": cc, "j": cc}, "x[i,j-1], x[i-1,j], x[i,j], x[i+1,j], x[i,j+1] -> y[j,i]",
               boundary={"x": "reflect"}),
        ((5, 7),), dict(local_tile=(4, 4), private_tile=(4, 1), vector_dim=0, vector_width=4),
    ),
    "convolution_packed": Named(
        md_hom(np.multiply, {"k": cc, "p": cc, "c": pw("add"), "r": pw("add")}, "I[c,p+r], F[k,c,r] -> O[k,p]"),
        ((5, 6), (9, 5, 3)),
        dict(
            local_tile=(8, 4, 2, 3), private_tile=(4, 2, 1, 1), vector_dim=0, vector_width=4,
            local_copies=(None, LocalCopy((0, 1, 2), (0,))), results="global", global_order=(0, 2, 3, 1),
        ),
    ),
    "convolution_shared": Named(
        md_hom(np.multiply, {"k": cc, "p": cc, "c": pw("add"), "r": pw("add")}, "I[c,p+r], F[k,c,r] -> O[k,p]"),
        ((5, 6), (9, 5, 3)),
        dict(
            num_wi=(2, 2, 1, 1), local_tile=(4, 2, 2, 3), private_tile=(2, 1, 1, 1), results="private",
            local_copies=(LocalCopy((0, 1)), LocalCopy((0, 1, 2))),
        ),
    ),
    "convolution": Named(
        md_hom(np.multiply, {"p": cc, "q": cc, "r": pw("add"), "s": pw("add")}, "I[p+r,q+s], F[r,s] -> O[p,q]"),
        ((7, 9), (3, 2)),
        dict(
            local_tile=(2, 4, 3, 2), private_tile=(2, 4, 1, 2), vector_dim=1, vector_width=4, results="private",
            local_copies=(LocalCopy((0, 1)), None),
        ),
    ),
}  # fmt: skip

#: As text, and as an MDH that can be interpreted.
TEXTS: dict[str, tuple[Named, Named]] = {
    "slices": (Named(WALKED, _MM, dict(num_wg=(2, 2), num_wi=(2, 3), local_tile=(4, 6))), Named(GEMM, _MM, {})),
    "general_slices": (
        Named(WALKED, _MM, dict(num_wg=(2, 2), num_wi=(2, 3), local_tile=(4, 6)), general=True), Named(GEMM, _MM, {}),
    ),
}  # fmt: skip

#: Lanes of a vector of two registers that stick out. Oclgrind takes halves of 16 lanes for uninitialised.
WIDE_VECTORS = Named(
    md_hom(np.add, {"i": cc}, "x[i], y[i] -> z[i]"), ((1018,), (1018,)),
    dict(num_wg=(2,), local_tile=(128,), private_tile=(64,), vector_dim=0, vector_width=16), "i8",
)  # fmt: skip
