#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int shuffle_any_int(int v, int d)
{ int r; asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"((int)get_local_id(0) + d)); return r; }
static inline void copy_async_ushort8_if(__local ushort *p, __global const ushort *q, int whole, int given)
{ asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.cg.shared.global [%0 + 0], [%1 + 0], 16, %2; }" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 16 : 0), "r"(whole) : "memory"); }
static inline void copy_ushort8_apart_if(__local ushort *p, __global const ushort *q, int given)
{ __attribute__((opencl_unroll_hint(1))) for (int n = 0; n < 8; ++n) p[n] = given ? q[n] : 0; }
static inline float exp_or_nothing_float(float a)
{ float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a * 1.44269504f)); return r; }
static inline float2 exp_or_nothing_float2(float2 a)
{ return (float2)(exp_or_nothing_float(a.s0), exp_or_nothing_float(a.s1)); }
static inline float maximum_float(float a, float b)
{ float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
static inline float2 maximum_float2(float2 a, float2 b)
{ return (float2)(maximum_float(a.s0, b.s0), maximum_float(a.s1, b.s1)); }
static inline void known_float_32(float2 *c0, float2 *c1, float2 *c2, float2 *c3, float2 *c4, float2 *c5, float2 *c6, float2 *c7, float2 *c8, float2 *c9, float2 *c10, float2 *c11, float2 *c12, float2 *c13, float2 *c14, float2 *c15, float2 *c16, float2 *c17, float2 *c18, float2 *c19, float2 *c20, float2 *c21, float2 *c22, float2 *c23, float2 *c24, float2 *c25, float2 *c26, float2 *c27, float2 *c28, float2 *c29, float2 *c30, float2 *c31)
{ float s0 = c0->x, s1 = c0->y; float s2 = c1->x, s3 = c1->y; float s4 = c2->x, s5 = c2->y; float s6 = c3->x, s7 = c3->y; float s8 = c4->x, s9 = c4->y; float s10 = c5->x, s11 = c5->y; float s12 = c6->x, s13 = c6->y; float s14 = c7->x, s15 = c7->y; float s16 = c8->x, s17 = c8->y; float s18 = c9->x, s19 = c9->y; float s20 = c10->x, s21 = c10->y; float s22 = c11->x, s23 = c11->y; float s24 = c12->x, s25 = c12->y; float s26 = c13->x, s27 = c13->y; float s28 = c14->x, s29 = c14->y; float s30 = c15->x, s31 = c15->y; float s32 = c16->x, s33 = c16->y; float s34 = c17->x, s35 = c17->y; float s36 = c18->x, s37 = c18->y; float s38 = c19->x, s39 = c19->y; float s40 = c20->x, s41 = c20->y; float s42 = c21->x, s43 = c21->y; float s44 = c22->x, s45 = c22->y; float s46 = c23->x, s47 = c23->y; float s48 = c24->x, s49 = c24->y; float s50 = c25->x, s51 = c25->y; float s52 = c26->x, s53 = c26->y; float s54 = c27->x, s55 = c27->y; float s56 = c28->x, s57 = c28->y; float s58 = c29->x, s59 = c29->y; float s60 = c30->x, s61 = c30->y; float s62 = c31->x, s63 = c31->y;
  asm volatile("" : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3), "+f"(s4), "+f"(s5), "+f"(s6), "+f"(s7), "+f"(s8), "+f"(s9), "+f"(s10), "+f"(s11), "+f"(s12), "+f"(s13), "+f"(s14), "+f"(s15), "+f"(s16), "+f"(s17), "+f"(s18), "+f"(s19), "+f"(s20), "+f"(s21), "+f"(s22), "+f"(s23), "+f"(s24), "+f"(s25), "+f"(s26), "+f"(s27), "+f"(s28), "+f"(s29), "+f"(s30), "+f"(s31), "+f"(s32), "+f"(s33), "+f"(s34), "+f"(s35), "+f"(s36), "+f"(s37), "+f"(s38), "+f"(s39), "+f"(s40), "+f"(s41), "+f"(s42), "+f"(s43), "+f"(s44), "+f"(s45), "+f"(s46), "+f"(s47), "+f"(s48), "+f"(s49), "+f"(s50), "+f"(s51), "+f"(s52), "+f"(s53), "+f"(s54), "+f"(s55), "+f"(s56), "+f"(s57), "+f"(s58), "+f"(s59), "+f"(s60), "+f"(s61), "+f"(s62), "+f"(s63));
  *c0 = (float2)(s0, s1); *c1 = (float2)(s2, s3); *c2 = (float2)(s4, s5); *c3 = (float2)(s6, s7); *c4 = (float2)(s8, s9); *c5 = (float2)(s10, s11); *c6 = (float2)(s12, s13); *c7 = (float2)(s14, s15); *c8 = (float2)(s16, s17); *c9 = (float2)(s18, s19); *c10 = (float2)(s20, s21); *c11 = (float2)(s22, s23); *c12 = (float2)(s24, s25); *c13 = (float2)(s26, s27); *c14 = (float2)(s28, s29); *c15 = (float2)(s30, s31); *c16 = (float2)(s32, s33); *c17 = (float2)(s34, s35); *c18 = (float2)(s36, s37); *c19 = (float2)(s38, s39); *c20 = (float2)(s40, s41); *c21 = (float2)(s42, s43); *c22 = (float2)(s44, s45); *c23 = (float2)(s46, s47); *c24 = (float2)(s48, s49); *c25 = (float2)(s50, s51); *c26 = (float2)(s52, s53); *c27 = (float2)(s54, s55); *c28 = (float2)(s56, s57); *c29 = (float2)(s58, s59); *c30 = (float2)(s60, s61); *c31 = (float2)(s62, s63); }
static inline void known_float_8(float2 *c0, float2 *c1, float2 *c2, float2 *c3, float2 *c4, float2 *c5, float2 *c6, float2 *c7)
{ float s0 = c0->x, s1 = c0->y; float s2 = c1->x, s3 = c1->y; float s4 = c2->x, s5 = c2->y; float s6 = c3->x, s7 = c3->y; float s8 = c4->x, s9 = c4->y; float s10 = c5->x, s11 = c5->y; float s12 = c6->x, s13 = c6->y; float s14 = c7->x, s15 = c7->y;
  asm volatile("" : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3), "+f"(s4), "+f"(s5), "+f"(s6), "+f"(s7), "+f"(s8), "+f"(s9), "+f"(s10), "+f"(s11), "+f"(s12), "+f"(s13), "+f"(s14), "+f"(s15));
  *c0 = (float2)(s0, s1); *c1 = (float2)(s2, s3); *c2 = (float2)(s4, s5); *c3 = (float2)(s6, s7); *c4 = (float2)(s8, s9); *c5 = (float2)(s10, s11); *c6 = (float2)(s12, s13); *c7 = (float2)(s14, s15); }
static inline void load_matrix_uint4(uint *r0, uint *r1, uint *r2, uint *r3, uint row)
{ uint x0, x1, x2, x3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(row) : "memory");
  *r0 = x0; *r1 = x1; *r2 = x2; *r3 = x3; }
