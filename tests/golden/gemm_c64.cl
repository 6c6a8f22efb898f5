#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float2 float2_u __attribute__((aligned(sizeof(float))));
static inline void copy_async_float_if(__local float *p, __global const float *q, int given)
{ asm volatile("cp.async.ca.shared.global [%0 + 0], [%1 + 0], 4, %2;" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 4 : 0) : "memory"); }
static inline float2 gather_pairs__global_float2(__global const float *p)
{ const float2 a = *(__global const float2_u *)p, b = *(__global const float2_u *)(p + 1);
  return (float2)(a.s0, b.s1); }
static inline float2 gather_part__global_float2(__global const float *p, int s, int n)
{ if (s == 1 && n >= 2) return *(__global const float2_u *)p;
  return (float2)(p[0], p[min((int)1, n - 1) * s]); }
static inline void load_matrix_float4(float *r0, float *r1, float *r2, float *r3, uint row)
{ uint x0, x1, x2, x3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(row) : "memory");
  *r0 = as_float(x0); *r1 = as_float(x1); *r2 = as_float(x2); *r3 = as_float(x3); }
static inline void mma_float_16x8x8(float2 *c0, float2 *c1, float a0, float a1, float a2, float a3, float b0, float b1)
{ float s0 = c0->x, s1 = c0->y; float s2 = c1->x, s3 = c1->y;
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3) : "r"(as_uint(a0)), "r"(as_uint(a1)), "r"(as_uint(a2)), "r"(as_uint(a3)), "r"(as_uint(b0)), "r"(as_uint(b1)));
  *c0 = (float2)(s0, s1); *c1 = (float2)(s2, s3); }
static inline void scatter__global_float2(__global float *p, int s, int n, float2 v)
{ const int m = n;
  if (s == 1 && m >= 2) { *(__global float2_u *)p = v; return; }
  if (s == 1) { if (m & 1) *p = v.lo; return; }
  if (n > 0) p[0 * s] = v.s0; if (n > 1) p[1 * s] = v.s1; }
static inline void scatter_pairs__global_float2(__global float *p, float2 a, float2 b)
{ float2 low, high; low.even = a.lo; low.odd = b.lo; high.even = a.hi; high.odd = b.hi; *(__global float2_u *)p = low; *(__global float2_u *)(p + 2) = high; }

