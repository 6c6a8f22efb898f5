#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int shuffle_any_int(int v, int d)
{ int r; asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"((int)get_local_id(0) + d)); return r; }
static inline void copy_async_ushort8_if(__local ushort *p, __global const ushort *q, int whole, int given)
{ if (whole) { asm volatile("cp.async.cg.shared.global [%0 + 0], [%1 + 0], 16, %2;" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 16 : 0) : "memory"); }
  else { __attribute__((opencl_unroll_hint(1))) for (int n = 0; n < 8; ++n) p[n] = given ? q[n] : 0; } }
static inline float exp_of_rounded_float(float a)
{ float r; asm("ex2.approx.f32 %0, %1;" : "=f"(r) : "f"(a * 1.44269504f)); return r; }
static inline float2 exp_of_rounded_float2(float2 a)
{ return (float2)(exp_of_rounded_float(a.s0), exp_of_rounded_float(a.s1)); }
static inline float maximum_float(float a, float b)
{ float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
static inline float2 maximum_float2(float2 a, float2 b)
{ return (float2)(maximum_float(a.s0, b.s0), maximum_float(a.s1, b.s1)); }
static inline void load_matrix_uint4(uint *r0, uint *r1, uint *r2, uint *r3, uint row)
{ uint x0, x1, x2, x3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(row) : "memory");
  *r0 = x0; *r1 = x1; *r2 = x2; *r3 = x3; }
static inline void load_matrix_uint4_turned(uint *r0, uint *r1, uint *r2, uint *r3, uint row)
{ uint x0, x1, x2, x3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(row) : "memory");
  *r0 = x0; *r1 = x1; *r2 = x2; *r3 = x3; }
static inline void mma_float_16x8x16(float2 *c0, float2 *c1, uint a0, uint a1, uint a2, uint a3, uint b0, uint b1)
{ float s0 = c0->x, s1 = c0->y; float s2 = c1->x, s3 = c1->y;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  *c0 = (float2)(s0, s1); *c1 = (float2)(s2, s3); }
static inline uint pack_halves(float a, float b)
{ uint r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); return r; }
static inline float shuffle_any_float(float v, int d)
{ return as_float(shuffle_any_int(as_int(v), d)); }

