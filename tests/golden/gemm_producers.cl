#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float2 float2_u __attribute__((aligned(sizeof(float))));
static inline void barrier_arrive(uint number, uint items)
{ asm volatile("barrier.cta.arrive.aligned %0, %1;" :: "r"(number), "r"(items) : "memory"); }
static inline void barrier_sync(uint number, uint items)
{ asm volatile("barrier.cta.sync.aligned %0, %1;" :: "r"(number), "r"(items) : "memory"); }
static inline void copy_async_float4_if(__local float *p, __global const float *q, int whole, int given)
{ asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; @p cp.async.cg.shared.global [%0 + 0], [%1 + 0], 16, %2; @!p cp.async.ca.shared.global [%0 + 0], [%1 + 0], 4, %3; @!p cp.async.ca.shared.global [%0 + 4], [%1 + 4], 4, %3; @!p cp.async.ca.shared.global [%0 + 8], [%1 + 8], 4, %3; @!p cp.async.ca.shared.global [%0 + 12], [%1 + 12], 4, %3; }" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 16 : 0), "r"(given ? 4 : 0), "r"(whole) : "memory"); }
static inline float2 gather_part__global_float2(__global const float *p, int s, int n)
{ if (s == 1 && n >= 2) return *(__global const float2_u *)p;
  return (float2)(p[0], p[min((int)1, n - 1) * s]); }
static inline void load_matrix_float4(float *r0, float *r1, float *r2, float *r3, uint row)
{ uint x0, x1, x2, x3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(row) : "memory");
  *r0 = as_float(x0); *r1 = as_float(x1); *r2 = as_float(x2); *r3 = as_float(x3); }
static inline ulong matrix_at(uint address, uint below, uint beside)
{ return ((address & 0x3fff0) >> 4) | (ulong)(below >> 4) << 16 | (ulong)(beside >> 4) << 32; }
static inline void scatter__global_float2(__global float *p, int s, int n, float2 v)
{ const int m = n;
  if (s == 1 && m >= 2) { *(__global float2_u *)p = v; return; }
  if (s == 1) { if (m & 1) *p = v.lo; return; }
  if (n > 0) p[0 * s] = v.s0; if (n > 1) p[1 * s] = v.s1; }
