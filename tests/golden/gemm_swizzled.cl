#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int shuffle_any_int(int v, int d)
{ int r; asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"((int)get_local_id(0) + d)); return r; }
typedef ushort8 ushort8_a __attribute__((aligned(16)));
static inline void barrier_arrive(uint number, uint items)
{ asm volatile("barrier.cta.arrive.aligned %0, %1;" :: "r"(number), "r"(items) : "memory"); }
static inline void barrier_sync(uint number, uint items)
{ asm volatile("barrier.cta.sync.aligned %0, %1;" :: "r"(number), "r"(items) : "memory"); }
static inline void copy_async_ushort8_if(__local ushort *p, __global const ushort *q, int whole, int given)
{ asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.cg.shared.global [%0 + 0], [%1 + 0], 16, %2; }" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 16 : 0), "r"(whole) : "memory"); }
static inline void copy_ushort8_apart_if(__local ushort *p, __global const ushort *q, int given)
{ __attribute__((opencl_unroll_hint(1))) for (int n = 0; n < 8; ++n) p[n] = given ? q[n] : 0; }
static inline void known_float_8(float2 *c0, float2 *c1, float2 *c2, float2 *c3, float2 *c4, float2 *c5, float2 *c6, float2 *c7)
{ float s0 = c0->x, s1 = c0->y; float s2 = c1->x, s3 = c1->y; float s4 = c2->x, s5 = c2->y; float s6 = c3->x, s7 = c3->y; float s8 = c4->x, s9 = c4->y; float s10 = c5->x, s11 = c5->y; float s12 = c6->x, s13 = c6->y; float s14 = c7->x, s15 = c7->y;
  asm volatile("" : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3), "+f"(s4), "+f"(s5), "+f"(s6), "+f"(s7), "+f"(s8), "+f"(s9), "+f"(s10), "+f"(s11), "+f"(s12), "+f"(s13), "+f"(s14), "+f"(s15));
  *c0 = (float2)(s0, s1); *c1 = (float2)(s2, s3); *c2 = (float2)(s4, s5); *c3 = (float2)(s6, s7); *c4 = (float2)(s8, s9); *c5 = (float2)(s10, s11); *c6 = (float2)(s12, s13); *c7 = (float2)(s14, s15); }
static inline ulong matrix_at(uint address, uint below, uint beside)
{ return ((address & 0x3fff0) >> 4) | (ulong)(below >> 4) << 16 | (ulong)(beside >> 4) << 32; }
static inline uint pack_halves(float a, float b)
{ uint r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); return r; }
static inline uint shuffle_any_uint(uint v, int d)
{ return as_uint(shuffle_any_int(as_int(v), d)); }
static inline void store_ushort8(__global ushort *p, ushort8 v)
{ if (((size_t)p & 15) == 0) *(__global ushort8_a *)p = v;
  else { p[0] = v.s0; p[1] = v.s1; p[2] = v.s2; p[3] = v.s3; p[4] = v.s4; p[5] = v.s5; p[6] = v.s6; p[7] = v.s7; } }