// md_hom((((x0 * x2) - (x1 * x3)), ((x0 * x3) + (x1 * x2))), (++, ++, +)) ∘ (I0[i,k], I1[i,k], I2[k,j], I3[k,j]) -> O0[i,j], O1[i,j]
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global const float *restrict I2, __global const float *restrict I3, __global float *restrict O0, const long I0_at, const long I1_at, const long I2_at, const long I3_at, const long O0_at) {
  #pragma OPENCL FP_CONTRACT ON
  I0 = (__global const float *)((__global const char *)I0 + I0_at);
  I1 = (__global const float *)((__global const char *)I1 + I1_at);
  I2 = (__global const float *)((__global const char *)I2 + I2_at);
  I3 = (__global const float *)((__global const char *)I3 + I3_at);
  O0 = (__global float *)((__global char *)O0 + O0_at);
  __global float *const O1 = O0;
  __local float I0_l[256] __attribute__((aligned(16)));
  __local float I1_l[256] __attribute__((aligned(16)));
  __local float I2_l[128] __attribute__((aligned(16)));
  __local float I3_l[128] __attribute__((aligned(16)));
  __local int doubtful_l[1];
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
  float2 acc0 = (float2)(0.0f);
  float2 acc1 = (float2)(0.0f);
  float2 acc2 = (float2)(0.0f);
  float2 acc3 = (float2)(0.0f);
  uint least0 = 4294967295u;
  for (int ahead = 0; ahead < 1; ++ahead) {
    const int slot = ahead % 2;
    const int k_l = ahead * 8;
    const int k_n = min(8, 20 - k_l);
    // The next tile of I0 to local memory
    const int x1_0 = w % 8;
    const int x0_0 = w / 8;
    copy_async_float_if(I0_l + slot * 128 + x0_0 * 8 + x1_0, I0 + i_l * 40 + x0_0 * 40 + k_l * 2 + x1_0 * 2, (i_l + x0_0 <= 17 && k_l + x1_0 <= 19));
    copy_async_float_if(I0_l + slot * 128 + x0_0 * 8 + x1_0 + 32, I0 + i_l * 40 + x0_0 * 40 + k_l * 2 + x1_0 * 2 + 160, (i_l + x0_0 + 4 <= 17 && k_l + x1_0 <= 19));
    copy_async_float_if(I0_l + slot * 128 + x0_0 * 8 + x1_0 + 64, I0 + i_l * 40 + x0_0 * 40 + k_l * 2 + x1_0 * 2 + 320, (i_l + x0_0 + 8 <= 17 && k_l + x1_0 <= 19));
    copy_async_float_if(I0_l + slot * 128 + x0_0 * 8 + x1_0 + 96, I0 + i_l * 40 + x0_0 * 40 + k_l * 2 + x1_0 * 2 + 480, (i_l + x0_0 + 12 <= 17 && k_l + x1_0 <= 19));
    // The next tile of I1 to local memory
    const int x1_1 = w % 8;
    const int x0_1 = w / 8;
    copy_async_float_if(I1_l + slot * 128 + x0_1 * 8 + x1_1, I1 + i_l * 40 + x0_1 * 40 + k_l * 2 + x1_1 * 2 + 1, (i_l + x0_1 <= 17 && k_l + x1_1 <= 19));
    copy_async_float_if(I1_l + slot * 128 + x0_1 * 8 + x1_1 + 32, I1 + i_l * 40 + x0_1 * 40 + k_l * 2 + x1_1 * 2 + 161, (i_l + x0_1 + 4 <= 17 && k_l + x1_1 <= 19));
    copy_async_float_if(I1_l + slot * 128 + x0_1 * 8 + x1_1 + 64, I1 + i_l * 40 + x0_1 * 40 + k_l * 2 + x1_1 * 2 + 321, (i_l + x0_1 + 8 <= 17 && k_l + x1_1 <= 19));
    copy_async_float_if(I1_l + slot * 128 + x0_1 * 8 + x1_1 + 96, I1 + i_l * 40 + x0_1 * 40 + k_l * 2 + x1_1 * 2 + 481, (i_l + x0_1 + 12 <= 17 && k_l + x1_1 <= 19));
    // The next tile of I2 to local memory
    const int x1_2 = w % 8;
    const int x0_2 = w / 8;
    copy_async_float_if(I2_l + slot * 64 + x0_2 * 8 + x1_2, I2 + k_l * 24 + x0_2 * 24 + j_l * 2 + x1_2 * 2, (j_l + x1_2 <= 11));
    copy_async_float_if(I2_l + slot * 64 + x0_2 * 8 + x1_2 + 32, I2 + k_l * 24 + x0_2 * 24 + j_l * 2 + x1_2 * 2 + 96, (k_l + x0_2 + 4 <= 19 && j_l + x1_2 <= 11));
    // The next tile of I3 to local memory
    const int x1_3 = w % 8;
    const int x0_3 = w / 8;
    copy_async_float_if(I3_l + slot * 64 + x0_3 * 8 + x1_3, I3 + k_l * 24 + x0_3 * 24 + j_l * 2 + x1_3 * 2 + 1, (j_l + x1_3 <= 11));
    copy_async_float_if(I3_l + slot * 64 + x0_3 * 8 + x1_3 + 32, I3 + k_l * 24 + x0_3 * 24 + j_l * 2 + x1_3 * 2 + 97, (k_l + x0_3 + 4 <= 19 && j_l + x1_3 <= 11));
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int now = 0; now < 3; ++now) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    {
      const int ahead = now + 1;
      if (ahead < 3) {
        const int slot = ahead % 2;
        const int k_l = ahead * 8;
        const int k_n = min(8, 20 - k_l);
        // The next tile of I0 to local memory
        const int x1_4 = w % 8;
        const int x0_4 = w / 8;
        copy_async_float_if(I0_l + slot * 128 + x0_4 * 8 + x1_4, I0 + i_l * 40 + x0_4 * 40 + k_l * 2 + x1_4 * 2, (i_l + x0_4 <= 17 && k_l + x1_4 <= 19));
        copy_async_float_if(I0_l + slot * 128 + x0_4 * 8 + x1_4 + 32, I0 + i_l * 40 + x0_4 * 40 + k_l * 2 + x1_4 * 2 + 160, (i_l + x0_4 + 4 <= 17 && k_l + x1_4 <= 19));
        copy_async_float_if(I0_l + slot * 128 + x0_4 * 8 + x1_4 + 64, I0 + i_l * 40 + x0_4 * 40 + k_l * 2 + x1_4 * 2 + 320, (i_l + x0_4 + 8 <= 17 && k_l + x1_4 <= 19));
        copy_async_float_if(I0_l + slot * 128 + x0_4 * 8 + x1_4 + 96, I0 + i_l * 40 + x0_4 * 40 + k_l * 2 + x1_4 * 2 + 480, (i_l + x0_4 + 12 <= 17 && k_l + x1_4 <= 19));
        // The next tile of I1 to local memory
        const int x1_5 = w % 8;
        const int x0_5 = w / 8;
        copy_async_float_if(I1_l + slot * 128 + x0_5 * 8 + x1_5, I1 + i_l * 40 + x0_5 * 40 + k_l * 2 + x1_5 * 2 + 1, (i_l + x0_5 <= 17 && k_l + x1_5 <= 19));
        copy_async_float_if(I1_l + slot * 128 + x0_5 * 8 + x1_5 + 32, I1 + i_l * 40 + x0_5 * 40 + k_l * 2 + x1_5 * 2 + 161, (i_l + x0_5 + 4 <= 17 && k_l + x1_5 <= 19));
        copy_async_float_if(I1_l + slot * 128 + x0_5 * 8 + x1_5 + 64, I1 + i_l * 40 + x0_5 * 40 + k_l * 2 + x1_5 * 2 + 321, (i_l + x0_5 + 8 <= 17 && k_l + x1_5 <= 19));
        copy_async_float_if(I1_l + slot * 128 + x0_5 * 8 + x1_5 + 96, I1 + i_l * 40 + x0_5 * 40 + k_l * 2 + x1_5 * 2 + 481, (i_l + x0_5 + 12 <= 17 && k_l + x1_5 <= 19));
        // The next tile of I2 to local memory
        const int x1_6 = w % 8;
        const int x0_6 = w / 8;
        copy_async_float_if(I2_l + slot * 64 + x0_6 * 8 + x1_6, I2 + k_l * 24 + x0_6 * 24 + j_l * 2 + x1_6 * 2, (j_l + x1_6 <= 11));
        copy_async_float_if(I2_l + slot * 64 + x0_6 * 8 + x1_6 + 32, I2 + k_l * 24 + x0_6 * 24 + j_l * 2 + x1_6 * 2 + 96, (k_l + x0_6 + 4 <= 19 && j_l + x1_6 <= 11));
        // The next tile of I3 to local memory
        const int x1_7 = w % 8;
        const int x0_7 = w / 8;
        copy_async_float_if(I3_l + slot * 64 + x0_7 * 8 + x1_7, I3 + k_l * 24 + x0_7 * 24 + j_l * 2 + x1_7 * 2 + 1, (j_l + x1_7 <= 11));
        copy_async_float_if(I3_l + slot * 64 + x0_7 * 8 + x1_7 + 32, I3 + k_l * 24 + x0_7 * 24 + j_l * 2 + x1_7 * 2 + 97, (k_l + x0_7 + 4 <= 19 && j_l + x1_7 <= 11));
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    {
      const int slot = now % 2;
      const int k_l = now * 8;
      const int k_n = min(8, 20 - k_l);
      float2 part0 = (float2)(0.0f);
      float2 part1 = (float2)(0.0f);
      float2 part2 = (float2)(0.0f);
      float2 part3 = (float2)(0.0f);
      const int term0 = j_w % 4;
      const int column0 = j_w / 4 * 8 + i_w % 8;
      const int row0 = w % 32 % 8;
      const int block0 = w % 32 / 8 % 2;
      const int block1 = w % 32 / 16 % 2;
      float a0, a1, a2, a3;
      load_matrix_float4(&a0, &a1, &a2, &a3, (uint)(size_t)(I0_l + i_w / 8 * 64 + block0 * 64 + row0 * 8 + block1 * 4 + slot * 128));
      const float a_high0 = as_float((as_uint(a0) + 0x1000u) & 0xffffe000u);
      const float a_high1 = as_float((as_uint(a1) + 0x1000u) & 0xffffe000u);
      const float a_high2 = as_float((as_uint(a2) + 0x1000u) & 0xffffe000u);
      const float a_high3 = as_float((as_uint(a3) + 0x1000u) & 0xffffe000u);
      const float a_low0 = a0 - a_high0;
      const float a_low1 = a1 - a_high1;
      const float a_low2 = a2 - a_high2;
      const float a_low3 = a3 - a_high3;
      float a4, a5, a6, a7;
      load_matrix_float4(&a4, &a5, &a6, &a7, (uint)(size_t)(I1_l + i_w / 8 * 64 + block0 * 64 + row0 * 8 + block1 * 4 + slot * 128));
      const float a_high4 = as_float((as_uint(a4) + 0x1000u) & 0xffffe000u);
      const float a_high5 = as_float((as_uint(a5) + 0x1000u) & 0xffffe000u);
      const float a_high6 = as_float((as_uint(a6) + 0x1000u) & 0xffffe000u);
      const float a_high7 = as_float((as_uint(a7) + 0x1000u) & 0xffffe000u);
      const float a_low4 = a4 - a_high4;
      const float a_low5 = a5 - a_high5;
      const float a_low6 = a6 - a_high6;
      const float a_low7 = a7 - a_high7;
      const float b0 = I2_l[term0 * 8 + column0 + slot * 64];
      const float b1 = I2_l[term0 * 8 + column0 + slot * 64 + 32];
      const float b_high0 = as_float((as_uint(b0) + 0x1000u) & 0xffffe000u);
      const float b_high1 = as_float((as_uint(b1) + 0x1000u) & 0xffffe000u);
      const float b_low0 = b0 - b_high0;
      const float b_low1 = b1 - b_high1;
      const float b2 = I3_l[term0 * 8 + column0 + slot * 64];
      const float b3 = I3_l[term0 * 8 + column0 + slot * 64 + 32];
      const float b_high2 = as_float((as_uint(b2) + 0x1000u) & 0xffffe000u);
      const float b_high3 = as_float((as_uint(b3) + 0x1000u) & 0xffffe000u);
      const float b_low2 = b2 - b_high2;
      const float b_low3 = b3 - b_high3;
      least0 = min(least0, (as_uint(a0) + as_uint(a0)) - 1u);
      least0 = min(least0, (as_uint(a1) + as_uint(a1)) - 1u);
      least0 = min(least0, (as_uint(a2) + as_uint(a2)) - 1u);
      least0 = min(least0, (as_uint(a3) + as_uint(a3)) - 1u);
      least0 = min(least0, (as_uint(a4) + as_uint(a4)) - 1u);
      least0 = min(least0, (as_uint(a5) + as_uint(a5)) - 1u);
      least0 = min(least0, (as_uint(a6) + as_uint(a6)) - 1u);
      least0 = min(least0, (as_uint(a7) + as_uint(a7)) - 1u);
      least0 = min(least0, (as_uint(b0) + as_uint(b0)) - 1u);
      least0 = min(least0, (as_uint(b1) + as_uint(b1)) - 1u);
      least0 = min(least0, (as_uint(b2) + as_uint(b2)) - 1u);
      least0 = min(least0, (as_uint(b3) + as_uint(b3)) - 1u);
      const float negative0 = -a_high4;
      const float negative1 = -a_high5;
      const float negative2 = -a_high6;
      const float negative3 = -a_high7;
      const float negative4 = -a_low4;
      const float negative5 = -a_low5;
      const float negative6 = -a_low6;
      const float negative7 = -a_low7;
      mma_float_16x8x8(&part0, &part2, a_low0, a_low1, a_low2, a_low3, b_high0, b_high1);
      mma_float_16x8x8(&part0, &part2, negative4, negative5, negative6, negative7, b_high2, b_high3);
      mma_float_16x8x8(&part1, &part3, a_low0, a_low1, a_low2, a_low3, b_high2, b_high3);
      mma_float_16x8x8(&part1, &part3, a_low4, a_low5, a_low6, a_low7, b_high0, b_high1);
      mma_float_16x8x8(&part0, &part2, a_high0, a_high1, a_high2, a_high3, b_low0, b_low1);
      mma_float_16x8x8(&part0, &part2, negative0, negative1, negative2, negative3, b_low2, b_low3);
      mma_float_16x8x8(&part1, &part3, a_high0, a_high1, a_high2, a_high3, b_low2, b_low3);
      mma_float_16x8x8(&part1, &part3, a_high4, a_high5, a_high6, a_high7, b_low0, b_low1);
      mma_float_16x8x8(&part0, &part2, a_high0, a_high1, a_high2, a_high3, b_high0, b_high1);
      mma_float_16x8x8(&part0, &part2, negative0, negative1, negative2, negative3, b_high2, b_high3);
      mma_float_16x8x8(&part1, &part3, a_high0, a_high1, a_high2, a_high3, b_high2, b_high3);
      mma_float_16x8x8(&part1, &part3, a_high4, a_high5, a_high6, a_high7, b_high0, b_high1);
      {
        const float2 n0 = acc0 + part0;
        const float2 n1 = acc1 + part1;
        acc0 = n0;
        acc1 = n1;
        const float2 n2 = acc2 + part2;
        const float2 n3 = acc3 + part3;
        acc2 = n2;
        acc3 = n3;
      }
    }
  }
  if (w == 0) {
    doubtful_l[0] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float2 nothing0 = ((((acc0 * (float2)(1.0001220703125f)) * (float2)(0.0f)) + ((acc1 * (float2)(1.0001220703125f)) * (float2)(0.0f))) + ((acc2 * (float2)(1.0001220703125f)) * (float2)(0.0f))) + ((acc3 * (float2)(1.0001220703125f)) * (float2)(0.0f));
  if ((least0 < 419430399u) | ((nothing0.lo != 0.0f) | (nothing0.hi != 0.0f))) {
    doubtful_l[0] = (int)1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (doubtful_l[0] != 0) {
    acc0 = (float2)(0.0f);
    acc1 = (float2)(0.0f);
    acc2 = (float2)(0.0f);
    acc3 = (float2)(0.0f);
    for (int k_l = 0; k_l < 20; k_l += 8) {
      const int k_n = min(8, 20 - k_l);
      float2 part4 = (float2)(0.0f);
      float2 part5 = (float2)(0.0f);
      float2 part6 = (float2)(0.0f);
      float2 part7 = (float2)(0.0f);
      if (i_l <= 2 && j_l <= 4) {
        for (int k_p = 0; k_p < k_n; ++k_p) {
          const float I0_0 = I0[i * 40 + k_l * 2 + k_p * 2];
          const float I1_0 = I1[i * 40 + k_l * 2 + k_p * 2 + 1];
          const float2 I2_0 = gather_pairs__global_float2(I2 + j * 2 + k_l * 24 + k_p * 24);
          const float2 I3_0 = gather_pairs__global_float2(I3 + j * 2 + k_l * 24 + k_p * 24 + 1);
          const float2 n4 = (part4 + (I0_0 * I2_0)) - (I1_0 * I3_0);
          const float2 n5 = (part5 + (I0_0 * I3_0)) + (I1_0 * I2_0);
          part4 = n4;
          part5 = n5;
          const float I0_1 = I0[i * 40 + k_l * 2 + k_p * 2 + 320];
          const float I1_1 = I1[i * 40 + k_l * 2 + k_p * 2 + 321];
          const float2 n6 = (part6 + (I0_1 * I2_0)) - (I1_1 * I3_0);
          const float2 n7 = (part7 + (I0_1 * I3_0)) + (I1_1 * I2_0);
          part6 = n6;
          part7 = n7;
        }
      } else {
        const int i_0 = min(i, 17);
        const int i_1 = min(i + 8, 17);
        const int first0 = min(j, 11);
        const int valid0 = 12 - first0;
        for (int k_p = 0; k_p < k_n; ++k_p) {
          const float I0_2 = I0[i_0 * 40 + k_l * 2 + k_p * 2];
          const float I1_2 = I1[i_0 * 40 + k_l * 2 + k_p * 2 + 1];
          const float2 I2_1 = gather_part__global_float2(I2 + first0 * 2 + k_l * 24 + k_p * 24, 2, valid0);
          const float2 I3_1 = gather_part__global_float2(I3 + first0 * 2 + k_l * 24 + k_p * 24 + 1, 2, valid0);
          const float2 n8 = (part4 + (I0_2 * I2_1)) - (I1_2 * I3_1);
          const float2 n9 = (part5 + (I0_2 * I3_1)) + (I1_2 * I2_1);
          part4 = n8;
          part5 = n9;
          const float I0_3 = I0[i_1 * 40 + k_l * 2 + k_p * 2];
          const float I1_3 = I1[i_1 * 40 + k_l * 2 + k_p * 2 + 1];
          const float2 n10 = (part6 + (I0_3 * I2_1)) - (I1_3 * I3_1);
          const float2 n11 = (part7 + (I0_3 * I3_1)) + (I1_3 * I2_1);
          part6 = n10;
          part7 = n11;
        }
      }
      {
        const float2 n12 = acc0 + part4;
        const float2 n13 = acc1 + part5;
        acc0 = n12;
        acc1 = n13;
        const float2 n14 = acc2 + part6;
        const float2 n15 = acc3 + part7;
        acc2 = n14;
        acc3 = n15;
      }
    }
  }
  if (i_l <= 2 && j_l <= 4) {
    scatter_pairs__global_float2(O0 + i * 24 + j * 2, acc0, acc1);
    scatter_pairs__global_float2(O0 + i * 24 + j * 2 + 192, acc2, acc3);
  } else {
    if (i < 18 && j < 12) {
      scatter__global_float2(O0 + i * 24 + j * 2, 2, 12 - j, acc0);
      scatter__global_float2(O1 + i * 24 + j * 2 + 1, 2, 12 - j, acc1);
    }
    if (i + 8 < 18 && j < 12) {
      scatter__global_float2(O0 + i * 24 + j * 2 + 192, 2, 12 - j, acc2);
      scatter__global_float2(O1 + i * 24 + j * 2 + 193, 2, 12 - j, acc3);
    }
  }
}

// mdh_0: 128 work-items, 32 a work-group; input 0, input 0, input 1, input 1, output 0, offset of input 0, offset of input 0, offset of input 1, offset of input 1, offset of output 0