static inline ulong matrix_at(uint address, uint below, uint beside)
{ return ((address & 0x3fff0) >> 4) | (ulong)(below >> 4) << 16 | (ulong)(beside >> 4) << 32; }
static inline uint pack_halves(float a, float b)
{ uint r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); return r; }
static inline float shuffle_any_float(float v, int d)
{ return as_float(shuffle_any_int(as_int(v), d)); }
static inline void wgmma_float_128x16(float2 *c0, float2 *c1, float2 *c2, float2 *c3, float2 *c4, float2 *c5, float2 *c6, float2 *c7, float2 *c8, float2 *c9, float2 *c10, float2 *c11, float2 *c12, float2 *c13, float2 *c14, float2 *c15, float2 *c16, float2 *c17, float2 *c18, float2 *c19, float2 *c20, float2 *c21, float2 *c22, float2 *c23, float2 *c24, float2 *c25, float2 *c26, float2 *c27, float2 *c28, float2 *c29, float2 *c30, float2 *c31, uint a0, uint a1, uint a2, uint a3, ulong b)
{ float s0 = c0->x, s1 = c0->y; float s2 = c1->x, s3 = c1->y; float s4 = c2->x, s5 = c2->y; float s6 = c3->x, s7 = c3->y; float s8 = c4->x, s9 = c4->y; float s10 = c5->x, s11 = c5->y; float s12 = c6->x, s13 = c6->y; float s14 = c7->x, s15 = c7->y; float s16 = c8->x, s17 = c8->y; float s18 = c9->x, s19 = c9->y; float s20 = c10->x, s21 = c10->y; float s22 = c11->x, s23 = c11->y; float s24 = c12->x, s25 = c12->y; float s26 = c13->x, s27 = c13->y; float s28 = c14->x, s29 = c14->y; float s30 = c15->x, s31 = c15->y; float s32 = c16->x, s33 = c16->y; float s34 = c17->x, s35 = c17->y; float s36 = c18->x, s37 = c18->y; float s38 = c19->x, s39 = c19->y; float s40 = c20->x, s41 = c20->y; float s42 = c21->x, s43 = c21->y; float s44 = c22->x, s45 = c22->y; float s46 = c23->x, s47 = c23->y; float s48 = c24->x, s49 = c24->y; float s50 = c25->x, s51 = c25->y; float s52 = c26->x, s53 = c26->y; float s54 = c27->x, s55 = c27->y; float s56 = c28->x, s57 = c28->y; float s58 = c29->x, s59 = c29->y; float s60 = c30->x, s61 = c30->y; float s62 = c31->x, s63 = c31->y;
  asm volatile("//@ { .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, p, 1, 1, 0; }" : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3), "+f"(s4), "+f"(s5), "+f"(s6), "+f"(s7), "+f"(s8), "+f"(s9), "+f"(s10), "+f"(s11), "+f"(s12), "+f"(s13), "+f"(s14), "+f"(s15), "+f"(s16), "+f"(s17), "+f"(s18), "+f"(s19), "+f"(s20), "+f"(s21), "+f"(s22), "+f"(s23), "+f"(s24), "+f"(s25), "+f"(s26), "+f"(s27), "+f"(s28), "+f"(s29), "+f"(s30), "+f"(s31), "+f"(s32), "+f"(s33), "+f"(s34), "+f"(s35), "+f"(s36), "+f"(s37), "+f"(s38), "+f"(s39), "+f"(s40), "+f"(s41), "+f"(s42), "+f"(s43), "+f"(s44), "+f"(s45), "+f"(s46), "+f"(s47), "+f"(s48), "+f"(s49), "+f"(s50), "+f"(s51), "+f"(s52), "+f"(s53), "+f"(s54), "+f"(s55), "+f"(s56), "+f"(s57), "+f"(s58), "+f"(s59), "+f"(s60), "+f"(s61), "+f"(s62), "+f"(s63) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b));
  *c0 = (float2)(s0, s1); *c1 = (float2)(s2, s3); *c2 = (float2)(s4, s5); *c3 = (float2)(s6, s7); *c4 = (float2)(s8, s9); *c5 = (float2)(s10, s11); *c6 = (float2)(s12, s13); *c7 = (float2)(s14, s15); *c8 = (float2)(s16, s17); *c9 = (float2)(s18, s19); *c10 = (float2)(s20, s21); *c11 = (float2)(s22, s23); *c12 = (float2)(s24, s25); *c13 = (float2)(s26, s27); *c14 = (float2)(s28, s29); *c15 = (float2)(s30, s31); *c16 = (float2)(s32, s33); *c17 = (float2)(s34, s35); *c18 = (float2)(s36, s37); *c19 = (float2)(s38, s39); *c20 = (float2)(s40, s41); *c21 = (float2)(s42, s43); *c22 = (float2)(s44, s45); *c23 = (float2)(s46, s47); *c24 = (float2)(s48, s49); *c25 = (float2)(s50, s51); *c26 = (float2)(s52, s53); *c27 = (float2)(s54, s55); *c28 = (float2)(s56, s57); *c29 = (float2)(s58, s59); *c30 = (float2)(s60, s61); *c31 = (float2)(s62, s63); }
static inline void wgmma_float_32x16_turned(float2 *c0, float2 *c1, float2 *c2, float2 *c3, float2 *c4, float2 *c5, float2 *c6, float2 *c7, uint a0, uint a1, uint a2, uint a3, ulong b)
{ float s0 = c0->x, s1 = c0->y; float s2 = c1->x, s3 = c1->y; float s4 = c2->x, s5 = c2->y; float s6 = c3->x, s7 = c3->y; float s8 = c4->x, s9 = c4->y; float s10 = c5->x, s11 = c5->y; float s12 = c6->x, s13 = c6->y; float s14 = c7->x, s15 = c7->y;
  asm volatile("//@ { .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20, p, 1, 1, 1; }" : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3), "+f"(s4), "+f"(s5), "+f"(s6), "+f"(s7), "+f"(s8), "+f"(s9), "+f"(s10), "+f"(s11), "+f"(s12), "+f"(s13), "+f"(s14), "+f"(s15) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b));
  *c0 = (float2)(s0, s1); *c1 = (float2)(s2, s3); *c2 = (float2)(s4, s5); *c3 = (float2)(s6, s7); *c4 = (float2)(s8, s9); *c5 = (float2)(s10, s11); *c6 = (float2)(s12, s13); *c7 = (float2)(s14, s15); }

