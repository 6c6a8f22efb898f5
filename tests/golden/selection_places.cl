#define TYPE half
#define LANES 32
#define ITEMS 256
#define EACH 16
#define SHIFT(array, bytes) array = (__global void *)((__global char *)array + bytes)

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

static inline float element(__global const TYPE *x, int at) { return vload_half(at, x); }
static inline int is_selected(__global const TYPE *x, int at, int n) { return at < n && (at == 0 || element(x, at) != element(x, at - 1)); }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void write(__global const TYPE *x, __global const uint *counts, __global long *places0, __global long *places1, int n, int extent1, long x_at, long counts_at, long places0_at, long places1_at) {
    SHIFT(x, x_at);
    SHIFT(counts, counts_at);
    SHIFT(places0, places0_at);
    SHIFT(places1, places1_at);
    __local uint sums[SUBGROUPS];
    __local uchar selected_l[TILE] __attribute__((aligned(16)));
    __local ushort places_l[TILE];
    const int item = get_local_id(0), tile = get_group_id(0);
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        selected_l[e * ITEMS + item] = is_selected(x, tile * TILE + e * ITEMS + item, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint own = 0, all;
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        own += selected_l[item * EACH + e];
    uint next = sum_before(own, sums, &all);
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (selected_l[item * EACH + e])
            places_l[next++] = item * EACH + e;
    barrier(CLK_LOCAL_MEM_FENCE);
    const long begin = counts[tile];
    for (int k = item; k < all; k += ITEMS) {
        uint at = tile * TILE + places_l[k];
        places1[begin + k] = at % (uint)extent1;
        at /= extent1;
        places0[begin + k] = at;
    }
}

// write: 768 work-items, 256 a work-group; input 0, input 1, output 0, output 1, size 0, size 1, offset of input 0, offset of input 1, offset of output 0, offset of output 1
