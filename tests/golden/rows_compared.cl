#define ITEMS 256
#define SHIFT(array, bytes) array = (__global void *)((__global char *)array + bytes)
// Elements of type float
#define KEYS uint
#define SIGN 0x80000000u
#define VALUES 1
#define PLACES 0
#define INFINITE 0x7f800000u
static inline KEYS ordered(KEYS x) { return x & SIGN ? ~x : x | SIGN; }
static inline KEYS original(KEYS x) { return x & SIGN ? x ^ SIGN : ~x; }

static inline KEYS compared(KEYS x) {
    if (x == (KEYS)(SIGN - 1)) return SIGN;
    return x < (KEYS)~(INFINITE | SIGN) || x > (KEYS)(INFINITE | SIGN) ? (KEYS)~(KEYS)0 : x;
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void compare(__global const KEYS *keys, __global KEYS *moved, int n, int rows, long keys_at, long moved_at) {
    SHIFT(keys, keys_at);
    SHIFT(moved, moved_at);
    __global long *moved_places = 0;
    const long at = get_global_id(0), row = at / n;
    if (row >= rows)
        return;
    const uint place = at - row * n;
    keys += row * n;
    const KEYS key = keys[place], own = compared(ordered(key));
    uint rank = 0;
    for (uint other = 0; other < n; ++other) {
        const KEYS its = compared(ordered(keys[other]));
        rank += its < own || (its == own && other < place);
    }
    if (VALUES)
        moved[row * n + rank] = key;
    if (PLACES)
        moved_places[row * n + rank] = place;
}

// compare: 256 work-items, 256 a work-group; input 0, output 0, size 0, size 1, offset of input 0, offset of output 0
