#define LANES 32
#define ITEMS 64
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
// Elements of type float
#define KEYS uint
#define SIGN 0x80000000u
#define VALUES 1
#define PLACES 1
#define INFINITE 0x7f800000u
static inline KEYS ordered(KEYS x) { return x & SIGN ? ~x : x | SIGN; }
static inline KEYS original(KEYS x) { return x & SIGN ? x ^ SIGN : ~x; }

static inline KEYS compared(KEYS x) {
    if (x == (KEYS)(SIGN - 1)) return SIGN;
    return x < (KEYS)~(INFINITE | SIGN) || x > (KEYS)(INFINITE | SIGN) ? (KEYS)~(KEYS)0 : x;
}

#define DIGITS 256
static inline uint digit_of(KEYS x, int shift) { return (uint)(compared(x) >> shift) & (DIGITS - 1); }

// Of an item's elements, how many with the same digit come before in the subgroup; `counted` becomes how many it has.
static inline void rank_in_subgroup(const KEYS *x, ushort *rank, __local ushort *counted, int shift) {
    const uint lane = get_local_id(0) % LANES;
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const uint digit = digit_of(x[e], shift), with = same(digit);
        const uint known = counted[digit], less = popcount(with & ((1u << lane) - 1));
        TOGETHER;
        if (less == 0)
            counted[digit] = known + popcount(with);
        TOGETHER;
        rank[e] = known + less;
    }
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void exchange(__global const KEYS *keys, __global KEYS *moved, __global long *moved_places, int n, long keys_at, long moved_at, long moved_places_at) {
    SHIFT(keys, keys_at);
    SHIFT(moved, moved_at);
    SHIFT(moved_places, moved_places_at);
    __local ushort counted[SUBGROUPS][DIGITS];
    __local uint sums[SUBGROUPS];
    __local ulong tile_l[TILE * (PLACES && sizeof(KEYS) == 1 ? 2 : sizeof(KEYS)) / 8];
    __local KEYS *keys_l = (__local KEYS *)tile_l;
    __local ushort *places_l = (__local ushort *)tile_l;
    const int item = get_local_id(0), lane = item % LANES, subgroup = item / LANES;
    const int mine = subgroup * LANES * EACH + lane;
    const int own_digits = (DIGITS + ITEMS - 1) / ITEMS, digits = item * own_digits;
    const long begin = (long)get_group_id(0) * n;
    KEYS x[EACH];
    ushort places[EACH], rank[EACH];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) { // what is beyond the row comes last
        const int at = mine + e * LANES;
        x[e] = at < n ? ordered(keys[begin + at]) : (KEYS)~(KEYS)0;
        places[e] = at;
    }
    for (int shift = 0; shift < 8 * (int)sizeof(KEYS); shift += 8) {
        for (int c = item; c < SUBGROUPS * DIGITS; c += ITEMS)
            counted[c / DIGITS][c % DIGITS] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        rank_in_subgroup(x, rank, counted[subgroup], shift);
        barrier(CLK_LOCAL_MEM_FENCE);
        uint own = 0, all;
        for (int digit = digits; digit < min(digits + own_digits, DIGITS); ++digit)
            for (int s = 0; s < SUBGROUPS; ++s) {
                const uint c = counted[s][digit];
                counted[s][digit] = own;
                own += c;
            }
        const uint from = sum_before(own, sums, &all);
        for (int digit = digits; digit < min(digits + own_digits, DIGITS); ++digit)
            for (int s = 0; s < SUBGROUPS; ++s)
                counted[s][digit] += from;
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int e = 0; e < EACH; ++e) {
            rank[e] += counted[subgroup][digit_of(x[e], shift)];
            keys_l[rank[e]] = x[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int e = 0; e < EACH; ++e)
            x[e] = keys_l[mine + e * LANES];
        if (PLACES) {
            barrier(CLK_LOCAL_MEM_FENCE);
            #pragma unroll
            for (int e = 0; e < EACH; ++e)
                places_l[rank[e]] = places[e];
            barrier(CLK_LOCAL_MEM_FENCE);
            #pragma unroll
            for (int e = 0; e < EACH; ++e)
                places[e] = places_l[mine + e * LANES];
        }
    }
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = mine + e * LANES;
        if (VALUES && at < n)
            moved[begin + at] = original(x[e]);
        if (PLACES && at < n)
            moved_places[begin + at] = places[e];
    }
}

// exchange: 128 work-items, 64 a work-group; input 0, output 0, output 1, size 0, offset of input 0, offset of output 0, offset of output 1
