#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef char2 char2_u __attribute__((aligned(sizeof(char))));
typedef char2 char2_a __attribute__((aligned(2)));
static inline void copy_async_char16_if(__local char *p, __global const char *q, int whole, int given)
{ asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.cg.shared.global [%0 + 0], [%1 + 0], 16, %2; }" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 16 : 0), "r"(whole) : "memory"); }
static inline void copy_async_char4_if(__local char *p, __global const char *q, int whole, int given)
{ asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.ca.shared.global [%0 + 0], [%1 + 0], 4, %2; }" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 4 : 0), "r"(whole) : "memory"); }
static inline void copy_char16_apart_if(__local char *p, __global const char *q, int given)
{ __attribute__((opencl_unroll_hint(1))) for (int n = 0; n < 16; ++n) p[n] = given ? q[n] : 0; }
static inline void copy_char4_apart_if(__local char *p, __global const char *q, int given)
{ __attribute__((opencl_unroll_hint(1))) for (int n = 0; n < 4; ++n) p[n] = given ? q[n] : 0; }
static inline void load_matrix_uint4(uint *r0, uint *r1, uint *r2, uint *r3, uint row)
{ uint x0, x1, x2, x3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(row) : "memory");
  *r0 = x0; *r1 = x1; *r2 = x2; *r3 = x3; }
