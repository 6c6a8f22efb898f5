#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef double2 double2_u __attribute__((aligned(sizeof(double))));
typedef double2 double2_a __attribute__((aligned(16)));
static inline void copy_async_double_if(__local double *p, __global const double *q, int given)
{ asm volatile("cp.async.ca.shared.global [%0 + 0], [%1 + 0], 8, %2;" :: "r"((uint)(size_t)p), "l"(q), "r"(given ? 8 : 0) : "memory"); }
static inline void mma_double_16x8x8(double2 *c0, double2 *c1, double a0, double a1, double a2, double a3, double b0, double b1)
{ double s0 = c0->x, s1 = c0->y; double s2 = c1->x, s3 = c1->y;
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+d"(s0), "+d"(s1), "+d"(s2), "+d"(s3) : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
  *c0 = (double2)(s0, s1); *c1 = (double2)(s2, s3); }
static inline void scatter__global_double2(__global double *p, int s, int n, double2 v)
{ const int m = n;
  if (s == 1 && m >= 2) { *(__global double2_u *)p = v; return; }
  if (s == 1) { if (m & 1) *p = v.lo; return; }
  if (n > 0) p[0 * s] = v.s0; if (n > 1) p[1 * s] = v.s1; }
static inline void store_double2(__global double *p, double2 v)
{ if (((size_t)p & 15) == 0) *(__global double2_a *)p = v;
  else { p[0] = v.s0; p[1] = v.s1; } }

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[j,k]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void mdh_0(__global const double *restrict I0, __global const double *restrict I1, __global double *restrict O0, const long I0_at, const long I1_at, const long O0_at) {
  #pragma OPENCL FP_CONTRACT ON
  I0 = (__global const double *)((__global const char *)I0 + I0_at);
  I1 = (__global const double *)((__global const char *)I1 + I1_at);
  O0 = (__global double *)((__global char *)O0 + O0_at);
  __local double I0_l[256] __attribute__((aligned(16)));
  __local double I1_l[128] __attribute__((aligned(16)));
  const int g = get_group_id(0);
  const int j_g = g % 2;
  const int i_g = g / 2;
  const int w = get_local_id(0);
  const int j_w = w % 4;
  const int i_w = w / 4;
  const int i_l = i_g * 16;
  const int i_n = min(16, 18 - i_l);
  const int j_l = j_g * 8;
  const int j_n = min(8, 11 - j_l);
  const int i = i_l + i_w;
  const int j = j_l + j_w * 2;
  double2 acc0 = (double2)(0.0);
  double2 acc1 = (double2)(0.0);
  for (int ahead = 0; ahead < 1; ++ahead) {
    const int slot = ahead % 2;
    const int k_l = ahead * 8;
    const int k_n = min(8, 17 - k_l);
    // The next tile of I0 to local memory
    const int x1_0 = w % 8;
    const int x0_0 = w / 8;
    copy_async_double_if(I0_l + slot * 128 + x0_0 + x1_0 * 16, I0 + i_l * 17 + x0_0 * 17 + k_l + x1_0, (i_l + x0_0 <= 17 && k_l + x1_0 <= 16));
    copy_async_double_if(I0_l + slot * 128 + x0_0 + x1_0 * 16 + 4, I0 + i_l * 17 + x0_0 * 17 + k_l + x1_0 + 68, (i_l + x0_0 + 4 <= 17 && k_l + x1_0 <= 16));
    copy_async_double_if(I0_l + slot * 128 + x0_0 + x1_0 * 16 + 8, I0 + i_l * 17 + x0_0 * 17 + k_l + x1_0 + 136, (i_l + x0_0 + 8 <= 17 && k_l + x1_0 <= 16));
    copy_async_double_if(I0_l + slot * 128 + x0_0 + x1_0 * 16 + 12, I0 + i_l * 17 + x0_0 * 17 + k_l + x1_0 + 204, (i_l + x0_0 + 12 <= 17 && k_l + x1_0 <= 16));
    // The next tile of I1 to local memory
    const int x1_1 = w % 8;
    const int x0_1 = w / 8;
    copy_async_double_if(I1_l + slot * 64 + x0_1 * 8 + x1_1, I1 + j_l * 17 + x0_1 * 17 + k_l + x1_1, (j_l + x0_1 <= 10 && k_l + x1_1 <= 16));
    copy_async_double_if(I1_l + slot * 64 + x0_1 * 8 + x1_1 + 32, I1 + j_l * 17 + x0_1 * 17 + k_l + x1_1 + 68, (j_l + x0_1 + 4 <= 10 && k_l + x1_1 <= 16));
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
        const int k_n = min(8, 17 - k_l);
        // The next tile of I0 to local memory
        const int x1_2 = w % 8;
        const int x0_2 = w / 8;
        copy_async_double_if(I0_l + slot * 128 + x0_2 + x1_2 * 16, I0 + i_l * 17 + x0_2 * 17 + k_l + x1_2, (i_l + x0_2 <= 17 && k_l + x1_2 <= 16));
        copy_async_double_if(I0_l + slot * 128 + x0_2 + x1_2 * 16 + 4, I0 + i_l * 17 + x0_2 * 17 + k_l + x1_2 + 68, (i_l + x0_2 + 4 <= 17 && k_l + x1_2 <= 16));
        copy_async_double_if(I0_l + slot * 128 + x0_2 + x1_2 * 16 + 8, I0 + i_l * 17 + x0_2 * 17 + k_l + x1_2 + 136, (i_l + x0_2 + 8 <= 17 && k_l + x1_2 <= 16));
        copy_async_double_if(I0_l + slot * 128 + x0_2 + x1_2 * 16 + 12, I0 + i_l * 17 + x0_2 * 17 + k_l + x1_2 + 204, (i_l + x0_2 + 12 <= 17 && k_l + x1_2 <= 16));
        // The next tile of I1 to local memory
        const int x1_3 = w % 8;
        const int x0_3 = w / 8;
        copy_async_double_if(I1_l + slot * 64 + x0_3 * 8 + x1_3, I1 + j_l * 17 + x0_3 * 17 + k_l + x1_3, (j_l + x0_3 <= 10 && k_l + x1_3 <= 16));
        copy_async_double_if(I1_l + slot * 64 + x0_3 * 8 + x1_3 + 32, I1 + j_l * 17 + x0_3 * 17 + k_l + x1_3 + 68, (j_l + x0_3 + 4 <= 10 && k_l + x1_3 <= 16));
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    {
      const int slot = now % 2;
      const int k_l = now * 8;
      const int k_n = min(8, 17 - k_l);
      double2 part0 = (double2)(0.0);
      double2 part1 = (double2)(0.0);
      const int term0 = j_w % 4;
      const int column0 = j_w / 4 * 8 + i_w % 8;
      const double a0 = I0_l[i_w + term0 * 16 + slot * 128];
      const double a1 = I0_l[i_w + term0 * 16 + slot * 128 + 8];
      const double a2 = I0_l[i_w + term0 * 16 + slot * 128 + 64];
      const double a3 = I0_l[i_w + term0 * 16 + slot * 128 + 72];
      const double b0 = I1_l[column0 * 8 + term0 + slot * 64];
      const double b1 = I1_l[column0 * 8 + term0 + slot * 64 + 4];
      mma_double_16x8x8(&part0, &part1, a0, a1, a2, a3, b0, b1);
      {
        acc0 = acc0 + part0;
        acc1 = acc1 + part1;
      }
    }
  }
  if (i_l <= 2 && j_l <= 3) {
    store_double2(O0 + i * 11 + j, acc0);
    store_double2(O0 + i * 11 + j + 88, acc1);
  } else {
    if (i < 18 && j < 11) {
      scatter__global_double2(O0 + i * 11 + j, 1, 11 - j, acc0);
    }
    if (i + 8 < 18 && j < 11) {
      scatter__global_double2(O0 + i * 11 + j + 88, 1, 11 - j, acc1);
    }
  }
}

// mdh_0: 128 work-items, 32 a work-group; input 0, input 1, output 0, offset of input 0, offset of input 1, offset of output 0