// md_hom(*, (++, ++, ++, +)) ∘ (m0I0[m0i,m0j,m0l], m0I1[m0i,m0k,m0l]) -> m0O0[m0i,m0j,m0k] >> where((index(2) <= index(1)), (x0 * 0.1767766922712326), -inf) ; … 3 more … ; md_hom(*, (++, ++, ++, +)) ∘ (m4I0[m4i,m4j,m4l], m4I1[m4i,m4l,m4k], m4I2[m4i,m4j,0]) -> m4O0[m4i,m4j,m4k] >> x0 / x3
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void mdh_0(__global const half *restrict I0, __global const half *restrict I1, __global const half *restrict I2, __global half *restrict O0, const long I0_at, const long I1_at, const long I2_at, const long O0_at) {
  #pragma OPENCL FP_CONTRACT ON
  I0 = (__global const half *)((__global const char *)I0 + I0_at);
  I1 = (__global const half *)((__global const char *)I1 + I1_at);
  I2 = (__global const half *)((__global const char *)I2 + I2_at);
  O0 = (__global half *)((__global char *)O0 + O0_at);
  __local ushort queries_l[2560] __attribute__((aligned(1024)));
  __local ushort first_l[8192] __attribute__((aligned(1024)));
  __local ushort second_l[8192] __attribute__((aligned(1024)));
  const int g = get_group_id(0);
  const int i_g = g % 2;
  const int j_g = 15 - g / 2;
  const int w = get_local_id(0);
  const int lane0 = w % 32;
  const int warp0 = w / 32;
  const int beside0 = lane0 % 4;
  const int row0 = warp0 * 16 + lane0 / 4;
  const int row1 = warp0 * 16 + lane0 / 4 + 8;
  const int inside0 = min(j_g * 64 + row0, 999);
  const int inside1 = min(j_g * 64 + row1, 999);
  for (int e = w; e < 256; e += 128) {
    const int y0 = e / 4;
    const int x0 = e % 4 * 8;
    const int at0 = min(j_g * 64 + y0, 999);
    const float8 x1 = vload_half8(0, I0 + i_g * 32000 + at0 * 32 + x0);
    const float8 q0 = x1;
    vstore_half8_rte(q0, 0, (__local half *)queries_l + y0 * 40 + x0);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint f0, f1, f2, f3;
  load_matrix_uint4(&f0, &f1, &f2, &f3, (uint)(size_t)(queries_l + warp0 * 640 + lane0 % 8 * 40 + lane0 / 8 % 2 * 320 + lane0 / 16 * 8));
  uint f4, f5, f6, f7;
  load_matrix_uint4(&f4, &f5, &f6, &f7, (uint)(size_t)(queries_l + warp0 * 640 + lane0 % 8 * 40 + lane0 / 8 % 2 * 320 + lane0 / 16 * 8 + 16));
  const float s0 = (-INFINITY);
  const float s1 = (-INFINITY);
  const float s2 = 0.0f;
  const float s3 = 0.0f;
  const float2 s4 = (float2)(0.0f);
  const float2 s5 = (float2)(0.0f);
  const float2 s6 = (float2)(0.0f);
  const float2 s7 = (float2)(0.0f);
  const float2 s8 = (float2)(0.0f);
  const float2 s9 = (float2)(0.0f);
  const float2 s10 = (float2)(0.0f);
  const float2 s11 = (float2)(0.0f);
  float c0 = s0;
  float c1 = s1;
  float c2 = s2;
  float c3 = s3;
  float2 c4 = s4;
  float2 c5 = s5;
  float2 c6 = s6;
  float2 c7 = s7;
  float2 c8 = s8;
  float2 c9 = s9;
  float2 c10 = s10;
  float2 c11 = s11;
  const int tiles0 = (min(700, j_g * 64 + 64) + 127) / 128;
  for (int ahead = 0; ahead < 1; ++ahead) {
    if (ahead < tiles0) {
      const int slot = ahead % 2;
      // The next tile of I1 to local memory
      const int y1 = w / 4;
      const int x2 = w % 4 * 8;
      const int at1 = ahead * 128 + y1;
      copy_async_ushort8_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8, (__global const ushort *)I1 + i_g * 22400 + at1 * 32 + x2, (((size_t)I1 & 15) == 0), (at1 < 700));
      const int y2 = w / 4 + 32;
      const int x3 = w % 4 * 8;
      const int at2 = ahead * 128 + y2;
      copy_async_ushort8_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 1024, (__global const ushort *)I1 + i_g * 22400 + at2 * 32 + x3, (((size_t)I1 & 15) == 0), (at2 < 700));
      const int y3 = w / 4 + 64;
      const int x4 = w % 4 * 8;
      const int at3 = ahead * 128 + y3;
      copy_async_ushort8_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 2048, (__global const ushort *)I1 + i_g * 22400 + at3 * 32 + x4, (((size_t)I1 & 15) == 0), (at3 < 700));
      const int y4 = w / 4 + 96;
      const int x5 = w % 4 * 8;
      const int at4 = ahead * 128 + y4;
      copy_async_ushort8_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 3072, (__global const ushort *)I1 + i_g * 22400 + at4 * 32 + x5, (((size_t)I1 & 15) == 0), (at4 < 700));
      // The next tile of I2 to local memory
      const int y5 = w / 4;
      const int x6 = w % 4 * 8;
      const int at5 = ahead * 128 + y5;
      copy_async_ushort8_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8, (__global const ushort *)I2 + i_g * 22400 + x6 + at5 * 32, (((size_t)I2 & 15) == 0), (at5 < 700));
      const int y6 = w / 4 + 32;
      const int x7 = w % 4 * 8;
      const int at6 = ahead * 128 + y6;
      copy_async_ushort8_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 1024, (__global const ushort *)I2 + i_g * 22400 + x7 + at6 * 32, (((size_t)I2 & 15) == 0), (at6 < 700));
      const int y7 = w / 4 + 64;
      const int x8 = w % 4 * 8;
      const int at7 = ahead * 128 + y7;
      copy_async_ushort8_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 2048, (__global const ushort *)I2 + i_g * 22400 + x8 + at7 * 32, (((size_t)I2 & 15) == 0), (at7 < 700));
      const int y8 = w / 4 + 96;
      const int x9 = w % 4 * 8;
      const int at8 = ahead * 128 + y8;
      copy_async_ushort8_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 3072, (__global const ushort *)I2 + i_g * 22400 + x9 + at8 * 32, (((size_t)I2 & 15) == 0), (at8 < 700));
      if (!(((size_t)I1 & 15) == 0)) {
        copy_ushort8_apart_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8, (__global const ushort *)I1 + i_g * 22400 + at1 * 32 + x2, (at1 < 700));
        copy_ushort8_apart_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 1024, (__global const ushort *)I1 + i_g * 22400 + at2 * 32 + x3, (at2 < 700));
        copy_ushort8_apart_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 2048, (__global const ushort *)I1 + i_g * 22400 + at3 * 32 + x4, (at3 < 700));
        copy_ushort8_apart_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 3072, (__global const ushort *)I1 + i_g * 22400 + at4 * 32 + x5, (at4 < 700));
      }
      if (!(((size_t)I2 & 15) == 0)) {
        copy_ushort8_apart_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8, (__global const ushort *)I2 + i_g * 22400 + x6 + at5 * 32, (at5 < 700));
        copy_ushort8_apart_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 1024, (__global const ushort *)I2 + i_g * 22400 + x7 + at6 * 32, (at6 < 700));
        copy_ushort8_apart_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 2048, (__global const ushort *)I2 + i_g * 22400 + x8 + at7 * 32, (at7 < 700));
        copy_ushort8_apart_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 3072, (__global const ushort *)I2 + i_g * 22400 + x9 + at8 * 32, (at8 < 700));
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int now = 0; now < tiles0; ++now) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    asm volatile("//@ fence.proxy.async.shared::cta;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    {
      const int ahead = now + 1;
      if (ahead < tiles0) {
        const int slot = ahead % 2;
        // The next tile of I1 to local memory
        const int y9 = w / 4;
        const int x10 = w % 4 * 8;
        const int at9 = ahead * 128 + y9;
        copy_async_ushort8_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8, (__global const ushort *)I1 + i_g * 22400 + at9 * 32 + x10, (((size_t)I1 & 15) == 0), (at9 < 700));
        const int y10 = w / 4 + 32;
        const int x11 = w % 4 * 8;
        const int at10 = ahead * 128 + y10;
        copy_async_ushort8_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 1024, (__global const ushort *)I1 + i_g * 22400 + at10 * 32 + x11, (((size_t)I1 & 15) == 0), (at10 < 700));
        const int y11 = w / 4 + 64;
        const int x12 = w % 4 * 8;
        const int at11 = ahead * 128 + y11;
        copy_async_ushort8_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 2048, (__global const ushort *)I1 + i_g * 22400 + at11 * 32 + x12, (((size_t)I1 & 15) == 0), (at11 < 700));
        const int y12 = w / 4 + 96;
        const int x13 = w % 4 * 8;
        const int at12 = ahead * 128 + y12;
        copy_async_ushort8_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 3072, (__global const ushort *)I1 + i_g * 22400 + at12 * 32 + x13, (((size_t)I1 & 15) == 0), (at12 < 700));
        // The next tile of I2 to local memory
        const int y13 = w / 4;
        const int x14 = w % 4 * 8;
        const int at13 = ahead * 128 + y13;
        copy_async_ushort8_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8, (__global const ushort *)I2 + i_g * 22400 + x14 + at13 * 32, (((size_t)I2 & 15) == 0), (at13 < 700));
        const int y14 = w / 4 + 32;
        const int x15 = w % 4 * 8;
        const int at14 = ahead * 128 + y14;
        copy_async_ushort8_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 1024, (__global const ushort *)I2 + i_g * 22400 + x15 + at14 * 32, (((size_t)I2 & 15) == 0), (at14 < 700));
        const int y15 = w / 4 + 64;
        const int x16 = w % 4 * 8;
        const int at15 = ahead * 128 + y15;
        copy_async_ushort8_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 2048, (__global const ushort *)I2 + i_g * 22400 + x16 + at15 * 32, (((size_t)I2 & 15) == 0), (at15 < 700));
        const int y16 = w / 4 + 96;
        const int x17 = w % 4 * 8;
        const int at16 = ahead * 128 + y16;
        copy_async_ushort8_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 3072, (__global const ushort *)I2 + i_g * 22400 + x17 + at16 * 32, (((size_t)I2 & 15) == 0), (at16 < 700));
        if (!(((size_t)I1 & 15) == 0)) {
          copy_ushort8_apart_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8, (__global const ushort *)I1 + i_g * 22400 + at9 * 32 + x10, (at9 < 700));
          copy_ushort8_apart_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 1024, (__global const ushort *)I1 + i_g * 22400 + at10 * 32 + x11, (at10 < 700));
          copy_ushort8_apart_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 2048, (__global const ushort *)I1 + i_g * 22400 + at11 * 32 + x12, (at11 < 700));
          copy_ushort8_apart_if(first_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 3072, (__global const ushort *)I1 + i_g * 22400 + at12 * 32 + x13, (at12 < 700));
        }
        if (!(((size_t)I2 & 15) == 0)) {
          copy_ushort8_apart_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8, (__global const ushort *)I2 + i_g * 22400 + x14 + at13 * 32, (at13 < 700));
          copy_ushort8_apart_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 1024, (__global const ushort *)I2 + i_g * 22400 + x15 + at14 * 32, (at14 < 700));
          copy_ushort8_apart_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 2048, (__global const ushort *)I2 + i_g * 22400 + x16 + at15 * 32, (at15 < 700));
          copy_ushort8_apart_if(second_l + slot * 4096 + w / 4 * 32 + (w % 4 ^ (w / 4 / 2 % 4)) * 8 + 3072, (__global const ushort *)I2 + i_g * 22400 + x17 + at16 * 32, (at16 < 700));
        }
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    {
      const int slot = now % 2;
      float2 acc0 = (float2)(0.0f);
      float2 acc1 = (float2)(0.0f);
      float2 acc2 = (float2)(0.0f);
      float2 acc3 = (float2)(0.0f);
      float2 acc4 = (float2)(0.0f);
      float2 acc5 = (float2)(0.0f);
      float2 acc6 = (float2)(0.0f);
      float2 acc7 = (float2)(0.0f);
      float2 acc8 = (float2)(0.0f);
      float2 acc9 = (float2)(0.0f);
      float2 acc10 = (float2)(0.0f);
      float2 acc11 = (float2)(0.0f);
      float2 acc12 = (float2)(0.0f);
      float2 acc13 = (float2)(0.0f);
      float2 acc14 = (float2)(0.0f);
      float2 acc15 = (float2)(0.0f);
      float2 acc16 = (float2)(0.0f);
      float2 acc17 = (float2)(0.0f);
      float2 acc18 = (float2)(0.0f);
      float2 acc19 = (float2)(0.0f);
      float2 acc20 = (float2)(0.0f);
      float2 acc21 = (float2)(0.0f);
      float2 acc22 = (float2)(0.0f);
      float2 acc23 = (float2)(0.0f);
      float2 acc24 = (float2)(0.0f);
      float2 acc25 = (float2)(0.0f);
      float2 acc26 = (float2)(0.0f);
      float2 acc27 = (float2)(0.0f);
      float2 acc28 = (float2)(0.0f);
      float2 acc29 = (float2)(0.0f);
      float2 acc30 = (float2)(0.0f);
      float2 acc31 = (float2)(0.0f);
      asm volatile("//@ wgmma.fence.sync.aligned;" ::: "memory");
      wgmma_float_128x16(&acc0, &acc16, &acc1, &acc17, &acc2, &acc18, &acc3, &acc19, &acc4, &acc20, &acc5, &acc21, &acc6, &acc22, &acc7, &acc23, &acc8, &acc24, &acc9, &acc25, &acc10, &acc26, &acc11, &acc27, &acc12, &acc28, &acc13, &acc29, &acc14, &acc30, &acc15, &acc31, f0, f1, f2, f3, matrix_at((uint)(size_t)(first_l + slot * 4096), 512, 512) | 2ul << 62);
      wgmma_float_128x16(&acc0, &acc16, &acc1, &acc17, &acc2, &acc18, &acc3, &acc19, &acc4, &acc20, &acc5, &acc21, &acc6, &acc22, &acc7, &acc23, &acc8, &acc24, &acc9, &acc25, &acc10, &acc26, &acc11, &acc27, &acc12, &acc28, &acc13, &acc29, &acc14, &acc30, &acc15, &acc31, f4, f5, f6, f7, matrix_at((uint)(size_t)(first_l + slot * 4096 + 16), 512, 512) | 2ul << 62);
      asm volatile("//@ wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("//@ wgmma.wait_group.sync.aligned 0;" ::: "memory");
      known_float_32(&acc0, &acc16, &acc1, &acc17, &acc2, &acc18, &acc3, &acc19, &acc4, &acc20, &acc5, &acc21, &acc6, &acc22, &acc7, &acc23, &acc8, &acc24, &acc9, &acc25, &acc10, &acc26, &acc11, &acc27, &acc12, &acc28, &acc13, &acc29, &acc14, &acc30, &acc15, &acc31);
      const float2 s12 = (((int2)((int)(min(now * 128 + beside0 * 2, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc0 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s13 = (((int2)((int)(min(now * 128 + beside0 * 2 + 8, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc1 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s14 = (((int2)((int)(min(now * 128 + beside0 * 2 + 16, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc2 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s15 = (((int2)((int)(min(now * 128 + beside0 * 2 + 24, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc3 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s16 = (((int2)((int)(min(now * 128 + beside0 * 2 + 32, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc4 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s17 = (((int2)((int)(min(now * 128 + beside0 * 2 + 40, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc5 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s18 = (((int2)((int)(min(now * 128 + beside0 * 2 + 48, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc6 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s19 = (((int2)((int)(min(now * 128 + beside0 * 2 + 56, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc7 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s20 = (((int2)((int)(min(now * 128 + beside0 * 2 + 64, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc8 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s21 = (((int2)((int)(min(now * 128 + beside0 * 2 + 72, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc9 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s22 = (((int2)((int)(min(now * 128 + beside0 * 2 + 80, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc10 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s23 = (((int2)((int)(min(now * 128 + beside0 * 2 + 88, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc11 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s24 = (((int2)((int)(min(now * 128 + beside0 * 2 + 96, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc12 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s25 = (((int2)((int)(min(now * 128 + beside0 * 2 + 104, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc13 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s26 = (((int2)((int)(min(now * 128 + beside0 * 2 + 112, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc14 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s27 = (((int2)((int)(min(now * 128 + beside0 * 2 + 120, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc15 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s28 = (((int2)((int)(min(now * 128 + beside0 * 2, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc16 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s29 = (((int2)((int)(min(now * 128 + beside0 * 2 + 8, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc17 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s30 = (((int2)((int)(min(now * 128 + beside0 * 2 + 16, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc18 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s31 = (((int2)((int)(min(now * 128 + beside0 * 2 + 24, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc19 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s32 = (((int2)((int)(min(now * 128 + beside0 * 2 + 32, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc20 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s33 = (((int2)((int)(min(now * 128 + beside0 * 2 + 40, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc21 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s34 = (((int2)((int)(min(now * 128 + beside0 * 2 + 48, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc22 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s35 = (((int2)((int)(min(now * 128 + beside0 * 2 + 56, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc23 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s36 = (((int2)((int)(min(now * 128 + beside0 * 2 + 64, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc24 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s37 = (((int2)((int)(min(now * 128 + beside0 * 2 + 72, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc25 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s38 = (((int2)((int)(min(now * 128 + beside0 * 2 + 80, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc26 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s39 = (((int2)((int)(min(now * 128 + beside0 * 2 + 88, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc27 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s40 = (((int2)((int)(min(now * 128 + beside0 * 2 + 96, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc28 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s41 = (((int2)((int)(min(now * 128 + beside0 * 2 + 104, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc29 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s42 = (((int2)((int)(min(now * 128 + beside0 * 2 + 112, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc30 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s43 = (((int2)((int)(min(now * 128 + beside0 * 2 + 120, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc31 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s44 = s12;
      const float2 s45 = convert_int2(((long2)((long)(now * 128 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s44 : (float2)((-INFINITY));
      const float2 s46 = s13;
      const float2 s47 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s46 : (float2)((-INFINITY));
      const float2 r0 = maximum_float2(s45, s47);
      const float2 s48 = s14;
      const float2 s49 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s48 : (float2)((-INFINITY));
      const float2 r1 = maximum_float2(r0, s49);
      const float2 s50 = s15;
      const float2 s51 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s50 : (float2)((-INFINITY));
      const float2 r2 = maximum_float2(r1, s51);
      const float2 s52 = s16;
      const float2 s53 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s52 : (float2)((-INFINITY));
      const float2 r3 = maximum_float2(r2, s53);
      const float2 s54 = s17;
      const float2 s55 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s54 : (float2)((-INFINITY));
      const float2 r4 = maximum_float2(r3, s55);
      const float2 s56 = s18;
      const float2 s57 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s56 : (float2)((-INFINITY));
      const float2 r5 = maximum_float2(r4, s57);
      const float2 s58 = s19;
      const float2 s59 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s58 : (float2)((-INFINITY));
      const float2 r6 = maximum_float2(r5, s59);
      const float2 s60 = s20;
      const float2 s61 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 64)) + (long2)(0, 1)) < 700l) ? s60 : (float2)((-INFINITY));
      const float2 r7 = maximum_float2(r6, s61);
      const float2 s62 = s21;
      const float2 s63 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 72)) + (long2)(0, 1)) < 700l) ? s62 : (float2)((-INFINITY));
      const float2 r8 = maximum_float2(r7, s63);
      const float2 s64 = s22;
      const float2 s65 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 80)) + (long2)(0, 1)) < 700l) ? s64 : (float2)((-INFINITY));
      const float2 r9 = maximum_float2(r8, s65);
      const float2 s66 = s23;
      const float2 s67 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 88)) + (long2)(0, 1)) < 700l) ? s66 : (float2)((-INFINITY));
      const float2 r10 = maximum_float2(r9, s67);
      const float2 s68 = s24;
      const float2 s69 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 96)) + (long2)(0, 1)) < 700l) ? s68 : (float2)((-INFINITY));
      const float2 r11 = maximum_float2(r10, s69);
      const float2 s70 = s25;
      const float2 s71 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 104)) + (long2)(0, 1)) < 700l) ? s70 : (float2)((-INFINITY));
      const float2 r12 = maximum_float2(r11, s71);
      const float2 s72 = s26;
      const float2 s73 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 112)) + (long2)(0, 1)) < 700l) ? s72 : (float2)((-INFINITY));
      const float2 r13 = maximum_float2(r12, s73);
      const float2 s74 = s27;
      const float2 s75 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 120)) + (long2)(0, 1)) < 700l) ? s74 : (float2)((-INFINITY));
      const float2 r14 = maximum_float2(r13, s75);
      const float h0 = r14.lo;
      const float h1 = r14.hi;
      const float r15 = maximum_float(h0, h1);
      const float other0 = shuffle_any_float(r15, 1 - beside0 % 2 * 2);
      const float r16 = maximum_float(r15, other0);
      const float other1 = shuffle_any_float(r16, 2 - beside0 / 2 % 2 * 4);
      const float r17 = maximum_float(r16, other1);
      const float r18 = maximum_float(c0, r17);
      const float2 s76 = s28;
      const float2 s77 = convert_int2(((long2)((long)(now * 128 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s76 : (float2)((-INFINITY));
      const float2 s78 = s29;
      const float2 s79 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s78 : (float2)((-INFINITY));
      const float2 r19 = maximum_float2(s77, s79);
      const float2 s80 = s30;
      const float2 s81 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s80 : (float2)((-INFINITY));
      const float2 r20 = maximum_float2(r19, s81);
      const float2 s82 = s31;
      const float2 s83 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s82 : (float2)((-INFINITY));
      const float2 r21 = maximum_float2(r20, s83);
      const float2 s84 = s32;
      const float2 s85 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s84 : (float2)((-INFINITY));
      const float2 r22 = maximum_float2(r21, s85);
      const float2 s86 = s33;
      const float2 s87 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s86 : (float2)((-INFINITY));
      const float2 r23 = maximum_float2(r22, s87);
      const float2 s88 = s34;
      const float2 s89 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s88 : (float2)((-INFINITY));
      const float2 r24 = maximum_float2(r23, s89);
      const float2 s90 = s35;
      const float2 s91 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s90 : (float2)((-INFINITY));
      const float2 r25 = maximum_float2(r24, s91);
      const float2 s92 = s36;
      const float2 s93 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 64)) + (long2)(0, 1)) < 700l) ? s92 : (float2)((-INFINITY));
      const float2 r26 = maximum_float2(r25, s93);
      const float2 s94 = s37;
      const float2 s95 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 72)) + (long2)(0, 1)) < 700l) ? s94 : (float2)((-INFINITY));
      const float2 r27 = maximum_float2(r26, s95);
      const float2 s96 = s38;
      const float2 s97 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 80)) + (long2)(0, 1)) < 700l) ? s96 : (float2)((-INFINITY));
      const float2 r28 = maximum_float2(r27, s97);
      const float2 s98 = s39;
      const float2 s99 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 88)) + (long2)(0, 1)) < 700l) ? s98 : (float2)((-INFINITY));
      const float2 r29 = maximum_float2(r28, s99);
      const float2 s100 = s40;
      const float2 s101 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 96)) + (long2)(0, 1)) < 700l) ? s100 : (float2)((-INFINITY));
      const float2 r30 = maximum_float2(r29, s101);
      const float2 s102 = s41;
      const float2 s103 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 104)) + (long2)(0, 1)) < 700l) ? s102 : (float2)((-INFINITY));
      const float2 r31 = maximum_float2(r30, s103);
      const float2 s104 = s42;
      const float2 s105 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 112)) + (long2)(0, 1)) < 700l) ? s104 : (float2)((-INFINITY));
      const float2 r32 = maximum_float2(r31, s105);
      const float2 s106 = s43;
      const float2 s107 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 120)) + (long2)(0, 1)) < 700l) ? s106 : (float2)((-INFINITY));
      const float2 r33 = maximum_float2(r32, s107);
      const float h2 = r33.lo;
      const float h3 = r33.hi;
      const float r34 = maximum_float(h2, h3);
      const float other2 = shuffle_any_float(r34, 1 - beside0 % 2 * 2);
      const float r35 = maximum_float(r34, other2);
      const float other3 = shuffle_any_float(r35, 2 - beside0 / 2 % 2 * 4);
      const float r36 = maximum_float(r35, other3);
      const float r37 = maximum_float(c1, r36);
      const float s108 = (c0 == r18) ? 1.0f : exp_or_nothing_float(c0 - r18);
      const float s109 = (r18 == (-INFINITY)) ? 0.0f : r18;
      const float s110 = r18;
      const float s111 = (c1 == r37) ? 1.0f : exp_or_nothing_float(c1 - r37);
      const float s112 = (r37 == (-INFINITY)) ? 0.0f : r37;
      const float s113 = r37;
      const float2 s114 = exp_or_nothing_float2(s12 - s109);
      const float2 s115 = exp_or_nothing_float2(s13 - s109);
      const float2 s116 = exp_or_nothing_float2(s14 - s109);
      const float2 s117 = exp_or_nothing_float2(s15 - s109);
      const float2 s118 = exp_or_nothing_float2(s16 - s109);
      const float2 s119 = exp_or_nothing_float2(s17 - s109);
      const float2 s120 = exp_or_nothing_float2(s18 - s109);
      const float2 s121 = exp_or_nothing_float2(s19 - s109);
      const float2 s122 = exp_or_nothing_float2(s20 - s109);
      const float2 s123 = exp_or_nothing_float2(s21 - s109);
      const float2 s124 = exp_or_nothing_float2(s22 - s109);
      const float2 s125 = exp_or_nothing_float2(s23 - s109);
      const float2 s126 = exp_or_nothing_float2(s24 - s109);
      const float2 s127 = exp_or_nothing_float2(s25 - s109);
      const float2 s128 = exp_or_nothing_float2(s26 - s109);
      const float2 s129 = exp_or_nothing_float2(s27 - s109);
      const float2 s130 = exp_or_nothing_float2(s28 - s112);
      const float2 s131 = exp_or_nothing_float2(s29 - s112);
      const float2 s132 = exp_or_nothing_float2(s30 - s112);
      const float2 s133 = exp_or_nothing_float2(s31 - s112);
      const float2 s134 = exp_or_nothing_float2(s32 - s112);
      const float2 s135 = exp_or_nothing_float2(s33 - s112);
      const float2 s136 = exp_or_nothing_float2(s34 - s112);
      const float2 s137 = exp_or_nothing_float2(s35 - s112);
      const float2 s138 = exp_or_nothing_float2(s36 - s112);
      const float2 s139 = exp_or_nothing_float2(s37 - s112);
      const float2 s140 = exp_or_nothing_float2(s38 - s112);
      const float2 s141 = exp_or_nothing_float2(s39 - s112);
      const float2 s142 = exp_or_nothing_float2(s40 - s112);
      const float2 s143 = exp_or_nothing_float2(s41 - s112);
      const float2 s144 = exp_or_nothing_float2(s42 - s112);
      const float2 s145 = exp_or_nothing_float2(s43 - s112);
      const float2 s146 = s114;
      const float2 s147 = convert_int2(((long2)((long)(now * 128 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s146 : (float2)(0.0f);
      const float2 s148 = s115;
      const float2 s149 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s148 : (float2)(0.0f);
      const float2 r38 = s147 + s149;
      const float2 s150 = s116;
      const float2 s151 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s150 : (float2)(0.0f);
      const float2 r39 = r38 + s151;
      const float2 s152 = s117;
      const float2 s153 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s152 : (float2)(0.0f);
      const float2 r40 = r39 + s153;
      const float2 s154 = s118;
      const float2 s155 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s154 : (float2)(0.0f);
      const float2 r41 = r40 + s155;
      const float2 s156 = s119;
      const float2 s157 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s156 : (float2)(0.0f);
      const float2 r42 = r41 + s157;
      const float2 s158 = s120;
      const float2 s159 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s158 : (float2)(0.0f);
      const float2 r43 = r42 + s159;
      const float2 s160 = s121;
      const float2 s161 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s160 : (float2)(0.0f);
      const float2 r44 = r43 + s161;
      const float2 s162 = s122;
      const float2 s163 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 64)) + (long2)(0, 1)) < 700l) ? s162 : (float2)(0.0f);
      const float2 r45 = r44 + s163;
      const float2 s164 = s123;
      const float2 s165 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 72)) + (long2)(0, 1)) < 700l) ? s164 : (float2)(0.0f);
      const float2 r46 = r45 + s165;
      const float2 s166 = s124;
      const float2 s167 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 80)) + (long2)(0, 1)) < 700l) ? s166 : (float2)(0.0f);
      const float2 r47 = r46 + s167;
      const float2 s168 = s125;
      const float2 s169 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 88)) + (long2)(0, 1)) < 700l) ? s168 : (float2)(0.0f);
      const float2 r48 = r47 + s169;
      const float2 s170 = s126;
      const float2 s171 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 96)) + (long2)(0, 1)) < 700l) ? s170 : (float2)(0.0f);
      const float2 r49 = r48 + s171;
      const float2 s172 = s127;
      const float2 s173 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 104)) + (long2)(0, 1)) < 700l) ? s172 : (float2)(0.0f);
      const float2 r50 = r49 + s173;
      const float2 s174 = s128;
      const float2 s175 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 112)) + (long2)(0, 1)) < 700l) ? s174 : (float2)(0.0f);
      const float2 r51 = r50 + s175;
      const float2 s176 = s129;
      const float2 s177 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 120)) + (long2)(0, 1)) < 700l) ? s176 : (float2)(0.0f);
      const float2 r52 = r51 + s177;
      const float h4 = r52.lo;
      const float h5 = r52.hi;
      const float r53 = h4 + h5;
      const float other4 = shuffle_any_float(r53, 1 - beside0 % 2 * 2);
      const float r54 = r53 + other4;
      const float other5 = shuffle_any_float(r54, 2 - beside0 / 2 % 2 * 4);
      const float r55 = r54 + other5;
      const float r56 = r55 + (((s108 == 0.0f) & (as_float(as_int(c2) & 0x7fffffff) == INFINITY)) ? 0.0f : (s108 * c2));
      const float2 s178 = s130;
      const float2 s179 = convert_int2(((long2)((long)(now * 128 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s178 : (float2)(0.0f);
      const float2 s180 = s131;
      const float2 s181 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s180 : (float2)(0.0f);
      const float2 r57 = s179 + s181;
      const float2 s182 = s132;
      const float2 s183 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s182 : (float2)(0.0f);
      const float2 r58 = r57 + s183;
      const float2 s184 = s133;
      const float2 s185 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s184 : (float2)(0.0f);
      const float2 r59 = r58 + s185;
      const float2 s186 = s134;
      const float2 s187 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s186 : (float2)(0.0f);
      const float2 r60 = r59 + s187;
      const float2 s188 = s135;
      const float2 s189 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s188 : (float2)(0.0f);
      const float2 r61 = r60 + s189;
      const float2 s190 = s136;
      const float2 s191 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s190 : (float2)(0.0f);
      const float2 r62 = r61 + s191;
      const float2 s192 = s137;
      const float2 s193 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s192 : (float2)(0.0f);
      const float2 r63 = r62 + s193;
      const float2 s194 = s138;
      const float2 s195 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 64)) + (long2)(0, 1)) < 700l) ? s194 : (float2)(0.0f);
      const float2 r64 = r63 + s195;
      const float2 s196 = s139;
      const float2 s197 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 72)) + (long2)(0, 1)) < 700l) ? s196 : (float2)(0.0f);
      const float2 r65 = r64 + s197;
      const float2 s198 = s140;
      const float2 s199 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 80)) + (long2)(0, 1)) < 700l) ? s198 : (float2)(0.0f);
      const float2 r66 = r65 + s199;
      const float2 s200 = s141;
      const float2 s201 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 88)) + (long2)(0, 1)) < 700l) ? s200 : (float2)(0.0f);
      const float2 r67 = r66 + s201;
      const float2 s202 = s142;
      const float2 s203 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 96)) + (long2)(0, 1)) < 700l) ? s202 : (float2)(0.0f);
      const float2 r68 = r67 + s203;
      const float2 s204 = s143;
      const float2 s205 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 104)) + (long2)(0, 1)) < 700l) ? s204 : (float2)(0.0f);
      const float2 r69 = r68 + s205;
      const float2 s206 = s144;
      const float2 s207 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 112)) + (long2)(0, 1)) < 700l) ? s206 : (float2)(0.0f);
      const float2 r70 = r69 + s207;
      const float2 s208 = s145;
      const float2 s209 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 120)) + (long2)(0, 1)) < 700l) ? s208 : (float2)(0.0f);
      const float2 r71 = r70 + s209;
      const float h6 = r71.lo;
      const float h7 = r71.hi;
      const float r72 = h6 + h7;
      const float other6 = shuffle_any_float(r72, 1 - beside0 % 2 * 2);
      const float r73 = r72 + other6;
      const float other7 = shuffle_any_float(r73, 2 - beside0 / 2 % 2 * 4);
      const float r74 = r73 + other7;
      const float r75 = r74 + (((s111 == 0.0f) & (as_float(as_int(c3) & 0x7fffffff) == INFINITY)) ? 0.0f : (s111 * c3));
      const float2 s210 = convert_int2(((long2)((long)(now * 128 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s114 : (float2)(0.0f);
      const float2 s211 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s115 : (float2)(0.0f);
      const float2 s212 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s116 : (float2)(0.0f);
      const float2 s213 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s117 : (float2)(0.0f);
      const float2 s214 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s118 : (float2)(0.0f);
      const float2 s215 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s119 : (float2)(0.0f);
      const float2 s216 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s120 : (float2)(0.0f);
      const float2 s217 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s121 : (float2)(0.0f);
      const float2 s218 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 64)) + (long2)(0, 1)) < 700l) ? s122 : (float2)(0.0f);
      const float2 s219 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 72)) + (long2)(0, 1)) < 700l) ? s123 : (float2)(0.0f);
      const float2 s220 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 80)) + (long2)(0, 1)) < 700l) ? s124 : (float2)(0.0f);
      const float2 s221 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 88)) + (long2)(0, 1)) < 700l) ? s125 : (float2)(0.0f);
      const float2 s222 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 96)) + (long2)(0, 1)) < 700l) ? s126 : (float2)(0.0f);
      const float2 s223 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 104)) + (long2)(0, 1)) < 700l) ? s127 : (float2)(0.0f);
      const float2 s224 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 112)) + (long2)(0, 1)) < 700l) ? s128 : (float2)(0.0f);
      const float2 s225 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 120)) + (long2)(0, 1)) < 700l) ? s129 : (float2)(0.0f);
      const float2 s226 = convert_int2(((long2)((long)(now * 128 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s130 : (float2)(0.0f);
      const float2 s227 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s131 : (float2)(0.0f);
      const float2 s228 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s132 : (float2)(0.0f);
      const float2 s229 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s133 : (float2)(0.0f);
      const float2 s230 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s134 : (float2)(0.0f);
      const float2 s231 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s135 : (float2)(0.0f);
      const float2 s232 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s136 : (float2)(0.0f);
      const float2 s233 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s137 : (float2)(0.0f);
      const float2 s234 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 64)) + (long2)(0, 1)) < 700l) ? s138 : (float2)(0.0f);
      const float2 s235 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 72)) + (long2)(0, 1)) < 700l) ? s139 : (float2)(0.0f);
      const float2 s236 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 80)) + (long2)(0, 1)) < 700l) ? s140 : (float2)(0.0f);
      const float2 s237 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 88)) + (long2)(0, 1)) < 700l) ? s141 : (float2)(0.0f);
      const float2 s238 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 96)) + (long2)(0, 1)) < 700l) ? s142 : (float2)(0.0f);
      const float2 s239 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 104)) + (long2)(0, 1)) < 700l) ? s143 : (float2)(0.0f);
      const float2 s240 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 112)) + (long2)(0, 1)) < 700l) ? s144 : (float2)(0.0f);
      const float2 s241 = convert_int2(((long2)((long)(now * 128 + beside0 * 2 + 120)) + (long2)(0, 1)) < 700l) ? s145 : (float2)(0.0f);
      const uint a0 = pack_halves(s210.lo, s210.hi);
      const uint a1 = pack_halves(s226.lo, s226.hi);
      const uint a2 = pack_halves(s211.lo, s211.hi);
      const uint a3 = pack_halves(s227.lo, s227.hi);
      const uint a4 = pack_halves(s212.lo, s212.hi);
      const uint a5 = pack_halves(s228.lo, s228.hi);
      const uint a6 = pack_halves(s213.lo, s213.hi);
      const uint a7 = pack_halves(s229.lo, s229.hi);
      const uint a8 = pack_halves(s214.lo, s214.hi);
      const uint a9 = pack_halves(s230.lo, s230.hi);
      const uint a10 = pack_halves(s215.lo, s215.hi);
      const uint a11 = pack_halves(s231.lo, s231.hi);
      const uint a12 = pack_halves(s216.lo, s216.hi);
      const uint a13 = pack_halves(s232.lo, s232.hi);
      const uint a14 = pack_halves(s217.lo, s217.hi);
      const uint a15 = pack_halves(s233.lo, s233.hi);
      const uint a16 = pack_halves(s218.lo, s218.hi);
      const uint a17 = pack_halves(s234.lo, s234.hi);
      const uint a18 = pack_halves(s219.lo, s219.hi);
      const uint a19 = pack_halves(s235.lo, s235.hi);
      const uint a20 = pack_halves(s220.lo, s220.hi);
      const uint a21 = pack_halves(s236.lo, s236.hi);
      const uint a22 = pack_halves(s221.lo, s221.hi);
      const uint a23 = pack_halves(s237.lo, s237.hi);
      const uint a24 = pack_halves(s222.lo, s222.hi);
      const uint a25 = pack_halves(s238.lo, s238.hi);
      const uint a26 = pack_halves(s223.lo, s223.hi);
      const uint a27 = pack_halves(s239.lo, s239.hi);
      const uint a28 = pack_halves(s224.lo, s224.hi);
      const uint a29 = pack_halves(s240.lo, s240.hi);
      const uint a30 = pack_halves(s225.lo, s225.hi);
      const uint a31 = pack_halves(s241.lo, s241.hi);
      c4 = (float2)(0.0f) + (s108 * c4);
      c5 = (float2)(0.0f) + (s108 * c5);
      c6 = (float2)(0.0f) + (s108 * c6);
      c7 = (float2)(0.0f) + (s108 * c7);
      c8 = (float2)(0.0f) + (s111 * c8);
      c9 = (float2)(0.0f) + (s111 * c9);
      c10 = (float2)(0.0f) + (s111 * c10);
      c11 = (float2)(0.0f) + (s111 * c11);
      asm volatile("//@ wgmma.fence.sync.aligned;" ::: "memory");
      wgmma_float_32x16_turned(&c4, &c8, &c5, &c9, &c6, &c10, &c7, &c11, a0, a1, a2, a3, matrix_at((uint)(size_t)(second_l + slot * 4096), 8192, 512) | 2ul << 62);
      wgmma_float_32x16_turned(&c4, &c8, &c5, &c9, &c6, &c10, &c7, &c11, a4, a5, a6, a7, matrix_at((uint)(size_t)(second_l + slot * 4096 + 512), 8192, 512) | 2ul << 62);
      wgmma_float_32x16_turned(&c4, &c8, &c5, &c9, &c6, &c10, &c7, &c11, a8, a9, a10, a11, matrix_at((uint)(size_t)(second_l + slot * 4096 + 1024), 8192, 512) | 2ul << 62);
      wgmma_float_32x16_turned(&c4, &c8, &c5, &c9, &c6, &c10, &c7, &c11, a12, a13, a14, a15, matrix_at((uint)(size_t)(second_l + slot * 4096 + 1536), 8192, 512) | 2ul << 62);
      wgmma_float_32x16_turned(&c4, &c8, &c5, &c9, &c6, &c10, &c7, &c11, a16, a17, a18, a19, matrix_at((uint)(size_t)(second_l + slot * 4096 + 2048), 8192, 512) | 2ul << 62);
      wgmma_float_32x16_turned(&c4, &c8, &c5, &c9, &c6, &c10, &c7, &c11, a20, a21, a22, a23, matrix_at((uint)(size_t)(second_l + slot * 4096 + 2560), 8192, 512) | 2ul << 62);
      wgmma_float_32x16_turned(&c4, &c8, &c5, &c9, &c6, &c10, &c7, &c11, a24, a25, a26, a27, matrix_at((uint)(size_t)(second_l + slot * 4096 + 3072), 8192, 512) | 2ul << 62);
      wgmma_float_32x16_turned(&c4, &c8, &c5, &c9, &c6, &c10, &c7, &c11, a28, a29, a30, a31, matrix_at((uint)(size_t)(second_l + slot * 4096 + 3584), 8192, 512) | 2ul << 62);
      asm volatile("//@ wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("//@ wgmma.wait_group.sync.aligned 0;" ::: "memory");
      known_float_8(&c4, &c8, &c5, &c9, &c6, &c10, &c7, &c11);
      c0 = s110;
      c1 = s113;
      c2 = r56;
      c3 = r75;
    }
  }
  const float v0 = c0 - c0;
  const float s242 = (v0 != v0) ? NAN : c2;
  const float v1 = c1 - c1;
  const float s243 = (v1 != v1) ? NAN : c3;
  const float v2 = c0 - c0;
  const float2 s244 = ((v2 != v2) ? (float2)(NAN) : c4) / (float2)(s242);
  const float v3 = c0 - c0;
  const float2 s245 = ((v3 != v3) ? (float2)(NAN) : c5) / (float2)(s242);
  const float v4 = c0 - c0;
  const float2 s246 = ((v4 != v4) ? (float2)(NAN) : c6) / (float2)(s242);
  const float v5 = c0 - c0;
  const float2 s247 = ((v5 != v5) ? (float2)(NAN) : c7) / (float2)(s242);
  const float v6 = c1 - c1;
  const float2 s248 = ((v6 != v6) ? (float2)(NAN) : c8) / (float2)(s243);
  const float v7 = c1 - c1;
  const float2 s249 = ((v7 != v7) ? (float2)(NAN) : c9) / (float2)(s243);
  const float v8 = c1 - c1;
  const float2 s250 = ((v8 != v8) ? (float2)(NAN) : c10) / (float2)(s243);
  const float v9 = c1 - c1;
  const float2 s251 = ((v9 != v9) ? (float2)(NAN) : c11) / (float2)(s243);
  if (j_g * 64 + row0 < 1000) {
    vstore_half2_rte(s244, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2);
    vstore_half2_rte(s245, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 8);
    vstore_half2_rte(s246, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 16);
    vstore_half2_rte(s247, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 24);
  }
  if (j_g * 64 + row1 < 1000) {
    vstore_half2_rte(s248, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2);
    vstore_half2_rte(s249, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 8);
    vstore_half2_rte(s250, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 16);
    vstore_half2_rte(s251, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 24);
  }
}

// mdh_0: 4096 work-items, 128 a work-group; input 0, input 1, input 2, output 0, offset of input 0, offset of input 1, offset of input 2, offset of output 0