static inline void wgmma_float_32x16_turned_by(float2 *c0, float2 *c1, float2 *c2, float2 *c3, float2 *c4, float2 *c5, float2 *c6, float2 *c7, ulong a, ulong b)
{ float s0 = c0->x, s1 = c0->y; float s2 = c1->x, s3 = c1->y; float s4 = c2->x, s5 = c2->y; float s6 = c3->x, s7 = c3->y; float s8 = c4->x, s9 = c4->y; float s10 = c5->x, s11 = c5->y; float s12 = c6->x, s13 = c6->y; float s14 = c7->x, s15 = c7->y;
  asm volatile("//@ { .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, p, 1, 1, 0, 1; }" : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3), "+f"(s4), "+f"(s5), "+f"(s6), "+f"(s7), "+f"(s8), "+f"(s9), "+f"(s10), "+f"(s11), "+f"(s12), "+f"(s13), "+f"(s14), "+f"(s15) : "l"(a), "l"(b));
  *c0 = (float2)(s0, s1); *c1 = (float2)(s2, s3); *c2 = (float2)(s4, s5); *c3 = (float2)(s6, s7); *c4 = (float2)(s8, s9); *c5 = (float2)(s10, s11); *c6 = (float2)(s12, s13); *c7 = (float2)(s14, s15); }

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j] >> x0
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void mdh_0(__global const half *restrict I0, __global const half *restrict I1, __global half *restrict O0, const long I0_at, const long I1_at, const long O0_at) {
  #pragma OPENCL FP_CONTRACT ON
  I0 = (__global const half *)((__global const char *)I0 + I0_at);
  I1 = (__global const half *)((__global const char *)I1 + I1_at);
  O0 = (__global half *)((__global char *)O0 + O0_at);
  __local ushort I0_l[6144] __attribute__((aligned(1024)));
  __local ushort I1_l[3072] __attribute__((aligned(1024)));
  const int w = get_local_id(0);
  const int j_w = w % 4;
  const int i_w = w / 4 % 8 + w / 4 / 8 * 8;
  const int i = i_w + i_w / 8 * 8;
  const int j = j_w * 2;
  float2 acc0 = (float2)(0.0f);
  float2 acc1 = (float2)(0.0f);
  float2 acc2 = (float2)(0.0f);
  float2 acc3 = (float2)(0.0f);
  float2 acc4 = (float2)(0.0f);
  float2 acc5 = (float2)(0.0f);
  float2 acc6 = (float2)(0.0f);
  float2 acc7 = (float2)(0.0f);
  if (get_local_id(0) < 128) {
    for (int now = 0; now < 2; ++now) {
      barrier_sync(now % 3 + 1, 256);
      {
        const int slot = now % 3;
        const int k_l = now * 32;
        asm volatile("//@ wgmma.fence.sync.aligned;" ::: "memory");
        wgmma_float_32x16_turned_by(&acc0, &acc4, &acc1, &acc5, &acc2, &acc6, &acc3, &acc7, matrix_at((uint)(size_t)(I0_l + slot * 2048 + w / 128 * 2048), 512, 512) | 2ul << 62, matrix_at((uint)(size_t)(I1_l + slot * 1024), 2048, 512) | 2ul << 62);
        wgmma_float_32x16_turned_by(&acc0, &acc4, &acc1, &acc5, &acc2, &acc6, &acc3, &acc7, matrix_at((uint)(size_t)(I0_l + slot * 2048 + w / 128 * 2048 + 16), 512, 512) | 2ul << 62, matrix_at((uint)(size_t)(I1_l + slot * 1024 + 512), 2048, 512) | 2ul << 62);
        asm volatile("//@ wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("//@ wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (now >= 1 && now + 1 < 2) {
          barrier_arrive((now + 2) % 3 + 4, 256);
        }
      }
    }
    asm volatile("//@ wgmma.wait_group.sync.aligned 0;" ::: "memory");
    known_float_8(&acc0, &acc1, &acc2, &acc3, &acc4, &acc5, &acc6, &acc7);
    const int beside0 = j_w % 4;
    const uint word0 = pack_halves(acc0.lo, acc0.hi);
    const uint word1 = pack_halves(acc1.lo, acc1.hi);
    const uint word2 = pack_halves(acc2.lo, acc2.hi);
    const uint word3 = pack_halves(acc3.lo, acc3.hi);
    const uint word4 = pack_halves(acc4.lo, acc4.hi);
    const uint word5 = pack_halves(acc5.lo, acc5.hi);
    const uint word6 = pack_halves(acc6.lo, acc6.hi);
    const uint word7 = pack_halves(acc7.lo, acc7.hi);
    const uint given0 = (long)(beside0 % 2) ? word0 : word1;
    const uint other0 = shuffle_any_uint(given0, 1 - beside0 % 2 * 2);
    const uint word8 = (long)(beside0 % 2) ? other0 : word0;
    const uint word9 = (long)(beside0 % 2) ? word1 : other0;
    const uint given1 = (long)(beside0 % 2) ? word2 : word3;
    const uint other1 = shuffle_any_uint(given1, 1 - beside0 % 2 * 2);
    const uint word10 = (long)(beside0 % 2) ? other1 : word2;
    const uint word11 = (long)(beside0 % 2) ? word3 : other1;
    const uint given2 = (long)(beside0 / 2 % 2) ? word8 : word10;
    const uint other2 = shuffle_any_uint(given2, 2 - beside0 / 2 % 2 * 4);
    const uint word12 = (long)(beside0 / 2 % 2) ? other2 : word8;
    const uint word13 = (long)(beside0 / 2 % 2) ? word10 : other2;
    const uint given3 = (long)(beside0 / 2 % 2) ? word9 : word11;
    const uint other3 = shuffle_any_uint(given3, 2 - beside0 / 2 % 2 * 4);
    const uint word14 = (long)(beside0 / 2 % 2) ? other3 : word9;
    const uint word15 = (long)(beside0 / 2 % 2) ? word11 : other3;
    if (i < 18 && j + beside0 * 6 < 24) {
      store_ushort8((__global ushort *)O0 + i * 24 + j + beside0 * 6, as_ushort8((uint4)(word12, word14, word13, word15)));
    }
    const uint given4 = (long)(beside0 % 2) ? word4 : word5;
    const uint other4 = shuffle_any_uint(given4, 1 - beside0 % 2 * 2);
    const uint word16 = (long)(beside0 % 2) ? other4 : word4;
    const uint word17 = (long)(beside0 % 2) ? word5 : other4;
    const uint given5 = (long)(beside0 % 2) ? word6 : word7;
    const uint other5 = shuffle_any_uint(given5, 1 - beside0 % 2 * 2);
    const uint word18 = (long)(beside0 % 2) ? other5 : word6;
    const uint word19 = (long)(beside0 % 2) ? word7 : other5;
    const uint given6 = (long)(beside0 / 2 % 2) ? word16 : word18;
    const uint other6 = shuffle_any_uint(given6, 2 - beside0 / 2 % 2 * 4);
    const uint word20 = (long)(beside0 / 2 % 2) ? other6 : word16;
    const uint word21 = (long)(beside0 / 2 % 2) ? word18 : other6;
    const uint given7 = (long)(beside0 / 2 % 2) ? word17 : word19;
    const uint other7 = shuffle_any_uint(given7, 2 - beside0 / 2 % 2 * 4);
    const uint word22 = (long)(beside0 / 2 % 2) ? other7 : word17;
    const uint word23 = (long)(beside0 / 2 % 2) ? word19 : other7;
    if (i + 8 < 18 && j + beside0 * 6 < 24) {
      store_ushort8((__global ushort *)O0 + i * 24 + j + beside0 * 6 + 192, as_ushort8((uint4)(word20, word22, word21, word23)));
    }
  } else {
    for (int ahead = 0; ahead < 1; ++ahead) {
      if (ahead < 2) {
        const int slot = ahead % 3;
        const int k_l = ahead * 32;
        const int producer = w % 128;
        // The next tile of I0 to local memory
        const int x1_0 = producer % 4;
        const int x0_0 = producer / 4;
        copy_async_ushort8_if(I0_l + slot * 2048 + x0_0 * 32 + (x1_0 ^ (x0_0 / 2 % 4)) * 8, (__global const ushort *)I0 + x0_0 * 64 + k_l + x1_0 * 8, (((size_t)I0 & 15) == 0), (x0_0 <= 17));
        I0_l[slot * 2048 + x0_0 * 32 + (x1_0 ^ (x0_0 / 2 % 4)) * 8 + 1024] = (float)0.0f;
        I0_l[slot * 2048 + x0_0 * 32 + (x1_0 ^ (x0_0 / 2 % 4)) * 8 + 1025] = (float)0.0f;
        I0_l[slot * 2048 + x0_0 * 32 + (x1_0 ^ (x0_0 / 2 % 4)) * 8 + 1026] = (float)0.0f;
        I0_l[slot * 2048 + x0_0 * 32 + (x1_0 ^ (x0_0 / 2 % 4)) * 8 + 1027] = (float)0.0f;
        I0_l[slot * 2048 + x0_0 * 32 + (x1_0 ^ (x0_0 / 2 % 4)) * 8 + 1028] = (float)0.0f;
        I0_l[slot * 2048 + x0_0 * 32 + (x1_0 ^ (x0_0 / 2 % 4)) * 8 + 1029] = (float)0.0f;
        I0_l[slot * 2048 + x0_0 * 32 + (x1_0 ^ (x0_0 / 2 % 4)) * 8 + 1030] = (float)0.0f;
        I0_l[slot * 2048 + x0_0 * 32 + (x1_0 ^ (x0_0 / 2 % 4)) * 8 + 1031] = (float)0.0f;
        // The next tile of I1 to local memory
        const int x1_1 = producer % 4;
        const int x0_1 = producer / 4;
        copy_async_ushort8_if(I1_l + slot * 1024 + x0_1 * 32 + (x1_1 ^ (x0_1 / 2 % 4)) * 8, (__global const ushort *)I1 + k_l * 24 + x0_1 * 24 + x1_1 * 8, (((size_t)I1 & 15) == 0), (x1_1 * 8 <= 16));
        if (!(((size_t)I0 & 15) == 0)) {
          copy_ushort8_apart_if(I0_l + slot * 2048 + x0_0 * 32 + (x1_0 ^ (x0_0 / 2 % 4)) * 8, (__global const ushort *)I0 + x0_0 * 64 + k_l + x1_0 * 8, (x0_0 <= 17));
        }
        if (!(((size_t)I1 & 15) == 0)) {
          copy_ushort8_apart_if(I1_l + slot * 1024 + x0_1 * 32 + (x1_1 ^ (x0_1 / 2 % 4)) * 8, (__global const ushort *)I1 + k_l * 24 + x0_1 * 24 + x1_1 * 8, (x1_1 * 8 <= 16));
        }
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int now = 0; now < 2; ++now) {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
      asm volatile("//@ fence.proxy.async.shared::cta;" ::: "memory");
      barrier_arrive(now % 3 + 1, 256);
      if (now >= 2) {
        barrier_sync((now + 1) % 3 + 4, 256);
      }
      {
        const int ahead = now + 1;
        if (ahead < 2) {
          const int slot = ahead % 3;
          const int k_l = ahead * 32;
          const int producer = w % 128;
          // The next tile of I0 to local memory
          const int x1_2 = producer % 4;
          const int x0_2 = producer / 4;
          copy_async_ushort8_if(I0_l + slot * 2048 + x0_2 * 32 + (x1_2 ^ (x0_2 / 2 % 4)) * 8, (__global const ushort *)I0 + x0_2 * 64 + k_l + x1_2 * 8, (((size_t)I0 & 15) == 0), (x0_2 <= 17));
          I0_l[slot * 2048 + x0_2 * 32 + (x1_2 ^ (x0_2 / 2 % 4)) * 8 + 1024] = (float)0.0f;
          I0_l[slot * 2048 + x0_2 * 32 + (x1_2 ^ (x0_2 / 2 % 4)) * 8 + 1025] = (float)0.0f;
          I0_l[slot * 2048 + x0_2 * 32 + (x1_2 ^ (x0_2 / 2 % 4)) * 8 + 1026] = (float)0.0f;
          I0_l[slot * 2048 + x0_2 * 32 + (x1_2 ^ (x0_2 / 2 % 4)) * 8 + 1027] = (float)0.0f;
          I0_l[slot * 2048 + x0_2 * 32 + (x1_2 ^ (x0_2 / 2 % 4)) * 8 + 1028] = (float)0.0f;
          I0_l[slot * 2048 + x0_2 * 32 + (x1_2 ^ (x0_2 / 2 % 4)) * 8 + 1029] = (float)0.0f;
          I0_l[slot * 2048 + x0_2 * 32 + (x1_2 ^ (x0_2 / 2 % 4)) * 8 + 1030] = (float)0.0f;
          I0_l[slot * 2048 + x0_2 * 32 + (x1_2 ^ (x0_2 / 2 % 4)) * 8 + 1031] = (float)0.0f;
          // The next tile of I1 to local memory
          const int x1_3 = producer % 4;
          const int x0_3 = producer / 4;
          copy_async_ushort8_if(I1_l + slot * 1024 + x0_3 * 32 + (x1_3 ^ (x0_3 / 2 % 4)) * 8, (__global const ushort *)I1 + k_l * 24 + x0_3 * 24 + x1_3 * 8, (((size_t)I1 & 15) == 0), (x1_3 * 8 <= 16));
          if (!(((size_t)I0 & 15) == 0)) {
            copy_ushort8_apart_if(I0_l + slot * 2048 + x0_2 * 32 + (x1_2 ^ (x0_2 / 2 % 4)) * 8, (__global const ushort *)I0 + x0_2 * 64 + k_l + x1_2 * 8, (x0_2 <= 17));
          }
          if (!(((size_t)I1 & 15) == 0)) {
            copy_ushort8_apart_if(I1_l + slot * 1024 + x0_3 * 32 + (x1_3 ^ (x0_3 / 2 % 4)) * 8, (__global const ushort *)I1 + k_l * 24 + x0_3 * 24 + x1_3 * 8, (x1_3 * 8 <= 16));
          }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
      }
    }
  }
}

// mdh_0: 256 work-items, 256 a work-group; input 0, input 1, output 0, offset of input 0, offset of input 1, offset of output 0
