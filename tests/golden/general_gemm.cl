#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float2 float2_u __attribute__((aligned(sizeof(float))));
typedef float4 float4_u __attribute__((aligned(sizeof(float))));
static __attribute__((noinline)) float4 gather_part__global_float4(__global const float *p, int s, int n)
{ if (s == 1 && n >= 4) return *(__global const float4_u *)p;
  return (float4)(p[0], p[min((int)1, n - 1) * s], p[min((int)2, n - 1) * s], p[min((int)3, n - 1) * s]); }
static __attribute__((noinline)) void scatter__global_float4(__global float *p, int s, int n, float4 v)
{ const int m = n;
  if (s == 1 && m >= 4) { *(__global float4_u *)p = v; return; }
  if (s == 1) { float2 v2 = v.lo; if (m & 2) { *(__global float2_u *)p = v2; p += 2; v2 = v.hi; } if (m & 1) *p = v2.lo; return; }
  if (n > 0) p[0 * s] = v.s0; if (n > 1) p[1 * s] = v.s1; if (n > 2) p[2 * s] = v.s2; if (n > 3) p[3 * s] = v.s3; }

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0, const int i_e, const int i_wg, const int i_c, const int j_e, const int j_wg, const int j_c, const int k_e, const int I0_s0, const int I1_s0, const int O0_s0) {
  #pragma OPENCL FP_CONTRACT ON
  __local float I1_l[32];
  const int g = get_group_id(0);
  const int j_g = g % j_wg;
  const int i_g = g / j_wg;
  for (int j_l = j_g * j_c; j_l < min(j_g * j_c + j_c, j_e); j_l += 8) {
    const int j_n = min(8, j_e - j_l);
    for (int k_l = 0; k_l < k_e; k_l += 4) {
      const int k_n = min(4, k_e - k_l);
      // The tile of I1 to local memory
      if (k_l <= k_e - 4 && j_l <= j_e - 8) {
        for (int x0 = 0; x0 < 4; ++x0) {
          for (int y1 = 0; y1 < 8; ++y1) {
            I1_l[x0 * 8 + y1] = I1[k_l * I1_s0 + x0 * I1_s0 + j_l + y1];
          }
        }
      } else {
        for (int e = 0; e < 32; ++e) I1_l[e] = 0;
        const int n0_0 = min(4, k_e - k_l);
        const int n1_0 = min(8, j_e - j_l);
        for (int x0 = 0; x0 < n0_0; ++x0) {
          const int m1_0 = min(8, n1_0);
          for (int y1 = 0; y1 < m1_0; ++y1) {
            I1_l[x0 * 8 + y1] = I1[k_l * I1_s0 + x0 * I1_s0 + j_l + y1];
          }
        }
      }
      for (int i_l = i_g * i_c; i_l < min(i_g * i_c + i_c, i_e); i_l += 4) {
        const int i_n = min(4, i_e - i_l);
        for (int i_p = 0; i_p < i_n; i_p += 2) {
          const int i = i_l + i_p;
          const int j = j_l;
          float4 acc0 = (float4)(0.0f);
          float4 acc1 = (float4)(0.0f);
          float4 acc2 = (float4)(0.0f);
          float4 acc3 = (float4)(0.0f);
          if (i_l + i_p <= i_e - 2) {
            for (int k_p = 0; k_p < k_n; ++k_p) {
              acc0 = acc0 + (I0[i * I0_s0 + k_l + k_p] * (*(__local const float4_u *)(I1_l + k_p * 8)));
              acc1 = acc1 + (I0[i * I0_s0 + k_l + k_p] * (*(__local const float4_u *)(I1_l + k_p * 8 + 4)));
              acc2 = acc2 + (I0[I0_s0 + i * I0_s0 + k_l + k_p] * (*(__local const float4_u *)(I1_l + k_p * 8)));
              acc3 = acc3 + (I0[I0_s0 + i * I0_s0 + k_l + k_p] * (*(__local const float4_u *)(I1_l + k_p * 8 + 4)));
            }
          } else {
            const int i_0 = min(i, i_e - 1);
            const int i_1 = min(i + 1, i_e - 1);
            const int first0 = min(j, j_e - 1);
            const int valid0 = j_e - first0;
            const int first1 = min(j + 4, j_e - 1);
            const int valid1 = j_e - first1;
            for (int k_p = 0; k_p < k_n; ++k_p) {
              acc0 = acc0 + (I0[i_0 * I0_s0 + k_l + k_p] * (*(__local const float4_u *)(I1_l + k_p * 8)));
              acc1 = acc1 + (I0[i_0 * I0_s0 + k_l + k_p] * (*(__local const float4_u *)(I1_l + k_p * 8 + 4)));
              acc2 = acc2 + (I0[i_1 * I0_s0 + k_l + k_p] * (*(__local const float4_u *)(I1_l + k_p * 8)));
              acc3 = acc3 + (I0[i_1 * I0_s0 + k_l + k_p] * (*(__local const float4_u *)(I1_l + k_p * 8 + 4)));
            }
          }
          if (k_l == 0) {
            if (i_l + i_p <= i_e - 2 && j_l <= j_e - 8) {
              *(__global float4_u *)(O0 + i * O0_s0 + j) = acc0;
              *(__global float4_u *)(O0 + i * O0_s0 + j + 4) = acc1;
              *(__global float4_u *)(O0 + O0_s0 + i * O0_s0 + j) = acc2;
              *(__global float4_u *)(O0 + O0_s0 + i * O0_s0 + j + 4) = acc3;
            } else {
              if (i < i_e && j < j_e) {
                scatter__global_float4(O0 + i * O0_s0 + j, 1, j_e - j, acc0);
              }
              if (i < i_e && j + 4 < j_e) {
                scatter__global_float4(O0 + i * O0_s0 + j + 4, 1, j_e - j - 4, acc1);
              }
              if (i + 1 < i_e && j < j_e) {
                scatter__global_float4(O0 + O0_s0 + i * O0_s0 + j, 1, j_e - j, acc2);
              }
              if (i + 1 < i_e && j + 4 < j_e) {
                scatter__global_float4(O0 + O0_s0 + i * O0_s0 + j + 4, 1, j_e - j - 4, acc3);
              }
            }
          } else {
            if (i_l + i_p <= i_e - 2 && j_l <= j_e - 8) {
              acc0 = (*(__global const float4_u *)(O0 + i * O0_s0 + j)) + acc0;
              *(__global float4_u *)(O0 + i * O0_s0 + j) = acc0;
              acc1 = (*(__global const float4_u *)(O0 + i * O0_s0 + j + 4)) + acc1;
              *(__global float4_u *)(O0 + i * O0_s0 + j + 4) = acc1;
              acc2 = (*(__global const float4_u *)(O0 + O0_s0 + i * O0_s0 + j)) + acc2;
              *(__global float4_u *)(O0 + O0_s0 + i * O0_s0 + j) = acc2;
              acc3 = (*(__global const float4_u *)(O0 + O0_s0 + i * O0_s0 + j + 4)) + acc3;
              *(__global float4_u *)(O0 + O0_s0 + i * O0_s0 + j + 4) = acc3;
            } else {
              if (i < i_e && j < j_e) {
                acc0 = gather_part__global_float4(O0 + i * O0_s0 + j, 1, j_e - j) + acc0;
                scatter__global_float4(O0 + i * O0_s0 + j, 1, j_e - j, acc0);
              }
              if (i < i_e && j + 4 < j_e) {
                acc1 = gather_part__global_float4(O0 + i * O0_s0 + j + 4, 1, j_e - j - 4) + acc1;
                scatter__global_float4(O0 + i * O0_s0 + j + 4, 1, j_e - j - 4, acc1);
              }
              if (i + 1 < i_e && j < j_e) {
                acc2 = gather_part__global_float4(O0 + O0_s0 + i * O0_s0 + j, 1, j_e - j) + acc2;
                scatter__global_float4(O0 + O0_s0 + i * O0_s0 + j, 1, j_e - j, acc2);
              }
              if (i + 1 < i_e && j + 4 < j_e) {
                acc3 = gather_part__global_float4(O0 + O0_s0 + i * O0_s0 + j + 4, 1, j_e - j - 4) + acc3;
                scatter__global_float4(O0 + O0_s0 + i * O0_s0 + j + 4, 1, j_e - j - 4, acc3);
              }
            }
          }
        }
      }
    }
  }
}

// mdh_0: 4 work-items, 1 a work-group; input 0, input 1, output 0, size 0, size 1, size 2, size 3, size 4, size 5, size 6, size 7, size 8, size 9