// md_hom(*, (++, ++, ++, +)) ∘ (m0I0[m0i,m0j,m0l], m0I1[m0i,m0k,m0l]) -> m0O0[m0i,m0j,m0k] >> where((index(2) <= index(1)), (x0 * 0.1767766922712326), -inf) ; … 3 more … ; md_hom(*, (++, ++, ++, +)) ∘ (m4I0[m4i,m4j,m4l], m4I1[m4i,m4l,m4k], m4I2[m4i,m4j,0]) -> m4O0[m4i,m4j,m4k] >> x0 / x3
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void mdh_0(__global const half *restrict I0, __global const half *restrict I1, __global const half *restrict I2, __global half *restrict O0, const long I0_at, const long I1_at, const long I2_at, const long O0_at) {
  #pragma OPENCL FP_CONTRACT ON
  I0 = (__global const half *)((__global const char *)I0 + I0_at);
  I1 = (__global const half *)((__global const char *)I1 + I1_at);
  I2 = (__global const half *)((__global const char *)I2 + I2_at);
  O0 = (__global half *)((__global char *)O0 + O0_at);
  __local ushort queries_l[2560] __attribute__((aligned(16)));
  __local ushort first_l[2560] __attribute__((aligned(16)));
  __local ushort second_l[2560] __attribute__((aligned(16)));
  const int g = get_group_id(0);
  const int j_g = 15 - g % 16;
  const int i_g = g / 16;
  const int w = get_local_id(0);
  const int lane0 = w % 32;
  const int warp0 = w / 32;
  const int beside0 = lane0 % 4;
  const int row0 = warp0 * 16 + lane0 / 4;
  const int row1 = warp0 * 16 + lane0 / 4 + 8;
  const int inside0 = min(j_g * 64 + row0, 999);
  const int inside1 = min(j_g * 64 + row1, 999);
  for (int e = w; e < 2048; e += 128) {
    const int y0 = e / 32;
    const int x0 = e % 32;
    const int at0 = min(j_g * 64 + y0, 999);
    const float x1 = vload_half(i_g * 32000 + at0 * 32 + x0, I0);
    const float q0 = x1;
    vstore_half_rte(q0, y0 * 40 + x0, (__local half *)queries_l);
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
  const int tiles0 = (min(700, j_g * 64 + 64) + 31) / 32;
  for (int ahead = 0; ahead < 1; ++ahead) {
    if (ahead < tiles0) {
      const int slot = ahead % 2;
      // The next tile of I1 to local memory
      const int y1 = w / 4;
      const int x2 = w % 4 * 8;
      const int at1 = ahead * 32 + y1;
      copy_async_ushort8_if(first_l + slot * 1280 + y1 * 40 + x2, (__global const ushort *)I1 + i_g * 22400 + at1 * 32 + x2, (((size_t)I1 & 15) == 0), (at1 < 700));
      // The next tile of I2 to local memory
      const int y2 = w / 4;
      const int x3 = w % 4 * 8;
      const int at2 = ahead * 32 + y2;
      copy_async_ushort8_if(second_l + slot * 1280 + y2 * 40 + x3, (__global const ushort *)I2 + i_g * 22400 + x3 + at2 * 32, (((size_t)I2 & 15) == 0), (at2 < 700));
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int now = 0; now < tiles0; ++now) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    {
      const int ahead = now + 1;
      if (ahead < tiles0) {
        const int slot = ahead % 2;
        // The next tile of I1 to local memory
        const int y3 = w / 4;
        const int x4 = w % 4 * 8;
        const int at3 = ahead * 32 + y3;
        copy_async_ushort8_if(first_l + slot * 1280 + y3 * 40 + x4, (__global const ushort *)I1 + i_g * 22400 + at3 * 32 + x4, (((size_t)I1 & 15) == 0), (at3 < 700));
        // The next tile of I2 to local memory
        const int y4 = w / 4;
        const int x5 = w % 4 * 8;
        const int at4 = ahead * 32 + y4;
        copy_async_ushort8_if(second_l + slot * 1280 + y4 * 40 + x5, (__global const ushort *)I2 + i_g * 22400 + x5 + at4 * 32, (((size_t)I2 & 15) == 0), (at4 < 700));
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
      const int from0 = slot * 1280 + lane0 % 8 * 40 + lane0 / 16 * 320 + lane0 / 8 % 2 * 8;
      uint f8, f9, f10, f11;
      load_matrix_uint4(&f8, &f9, &f10, &f11, (uint)(size_t)(first_l + from0));
      mma_float_16x8x16(&acc0, &acc4, f0, f1, f2, f3, f8, f9);
      mma_float_16x8x16(&acc1, &acc5, f0, f1, f2, f3, f10, f11);
      uint f12, f13, f14, f15;
      load_matrix_uint4(&f12, &f13, &f14, &f15, (uint)(size_t)(first_l + from0 + 640));
      mma_float_16x8x16(&acc2, &acc6, f0, f1, f2, f3, f12, f13);
      mma_float_16x8x16(&acc3, &acc7, f0, f1, f2, f3, f14, f15);
      uint f16, f17, f18, f19;
      load_matrix_uint4(&f16, &f17, &f18, &f19, (uint)(size_t)(first_l + from0 + 16));
      mma_float_16x8x16(&acc0, &acc4, f4, f5, f6, f7, f16, f17);
      mma_float_16x8x16(&acc1, &acc5, f4, f5, f6, f7, f18, f19);
      uint f20, f21, f22, f23;
      load_matrix_uint4(&f20, &f21, &f22, &f23, (uint)(size_t)(first_l + from0 + 656));
      mma_float_16x8x16(&acc2, &acc6, f4, f5, f6, f7, f20, f21);
      mma_float_16x8x16(&acc3, &acc7, f4, f5, f6, f7, f22, f23);
      const float2 s12 = (((int2)((int)(min(now * 32 + beside0 * 2, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc0 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s13 = (((int2)((int)(min(now * 32 + beside0 * 2 + 8, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc1 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s14 = (((int2)((int)(min(now * 32 + beside0 * 2 + 16, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc2 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s15 = (((int2)((int)(min(now * 32 + beside0 * 2 + 24, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc3 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s16 = (((int2)((int)(min(now * 32 + beside0 * 2, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc4 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s17 = (((int2)((int)(min(now * 32 + beside0 * 2 + 8, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc5 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s18 = (((int2)((int)(min(now * 32 + beside0 * 2 + 16, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc6 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s19 = (((int2)((int)(min(now * 32 + beside0 * 2 + 24, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc7 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s20 = s12;
      const float2 s21 = convert_int2(((long2)((long)(now * 32 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s20 : (float2)((-INFINITY));
      const float2 s22 = s13;
      const float2 s23 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s22 : (float2)((-INFINITY));
      const float2 r0 = maximum_float2(s21, s23);
      const float2 s24 = s14;
      const float2 s25 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s24 : (float2)((-INFINITY));
      const float2 r1 = maximum_float2(r0, s25);
      const float2 s26 = s15;
      const float2 s27 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s26 : (float2)((-INFINITY));
      const float2 r2 = maximum_float2(r1, s27);
      const float h0 = r2.lo;
      const float h1 = r2.hi;
      const float r3 = maximum_float(h0, h1);
      const float other0 = shuffle_any_float(r3, 1 - beside0 % 2 * 2);
      const float r4 = maximum_float(r3, other0);
      const float other1 = shuffle_any_float(r4, 2 - beside0 / 2 % 2 * 4);
      const float r5 = maximum_float(r4, other1);
      const float r6 = maximum_float(c0, r5);
      const float2 s28 = s16;
      const float2 s29 = convert_int2(((long2)((long)(now * 32 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s28 : (float2)((-INFINITY));
      const float2 s30 = s17;
      const float2 s31 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s30 : (float2)((-INFINITY));
      const float2 r7 = maximum_float2(s29, s31);
      const float2 s32 = s18;
      const float2 s33 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s32 : (float2)((-INFINITY));
      const float2 r8 = maximum_float2(r7, s33);
      const float2 s34 = s19;
      const float2 s35 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s34 : (float2)((-INFINITY));
      const float2 r9 = maximum_float2(r8, s35);
      const float h2 = r9.lo;
      const float h3 = r9.hi;
      const float r10 = maximum_float(h2, h3);
      const float other2 = shuffle_any_float(r10, 1 - beside0 % 2 * 2);
      const float r11 = maximum_float(r10, other2);
      const float other3 = shuffle_any_float(r11, 2 - beside0 / 2 % 2 * 4);
      const float r12 = maximum_float(r11, other3);
      const float r13 = maximum_float(c1, r12);
      const float s36 = (c0 == r6) ? 1.0f : exp_of_rounded_float(c0 - r6);
      const float s37 = (r6 == (-INFINITY)) ? 0.0f : r6;
      const float s38 = r6;
      const float s39 = (c1 == r13) ? 1.0f : exp_of_rounded_float(c1 - r13);
      const float s40 = (r13 == (-INFINITY)) ? 0.0f : r13;
      const float s41 = r13;
      const float2 s42 = exp_of_rounded_float2(s12 - s37);
      const float2 s43 = exp_of_rounded_float2(s13 - s37);
      const float2 s44 = exp_of_rounded_float2(s14 - s37);
      const float2 s45 = exp_of_rounded_float2(s15 - s37);
      const float2 s46 = exp_of_rounded_float2(s16 - s40);
      const float2 s47 = exp_of_rounded_float2(s17 - s40);
      const float2 s48 = exp_of_rounded_float2(s18 - s40);
      const float2 s49 = exp_of_rounded_float2(s19 - s40);
      const float2 s50 = s42;
      const float2 s51 = convert_int2(((long2)((long)(now * 32 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s50 : (float2)(0.0f);
      const float2 s52 = s43;
      const float2 s53 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s52 : (float2)(0.0f);
      const float2 r14 = s51 + s53;
      const float2 s54 = s44;
      const float2 s55 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s54 : (float2)(0.0f);
      const float2 r15 = r14 + s55;
      const float2 s56 = s45;
      const float2 s57 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s56 : (float2)(0.0f);
      const float2 r16 = r15 + s57;
      const float h4 = r16.lo;
      const float h5 = r16.hi;
      const float r17 = h4 + h5;
      const float other4 = shuffle_any_float(r17, 1 - beside0 % 2 * 2);
      const float r18 = r17 + other4;
      const float other5 = shuffle_any_float(r18, 2 - beside0 / 2 % 2 * 4);
      const float r19 = r18 + other5;
      const float r20 = r19 + (((s36 == 0.0f) & (as_float(as_int(c2) & 0x7fffffff) == INFINITY)) ? 0.0f : (s36 * c2));
      const float2 s58 = s46;
      const float2 s59 = convert_int2(((long2)((long)(now * 32 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s58 : (float2)(0.0f);
      const float2 s60 = s47;
      const float2 s61 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s60 : (float2)(0.0f);
      const float2 r21 = s59 + s61;
      const float2 s62 = s48;
      const float2 s63 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s62 : (float2)(0.0f);
      const float2 r22 = r21 + s63;
      const float2 s64 = s49;
      const float2 s65 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s64 : (float2)(0.0f);
      const float2 r23 = r22 + s65;
      const float h6 = r23.lo;
      const float h7 = r23.hi;
      const float r24 = h6 + h7;
      const float other6 = shuffle_any_float(r24, 1 - beside0 % 2 * 2);
      const float r25 = r24 + other6;
      const float other7 = shuffle_any_float(r25, 2 - beside0 / 2 % 2 * 4);
      const float r26 = r25 + other7;
      const float r27 = r26 + (((s39 == 0.0f) & (as_float(as_int(c3) & 0x7fffffff) == INFINITY)) ? 0.0f : (s39 * c3));
      const float2 s66 = convert_int2(((long2)((long)(now * 32 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s42 : (float2)(0.0f);
      const float2 s67 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s43 : (float2)(0.0f);
      const float2 s68 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s44 : (float2)(0.0f);
      const float2 s69 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s45 : (float2)(0.0f);
      const float2 s70 = convert_int2(((long2)((long)(now * 32 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s46 : (float2)(0.0f);
      const float2 s71 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s47 : (float2)(0.0f);
      const float2 s72 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s48 : (float2)(0.0f);
      const float2 s73 = convert_int2(((long2)((long)(now * 32 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s49 : (float2)(0.0f);
      const uint a0 = pack_halves(s66.lo, s66.hi);
      const uint a1 = pack_halves(s70.lo, s70.hi);
      const uint a2 = pack_halves(s67.lo, s67.hi);
      const uint a3 = pack_halves(s71.lo, s71.hi);
      const uint a4 = pack_halves(s68.lo, s68.hi);
      const uint a5 = pack_halves(s72.lo, s72.hi);
      const uint a6 = pack_halves(s69.lo, s69.hi);
      const uint a7 = pack_halves(s73.lo, s73.hi);
      const int from1 = slot * 1280 + lane0 % 16 * 40 + lane0 / 16 * 8;
      c4 = (float2)(0.0f) + (s36 * c4);
      c5 = (float2)(0.0f) + (s36 * c5);
      c6 = (float2)(0.0f) + (s36 * c6);
      c7 = (float2)(0.0f) + (s36 * c7);
      c8 = (float2)(0.0f) + (s39 * c8);
      c9 = (float2)(0.0f) + (s39 * c9);
      c10 = (float2)(0.0f) + (s39 * c10);
      c11 = (float2)(0.0f) + (s39 * c11);
      uint f24, f25, f26, f27;
      load_matrix_uint4_turned(&f24, &f25, &f26, &f27, (uint)(size_t)(second_l + from1));
      mma_float_16x8x16(&c4, &c8, a0, a1, a2, a3, f24, f25);
      mma_float_16x8x16(&c5, &c9, a0, a1, a2, a3, f26, f27);
      uint f28, f29, f30, f31;
      load_matrix_uint4_turned(&f28, &f29, &f30, &f31, (uint)(size_t)(second_l + from1 + 16));
      mma_float_16x8x16(&c6, &c10, a0, a1, a2, a3, f28, f29);
      mma_float_16x8x16(&c7, &c11, a0, a1, a2, a3, f30, f31);
      uint f32, f33, f34, f35;
      load_matrix_uint4_turned(&f32, &f33, &f34, &f35, (uint)(size_t)(second_l + from1 + 640));
      mma_float_16x8x16(&c4, &c8, a4, a5, a6, a7, f32, f33);
      mma_float_16x8x16(&c5, &c9, a4, a5, a6, a7, f34, f35);
      uint f36, f37, f38, f39;
      load_matrix_uint4_turned(&f36, &f37, &f38, &f39, (uint)(size_t)(second_l + from1 + 656));
      mma_float_16x8x16(&c6, &c10, a4, a5, a6, a7, f36, f37);
      mma_float_16x8x16(&c7, &c11, a4, a5, a6, a7, f38, f39);
      c0 = s38;
      c1 = s41;
      c2 = r20;
      c3 = r27;
    }
  }
  const float v0 = c0 - c0;
  const float s74 = (v0 != v0) ? NAN : c2;
  const float v1 = c1 - c1;
  const float s75 = (v1 != v1) ? NAN : c3;
  const float v2 = c0 - c0;
  const float2 s76 = ((v2 != v2) ? (float2)(NAN) : c4) / (float2)(s74);
  const float v3 = c0 - c0;
  const float2 s77 = ((v3 != v3) ? (float2)(NAN) : c5) / (float2)(s74);
  const float v4 = c0 - c0;
  const float2 s78 = ((v4 != v4) ? (float2)(NAN) : c6) / (float2)(s74);
  const float v5 = c0 - c0;
  const float2 s79 = ((v5 != v5) ? (float2)(NAN) : c7) / (float2)(s74);
  const float v6 = c1 - c1;
  const float2 s80 = ((v6 != v6) ? (float2)(NAN) : c8) / (float2)(s75);
  const float v7 = c1 - c1;
  const float2 s81 = ((v7 != v7) ? (float2)(NAN) : c9) / (float2)(s75);
  const float v8 = c1 - c1;
  const float2 s82 = ((v8 != v8) ? (float2)(NAN) : c10) / (float2)(s75);
  const float v9 = c1 - c1;
  const float2 s83 = ((v9 != v9) ? (float2)(NAN) : c11) / (float2)(s75);
  if (j_g * 64 + row0 < 1000) {
    vstore_half2_rte(s76, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2);
    vstore_half2_rte(s77, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 8);
    vstore_half2_rte(s78, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 16);
    vstore_half2_rte(s79, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 24);
  }
  if (j_g * 64 + row1 < 1000) {
    vstore_half2_rte(s80, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2);
    vstore_half2_rte(s81, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 8);
    vstore_half2_rte(s82, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 16);
    vstore_half2_rte(s83, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 24);
  }
}

// mdh_0: 4096 work-items, 128 a work-group; input 0, input 1, input 2, output 0, offset of input 0, offset of input 1, offset of input 2, offset of output 0
