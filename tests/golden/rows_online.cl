#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int shuffle_any_int(int v, int d)
{ int r; asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"((int)get_local_id(0) + d)); return r; }
static inline void copy_async_ushort8_if(__local ushort *p, __global const ushort *q, int whole, int given)
{ if (whole) { asm volatile("cp.async.cg.shared.global [%0 + 0], [%1 + 0], 16, %2;" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 16 : 0) : "memory"); }
  else { __attribute__((opencl_unroll_hint(1))) for (int n = 0; n < 8; ++n) p[n] = given ? q[n] : 0; } }
static inline float exp_or_nothing_float(float a)
{ float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a * 1.44269504f)); return r; }
static inline float2 exp_or_nothing_float2(float2 a)
{ return (float2)(exp_or_nothing_float(a.s0), exp_or_nothing_float(a.s1)); }
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
  __local ushort first_l[5120] __attribute__((aligned(16)));
  __local ushort second_l[5120] __attribute__((aligned(16)));
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
  const int tiles0 = (min(700, j_g * 64 + 64) + 63) / 64;
  for (int ahead = 0; ahead < 1; ++ahead) {
    if (ahead < tiles0) {
      const int slot = ahead % 2;
      // The next tile of I1 to local memory
      const int y1 = w / 4;
      const int x2 = w % 4 * 8;
      const int at1 = ahead * 64 + y1;
      copy_async_ushort8_if(first_l + slot * 2560 + y1 * 40 + x2, (__global const ushort *)I1 + i_g * 22400 + at1 * 32 + x2, (((size_t)I1 & 15) == 0), (at1 < 700));
      const int y2 = (w + 128) / 4;
      const int x3 = (w + 128) % 4 * 8;
      const int at2 = ahead * 64 + y2;
      copy_async_ushort8_if(first_l + slot * 2560 + y2 * 40 + x3, (__global const ushort *)I1 + i_g * 22400 + at2 * 32 + x3, (((size_t)I1 & 15) == 0), (at2 < 700));
      // The next tile of I2 to local memory
      const int y3 = w / 4;
      const int x4 = w % 4 * 8;
      const int at3 = ahead * 64 + y3;
      copy_async_ushort8_if(second_l + slot * 2560 + y3 * 40 + x4, (__global const ushort *)I2 + i_g * 22400 + x4 + at3 * 32, (((size_t)I2 & 15) == 0), (at3 < 700));
      const int y4 = (w + 128) / 4;
      const int x5 = (w + 128) % 4 * 8;
      const int at4 = ahead * 64 + y4;
      copy_async_ushort8_if(second_l + slot * 2560 + y4 * 40 + x5, (__global const ushort *)I2 + i_g * 22400 + x5 + at4 * 32, (((size_t)I2 & 15) == 0), (at4 < 700));
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
        const int y5 = w / 4;
        const int x6 = w % 4 * 8;
        const int at5 = ahead * 64 + y5;
        copy_async_ushort8_if(first_l + slot * 2560 + y5 * 40 + x6, (__global const ushort *)I1 + i_g * 22400 + at5 * 32 + x6, (((size_t)I1 & 15) == 0), (at5 < 700));
        const int y6 = (w + 128) / 4;
        const int x7 = (w + 128) % 4 * 8;
        const int at6 = ahead * 64 + y6;
        copy_async_ushort8_if(first_l + slot * 2560 + y6 * 40 + x7, (__global const ushort *)I1 + i_g * 22400 + at6 * 32 + x7, (((size_t)I1 & 15) == 0), (at6 < 700));
        // The next tile of I2 to local memory
        const int y7 = w / 4;
        const int x8 = w % 4 * 8;
        const int at7 = ahead * 64 + y7;
        copy_async_ushort8_if(second_l + slot * 2560 + y7 * 40 + x8, (__global const ushort *)I2 + i_g * 22400 + x8 + at7 * 32, (((size_t)I2 & 15) == 0), (at7 < 700));
        const int y8 = (w + 128) / 4;
        const int x9 = (w + 128) % 4 * 8;
        const int at8 = ahead * 64 + y8;
        copy_async_ushort8_if(second_l + slot * 2560 + y8 * 40 + x9, (__global const ushort *)I2 + i_g * 22400 + x9 + at8 * 32, (((size_t)I2 & 15) == 0), (at8 < 700));
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
      const int from0 = slot * 2560 + lane0 % 8 * 40 + lane0 / 16 * 320 + lane0 / 8 % 2 * 8;
      uint f8, f9, f10, f11;
      load_matrix_uint4(&f8, &f9, &f10, &f11, (uint)(size_t)(first_l + from0));
      mma_float_16x8x16(&acc0, &acc8, f0, f1, f2, f3, f8, f9);
      mma_float_16x8x16(&acc1, &acc9, f0, f1, f2, f3, f10, f11);
      uint f12, f13, f14, f15;
      load_matrix_uint4(&f12, &f13, &f14, &f15, (uint)(size_t)(first_l + from0 + 640));
      mma_float_16x8x16(&acc2, &acc10, f0, f1, f2, f3, f12, f13);
      mma_float_16x8x16(&acc3, &acc11, f0, f1, f2, f3, f14, f15);
      uint f16, f17, f18, f19;
      load_matrix_uint4(&f16, &f17, &f18, &f19, (uint)(size_t)(first_l + from0 + 1280));
      mma_float_16x8x16(&acc4, &acc12, f0, f1, f2, f3, f16, f17);
      mma_float_16x8x16(&acc5, &acc13, f0, f1, f2, f3, f18, f19);
      uint f20, f21, f22, f23;
      load_matrix_uint4(&f20, &f21, &f22, &f23, (uint)(size_t)(first_l + from0 + 1920));
      mma_float_16x8x16(&acc6, &acc14, f0, f1, f2, f3, f20, f21);
      mma_float_16x8x16(&acc7, &acc15, f0, f1, f2, f3, f22, f23);
      uint f24, f25, f26, f27;
      load_matrix_uint4(&f24, &f25, &f26, &f27, (uint)(size_t)(first_l + from0 + 16));
      mma_float_16x8x16(&acc0, &acc8, f4, f5, f6, f7, f24, f25);
      mma_float_16x8x16(&acc1, &acc9, f4, f5, f6, f7, f26, f27);
      uint f28, f29, f30, f31;
      load_matrix_uint4(&f28, &f29, &f30, &f31, (uint)(size_t)(first_l + from0 + 656));
      mma_float_16x8x16(&acc2, &acc10, f4, f5, f6, f7, f28, f29);
      mma_float_16x8x16(&acc3, &acc11, f4, f5, f6, f7, f30, f31);
      uint f32, f33, f34, f35;
      load_matrix_uint4(&f32, &f33, &f34, &f35, (uint)(size_t)(first_l + from0 + 1296));
      mma_float_16x8x16(&acc4, &acc12, f4, f5, f6, f7, f32, f33);
      mma_float_16x8x16(&acc5, &acc13, f4, f5, f6, f7, f34, f35);
      uint f36, f37, f38, f39;
      load_matrix_uint4(&f36, &f37, &f38, &f39, (uint)(size_t)(first_l + from0 + 1936));
      mma_float_16x8x16(&acc6, &acc14, f4, f5, f6, f7, f36, f37);
      mma_float_16x8x16(&acc7, &acc15, f4, f5, f6, f7, f38, f39);
      const float2 s12 = (((int2)((int)(min(now * 64 + beside0 * 2, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc0 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s13 = (((int2)((int)(min(now * 64 + beside0 * 2 + 8, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc1 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s14 = (((int2)((int)(min(now * 64 + beside0 * 2 + 16, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc2 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s15 = (((int2)((int)(min(now * 64 + beside0 * 2 + 24, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc3 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s16 = (((int2)((int)(min(now * 64 + beside0 * 2 + 32, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc4 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s17 = (((int2)((int)(min(now * 64 + beside0 * 2 + 40, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc5 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s18 = (((int2)((int)(min(now * 64 + beside0 * 2 + 48, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc6 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s19 = (((int2)((int)(min(now * 64 + beside0 * 2 + 56, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? (acc7 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s20 = (((int2)((int)(min(now * 64 + beside0 * 2, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc8 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s21 = (((int2)((int)(min(now * 64 + beside0 * 2 + 8, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc9 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s22 = (((int2)((int)(min(now * 64 + beside0 * 2 + 16, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc10 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s23 = (((int2)((int)(min(now * 64 + beside0 * 2 + 24, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc11 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s24 = (((int2)((int)(min(now * 64 + beside0 * 2 + 32, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc12 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s25 = (((int2)((int)(min(now * 64 + beside0 * 2 + 40, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc13 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s26 = (((int2)((int)(min(now * 64 + beside0 * 2 + 48, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc14 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s27 = (((int2)((int)(min(now * 64 + beside0 * 2 + 56, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? (acc15 * 0.1767766922712326f) : (float2)((-INFINITY));
      const float2 s28 = s12;
      const float2 s29 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s28 : (float2)((-INFINITY));
      const float2 s30 = s13;
      const float2 s31 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s30 : (float2)((-INFINITY));
      const float2 r0 = maximum_float2(s29, s31);
      const float2 s32 = s14;
      const float2 s33 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s32 : (float2)((-INFINITY));
      const float2 r1 = maximum_float2(r0, s33);
      const float2 s34 = s15;
      const float2 s35 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s34 : (float2)((-INFINITY));
      const float2 r2 = maximum_float2(r1, s35);
      const float2 s36 = s16;
      const float2 s37 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s36 : (float2)((-INFINITY));
      const float2 r3 = maximum_float2(r2, s37);
      const float2 s38 = s17;
      const float2 s39 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s38 : (float2)((-INFINITY));
      const float2 r4 = maximum_float2(r3, s39);
      const float2 s40 = s18;
      const float2 s41 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s40 : (float2)((-INFINITY));
      const float2 r5 = maximum_float2(r4, s41);
      const float2 s42 = s19;
      const float2 s43 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s42 : (float2)((-INFINITY));
      const float2 r6 = maximum_float2(r5, s43);
      const float h0 = r6.lo;
      const float h1 = r6.hi;
      const float r7 = maximum_float(h0, h1);
      const float other0 = shuffle_any_float(r7, 1 - beside0 % 2 * 2);
      const float r8 = maximum_float(r7, other0);
      const float other1 = shuffle_any_float(r8, 2 - beside0 / 2 % 2 * 4);
      const float r9 = maximum_float(r8, other1);
      const float r10 = maximum_float(c0, r9);
      const float2 s44 = s20;
      const float2 s45 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s44 : (float2)((-INFINITY));
      const float2 s46 = s21;
      const float2 s47 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s46 : (float2)((-INFINITY));
      const float2 r11 = maximum_float2(s45, s47);
      const float2 s48 = s22;
      const float2 s49 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s48 : (float2)((-INFINITY));
      const float2 r12 = maximum_float2(r11, s49);
      const float2 s50 = s23;
      const float2 s51 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s50 : (float2)((-INFINITY));
      const float2 r13 = maximum_float2(r12, s51);
      const float2 s52 = s24;
      const float2 s53 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s52 : (float2)((-INFINITY));
      const float2 r14 = maximum_float2(r13, s53);
      const float2 s54 = s25;
      const float2 s55 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s54 : (float2)((-INFINITY));
      const float2 r15 = maximum_float2(r14, s55);
      const float2 s56 = s26;
      const float2 s57 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s56 : (float2)((-INFINITY));
      const float2 r16 = maximum_float2(r15, s57);
      const float2 s58 = s27;
      const float2 s59 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s58 : (float2)((-INFINITY));
      const float2 r17 = maximum_float2(r16, s59);
      const float h2 = r17.lo;
      const float h3 = r17.hi;
      const float r18 = maximum_float(h2, h3);
      const float other2 = shuffle_any_float(r18, 1 - beside0 % 2 * 2);
      const float r19 = maximum_float(r18, other2);
      const float other3 = shuffle_any_float(r19, 2 - beside0 / 2 % 2 * 4);
      const float r20 = maximum_float(r19, other3);
      const float r21 = maximum_float(c1, r20);
      const float s60 = (c0 == r10) ? 1.0f : exp_or_nothing_float(c0 - r10);
      const float s61 = (r10 == (-INFINITY)) ? 0.0f : r10;
      const float s62 = r10;
      const float s63 = (c1 == r21) ? 1.0f : exp_or_nothing_float(c1 - r21);
      const float s64 = (r21 == (-INFINITY)) ? 0.0f : r21;
      const float s65 = r21;
      const float2 s66 = exp_or_nothing_float2(s12 - s61);
      const float2 s67 = exp_or_nothing_float2(s13 - s61);
      const float2 s68 = exp_or_nothing_float2(s14 - s61);
      const float2 s69 = exp_or_nothing_float2(s15 - s61);
      const float2 s70 = exp_or_nothing_float2(s16 - s61);
      const float2 s71 = exp_or_nothing_float2(s17 - s61);
      const float2 s72 = exp_or_nothing_float2(s18 - s61);
      const float2 s73 = exp_or_nothing_float2(s19 - s61);
      const float2 s74 = exp_or_nothing_float2(s20 - s64);
      const float2 s75 = exp_or_nothing_float2(s21 - s64);
      const float2 s76 = exp_or_nothing_float2(s22 - s64);
      const float2 s77 = exp_or_nothing_float2(s23 - s64);
      const float2 s78 = exp_or_nothing_float2(s24 - s64);
      const float2 s79 = exp_or_nothing_float2(s25 - s64);
      const float2 s80 = exp_or_nothing_float2(s26 - s64);
      const float2 s81 = exp_or_nothing_float2(s27 - s64);
      const float2 s82 = s66;
      const float2 s83 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s82 : (float2)(0.0f);
      const float2 s84 = s67;
      const float2 s85 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s84 : (float2)(0.0f);
      const float2 r22 = s83 + s85;
      const float2 s86 = s68;
      const float2 s87 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s86 : (float2)(0.0f);
      const float2 r23 = r22 + s87;
      const float2 s88 = s69;
      const float2 s89 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s88 : (float2)(0.0f);
      const float2 r24 = r23 + s89;
      const float2 s90 = s70;
      const float2 s91 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s90 : (float2)(0.0f);
      const float2 r25 = r24 + s91;
      const float2 s92 = s71;
      const float2 s93 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s92 : (float2)(0.0f);
      const float2 r26 = r25 + s93;
      const float2 s94 = s72;
      const float2 s95 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s94 : (float2)(0.0f);
      const float2 r27 = r26 + s95;
      const float2 s96 = s73;
      const float2 s97 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s96 : (float2)(0.0f);
      const float2 r28 = r27 + s97;
      const float h4 = r28.lo;
      const float h5 = r28.hi;
      const float r29 = h4 + h5;
      const float other4 = shuffle_any_float(r29, 1 - beside0 % 2 * 2);
      const float r30 = r29 + other4;
      const float other5 = shuffle_any_float(r30, 2 - beside0 / 2 % 2 * 4);
      const float r31 = r30 + other5;
      const float r32 = r31 + (((s60 == 0.0f) & (as_float(as_int(c2) & 0x7fffffff) == INFINITY)) ? 0.0f : (s60 * c2));
      const float2 s98 = s74;
      const float2 s99 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s98 : (float2)(0.0f);
      const float2 s100 = s75;
      const float2 s101 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s100 : (float2)(0.0f);
      const float2 r33 = s99 + s101;
      const float2 s102 = s76;
      const float2 s103 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s102 : (float2)(0.0f);
      const float2 r34 = r33 + s103;
      const float2 s104 = s77;
      const float2 s105 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s104 : (float2)(0.0f);
      const float2 r35 = r34 + s105;
      const float2 s106 = s78;
      const float2 s107 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s106 : (float2)(0.0f);
      const float2 r36 = r35 + s107;
      const float2 s108 = s79;
      const float2 s109 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s108 : (float2)(0.0f);
      const float2 r37 = r36 + s109;
      const float2 s110 = s80;
      const float2 s111 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s110 : (float2)(0.0f);
      const float2 r38 = r37 + s111;
      const float2 s112 = s81;
      const float2 s113 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s112 : (float2)(0.0f);
      const float2 r39 = r38 + s113;
      const float h6 = r39.lo;
      const float h7 = r39.hi;
      const float r40 = h6 + h7;
      const float other6 = shuffle_any_float(r40, 1 - beside0 % 2 * 2);
      const float r41 = r40 + other6;
      const float other7 = shuffle_any_float(r41, 2 - beside0 / 2 % 2 * 4);
      const float r42 = r41 + other7;
      const float r43 = r42 + (((s63 == 0.0f) & (as_float(as_int(c3) & 0x7fffffff) == INFINITY)) ? 0.0f : (s63 * c3));
      const float2 s114 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s66 : (float2)(0.0f);
      const float2 s115 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s67 : (float2)(0.0f);
      const float2 s116 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s68 : (float2)(0.0f);
      const float2 s117 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s69 : (float2)(0.0f);
      const float2 s118 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s70 : (float2)(0.0f);
      const float2 s119 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s71 : (float2)(0.0f);
      const float2 s120 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s72 : (float2)(0.0f);
      const float2 s121 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s73 : (float2)(0.0f);
      const float2 s122 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s74 : (float2)(0.0f);
      const float2 s123 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s75 : (float2)(0.0f);
      const float2 s124 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s76 : (float2)(0.0f);
      const float2 s125 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s77 : (float2)(0.0f);
      const float2 s126 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s78 : (float2)(0.0f);
      const float2 s127 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s79 : (float2)(0.0f);
      const float2 s128 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s80 : (float2)(0.0f);
      const float2 s129 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s81 : (float2)(0.0f);
      const uint a0 = pack_halves(s114.lo, s114.hi);
      const uint a1 = pack_halves(s122.lo, s122.hi);
      const uint a2 = pack_halves(s115.lo, s115.hi);
      const uint a3 = pack_halves(s123.lo, s123.hi);
      const uint a4 = pack_halves(s116.lo, s116.hi);
      const uint a5 = pack_halves(s124.lo, s124.hi);
      const uint a6 = pack_halves(s117.lo, s117.hi);
      const uint a7 = pack_halves(s125.lo, s125.hi);
      const uint a8 = pack_halves(s118.lo, s118.hi);
      const uint a9 = pack_halves(s126.lo, s126.hi);
      const uint a10 = pack_halves(s119.lo, s119.hi);
      const uint a11 = pack_halves(s127.lo, s127.hi);
      const uint a12 = pack_halves(s120.lo, s120.hi);
      const uint a13 = pack_halves(s128.lo, s128.hi);
      const uint a14 = pack_halves(s121.lo, s121.hi);
      const uint a15 = pack_halves(s129.lo, s129.hi);
      const int from1 = slot * 2560 + lane0 % 16 * 40 + lane0 / 16 * 8;
      c4 = (float2)(0.0f) + (s60 * c4);
      c5 = (float2)(0.0f) + (s60 * c5);
      c6 = (float2)(0.0f) + (s60 * c6);
      c7 = (float2)(0.0f) + (s60 * c7);
      c8 = (float2)(0.0f) + (s63 * c8);
      c9 = (float2)(0.0f) + (s63 * c9);
      c10 = (float2)(0.0f) + (s63 * c10);
      c11 = (float2)(0.0f) + (s63 * c11);
      uint f40, f41, f42, f43;
      load_matrix_uint4_turned(&f40, &f41, &f42, &f43, (uint)(size_t)(second_l + from1));
      mma_float_16x8x16(&c4, &c8, a0, a1, a2, a3, f40, f41);
      mma_float_16x8x16(&c5, &c9, a0, a1, a2, a3, f42, f43);
      uint f44, f45, f46, f47;
      load_matrix_uint4_turned(&f44, &f45, &f46, &f47, (uint)(size_t)(second_l + from1 + 16));
      mma_float_16x8x16(&c6, &c10, a0, a1, a2, a3, f44, f45);
      mma_float_16x8x16(&c7, &c11, a0, a1, a2, a3, f46, f47);
      uint f48, f49, f50, f51;
      load_matrix_uint4_turned(&f48, &f49, &f50, &f51, (uint)(size_t)(second_l + from1 + 640));
      mma_float_16x8x16(&c4, &c8, a4, a5, a6, a7, f48, f49);
      mma_float_16x8x16(&c5, &c9, a4, a5, a6, a7, f50, f51);
      uint f52, f53, f54, f55;
      load_matrix_uint4_turned(&f52, &f53, &f54, &f55, (uint)(size_t)(second_l + from1 + 656));
      mma_float_16x8x16(&c6, &c10, a4, a5, a6, a7, f52, f53);
      mma_float_16x8x16(&c7, &c11, a4, a5, a6, a7, f54, f55);
      uint f56, f57, f58, f59;
      load_matrix_uint4_turned(&f56, &f57, &f58, &f59, (uint)(size_t)(second_l + from1 + 1280));
      mma_float_16x8x16(&c4, &c8, a8, a9, a10, a11, f56, f57);
      mma_float_16x8x16(&c5, &c9, a8, a9, a10, a11, f58, f59);
      uint f60, f61, f62, f63;
      load_matrix_uint4_turned(&f60, &f61, &f62, &f63, (uint)(size_t)(second_l + from1 + 1296));
      mma_float_16x8x16(&c6, &c10, a8, a9, a10, a11, f60, f61);
      mma_float_16x8x16(&c7, &c11, a8, a9, a10, a11, f62, f63);
      uint f64, f65, f66, f67;
      load_matrix_uint4_turned(&f64, &f65, &f66, &f67, (uint)(size_t)(second_l + from1 + 1920));
      mma_float_16x8x16(&c4, &c8, a12, a13, a14, a15, f64, f65);
      mma_float_16x8x16(&c5, &c9, a12, a13, a14, a15, f66, f67);
      uint f68, f69, f70, f71;
      load_matrix_uint4_turned(&f68, &f69, &f70, &f71, (uint)(size_t)(second_l + from1 + 1936));
      mma_float_16x8x16(&c6, &c10, a12, a13, a14, a15, f68, f69);
      mma_float_16x8x16(&c7, &c11, a12, a13, a14, a15, f70, f71);
      c0 = s62;
      c1 = s65;
      c2 = r32;
      c3 = r43;
    }
  }
  const float v0 = c0 - c0;
  const float s130 = (v0 != v0) ? NAN : c2;
  const float v1 = c1 - c1;
  const float s131 = (v1 != v1) ? NAN : c3;
  const float v2 = c0 - c0;
  const float2 s132 = ((v2 != v2) ? (float2)(NAN) : c4) / (float2)(s130);
  const float v3 = c0 - c0;
  const float2 s133 = ((v3 != v3) ? (float2)(NAN) : c5) / (float2)(s130);
  const float v4 = c0 - c0;
  const float2 s134 = ((v4 != v4) ? (float2)(NAN) : c6) / (float2)(s130);
  const float v5 = c0 - c0;
  const float2 s135 = ((v5 != v5) ? (float2)(NAN) : c7) / (float2)(s130);
  const float v6 = c1 - c1;
  const float2 s136 = ((v6 != v6) ? (float2)(NAN) : c8) / (float2)(s131);
  const float v7 = c1 - c1;
  const float2 s137 = ((v7 != v7) ? (float2)(NAN) : c9) / (float2)(s131);
  const float v8 = c1 - c1;
  const float2 s138 = ((v8 != v8) ? (float2)(NAN) : c10) / (float2)(s131);
  const float v9 = c1 - c1;
  const float2 s139 = ((v9 != v9) ? (float2)(NAN) : c11) / (float2)(s131);
  if (j_g * 64 + row0 < 1000) {
    vstore_half2_rte(s132, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2);
    vstore_half2_rte(s133, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 8);
    vstore_half2_rte(s134, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 16);
    vstore_half2_rte(s135, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 24);
  }
  if (j_g * 64 + row1 < 1000) {
    vstore_half2_rte(s136, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2);
    vstore_half2_rte(s137, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 8);
    vstore_half2_rte(s138, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 16);
    vstore_half2_rte(s139, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 24);
  }
}

// mdh_0: 4096 work-items, 128 a work-group; input 0, input 1, input 2, output 0, offset of input 0, offset of input 1, offset of input 2, offset of output 0
