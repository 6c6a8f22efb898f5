#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef short2 short2_u __attribute__((aligned(sizeof(short))));
typedef short2 short2_a __attribute__((aligned(4)));
static inline void copy_async_short4_if(__local short *p, __global const short *q, int whole, int given)
{ asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.ca.shared.global [%0 + 0], [%1 + 0], 8, %2; }" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 8 : 0), "r"(whole) : "memory"); }
static inline void copy_async_short8_if(__local short *p, __global const short *q, int whole, int given)
{ asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.cg.shared.global [%0 + 0], [%1 + 0], 16, %2; }" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 16 : 0), "r"(whole) : "memory"); }
static inline void copy_short4_apart_if(__local short *p, __global const short *q, int given)
{ __attribute__((opencl_unroll_hint(1))) for (int n = 0; n < 4; ++n) p[n] = given ? q[n] : 0; }
static inline void copy_short8_apart_if(__local short *p, __global const short *q, int given)
{ __attribute__((opencl_unroll_hint(1))) for (int n = 0; n < 8; ++n) p[n] = given ? q[n] : 0; }
static inline int shift_left_int(int a, int b)
{ return b < 0 || b >= 8 * (int)sizeof(int) ? 0 : (int)((uint)a << b); }
static inline int2 shift_left_int2(int2 a, int2 b)
{ return (int2)(shift_left_int(a.s0, b.s0), shift_left_int(a.s1, b.s1)); }
static inline void mma_uint_16x8x32(int2 *c0, int2 *c1, uint a0, uint a1, uint a2, uint a3, uint b0, uint b1)
{ int s0 = c0->x, s1 = c0->y; int s2 = c1->x, s3 = c1->y;
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+r"(s0), "+r"(s1), "+r"(s2), "+r"(s3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  *c0 = (int2)(s0, s1); *c1 = (int2)(s2, s3); }
static inline uint pack_bytes0(uint a, uint b, uint c, uint d)
{ uint x, y, r; asm("prmt.b32 %0, %1, %2, 0x5140;" : "=r"(x) : "r"(a), "r"(b)); asm("prmt.b32 %0, %1, %2, 0x5140;" : "=r"(y) : "r"(c), "r"(d)); asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(r) : "r"(x), "r"(y)); return r; }
static inline uint pack_bytes1(uint a, uint b, uint c, uint d)
{ uint x, y, r; asm("prmt.b32 %0, %1, %2, 0x5140;" : "=r"(x) : "r"(a), "r"(b)); asm("prmt.b32 %0, %1, %2, 0x5140;" : "=r"(y) : "r"(c), "r"(d)); asm("prmt.b32 %0, %1, %2, 0x7632;" : "=r"(r) : "r"(x), "r"(y)); return r; }
static inline void scatter__global_short2(__global short *p, int s, int n, short2 v)
{ const int m = n;
  if (s == 1 && m >= 2) { *(__global short2_u *)p = v; return; }
  if (s == 1) { if (m & 1) *p = v.lo; return; }
  if (n > 0) p[0 * s] = v.s0; if (n > 1) p[1 * s] = v.s1; }