static inline void mma_int_16x8x32(int2 *c0, int2 *c1, uint a0, uint a1, uint a2, uint a3, uint b0, uint b1)
{ int s0 = c0->x, s1 = c0->y; int s2 = c1->x, s3 = c1->y;
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+r"(s0), "+r"(s1), "+r"(s2), "+r"(s3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  *c0 = (int2)(s0, s1); *c1 = (int2)(s2, s3); }
static inline void scatter__global_char2(__global char *p, int s, int n, char2 v)
{ const int m = n;
  if (s == 1 && m >= 2) { *(__global char2_u *)p = v; return; }
  if (s == 1) { if (m & 1) *p = v.lo; return; }
  if (n > 0) p[0 * s] = v.s0; if (n > 1) p[1 * s] = v.s1; }
static inline void store_char2(__global char *p, char2 v)
{ if (((size_t)p & 1) == 0) *(__global char2_a *)p = v;
  else { p[0] = v.s0; p[1] = v.s1; } }

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void mdh_0(__global const char *restrict I0, __global const char *restrict I1, __global char *restrict O0, const long I0_at, const long I1_at, const long O0_at) {
  #pragma OPENCL FP_CONTRACT ON
  I0 = (__global const char *)((__global const char *)I0 + I0_at);
  I1 = (__global const char *)((__global const char *)I1 + I1_at);
  O0 = (__global char *)((__global char *)O0 + O0_at);
  __local char I0_l[1024] __attribute__((aligned(16)));
  __local char I1_l[512] __attribute__((aligned(16)));
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
  for (int ahead = 0; ahead < 1; ++ahead) {
    const int slot = ahead % 2;
    const int k_l = ahead * 32;
    const int k_n = min(32, 48 - k_l);
    // The next tile of I0 to local memory
    const int x1_0 = w % 2;
    const int x0_0 = w / 2;
    copy_async_char16_if(I0_l + slot * 512 + x0_0 * 32 + x1_0 * 16, I0 + i_l * 48 + x0_0 * 48 + k_l + x1_0 * 16, (((size_t)I0 & 15) == 0), (i_l + x0_0 <= 17 && k_l + x1_0 * 16 <= 32));
    // The next tile of I1 to local memory
    const int x1_1 = w % 2;
    const int x0_1 = w / 2;
    copy_async_char4_if(I1_l + slot * 256 + x0_1 * 8 + x1_1 * 4, I1 + k_l * 12 + x0_1 * 12 + j_l + x1_1 * 4, (((size_t)I1 & 3) == 0), (j_l + x1_1 * 4 <= 8));
    copy_async_char4_if(I1_l + slot * 256 + x0_1 * 8 + x1_1 * 4 + 128, I1 + k_l * 12 + x0_1 * 12 + j_l + x1_1 * 4 + 192, (((size_t)I1 & 3) == 0), (k_l + x0_1 + 16 <= 47 && j_l + x1_1 * 4 <= 8));
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (!(((size_t)I0 & 15) == 0)) {
      copy_char16_apart_if(I0_l + slot * 512 + x0_0 * 32 + x1_0 * 16, I0 + i_l * 48 + x0_0 * 48 + k_l + x1_0 * 16, (i_l + x0_0 <= 17 && k_l + x1_0 * 16 <= 32));
    }
    if (!(((size_t)I1 & 3) == 0)) {
      copy_char4_apart_if(I1_l + slot * 256 + x0_1 * 8 + x1_1 * 4, I1 + k_l * 12 + x0_1 * 12 + j_l + x1_1 * 4, (j_l + x1_1 * 4 <= 8));
      copy_char4_apart_if(I1_l + slot * 256 + x0_1 * 8 + x1_1 * 4 + 128, I1 + k_l * 12 + x0_1 * 12 + j_l + x1_1 * 4 + 192, (k_l + x0_1 + 16 <= 47 && j_l + x1_1 * 4 <= 8));
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
        const int x1_2 = w % 2;
        const int x0_2 = w / 2;
        copy_async_char16_if(I0_l + slot * 512 + x0_2 * 32 + x1_2 * 16, I0 + i_l * 48 + x0_2 * 48 + k_l + x1_2 * 16, (((size_t)I0 & 15) == 0), (i_l + x0_2 <= 17 && k_l + x1_2 * 16 <= 32));
        // The next tile of I1 to local memory
        const int x1_3 = w % 2;
        const int x0_3 = w / 2;
        copy_async_char4_if(I1_l + slot * 256 + x0_3 * 8 + x1_3 * 4, I1 + k_l * 12 + x0_3 * 12 + j_l + x1_3 * 4, (((size_t)I1 & 3) == 0), (j_l + x1_3 * 4 <= 8));
        copy_async_char4_if(I1_l + slot * 256 + x0_3 * 8 + x1_3 * 4 + 128, I1 + k_l * 12 + x0_3 * 12 + j_l + x1_3 * 4 + 192, (((size_t)I1 & 3) == 0), (k_l + x0_3 + 16 <= 47 && j_l + x1_3 * 4 <= 8));
        if (!(((size_t)I0 & 15) == 0)) {
          copy_char16_apart_if(I0_l + slot * 512 + x0_2 * 32 + x1_2 * 16, I0 + i_l * 48 + x0_2 * 48 + k_l + x1_2 * 16, (i_l + x0_2 <= 17 && k_l + x1_2 * 16 <= 32));
        }
        if (!(((size_t)I1 & 3) == 0)) {
          copy_char4_apart_if(I1_l + slot * 256 + x0_3 * 8 + x1_3 * 4, I1 + k_l * 12 + x0_3 * 12 + j_l + x1_3 * 4, (j_l + x1_3 * 4 <= 8));
          copy_char4_apart_if(I1_l + slot * 256 + x0_3 * 8 + x1_3 * 4 + 128, I1 + k_l * 12 + x0_3 * 12 + j_l + x1_3 * 4 + 192, (k_l + x0_3 + 16 <= 47 && j_l + x1_3 * 4 <= 8));
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
      const int row0 = w % 32 % 8;
      const int block0 = w % 32 / 8 % 2;
      const int block1 = w % 32 / 16 % 2;
      uint a0, a1, a2, a3;
      load_matrix_uint4(&a0, &a1, &a2, &a3, (uint)(size_t)(I0_l + i_w / 8 * 256 + block0 * 256 + row0 * 32 + block1 * 16 + slot * 512));
      const uint b0 = as_uint((char4)(I1_l[term0 * 8 + column0 + slot * 256], I1_l[term0 * 8 + column0 + slot * 256 + 8], I1_l[term0 * 8 + column0 + slot * 256 + 16], I1_l[term0 * 8 + column0 + slot * 256 + 24]));
      const uint b1 = as_uint((char4)(I1_l[term0 * 8 + column0 + slot * 256 + 128], I1_l[term0 * 8 + column0 + slot * 256 + 136], I1_l[term0 * 8 + column0 + slot * 256 + 144], I1_l[term0 * 8 + column0 + slot * 256 + 152]));
      mma_int_16x8x32(&acc0, &acc1, a0, a1, a2, a3, b0, b1);
    }
  }
  if (i_l <= 2 && j_l <= 4) {
    store_char2(O0 + i * 12 + j, convert_char2(acc0));
    store_char2(O0 + i * 12 + j + 96, convert_char2(acc1));
  } else {
    if (i < 18 && j < 12) {
      scatter__global_char2(O0 + i * 12 + j, 1, 12 - j, convert_char2(acc0));
    }
    if (i + 8 < 18 && j < 12) {
      scatter__global_char2(O0 + i * 12 + j + 96, 1, 12 - j, convert_char2(acc1));
    }
  }
}

// mdh_0: 128 work-items, 32 a work-group; input 0, input 1, output 0, offset of input 0, offset of input 1, offset of output 0
