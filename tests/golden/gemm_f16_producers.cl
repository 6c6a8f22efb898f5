#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline void barrier_arrive(uint number, uint items)
{ asm volatile("barrier.cta.arrive.aligned %0, %1;" :: "r"(number), "r"(items) : "memory"); }
static inline void barrier_sync(uint number, uint items)
{ asm volatile("barrier.cta.sync.aligned %0, %1;" :: "r"(number), "r"(items) : "memory"); }
static inline void load_matrix_uint4(uint *r0, uint *r1, uint *r2, uint *r3, uint row)
{ uint x0, x1, x2, x3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(row) : "memory");
  *r0 = x0; *r1 = x1; *r2 = x2; *r3 = x3; }
static inline ulong matrix_at(uint address, uint below, uint beside)
{ return ((address & 0x3fff0) >> 4) | (ulong)(below >> 4) << 16 | (ulong)(beside >> 4) << 32; }
static inline void scatter__global_half2(__global half *p, int s, int n, float2 v)
{ const int m = n;
  if (s == 1 && m >= 2) { vstore_half2_rte(v, 0, p); return; }
  if (n > 0) vstore_half_rte(v.s0, 0 * s, p); if (n > 1) vstore_half_rte(v.s1, 1 * s, p); }
static inline void wgmma_float_16x16(float2 *c0, float2 *c1, float2 *c2, float2 *c3, uint a0, uint a1, uint a2, uint a3, ulong b)
{ float s0 = c0->x, s1 = c0->y; float s2 = c1->x, s3 = c1->y; float s4 = c2->x, s5 = c2->y; float s6 = c3->x, s7 = c3->y;
  asm volatile("//@ { .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p, 1, 1, 0; }" : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3), "+f"(s4), "+f"(s5), "+f"(s6), "+f"(s7) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b));
  *c0 = (float2)(s0, s1); *c1 = (float2)(s2, s3); *c2 = (float2)(s4, s5); *c3 = (float2)(s6, s7); }

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j] >> x0
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void mdh_0(__global const half *restrict I0, __global const half *restrict I1, __global half *restrict O0, const long I0_at, const long I1_at, const long O0_at) {
  #pragma OPENCL FP_CONTRACT ON
  I0 = (__global const half *)((__global const char *)I0 + I0_at);
  I1 = (__global const half *)((__global const char *)I1 + I1_at);
  O0 = (__global half *)((__global char *)O0 + O0_at);
  __local ushort I0_l[3072] __attribute__((aligned(16)));
  __local ushort I1_l[816] __attribute__((aligned(16)));
  __local uint I1_parts_l[256] __attribute__((aligned(16)));
  const int w = get_local_id(0);
  const int j_w = w % 4;
  const int i_w = w / 4 % 8 + w / 4 / 8 * 8;
  const int i = i_w;
  const int j = j_w * 2;
  float2 acc0 = (float2)(0.0f);
  float2 acc1 = (float2)(0.0f);
  float2 acc2 = (float2)(0.0f);
  float2 acc3 = (float2)(0.0f);
  float2 part0 = (float2)(0.0f);
  float2 part1 = (float2)(0.0f);
  float2 part2 = (float2)(0.0f);
  float2 part3 = (float2)(0.0f);
  if (get_local_id(0) < 128) {
    for (int now = 0; now < 2; ++now) {
      barrier_sync(now % 2 + 1, 256);
      {
        const int slot = now % 3;
        const int k_l = now * 16;
        const int row0 = w % 32 % 8;
        const int block0 = w % 32 / 8 % 2;
        const int block1 = w % 32 / 16 % 2;
        uint a0, a1, a2, a3;
        load_matrix_uint4(&a0, &a1, &a2, &a3, (uint)(size_t)(I0_l + i_w / 8 * 128 + block0 * 512 + row0 * 16 + block1 * 8 + slot * 1024));
        asm volatile("//@ wgmma.fence.sync.aligned;" ::: "memory");
        wgmma_float_16x16(&part0, &part2, &part1, &part3, a0, a1, a2, a3, matrix_at((uint)(size_t)(I1_parts_l + now % 2 * 128), 256, 128));
        asm volatile("//@ wgmma.commit_group.sync.aligned;" ::: "memory"); asm volatile("//@ wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (now + 2 < 2) {
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
    if (i < 18) {
      scatter__global_half2(O0 + i * 12 + j, 1, 12 - j, acc0);
    }
    if (i < 18 && j + 8 < 12) {
      scatter__global_half2(O0 + i * 12 + j + 8, 1, 4 - j, acc1);
    }
  } else {
    for (int ahead = 0; ahead < 1; ++ahead) {
      if (ahead < 2) {
        const int slot = ahead % 3;
        const int k_l = ahead * 16;
        const int producer = w % 128;
        // The next tile of I0 to local memory
        const int x1_0 = producer % 16;
        const int x0_0 = producer / 16;
        vstore_half_rte(vload_half(x0_0 * 32 + k_l + x1_0, I0), slot * 1024 + x0_0 * 16 + x1_0, (__local half *)I0_l);
        vstore_half_rte(vload_half(x0_0 * 32 + k_l + x1_0 + 256, I0), slot * 1024 + x0_0 * 16 + x1_0 + 128, (__local half *)I0_l);
        vstore_half_rte((x0_0 + 16 <= 17 ? vload_half(x0_0 * 32 + k_l + x1_0 + 512, I0) : (float)0.0f), slot * 1024 + x0_0 * 16 + x1_0 + 256, (__local half *)I0_l);
        I0_l[slot * 1024 + x0_0 * 16 + x1_0 + 384] = (float)0.0f;
        I0_l[slot * 1024 + x0_0 * 16 + x1_0 + 512] = (float)0.0f;
        I0_l[slot * 1024 + x0_0 * 16 + x1_0 + 640] = (float)0.0f;
        I0_l[slot * 1024 + x0_0 * 16 + x1_0 + 768] = (float)0.0f;
        I0_l[slot * 1024 + x0_0 * 16 + x1_0 + 896] = (float)0.0f;
        // The next tile of I1 to local memory
        const int x1_1 = producer % 16;
        const int x0_1 = producer / 16;
        vstore_half_rte((x1_1 <= 11 ? vload_half(k_l * 12 + x0_1 * 12 + x1_1, I1) : (float)0.0f), slot * 272 + x0_1 * 17 + x1_1, (__local half *)I1_l);
        vstore_half_rte((x1_1 <= 11 ? vload_half(k_l * 12 + x0_1 * 12 + x1_1 + 96, I1) : (float)0.0f), slot * 272 + x0_1 * 17 + x1_1 + 136, (__local half *)I1_l);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int now = 0; now < 2; ++now) {
      if (now >= 2) {
        barrier_sync(now % 2 + 3, 256);
      }
      {
        const int ahead = now + 1;
        if (ahead < 2) {
          const int slot = ahead % 3;
          const int k_l = ahead * 16;
          const int producer = w % 128;
          // The next tile of I0 to local memory
          const int x1_2 = producer % 16;
          const int x0_2 = producer / 16;
          vstore_half_rte(vload_half(x0_2 * 32 + k_l + x1_2, I0), slot * 1024 + x0_2 * 16 + x1_2, (__local half *)I0_l);
          vstore_half_rte(vload_half(x0_2 * 32 + k_l + x1_2 + 256, I0), slot * 1024 + x0_2 * 16 + x1_2 + 128, (__local half *)I0_l);
          vstore_half_rte((x0_2 + 16 <= 17 ? vload_half(x0_2 * 32 + k_l + x1_2 + 512, I0) : (float)0.0f), slot * 1024 + x0_2 * 16 + x1_2 + 256, (__local half *)I0_l);
          I0_l[slot * 1024 + x0_2 * 16 + x1_2 + 384] = (float)0.0f;
          I0_l[slot * 1024 + x0_2 * 16 + x1_2 + 512] = (float)0.0f;
          I0_l[slot * 1024 + x0_2 * 16 + x1_2 + 640] = (float)0.0f;
          I0_l[slot * 1024 + x0_2 * 16 + x1_2 + 768] = (float)0.0f;
          I0_l[slot * 1024 + x0_2 * 16 + x1_2 + 896] = (float)0.0f;
          // The next tile of I1 to local memory
          const int x1_3 = producer % 16;
          const int x0_3 = producer / 16;
          vstore_half_rte((x1_3 <= 11 ? vload_half(k_l * 12 + x0_3 * 12 + x1_3, I1) : (float)0.0f), slot * 272 + x0_3 * 17 + x1_3, (__local half *)I1_l);
          vstore_half_rte((x1_3 <= 11 ? vload_half(k_l * 12 + x0_3 * 12 + x1_3 + 96, I1) : (float)0.0f), slot * 272 + x0_3 * 17 + x1_3 + 136, (__local half *)I1_l);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
      }
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      barrier_sync(5, 128);
      {
        const int slot = now % 3;
        const int k_l = now * 16;
        const int producer = w % 128;
        const int lane0 = producer % 32;
        const int some0 = producer / 32;
        const int row1 = lane0 / 4;
        const int word0 = lane0 % 4;
        if (some0 < 2) {
          const uint b0 = as_uint((ushort2)(I1_l[word0 * 34 + some0 % 2 * 8 + row1 + slot * 272], I1_l[word0 * 34 + some0 % 2 * 8 + row1 + slot * 272 + 17]));
          const uint b1 = as_uint((ushort2)(I1_l[word0 * 34 + some0 % 2 * 8 + row1 + slot * 272 + 136], I1_l[word0 * 34 + some0 % 2 * 8 + row1 + slot * 272 + 153]));
          I1_parts_l[now % 2 * 128 + some0 % 2 * 32 + row1 * 4 + word0] = b0;
          I1_parts_l[now % 2 * 128 + some0 % 2 * 32 + row1 * 4 + word0 + 64] = b1;
        }
      }
      asm volatile("//@ fence.proxy.async.shared::cta;" ::: "memory");
      barrier_arrive(now % 2 + 1, 256);
    }
  }
}

// mdh_0: 256 work-items, 256 a work-group; input 0, input 1, output 0, offset of input 0, offset of input 1, offset of output 0