static inline void store_short2(__global short *p, short2 v)
{ if (((size_t)p & 3) == 0) *(__global short2_a *)p = v;
  else { p[0] = v.s0; p[1] = v.s1; } }

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void mdh_0(__global const short *restrict I0, __global const short *restrict I1, __global short *restrict O0, const long I0_at, const long I1_at, const long O0_at) {
  #pragma OPENCL FP_CONTRACT ON
  I0 = (__global const short *)((__global const char *)I0 + I0_at);
  I1 = (__global const short *)((__global const char *)I1 + I1_at);
  O0 = (__global short *)((__global char *)O0 + O0_at);
  __local short I0_l[1024] __attribute__((aligned(16)));
  __local short I1_l[512] __attribute__((aligned(16)));
  const int g = get_group_id(0);
  const int j_g = g % 2;
  const int i_g = g / 2;
  const int w = get_local_id(0);
  const int j_w = w % 4;
  const int i_w = w / 4;
  const int i_l = i_g * 16;
  const int i_n = min(16, 18 - i_l);
  const int j_l = j_g * 8;
  const int j_n = min(8, 12 - j_l);
  const int i = i_l + i_w;
  const int j = j_l + j_w * 2;
  int2 acc0 = (int2)(0);
  int2 acc1 = (int2)(0);
  int2 acc2 = (int2)(0);
  int2 acc3 = (int2)(0);
  for (int ahead = 0; ahead < 1; ++ahead) {
    const int slot = ahead % 2;
    const int k_l = ahead * 32;
    const int k_n = min(32, 48 - k_l);
    // The next tile of I0 to local memory
    const int x1_0 = w % 4;
    const int x0_0 = w / 4;
    copy_async_short8_if(I0_l + slot * 512 + x0_0 * 32 + x1_0 * 8, I0 + i_l * 48 + x0_0 * 48 + k_l + x1_0 * 8, (((size_t)I0 & 15) == 0), (i_l + x0_0 <= 17 && k_l + x1_0 * 8 <= 40));
    copy_async_short8_if(I0_l + slot * 512 + x0_0 * 32 + x1_0 * 8 + 256, I0 + i_l * 48 + x0_0 * 48 + k_l + x1_0 * 8 + 384, (((size_t)I0 & 15) == 0), (i_l + x0_0 + 8 <= 17 && k_l + x1_0 * 8 <= 40));
    // The next tile of I1 to local memory
    const int x1_1 = w % 2;
    const int x0_1 = w / 2;
    copy_async_short4_if(I1_l + slot * 256 + x0_1 * 8 + x1_1 * 4, I1 + k_l * 12 + x0_1 * 12 + j_l + x1_1 * 4, (((size_t)I1 & 7) == 0), (j_l + x1_1 * 4 <= 8));
    copy_async_short4_if(I1_l + slot * 256 + x0_1 * 8 + x1_1 * 4 + 128, I1 + k_l * 12 + x0_1 * 12 + j_l + x1_1 * 4 + 192, (((size_t)I1 & 7) == 0), (k_l + x0_1 + 16 <= 47 && j_l + x1_1 * 4 <= 8));
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (!(((size_t)I0 & 15) == 0)) {
      copy_short8_apart_if(I0_l + slot * 512 + x0_0 * 32 + x1_0 * 8, I0 + i_l * 48 + x0_0 * 48 + k_l + x1_0 * 8, (i_l + x0_0 <= 17 && k_l + x1_0 * 8 <= 40));
      copy_short8_apart_if(I0_l + slot * 512 + x0_0 * 32 + x1_0 * 8 + 256, I0 + i_l * 48 + x0_0 * 48 + k_l + x1_0 * 8 + 384, (i_l + x0_0 + 8 <= 17 && k_l + x1_0 * 8 <= 40));
    }
    if (!(((size_t)I1 & 7) == 0)) {
      copy_short4_apart_if(I1_l + slot * 256 + x0_1 * 8 + x1_1 * 4, I1 + k_l * 12 + x0_1 * 12 + j_l + x1_1 * 4, (j_l + x1_1 * 4 <= 8));
      copy_short4_apart_if(I1_l + slot * 256 + x0_1 * 8 + x1_1 * 4 + 128, I1 + k_l * 12 + x0_1 * 12 + j_l + x1_1 * 4 + 192, (k_l + x0_1 + 16 <= 47 && j_l + x1_1 * 4 <= 8));
    }
  }
  for (int now = 0; now < 2; ++now) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    {
      const int ahead = now + 1;
      if (ahead < 2) {
        const int slot = ahead % 2;
        const int k_l = ahead * 32;
        const int k_n = min(32, 48 - k_l);
        // The next tile of I0 to local memory
        const int x1_2 = w % 4;
        const int x0_2 = w / 4;
        copy_async_short8_if(I0_l + slot * 512 + x0_2 * 32 + x1_2 * 8, I0 + i_l * 48 + x0_2 * 48 + k_l + x1_2 * 8, (((size_t)I0 & 15) == 0), (i_l + x0_2 <= 17 && k_l + x1_2 * 8 <= 40));
        copy_async_short8_if(I0_l + slot * 512 + x0_2 * 32 + x1_2 * 8 + 256, I0 + i_l * 48 + x0_2 * 48 + k_l + x1_2 * 8 + 384, (((size_t)I0 & 15) == 0), (i_l + x0_2 + 8 <= 17 && k_l + x1_2 * 8 <= 40));
        // The next tile of I1 to local memory
        const int x1_3 = w % 2;
        const int x0_3 = w / 2;
        copy_async_short4_if(I1_l + slot * 256 + x0_3 * 8 + x1_3 * 4, I1 + k_l * 12 + x0_3 * 12 + j_l + x1_3 * 4, (((size_t)I1 & 7) == 0), (j_l + x1_3 * 4 <= 8));
        copy_async_short4_if(I1_l + slot * 256 + x0_3 * 8 + x1_3 * 4 + 128, I1 + k_l * 12 + x0_3 * 12 + j_l + x1_3 * 4 + 192, (((size_t)I1 & 7) == 0), (k_l + x0_3 + 16 <= 47 && j_l + x1_3 * 4 <= 8));
        if (!(((size_t)I0 & 15) == 0)) {
          copy_short8_apart_if(I0_l + slot * 512 + x0_2 * 32 + x1_2 * 8, I0 + i_l * 48 + x0_2 * 48 + k_l + x1_2 * 8, (i_l + x0_2 <= 17 && k_l + x1_2 * 8 <= 40));
          copy_short8_apart_if(I0_l + slot * 512 + x0_2 * 32 + x1_2 * 8 + 256, I0 + i_l * 48 + x0_2 * 48 + k_l + x1_2 * 8 + 384, (i_l + x0_2 + 8 <= 17 && k_l + x1_2 * 8 <= 40));
        }
        if (!(((size_t)I1 & 7) == 0)) {
          copy_short4_apart_if(I1_l + slot * 256 + x0_3 * 8 + x1_3 * 4, I1 + k_l * 12 + x0_3 * 12 + j_l + x1_3 * 4, (j_l + x1_3 * 4 <= 8));
          copy_short4_apart_if(I1_l + slot * 256 + x0_3 * 8 + x1_3 * 4 + 128, I1 + k_l * 12 + x0_3 * 12 + j_l + x1_3 * 4 + 192, (k_l + x0_3 + 16 <= 47 && j_l + x1_3 * 4 <= 8));
        }
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    {
      const int slot = now % 2;
      const int k_l = now * 32;
      const int k_n = min(32, 48 - k_l);
      const int term0 = j_w % 4 * 4;
      const int column0 = j_w / 4 * 8 + i_w % 8;
      const short a0 = I0_l[i_w * 32 + term0 + slot * 512];
      const short a1 = I0_l[i_w * 32 + term0 + slot * 512 + 1];
      const short a2 = I0_l[i_w * 32 + term0 + slot * 512 + 2];
      const short a3 = I0_l[i_w * 32 + term0 + slot * 512 + 3];
      const short a4 = I0_l[i_w * 32 + term0 + slot * 512 + 256];
      const short a5 = I0_l[i_w * 32 + term0 + slot * 512 + 257];
      const short a6 = I0_l[i_w * 32 + term0 + slot * 512 + 258];
      const short a7 = I0_l[i_w * 32 + term0 + slot * 512 + 259];
      const short a8 = I0_l[i_w * 32 + term0 + slot * 512 + 16];
      const short a9 = I0_l[i_w * 32 + term0 + slot * 512 + 17];
      const short a10 = I0_l[i_w * 32 + term0 + slot * 512 + 18];
      const short a11 = I0_l[i_w * 32 + term0 + slot * 512 + 19];
      const short a12 = I0_l[i_w * 32 + term0 + slot * 512 + 272];
      const short a13 = I0_l[i_w * 32 + term0 + slot * 512 + 273];
      const short a14 = I0_l[i_w * 32 + term0 + slot * 512 + 274];
      const short a15 = I0_l[i_w * 32 + term0 + slot * 512 + 275];
      const uint a_byte0 = pack_bytes0(a0, a1, a2, a3);
      const uint a_byte1 = pack_bytes0(a4, a5, a6, a7);
      const uint a_byte2 = pack_bytes0(a8, a9, a10, a11);
      const uint a_byte3 = pack_bytes0(a12, a13, a14, a15);
      const uint a_byte4 = pack_bytes1(a0, a1, a2, a3);
      const uint a_byte5 = pack_bytes1(a4, a5, a6, a7);
      const uint a_byte6 = pack_bytes1(a8, a9, a10, a11);
      const uint a_byte7 = pack_bytes1(a12, a13, a14, a15);
      const short b0 = I1_l[term0 * 8 + column0 + slot * 256];
      const short b1 = I1_l[term0 * 8 + column0 + slot * 256 + 8];
      const short b2 = I1_l[term0 * 8 + column0 + slot * 256 + 16];
      const short b3 = I1_l[term0 * 8 + column0 + slot * 256 + 24];
      const short b4 = I1_l[term0 * 8 + column0 + slot * 256 + 128];
      const short b5 = I1_l[term0 * 8 + column0 + slot * 256 + 136];
      const short b6 = I1_l[term0 * 8 + column0 + slot * 256 + 144];
      const short b7 = I1_l[term0 * 8 + column0 + slot * 256 + 152];
      const uint b_byte0 = pack_bytes0(b0, b1, b2, b3);
      const uint b_byte1 = pack_bytes0(b4, b5, b6, b7);
      const uint b_byte2 = pack_bytes1(b0, b1, b2, b3);
      const uint b_byte3 = pack_bytes1(b4, b5, b6, b7);
      mma_uint_16x8x32(&acc0, &acc2, a_byte0, a_byte1, a_byte2, a_byte3, b_byte0, b_byte1);
      mma_uint_16x8x32(&acc1, &acc3, a_byte0, a_byte1, a_byte2, a_byte3, b_byte2, b_byte3);
      mma_uint_16x8x32(&acc1, &acc3, a_byte4, a_byte5, a_byte6, a_byte7, b_byte0, b_byte1);
    }
  }
  if (i_l <= 2 && j_l <= 4) {
    store_short2(O0 + i * 12 + j, convert_short2(as_int2(as_uint2(acc0) + as_uint2(shift_left_int2(acc1, (int2)(8))))));
    store_short2(O0 + i * 12 + j + 96, convert_short2(as_int2(as_uint2(acc2) + as_uint2(shift_left_int2(acc3, (int2)(8))))));
  } else {
    if (i < 18 && j < 12) {
      scatter__global_short2(O0 + i * 12 + j, 1, 12 - j, convert_short2(as_int2(as_uint2(acc0) + as_uint2(shift_left_int2(acc1, (int2)(8))))));
    }
    if (i + 8 < 18 && j < 12) {
      scatter__global_short2(O0 + i * 12 + j + 96, 1, 12 - j, convert_short2(as_int2(as_uint2(acc2) + as_uint2(shift_left_int2(acc3, (int2)(8))))));
    }
  }
}

// mdh_0: 128 work-items, 32 a work-group; input 0, input 1, output 0, offset of input 0, offset of input 1, offset of output 0
