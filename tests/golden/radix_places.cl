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
// Elements of type float
#define KEYS uint
#define SIGN 0x80000000u
#define VALUES 0
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
void sum_counts(__global uint *counts, __global uint *totals, int tiles) {
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
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void count_first(__global const KEYS *keys, __global uint *counts, int n, int tiles, int shift, long keys_at) {
    SHIFT(keys, keys_at);
    const int first = 1, last = 0;
    __local uint counted[DIGITS];
    const int item = get_local_id(0), row = get_group_id(0) / tiles, tile = get_group_id(0) % tiles;
    for (int digit = item; digit < DIGITS; digit += ITEMS)
        counted[digit] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int valid = min(TILE, n - tile * TILE);
    keys += (long)row * n + tile * TILE;
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = e * ITEMS + item;
        if (at < valid)
            atomic_inc(&counted[digit_of(first ? ordered(keys[at]) : keys[at], shift)]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int digit = item; digit < DIGITS; digit += ITEMS)
        counts[((long)row * DIGITS + digit) * tiles + tile] = counted[digit];
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void count(__global const KEYS *keys, __global uint *counts, int n, int tiles, int shift) {
    const int first = 0, last = 0;
    __local uint counted[DIGITS];
    const int item = get_local_id(0), row = get_group_id(0) / tiles, tile = get_group_id(0) % tiles;
    for (int digit = item; digit < DIGITS; digit += ITEMS)
        counted[digit] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int valid = min(TILE, n - tile * TILE);
    keys += (long)row * n + tile * TILE;
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = e * ITEMS + item;
        if (at < valid)
            atomic_inc(&counted[digit_of(first ? ordered(keys[at]) : keys[at], shift)]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int digit = item; digit < DIGITS; digit += ITEMS)
        counts[((long)row * DIGITS + digit) * tiles + tile] = counted[digit];
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void move_first(__global const KEYS *keys, __global KEYS *moved, __global uint *moved_places, __global const uint *counts, __global const uint *totals, int n, int tiles, int shift, long keys_at) {
    SHIFT(keys, keys_at);
    const int first = 1, last = 0;
    __global const uint *places = 0;
    __local ushort counted[SUBGROUPS][DIGITS];
    __local uint begins[DIGITS]; // of each digit: where its first element comes in the row, less where in the tile
    __local uint sums[SUBGROUPS];
    __local ulong tile_l[TILE * (PLACES && sizeof(KEYS) < 4 ? 4 : sizeof(KEYS)) / 8];
    __local KEYS *keys_l = (__local KEYS *)tile_l;
    const int item = get_local_id(0), lane = item % LANES, subgroup = item / LANES;
    const int row = get_group_id(0) / tiles, tile = get_group_id(0) % tiles, mine = subgroup * LANES * EACH + lane;
    const int valid = min(TILE, n - tile * TILE);
    const long begin = (long)row * n, here = begin + tile * TILE;
    for (int c = item; c < SUBGROUPS * DIGITS; c += ITEMS)
        counted[c / DIGITS][c % DIGITS] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    KEYS x[EACH];
    ushort rank[EACH];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = mine + e * LANES; // what is beyond the row comes last
        x[e] = at >= valid ? (KEYS)~(KEYS)0 : first ? ordered(keys[here + at]) : keys[here + at];
    }
    rank_in_subgroup(x, rank, counted[subgroup], shift);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint in_tile = 0, in_row = 0;
    for (int chunk = 0; chunk < DIGITS; chunk += ITEMS) {
        const int digit = chunk + item;
        uint own = 0, total = 0, all;
        if (digit < DIGITS) {
            for (int s = 0; s < SUBGROUPS; ++s) {
                const uint c = counted[s][digit];
                counted[s][digit] = own;
                own += c;
            }
            total = totals[row * DIGITS + digit];
        }
        const uint from = in_tile + sum_before(own, sums, &all);
        in_tile += all;
        const uint to = in_row + sum_before(total, sums, &all);
        in_row += all;
        if (digit < DIGITS) {
            begins[digit] = to + counts[((long)row * DIGITS + digit) * tiles + tile] - from;
            for (int s = 0; s < SUBGROUPS; ++s)
                counted[s][digit] += from;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        rank[e] += counted[subgroup][digit_of(x[e], shift)];
        keys_l[rank[e]] = x[e];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint to[EACH];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = e * ITEMS + item;
        const KEYS key = keys_l[at];
        to[e] = begins[digit_of(key, shift)] + at;
        if (at < valid && (VALUES || !last))
            moved[begin + to[e]] = last ? original(key) : key;
    }

    __local uint *places_l = (__local uint *)tile_l;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = mine + e * LANES;
        places_l[rank[e]] = at >= valid ? 0 : first ? tile * TILE + at : places[here + at];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (e * ITEMS + item < valid)
            moved_places[begin + to[e]] = places_l[e * ITEMS + item];
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void move(__global const KEYS *keys, __global KEYS *moved, __global const uint *places, __global uint *moved_places, __global const uint *counts, __global const uint *totals, int n, int tiles, int shift) {
    const int first = 0, last = 0;
    __local ushort counted[SUBGROUPS][DIGITS];
    __local uint begins[DIGITS]; // of each digit: where its first element comes in the row, less where in the tile
    __local uint sums[SUBGROUPS];
    __local ulong tile_l[TILE * (PLACES && sizeof(KEYS) < 4 ? 4 : sizeof(KEYS)) / 8];
    __local KEYS *keys_l = (__local KEYS *)tile_l;
    const int item = get_local_id(0), lane = item % LANES, subgroup = item / LANES;
    const int row = get_group_id(0) / tiles, tile = get_group_id(0) % tiles, mine = subgroup * LANES * EACH + lane;
    const int valid = min(TILE, n - tile * TILE);
    const long begin = (long)row * n, here = begin + tile * TILE;
    for (int c = item; c < SUBGROUPS * DIGITS; c += ITEMS)
        counted[c / DIGITS][c % DIGITS] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    KEYS x[EACH];
    ushort rank[EACH];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = mine + e * LANES; // what is beyond the row comes last
        x[e] = at >= valid ? (KEYS)~(KEYS)0 : first ? ordered(keys[here + at]) : keys[here + at];
    }
    rank_in_subgroup(x, rank, counted[subgroup], shift);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint in_tile = 0, in_row = 0;
    for (int chunk = 0; chunk < DIGITS; chunk += ITEMS) {
        const int digit = chunk + item;
        uint own = 0, total = 0, all;
        if (digit < DIGITS) {
            for (int s = 0; s < SUBGROUPS; ++s) {
                const uint c = counted[s][digit];
                counted[s][digit] = own;
                own += c;
            }
            total = totals[row * DIGITS + digit];
        }
        const uint from = in_tile + sum_before(own, sums, &all);
        in_tile += all;
        const uint to = in_row + sum_before(total, sums, &all);
        in_row += all;
        if (digit < DIGITS) {
            begins[digit] = to + counts[((long)row * DIGITS + digit) * tiles + tile] - from;
            for (int s = 0; s < SUBGROUPS; ++s)
                counted[s][digit] += from;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        rank[e] += counted[subgroup][digit_of(x[e], shift)];
        keys_l[rank[e]] = x[e];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint to[EACH];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = e * ITEMS + item;
        const KEYS key = keys_l[at];
        to[e] = begins[digit_of(key, shift)] + at;
        if (at < valid && (VALUES || !last))
            moved[begin + to[e]] = last ? original(key) : key;
    }

    __local uint *places_l = (__local uint *)tile_l;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = mine + e * LANES;
        places_l[rank[e]] = at >= valid ? 0 : first ? tile * TILE + at : places[here + at];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (e * ITEMS + item < valid)
            moved_places[begin + to[e]] = places_l[e * ITEMS + item];
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void move_last(__global const KEYS *keys, __global const uint *places, __global long *moved_places, __global const uint *counts, __global const uint *totals, int n, int tiles, int shift, long moved_places_at) {
    SHIFT(moved_places, moved_places_at);
    const int first = 0, last = 1;
    __global KEYS *moved = 0;
    __local ushort counted[SUBGROUPS][DIGITS];
    __local uint begins[DIGITS]; // of each digit: where its first element comes in the row, less where in the tile
    __local uint sums[SUBGROUPS];
    __local ulong tile_l[TILE * (PLACES && sizeof(KEYS) < 4 ? 4 : sizeof(KEYS)) / 8];
    __local KEYS *keys_l = (__local KEYS *)tile_l;
    const int item = get_local_id(0), lane = item % LANES, subgroup = item / LANES;
    const int row = get_group_id(0) / tiles, tile = get_group_id(0) % tiles, mine = subgroup * LANES * EACH + lane;
    const int valid = min(TILE, n - tile * TILE);
    const long begin = (long)row * n, here = begin + tile * TILE;
    for (int c = item; c < SUBGROUPS * DIGITS; c += ITEMS)
        counted[c / DIGITS][c % DIGITS] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    KEYS x[EACH];
    ushort rank[EACH];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = mine + e * LANES; // what is beyond the row comes last
        x[e] = at >= valid ? (KEYS)~(KEYS)0 : first ? ordered(keys[here + at]) : keys[here + at];
    }
    rank_in_subgroup(x, rank, counted[subgroup], shift);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint in_tile = 0, in_row = 0;
    for (int chunk = 0; chunk < DIGITS; chunk += ITEMS) {
        const int digit = chunk + item;
        uint own = 0, total = 0, all;
        if (digit < DIGITS) {
            for (int s = 0; s < SUBGROUPS; ++s) {
                const uint c = counted[s][digit];
                counted[s][digit] = own;
                own += c;
            }
            total = totals[row * DIGITS + digit];
        }
        const uint from = in_tile + sum_before(own, sums, &all);
        in_tile += all;
        const uint to = in_row + sum_before(total, sums, &all);
        in_row += all;
        if (digit < DIGITS) {
            begins[digit] = to + counts[((long)row * DIGITS + digit) * tiles + tile] - from;
            for (int s = 0; s < SUBGROUPS; ++s)
                counted[s][digit] += from;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        rank[e] += counted[subgroup][digit_of(x[e], shift)];
        keys_l[rank[e]] = x[e];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint to[EACH];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = e * ITEMS + item;
        const KEYS key = keys_l[at];
        to[e] = begins[digit_of(key, shift)] + at;
        if (at < valid && (VALUES || !last))
            moved[begin + to[e]] = last ? original(key) : key;
    }

    __local uint *places_l = (__local uint *)tile_l;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = mine + e * LANES;
        places_l[rank[e]] = at >= valid ? 0 : first ? tile * TILE + at : places[here + at];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (e * ITEMS + item < valid)
            moved_places[begin + to[e]] = places_l[e * ITEMS + item];
}

// count_first: 25088 work-items, 256 a work-group; input 0, temporary 0, size 0, size 1, size 2, offset of input 0
// sum_counts: 131072 work-items, 256 a work-group; temporary 0, temporary 1, size 1
// move_first: 25088 work-items, 256 a work-group; input 0, temporary 2, temporary 4, temporary 0, temporary 1, size 0, size 1, size 2, offset of input 0
// count: 25088 work-items, 256 a work-group; temporary 2, temporary 0, size 0, size 1, size 3
// sum_counts: 131072 work-items, 256 a work-group; temporary 0, temporary 1, size 1
// move: 25088 work-items, 256 a work-group; temporary 2, temporary 3, temporary 4, temporary 5, temporary 0, temporary 1, size 0, size 1, size 3
// count: 25088 work-items, 256 a work-group; temporary 3, temporary 0, size 0, size 1, size 4
// sum_counts: 131072 work-items, 256 a work-group; temporary 0, temporary 1, size 1
// move: 25088 work-items, 256 a work-group; temporary 3, temporary 2, temporary 5, temporary 4, temporary 0, temporary 1, size 0, size 1, size 4
// count: 25088 work-items, 256 a work-group; temporary 2, temporary 0, size 0, size 1, size 5
// sum_counts: 131072 work-items, 256 a work-group; temporary 0, temporary 1, size 1
// move_last: 25088 work-items, 256 a work-group; temporary 2, temporary 4, output 0, temporary 0, temporary 1, size 0, size 1, size 5, offset of output 0