static inline void wgmma_float_16x8(float2 *c0, float2 *c1, float2 *c2, float2 *c3, float a0, float a1, float a2, float a3, ulong b)
{ float s0 = c0->x, s1 = c0->y; float s2 = c1->x, s3 = c1->y; float s4 = c2->x, s5 = c2->y; float s6 = c3->x, s7 = c3->y;
  asm volatile("//@ { .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p, 1, 1; }" : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3), "+f"(s4), "+f"(s5), "+f"(s6), "+f"(s7) : "r"(as_uint(a0)), "r"(as_uint(a1)), "r"(as_uint(a2)), "r"(as_uint(a3)), "l"(b));
  *c0 = (float2)(s0, s1); *c1 = (float2)(s2, s3); *c2 = (float2)(s4, s5); *c3 = (float2)(s6, s7); }

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0, const long I0_at, const long I1_at, const long O0_at) {
  #pragma OPENCL FP_CONTRACT ON
  I0 = (__global const float *)((__global const char *)I0 + I0_at);
  I1 = (__global const float *)((__global const char *)I1 + I1_at);
  O0 = (__global float *)((__global char *)O0 + O0_at);
  __local float I0_l[2304] __attribute__((aligned(16)));
  __local float I1_l[384] __attribute__((aligned(16)));
  __local int doubtful_l[1];
  __local float I1_parts_l[512] __attribute__((aligned(16)));
  const int w = get_local_id(0);
  const int j_w = w % 4;
  const int i_w = w / 4 % 8 + w / 4 / 8 * 8;
  const int i = i_w;
  const int j = j_w * 2;
  float2 acc0 = (float2)(0.0f);
  float2 acc1 = (float2)(0.0f);
  float2 acc2 = (float2)(0.0f);
  float2 acc3 = (float2)(0.0f);
  if (w == 0) {
    doubtful_l[0] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint least0 = 4294967295u;
  float2 part0 = (float2)(0.0f);
  float2 part1 = (float2)(0.0f);
  float2 part2 = (float2)(0.0f);
  float2 part3 = (float2)(0.0f);
  if (get_local_id(0) < 128) {
    for (int now = 0; now < 3; ++now) {
      barrier_sync(now % 2 + 1, 256);
      {
        const int slot = now % 3;
        const int k_l = now * 8;
        const int k_n = min(8, 20 - k_l);
        const int row0 = w % 32 % 8;
        const int block0 = w % 32 / 8 % 2;
        const int block1 = w % 32 / 16 % 2;
        float a0, a1, a2, a3;
        load_matrix_float4(&a0, &a1, &a2, &a3, (uint)(size_t)(I0_l + i_w / 8 * 96 + block0 * 384 + row0 * 12 + block1 * 4 + slot * 768));
        const float a_high0 = as_float((as_uint(a0) + 0x1000u) & 0xffffe000u);
        const float a_high1 = as_float((as_uint(a1) + 0x1000u) & 0xffffe000u);
        const float a_high2 = as_float((as_uint(a2) + 0x1000u) & 0xffffe000u);
        const float a_high3 = as_float((as_uint(a3) + 0x1000u) & 0xffffe000u);
        const float a_low0 = a0 - a_high0;
        const float a_low1 = a1 - a_high1;
        const float a_low2 = a2 - a_high2;
        const float a_low3 = a3 - a_high3;
        least0 = min(least0, (as_uint(a0) + as_uint(a0)) - 1u);
        least0 = min(least0, (as_uint(a1) + as_uint(a1)) - 1u);
        least0 = min(least0, (as_uint(a2) + as_uint(a2)) - 1u);
        least0 = min(least0, (as_uint(a3) + as_uint(a3)) - 1u);
        asm volatile("//@ wgmma.fence.sync.aligned;" ::: "memory");
        wgmma_float_16x8(&part0, &part2, &part1, &part3, a_low0, a_low1, a_low2, a_low3, matrix_at((uint)(size_t)(I1_parts_l + now % 2 * 256), 256, 128));
        wgmma_float_16x8(&part0, &part2, &part1, &part3, a_high0, a_high1, a_high2, a_high3, matrix_at((uint)(size_t)(I1_parts_l + now % 2 * 256 + 128), 256, 128));
        wgmma_float_16x8(&part0, &part2, &part1, &part3, a_high0, a_high1, a_high2, a_high3, matrix_at((uint)(size_t)(I1_parts_l + now % 2 * 256), 256, 128));
        asm volatile("//@ wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("//@ wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (now + 2 < 3) {
          barrier_arrive(now % 2 + 3, 256);
        }
        if (now % 2 == 1) {
          {
            acc0 = acc0 + part0;
            acc1 = acc1 + part1;
            acc2 = acc2 + part2;
            acc3 = acc3 + part3;
          }
          part0 = (float2)(0.0f);
          part1 = (float2)(0.0f);
          part2 = (float2)(0.0f);
          part3 = (float2)(0.0f);
        }
      }
    }
    {
      acc0 = acc0 + part0;
      acc1 = acc1 + part1;
      acc2 = acc2 + part2;
      acc3 = acc3 + part3;
    }
    const float2 nothing0 = ((((acc0 * (float2)(1.0001220703125f)) * (float2)(0.0f)) + ((acc1 * (float2)(1.0001220703125f)) * (float2)(0.0f))) + ((acc2 * (float2)(1.0001220703125f)) * (float2)(0.0f))) + ((acc3 * (float2)(1.0001220703125f)) * (float2)(0.0f));
    if ((least0 < 419430399u) | ((nothing0.lo != 0.0f) | (nothing0.hi != 0.0f))) {
      doubtful_l[0] = (int)1;
    }
    barrier_sync(6, 128);
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
        const int i_0 = min(i, 17);
        const int valid0 = 12 - j;
        const int first0 = min(j + 8, 11);
        const int valid1 = 12 - first0;
        for (int k_p = 0; k_p < k_n; ++k_p) {
          const float I0_0 = I0[i_0 * 20 + k_l + k_p];
          const float2 I1_0 = gather_part__global_float2(I1 + j + k_l * 12 + k_p * 12, 1, valid0);
          part4 = part4 + (I0_0 * I1_0);
          const float2 I1_1 = gather_part__global_float2(I1 + first0 + k_l * 12 + k_p * 12, 1, valid1);
          part5 = part5 + (I0_0 * I1_1);
          const float I0_1 = I0[k_l + k_p + 340];
          part6 = part6 + (I0_1 * I1_0);
          part7 = part7 + (I0_1 * I1_1);
        }
        {
          acc0 = acc0 + part4;
          acc1 = acc1 + part5;
          acc2 = acc2 + part6;
          acc3 = acc3 + part7;
        }
      }
    }
    if (i < 18) {
      scatter__global_float2(O0 + i * 12 + j, 1, 12 - j, acc0);
    }
    if (i < 18 && j + 8 < 12) {
      scatter__global_float2(O0 + i * 12 + j + 8, 1, 4 - j, acc1);
    }
  } else {
    for (int ahead = 0; ahead < 1; ++ahead) {
      if (ahead < 3) {
        const int slot = ahead % 3;
        const int k_l = ahead * 8;
        const int k_n = min(8, 20 - k_l);
        const int producer = w % 128;
        // The next tile of I0 to local memory
        const int x1_0 = producer % 2;
        const int x0_0 = producer / 2;
        copy_async_float4_if(I0_l + slot * 768 + x0_0 * 12 + x1_0 * 4, I0 + x0_0 * 20 + k_l + x1_0 * 4, (((size_t)I0 & 15) == 0), (x0_0 <= 17 && k_l + x1_0 * 4 <= 16));
        // The next tile of I1 to local memory
        const int x1_1 = producer % 4;
        const int x0_1 = producer / 4 % 8;
        if (producer < 32) {
          copy_async_float4_if(I1_l + slot * 128 + x0_1 * 16 + x1_1 * 4, I1 + k_l * 12 + x0_1 * 12 + x1_1 * 4, (((size_t)I1 & 15) == 0), (k_l + x0_1 <= 19 && x1_1 * 4 <= 8));
        }
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int now = 0; now < 3; ++now) {
      if (now >= 2) {
        barrier_sync(now % 2 + 3, 256);
      }
      {
        const int ahead = now + 1;
        if (ahead < 3) {
          const int slot = ahead % 3;
          const int k_l = ahead * 8;
          const int k_n = min(8, 20 - k_l);
          const int producer = w % 128;
          // The next tile of I0 to local memory
          const int x1_2 = producer % 2;
          const int x0_2 = producer / 2;
          copy_async_float4_if(I0_l + slot * 768 + x0_2 * 12 + x1_2 * 4, I0 + x0_2 * 20 + k_l + x1_2 * 4, (((size_t)I0 & 15) == 0), (x0_2 <= 17 && k_l + x1_2 * 4 <= 16));
          // The next tile of I1 to local memory
          const int x1_3 = producer % 4;
          const int x0_3 = producer / 4 % 8;
          if (producer < 32) {
            copy_async_float4_if(I1_l + slot * 128 + x0_3 * 16 + x1_3 * 4, I1 + k_l * 12 + x0_3 * 12 + x1_3 * 4, (((size_t)I1 & 15) == 0), (k_l + x0_3 <= 19 && x1_3 * 4 <= 8));
          }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
      }
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      barrier_sync(5, 128);
      {
        const int slot = now % 3;
        const int k_l = now * 8;
        const int k_n = min(8, 20 - k_l);
        const int producer = w % 128;
        uint least1 = 4294967295u;
        if (producer < 32) {
          const float b0 = I1_l[producer / 16 % 2 * 64 + producer % 16 + slot * 128];
          const float b1 = I1_l[producer / 16 % 2 * 64 + producer % 16 + slot * 128 + 16];
          const float b2 = I1_l[producer / 16 % 2 * 64 + producer % 16 + slot * 128 + 32];
          const float b3 = I1_l[producer / 16 % 2 * 64 + producer % 16 + slot * 128 + 48];
          const float b_high0 = as_float((as_uint(b0) + 0x1000u) & 0xffffe000u);
          const float b_high1 = as_float((as_uint(b1) + 0x1000u) & 0xffffe000u);
          const float b_high2 = as_float((as_uint(b2) + 0x1000u) & 0xffffe000u);
          const float b_high3 = as_float((as_uint(b3) + 0x1000u) & 0xffffe000u);
          const float b_low0 = b0 - b_high0;
          const float b_low1 = b1 - b_high1;
          const float b_low2 = b2 - b_high2;
          const float b_low3 = b3 - b_high3;
          I1_parts_l[now % 2 * 256 + producer / 16 % 2 * 64 + producer % 16 * 4] = b_high0;
          I1_parts_l[now % 2 * 256 + producer / 16 % 2 * 64 + producer % 16 * 4 + 1] = b_high1;
          I1_parts_l[now % 2 * 256 + producer / 16 % 2 * 64 + producer % 16 * 4 + 2] = b_high2;
          I1_parts_l[now % 2 * 256 + producer / 16 % 2 * 64 + producer % 16 * 4 + 3] = b_high3;
          I1_parts_l[now % 2 * 256 + producer / 16 % 2 * 64 + producer % 16 * 4 + 128] = b_low0;
          I1_parts_l[now % 2 * 256 + producer / 16 % 2 * 64 + producer % 16 * 4 + 129] = b_low1;
          I1_parts_l[now % 2 * 256 + producer / 16 % 2 * 64 + producer % 16 * 4 + 130] = b_low2;
          I1_parts_l[now % 2 * 256 + producer / 16 % 2 * 64 + producer % 16 * 4 + 131] = b_low3;
          least1 = min(least1, (as_uint(b0) + as_uint(b0)) - 1u);
          least1 = min(least1, (as_uint(b1) + as_uint(b1)) - 1u);
          least1 = min(least1, (as_uint(b2) + as_uint(b2)) - 1u);
          least1 = min(least1, (as_uint(b3) + as_uint(b3)) - 1u);
        }
        if (least1 < 419430399u) {
          doubtful_l[0] = (int)1;
        }
      }
      asm volatile("//@ fence.proxy.async.shared::cta;" ::: "memory");
      barrier_arrive(now % 2 + 1, 256);
    }
  }
}

// mdh_0: 256 work-items, 256 a work-group; input 0, input 1, output 0, offset of input 0, offset of input 1, offset of output 0
