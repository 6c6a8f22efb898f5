"""OpenCL C text that says how many come before: sums over the work-items of a work-group, and over work-groups.

What sorts by digits and what selects elements count in tiles, one a work-group, sum the counts of tiles, and find what
is where in each tile.
"""

from mdhnp.codegen.opencl.handwritten import SHIFT, kernel, macros
from mdhnp.codegen.program import Kernel
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Of items that run together: who has the same digit, and sums of what those before have. In PTX, as OpenCL C has no
#: such functions on NVIDIA's GPUs.
_TOGETHER = """
#define TOGETHER asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
static inline uint same(uint digit) {
    uint found = 0xffffffff;
    #pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
        uint votes;
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                     : "=r"(votes) : "r"(digit >> bit & 1));
        found &= digit >> bit & 1 ? votes : ~votes;
    }
    return found;
}
static inline uint before(uint x, int distance) {
    uint y;
    asm volatile("{ .reg .pred p; .reg .u32 r; shfl.sync.up.b32 r|p, %1, %2, 0, 0xffffffff; @!p mov.u32 r, 0; "
                 "mov.u32 %0, r; }" : "=r"(y) : "r"(x), "r"(distance));
    return y;
}
static inline uint prefix_sum(uint x) {
    for (int distance = 1; distance < LANES; distance *= 2)
        x += before(x, distance);
    return x;
}
"""
_ALONE = """
#define TOGETHER
static inline uint same(uint digit) { return 1; }
static inline uint prefix_sum(uint x) { return x; }
"""

_SUMS = """
#define SUBGROUPS (ITEMS / LANES)
#define TILE (ITEMS * EACH)

// Sums what items before have; `all` becomes the sum of what all have. Items meet twice.
static inline uint sum_before(uint x, __local uint *sums, uint *all) {
    const uint item = get_local_id(0), until = prefix_sum(x);
    if (item % LANES == LANES - 1)
        sums[item / LANES] = until;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint here = 0, total = 0;
    for (uint n = 0; n < SUBGROUPS; ++n) {
        here = n == item / LANES ? total : here;
        total += sums[n];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    *all = total;
    return here + until - x;
}
"""

#: One work-group sums the counts of one digit of one row, or all.
_SUM_COUNTS = """\
    __local uint sums[SUBGROUPS];
    const int item = get_local_id(0);
    uint carried = 0;
    counts += (long)get_group_id(0) * tiles;
    for (int begin = 0; begin < tiles; begin += TILE) {
        const int at = begin + item * EACH;
        uint x[EACH], own = 0, all;
        #pragma unroll
        for (int e = 0; e < EACH; ++e) {
            x[e] = at + e < tiles ? counts[at + e] : 0;
            own += x[e];
        }
        uint sum = carried + sum_before(own, sums, &all);
        #pragma unroll
        for (int e = 0; e < EACH; ++e) {
            if (at + e < tiles)
                counts[at + e] = sum;
            sum += x[e];
        }
        carried += all;
    }
    if (item == 0)
        totals[get_group_id(0)] = carried;
"""


def sums_text(lanes: int, items: int, each: int) -> str:
    """Give functions for work-groups of `items`, `lanes` of which run together; a tile has `each` elements an item."""
    together = _TOGETHER if lanes > 1 else _ALONE
    return macros(LANES=lanes, ITEMS=items, EACH=each) + SHIFT + together + _SUMS


def summing(counts: Argument, totals: Argument, items: tuple[int, int], caps: DeviceCaps) -> tuple[str, Kernel]:
    """Give the kernel that makes of counts of tiles, so many as size 1 says, sums of those before, and sums of all."""
    arrays = {"uint *counts": counts, "uint *totals": totals}
    return kernel("sum_counts", arrays, {"tiles": 1}, _SUM_COUNTS, items, caps)
