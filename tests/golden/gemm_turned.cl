#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float2 float2_u __attribute__((aligned(sizeof(float))));
typedef float4 float4_u __attribute__((aligned(sizeof(float))));
static inline float4 gather_part__global_float4(__global const float *p, int s, int n)
{ if (s == 1 && n >= 4) return *(__global const float4_u *)p;
  return (float4)(p[0], p[min((int)1, n - 1) * s], p[min((int)2, n - 1) * s], p[min((int)3, n - 1) * s]); }
static inline void scatter__global_float4(__global float *p, int s, int n, float4 v)
{ const int m = n;
  if (s == 1 && m >= 4) { *(__global float4_u *)p = v; return; }
  if (s == 1) { float2 v2 = v.lo; if (m & 2) { *(__global float2_u *)p = v2; p += 2; v2 = v.hi; } if (m & 1) *p = v2.lo; return; }
  if (n > 0) p[0 * s] = v.s0; if (n > 1) p[1 * s] = v.s1; if (n > 2) p[2 * s] = v.s2; if (n > 3) p[3 * s] = v.s3; }
static inline void transpose_float4(__global const float *p, int s, __local float *q, int t)
{
  float4 r0 = *(__global const float4_u *)(p + 0 * s);
  float4 r1 = *(__global const float4_u *)(p + 1 * s);
  float4 r2 = *(__global const float4_u *)(p + 2 * s);
  float4 r3 = *(__global const float4_u *)(p + 3 * s);
  { const float4 a = r0, b = r2; r0 = (float4)(a.s0, a.s1, b.s0, b.s1); r2 = (float4)(a.s2, a.s3, b.s2, b.s3); }
  { const float4 a = r1, b = r3; r1 = (float4)(a.s0, a.s1, b.s0, b.s1); r3 = (float4)(a.s2, a.s3, b.s2, b.s3); }
  { const float4 a = r0, b = r1; r0 = (float4)(a.s0, b.s0, a.s2, b.s2); r1 = (float4)(a.s1, b.s1, a.s3, b.s3); }
  { const float4 a = r2, b = r3; r2 = (float4)(a.s0, b.s0, a.s2, b.s2); r3 = (float4)(a.s1, b.s1, a.s3, b.s3); }
  *(__local float4_u *)(q + 0 * t) = r0;
  *(__local float4_u *)(q + 1 * t) = r1;
  *(__local float4_u *)(q + 2 * t) = r2;
  *(__local float4_u *)(q + 3 * t) = r3;
}

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[j,k]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  __local float I1_l[48];
  for (int j_l = 0; j_l < 11; j_l += 8) {
    const int j_n = min(8, 11 - j_l);
    for (int k_l = 0; k_l < 9; k_l += 6) {
      const int k_n = min(6, 9 - k_l);
      // The tile of I1 to local memory
      if (j_l <= 3 && k_l <= 3) {
        for (int y0 = 0; y0 < 8; y0 += 4) {
          for (int x1 = 0; x1 < 4; x1 += 4) {
            transpose_float4(I1 + j_l * 9 + y0 * 9 + k_l + x1, 9, I1_l + y0 + x1 * 8, 8);
          }
        }
        for (int y0 = 0; y0 < 8; ++y0) {
          for (int x1 = 4; x1 < 6; ++x1) {
            I1_l[y0 + x1 * 8] = I1[j_l * 9 + y0 * 9 + k_l + x1];
          }
        }
      } else {
        for (int e = 0; e < 48; ++e) I1_l[e] = 0;
        const int n0_0 = min(8, 11 - j_l);
        const int n1_0 = min(6, 9 - k_l);
        const int m0_0 = min(8, n0_0);
        for (int y0 = 0; y0 < m0_0 / 4 * 4; y0 += 4) {
          for (int x1 = 0; x1 < n1_0 / 4 * 4; x1 += 4) {
            transpose_float4(I1 + j_l * 9 + y0 * 9 + k_l + x1, 9, I1_l + y0 + x1 * 8, 8);
          }
        }
        const int m0_1 = min(8, n0_0);
        for (int y0 = 0; y0 < m0_1; ++y0) {
          for (int x1 = n1_0 / 4 * 4; x1 < n1_0; ++x1) {
            I1_l[y0 + x1 * 8] = I1[j_l * 9 + y0 * 9 + k_l + x1];
          }
        }
        const int m0_2 = min(8, n0_0);
        for (int y0 = m0_2 / 4 * 4; y0 < m0_2; ++y0) {
          for (int x1 = 0; x1 < n1_0 / 4 * 4; ++x1) {
            I1_l[y0 + x1 * 8] = I1[j_l * 9 + y0 * 9 + k_l + x1];
          }
        }
      }
      for (int i_p = 0; i_p < 3; i_p += 2) {
        const int i = i_p;
        const int j = j_l;
        float4 acc0 = (float4)(0.0f);
        float4 acc1 = (float4)(0.0f);
        float4 acc2 = (float4)(0.0f);
        float4 acc3 = (float4)(0.0f);
        if (i_p <= 1) {
          for (int k_p = 0; k_p < k_n; ++k_p) {
            const float I0_0 = I0[i * 9 + k_l + k_p];
            const float4 I1_0 = *(__local const float4_u *)(I1_l + k_p * 8);
            acc0 = acc0 + (I0_0 * I1_0);
            const float4 I1_1 = *(__local const float4_u *)(I1_l + k_p * 8 + 4);
            acc1 = acc1 + (I0_0 * I1_1);
            const float I0_1 = I0[i * 9 + k_l + k_p + 9];
            acc2 = acc2 + (I0_1 * I1_0);
            acc3 = acc3 + (I0_1 * I1_1);
          }
        } else {
          const int i_0 = min(i + 1, 2);
          const int valid0 = 11 - j;
          const int first0 = min(j + 4, 10);
          const int valid1 = 11 - first0;
          for (int k_p = 0; k_p < k_n; ++k_p) {
            const float I0_2 = I0[i * 9 + k_l + k_p];
            const float4 I1_2 = *(__local const float4_u *)(I1_l + k_p * 8);
            acc0 = acc0 + (I0_2 * I1_2);
            const float4 I1_3 = *(__local const float4_u *)(I1_l + k_p * 8 + 4);
            acc1 = acc1 + (I0_2 * I1_3);
            const float I0_3 = I0[i_0 * 9 + k_l + k_p];
            acc2 = acc2 + (I0_3 * I1_2);
            acc3 = acc3 + (I0_3 * I1_3);
          }
        }
        if (k_l == 0) {
          if (i_p <= 1 && j_l <= 3) {
            *(__global float4_u *)(O0 + i * 11 + j) = acc0;
            *(__global float4_u *)(O0 + i * 11 + j + 4) = acc1;
            *(__global float4_u *)(O0 + i * 11 + j + 11) = acc2;
            *(__global float4_u *)(O0 + i * 11 + j + 15) = acc3;
          } else {
            scatter__global_float4(O0 + i * 11 + j, 1, 11 - j, acc0);
            if (j + 4 < 11) {
              scatter__global_float4(O0 + i * 11 + j + 4, 1, 7 - j, acc1);
            }
            if (i + 1 < 3) {
              scatter__global_float4(O0 + i * 11 + j + 11, 1, 11 - j, acc2);
            }
            if (i + 1 < 3 && j + 4 < 11) {
              scatter__global_float4(O0 + i * 11 + j + 15, 1, 7 - j, acc3);
            }
          }
        } else {
          if (i_p <= 1 && j_l <= 3) {
            acc0 = (*(__global const float4_u *)(O0 + i * 11 + j)) + acc0;
            *(__global float4_u *)(O0 + i * 11 + j) = acc0;
            acc1 = (*(__global const float4_u *)(O0 + i * 11 + j + 4)) + acc1;
            *(__global float4_u *)(O0 + i * 11 + j + 4) = acc1;
            acc2 = (*(__global const float4_u *)(O0 + i * 11 + j + 11)) + acc2;
            *(__global float4_u *)(O0 + i * 11 + j + 11) = acc2;
            acc3 = (*(__global const float4_u *)(O0 + i * 11 + j + 15)) + acc3;
            *(__global float4_u *)(O0 + i * 11 + j + 15) = acc3;
          } else {
            acc0 = gather_part__global_float4(O0 + i * 11 + j, 1, 11 - j) + acc0;
            scatter__global_float4(O0 + i * 11 + j, 1, 11 - j, acc0);
            if (j + 4 < 11) {
              acc1 = gather_part__global_float4(O0 + i * 11 + j + 4, 1, 7 - j) + acc1;
              scatter__global_float4(O0 + i * 11 + j + 4, 1, 7 - j, acc1);
            }
            if (i + 1 < 3) {
              acc2 = gather_part__global_float4(O0 + i * 11 + j + 11, 1, 11 - j) + acc2;
              scatter__global_float4(O0 + i * 11 + j + 11, 1, 11 - j, acc2);
            }
            if (i + 1 < 3 && j + 4 < 11) {
              acc3 = gather_part__global_float4(O0 + i * 11 + j + 15, 1, 7 - j) + acc3;
              scatter__global_float4(O0 + i * 11 + j + 15, 1, 7 - j, acc3);
            }
          }
        }
      }
    }
  }
}

// mdh_0: 1 work-items, 1 a work-group; input 0, input 1, output 0
