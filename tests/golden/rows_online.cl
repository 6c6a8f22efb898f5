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
      const float2 s12 = acc0 * 0.1767766922712326f;
      const float2 s13 = acc1 * 0.1767766922712326f;
      const float2 s14 = acc2 * 0.1767766922712326f;
      const float2 s15 = acc3 * 0.1767766922712326f;
      const float2 s16 = acc4 * 0.1767766922712326f;
      const float2 s17 = acc5 * 0.1767766922712326f;
      const float2 s18 = acc6 * 0.1767766922712326f;
      const float2 s19 = acc7 * 0.1767766922712326f;
      const float2 s20 = acc8 * 0.1767766922712326f;
      const float2 s21 = acc9 * 0.1767766922712326f;
      const float2 s22 = acc10 * 0.1767766922712326f;
      const float2 s23 = acc11 * 0.1767766922712326f;
      const float2 s24 = acc12 * 0.1767766922712326f;
      const float2 s25 = acc13 * 0.1767766922712326f;
      const float2 s26 = acc14 * 0.1767766922712326f;
      const float2 s27 = acc15 * 0.1767766922712326f;
      float2 s28 = s12;
      float2 s29 = s13;
      float2 s30 = s14;
      float2 s31 = s15;
      float2 s32 = s16;
      float2 s33 = s17;
      float2 s34 = s18;
      float2 s35 = s19;
      float2 s36 = s20;
      float2 s37 = s21;
      float2 s38 = s22;
      float2 s39 = s23;
      float2 s40 = s24;
      float2 s41 = s25;
      float2 s42 = s26;
      float2 s43 = s27;
      if (now * 64 + 63 > j_g * 64 + warp0 * 16) {
        const float2 s44 = (((int2)((int)(min(now * 64 + beside0 * 2, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? s28 : (float2)((-INFINITY));
        const float2 s45 = (((int2)((int)(min(now * 64 + beside0 * 2 + 8, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? s29 : (float2)((-INFINITY));
        const float2 s46 = (((int2)((int)(min(now * 64 + beside0 * 2 + 16, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? s30 : (float2)((-INFINITY));
        const float2 s47 = (((int2)((int)(min(now * 64 + beside0 * 2 + 24, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? s31 : (float2)((-INFINITY));
        const float2 s48 = (((int2)((int)(min(now * 64 + beside0 * 2 + 32, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? s32 : (float2)((-INFINITY));
        const float2 s49 = (((int2)((int)(min(now * 64 + beside0 * 2 + 40, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? s33 : (float2)((-INFINITY));
        const float2 s50 = (((int2)((int)(min(now * 64 + beside0 * 2 + 48, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? s34 : (float2)((-INFINITY));
        const float2 s51 = (((int2)((int)(min(now * 64 + beside0 * 2 + 56, 699))) + (int2)(0, 1)) <= (int)(inside0)) ? s35 : (float2)((-INFINITY));
        const float2 s52 = (((int2)((int)(min(now * 64 + beside0 * 2, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? s36 : (float2)((-INFINITY));
        const float2 s53 = (((int2)((int)(min(now * 64 + beside0 * 2 + 8, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? s37 : (float2)((-INFINITY));
        const float2 s54 = (((int2)((int)(min(now * 64 + beside0 * 2 + 16, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? s38 : (float2)((-INFINITY));
        const float2 s55 = (((int2)((int)(min(now * 64 + beside0 * 2 + 24, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? s39 : (float2)((-INFINITY));
        const float2 s56 = (((int2)((int)(min(now * 64 + beside0 * 2 + 32, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? s40 : (float2)((-INFINITY));
        const float2 s57 = (((int2)((int)(min(now * 64 + beside0 * 2 + 40, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? s41 : (float2)((-INFINITY));
        const float2 s58 = (((int2)((int)(min(now * 64 + beside0 * 2 + 48, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? s42 : (float2)((-INFINITY));
        const float2 s59 = (((int2)((int)(min(now * 64 + beside0 * 2 + 56, 699))) + (int2)(0, 1)) <= (int)(inside1)) ? s43 : (float2)((-INFINITY));
        s28 = s44;
        s29 = s45;
        s30 = s46;
        s31 = s47;
        s32 = s48;
        s33 = s49;
        s34 = s50;
        s35 = s51;
        s36 = s52;
        s37 = s53;
        s38 = s54;
        s39 = s55;
        s40 = s56;
        s41 = s57;
        s42 = s58;
        s43 = s59;
      }
      const float2 s60 = s28;
      const float2 s61 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s60 : (float2)((-INFINITY));
      const float2 s62 = s29;
      const float2 s63 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s62 : (float2)((-INFINITY));
      const float2 r0 = maximum_float2(s61, s63);
      const float2 s64 = s30;
      const float2 s65 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s64 : (float2)((-INFINITY));
      const float2 r1 = maximum_float2(r0, s65);
      const float2 s66 = s31;
      const float2 s67 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s66 : (float2)((-INFINITY));
      const float2 r2 = maximum_float2(r1, s67);
      const float2 s68 = s32;
      const float2 s69 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s68 : (float2)((-INFINITY));
      const float2 r3 = maximum_float2(r2, s69);
      const float2 s70 = s33;
      const float2 s71 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s70 : (float2)((-INFINITY));
      const float2 r4 = maximum_float2(r3, s71);
      const float2 s72 = s34;
      const float2 s73 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s72 : (float2)((-INFINITY));
      const float2 r5 = maximum_float2(r4, s73);
      const float2 s74 = s35;
      const float2 s75 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s74 : (float2)((-INFINITY));
      const float2 r6 = maximum_float2(r5, s75);
      const float h0 = r6.lo;
      const float h1 = r6.hi;
      const float r7 = maximum_float(h0, h1);
      const float other0 = shuffle_any_float(r7, 1 - beside0 % 2 * 2);
      const float r8 = maximum_float(r7, other0);
      const float other1 = shuffle_any_float(r8, 2 - beside0 / 2 % 2 * 4);
      const float r9 = maximum_float(r8, other1);
      const float r10 = maximum_float(c0, r9);
      const float2 s76 = s36;
      const float2 s77 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s76 : (float2)((-INFINITY));
      const float2 s78 = s37;
      const float2 s79 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s78 : (float2)((-INFINITY));
      const float2 r11 = maximum_float2(s77, s79);
      const float2 s80 = s38;
      const float2 s81 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s80 : (float2)((-INFINITY));
      const float2 r12 = maximum_float2(r11, s81);
      const float2 s82 = s39;
      const float2 s83 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s82 : (float2)((-INFINITY));
      const float2 r13 = maximum_float2(r12, s83);
      const float2 s84 = s40;
      const float2 s85 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s84 : (float2)((-INFINITY));
      const float2 r14 = maximum_float2(r13, s85);
      const float2 s86 = s41;
      const float2 s87 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s86 : (float2)((-INFINITY));
      const float2 r15 = maximum_float2(r14, s87);
      const float2 s88 = s42;
      const float2 s89 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s88 : (float2)((-INFINITY));
      const float2 r16 = maximum_float2(r15, s89);
      const float2 s90 = s43;
      const float2 s91 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s90 : (float2)((-INFINITY));
      const float2 r17 = maximum_float2(r16, s91);
      const float h2 = r17.lo;
      const float h3 = r17.hi;
      const float r18 = maximum_float(h2, h3);
      const float other2 = shuffle_any_float(r18, 1 - beside0 % 2 * 2);
      const float r19 = maximum_float(r18, other2);
      const float other3 = shuffle_any_float(r19, 2 - beside0 / 2 % 2 * 4);
      const float r20 = maximum_float(r19, other3);
      const float r21 = maximum_float(c1, r20);
      const float s92 = (c0 == r10) ? 1.0f : exp_or_nothing_float(c0 - r10);
      const float s93 = (r10 == (-INFINITY)) ? 0.0f : r10;
      const float s94 = r10;
      const float s95 = (c1 == r21) ? 1.0f : exp_or_nothing_float(c1 - r21);
      const float s96 = (r21 == (-INFINITY)) ? 0.0f : r21;
      const float s97 = r21;
      const float2 s98 = exp_or_nothing_float2(s28 - s93);
      const float2 s99 = exp_or_nothing_float2(s29 - s93);
      const float2 s100 = exp_or_nothing_float2(s30 - s93);
      const float2 s101 = exp_or_nothing_float2(s31 - s93);
      const float2 s102 = exp_or_nothing_float2(s32 - s93);
      const float2 s103 = exp_or_nothing_float2(s33 - s93);
      const float2 s104 = exp_or_nothing_float2(s34 - s93);
      const float2 s105 = exp_or_nothing_float2(s35 - s93);
      const float2 s106 = exp_or_nothing_float2(s36 - s96);
      const float2 s107 = exp_or_nothing_float2(s37 - s96);
      const float2 s108 = exp_or_nothing_float2(s38 - s96);
      const float2 s109 = exp_or_nothing_float2(s39 - s96);
      const float2 s110 = exp_or_nothing_float2(s40 - s96);
      const float2 s111 = exp_or_nothing_float2(s41 - s96);
      const float2 s112 = exp_or_nothing_float2(s42 - s96);
      const float2 s113 = exp_or_nothing_float2(s43 - s96);
      const float2 s114 = s98;
      const float2 s115 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s114 : (float2)(0.0f);
      const float2 s116 = s99;
      const float2 s117 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s116 : (float2)(0.0f);
      const float2 r22 = s115 + s117;
      const float2 s118 = s100;
      const float2 s119 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s118 : (float2)(0.0f);
      const float2 r23 = r22 + s119;
      const float2 s120 = s101;
      const float2 s121 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s120 : (float2)(0.0f);
      const float2 r24 = r23 + s121;
      const float2 s122 = s102;
      const float2 s123 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s122 : (float2)(0.0f);
      const float2 r25 = r24 + s123;
      const float2 s124 = s103;
      const float2 s125 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s124 : (float2)(0.0f);
      const float2 r26 = r25 + s125;
      const float2 s126 = s104;
      const float2 s127 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s126 : (float2)(0.0f);
      const float2 r27 = r26 + s127;
      const float2 s128 = s105;
      const float2 s129 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s128 : (float2)(0.0f);
      const float2 r28 = r27 + s129;
      const float h4 = r28.lo;
      const float h5 = r28.hi;
      const float r29 = h4 + h5;
      const float other4 = shuffle_any_float(r29, 1 - beside0 % 2 * 2);
      const float r30 = r29 + other4;
      const float other5 = shuffle_any_float(r30, 2 - beside0 / 2 % 2 * 4);
      const float r31 = r30 + other5;
      const float r32 = r31 + (((s92 == 0.0f) & (as_float(as_int(c2) & 0x7fffffff) == INFINITY)) ? 0.0f : (s92 * c2));
      const float2 s130 = s106;
      const float2 s131 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s130 : (float2)(0.0f);
      const float2 s132 = s107;
      const float2 s133 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s132 : (float2)(0.0f);
      const float2 r33 = s131 + s133;
      const float2 s134 = s108;
      const float2 s135 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s134 : (float2)(0.0f);
      const float2 r34 = r33 + s135;
      const float2 s136 = s109;
      const float2 s137 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s136 : (float2)(0.0f);
      const float2 r35 = r34 + s137;
      const float2 s138 = s110;
      const float2 s139 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s138 : (float2)(0.0f);
      const float2 r36 = r35 + s139;
      const float2 s140 = s111;
      const float2 s141 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s140 : (float2)(0.0f);
      const float2 r37 = r36 + s141;
      const float2 s142 = s112;
      const float2 s143 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s142 : (float2)(0.0f);
      const float2 r38 = r37 + s143;
      const float2 s144 = s113;
      const float2 s145 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s144 : (float2)(0.0f);
      const float2 r39 = r38 + s145;
      const float h6 = r39.lo;
      const float h7 = r39.hi;
      const float r40 = h6 + h7;
      const float other6 = shuffle_any_float(r40, 1 - beside0 % 2 * 2);
      const float r41 = r40 + other6;
      const float other7 = shuffle_any_float(r41, 2 - beside0 / 2 % 2 * 4);
      const float r42 = r41 + other7;
      const float r43 = r42 + (((s95 == 0.0f) & (as_float(as_int(c3) & 0x7fffffff) == INFINITY)) ? 0.0f : (s95 * c3));
      const float2 s146 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s98 : (float2)(0.0f);
      const float2 s147 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s99 : (float2)(0.0f);
      const float2 s148 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s100 : (float2)(0.0f);
      const float2 s149 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s101 : (float2)(0.0f);
      const float2 s150 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s102 : (float2)(0.0f);
      const float2 s151 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s103 : (float2)(0.0f);
      const float2 s152 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s104 : (float2)(0.0f);
      const float2 s153 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s105 : (float2)(0.0f);
      const float2 s154 = convert_int2(((long2)((long)(now * 64 + beside0 * 2)) + (long2)(0, 1)) < 700l) ? s106 : (float2)(0.0f);
      const float2 s155 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 8)) + (long2)(0, 1)) < 700l) ? s107 : (float2)(0.0f);
      const float2 s156 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 16)) + (long2)(0, 1)) < 700l) ? s108 : (float2)(0.0f);
      const float2 s157 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 24)) + (long2)(0, 1)) < 700l) ? s109 : (float2)(0.0f);
      const float2 s158 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 32)) + (long2)(0, 1)) < 700l) ? s110 : (float2)(0.0f);
      const float2 s159 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 40)) + (long2)(0, 1)) < 700l) ? s111 : (float2)(0.0f);
      const float2 s160 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 48)) + (long2)(0, 1)) < 700l) ? s112 : (float2)(0.0f);
      const float2 s161 = convert_int2(((long2)((long)(now * 64 + beside0 * 2 + 56)) + (long2)(0, 1)) < 700l) ? s113 : (float2)(0.0f);
      const uint a0 = pack_halves(s146.lo, s146.hi);
      const uint a1 = pack_halves(s154.lo, s154.hi);
      const uint a2 = pack_halves(s147.lo, s147.hi);
      const uint a3 = pack_halves(s155.lo, s155.hi);
      const uint a4 = pack_halves(s148.lo, s148.hi);
      const uint a5 = pack_halves(s156.lo, s156.hi);
      const uint a6 = pack_halves(s149.lo, s149.hi);
      const uint a7 = pack_halves(s157.lo, s157.hi);
      const uint a8 = pack_halves(s150.lo, s150.hi);
      const uint a9 = pack_halves(s158.lo, s158.hi);
      const uint a10 = pack_halves(s151.lo, s151.hi);
      const uint a11 = pack_halves(s159.lo, s159.hi);
      const uint a12 = pack_halves(s152.lo, s152.hi);
      const uint a13 = pack_halves(s160.lo, s160.hi);
      const uint a14 = pack_halves(s153.lo, s153.hi);
      const uint a15 = pack_halves(s161.lo, s161.hi);
      const int from1 = slot * 2560 + lane0 % 16 * 40 + lane0 / 16 * 8;
      c4 = (float2)(0.0f) + (s92 * c4);
      c5 = (float2)(0.0f) + (s92 * c5);
      c6 = (float2)(0.0f) + (s92 * c6);
      c7 = (float2)(0.0f) + (s92 * c7);
      c8 = (float2)(0.0f) + (s95 * c8);
      c9 = (float2)(0.0f) + (s95 * c9);
      c10 = (float2)(0.0f) + (s95 * c10);
      c11 = (float2)(0.0f) + (s95 * c11);
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
      c0 = s94;
      c1 = s97;
      c2 = r32;
      c3 = r43;
    }
  }
  const float v0 = c0 - c0;
  const float s162 = (v0 != v0) ? NAN : c2;
  const float v1 = c1 - c1;
  const float s163 = (v1 != v1) ? NAN : c3;
  const float v2 = c0 - c0;
  const float2 s164 = ((v2 != v2) ? (float2)(NAN) : c4) / (float2)(s162);
  const float v3 = c0 - c0;
  const float2 s165 = ((v3 != v3) ? (float2)(NAN) : c5) / (float2)(s162);
  const float v4 = c0 - c0;
  const float2 s166 = ((v4 != v4) ? (float2)(NAN) : c6) / (float2)(s162);
  const float v5 = c0 - c0;
  const float2 s167 = ((v5 != v5) ? (float2)(NAN) : c7) / (float2)(s162);
  const float v6 = c1 - c1;
  const float2 s168 = ((v6 != v6) ? (float2)(NAN) : c8) / (float2)(s163);
  const float v7 = c1 - c1;
  const float2 s169 = ((v7 != v7) ? (float2)(NAN) : c9) / (float2)(s163);
  const float v8 = c1 - c1;
  const float2 s170 = ((v8 != v8) ? (float2)(NAN) : c10) / (float2)(s163);
  const float v9 = c1 - c1;
  const float2 s171 = ((v9 != v9) ? (float2)(NAN) : c11) / (float2)(s163);
  if (j_g * 64 + row0 < 1000) {
    vstore_half2_rte(s164, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2);
    vstore_half2_rte(s165, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 8);
    vstore_half2_rte(s166, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 16);
    vstore_half2_rte(s167, 0, O0 + i_g * 32000 + inside0 * 32 + beside0 * 2 + 24);
  }
  if (j_g * 64 + row1 < 1000) {
    vstore_half2_rte(s168, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2);
    vstore_half2_rte(s169, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 8);
    vstore_half2_rte(s170, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 16);
    vstore_half2_rte(s171, 0, O0 + i_g * 32000 + inside1 * 32 + beside0 * 2 + 24);
  }
}

// mdh_0: 4096 work-items, 128 a work-group; input 0, input 1, input 2, output 0, offset of input 0, offset of input 1, offset of input 2, offset of output 0
