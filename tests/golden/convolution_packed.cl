#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float2 float2_u __attribute__((aligned(sizeof(float))));
typedef float4 float4_u __attribute__((aligned(sizeof(float))));
static inline float4 gather__global_float4(__global const float *p, int s)
{ return (float4)(p[0], p[1 * s], p[2 * s], p[3 * s]); }
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

// md_hom(*, (++, ++, +, +)) ∘ (I0[k,j+l], I1[i,k,l]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  __local float I1_l[48];
  for (int i_l = 0; i_l < 9; i_l += 8) {
    const int i_n = min(8, 9 - i_l);
    for (int k_l = 0; k_l < 5; k_l += 2) {
      const int k_n = min(2, 5 - k_l);
      // The tile of I1 to local memory
      if (i_l <= 1 && k_l <= 3) {
        for (int x0 = 0; x0 < 2; ++x0) {
          for (int y0 = 0; y0 < 4; y0 += 4) {
            for (int x1 = 0; x1 < 4; x1 += 4) {
              transpose_float4(I1 + i_l * 15 + x0 * 60 + y0 * 15 + k_l * 3 + x1, 15, I1_l + x0 * 24 + y0 + x1 * 4, 4);
            }
          }
        }
        for (int x0 = 0; x0 < 2; ++x0) {
          for (int y0 = 0; y0 < 4; ++y0) {
            for (int x1 = 4; x1 < 6; ++x1) {
              I1_l[x0 * 24 + y0 + x1 * 4] = I1[i_l * 15 + x0 * 60 + y0 * 15 + k_l * 3 + x1];
            }
          }
        }
      } else {
        for (int e = 0; e < 48; ++e) I1_l[e] = 0;
        const int n0_0 = min(8, 9 - i_l);
        const int n1_0 = min(6, 15 - k_l * 3);
        for (int x0 = 0; x0 * 4 < n0_0; ++x0) {
          const int m0_0 = min(4, n0_0 - x0 * 4);
          for (int y0 = 0; y0 < m0_0 / 4 * 4; y0 += 4) {
            for (int x1 = 0; x1 < n1_0 / 4 * 4; x1 += 4) {
              transpose_float4(I1 + i_l * 15 + x0 * 60 + y0 * 15 + k_l * 3 + x1, 15, I1_l + x0 * 24 + y0 + x1 * 4, 4);
            }
          }
        }
        for (int x0 = 0; x0 * 4 < n0_0; ++x0) {
          const int m0_1 = min(4, n0_0 - x0 * 4);
          for (int y0 = 0; y0 < m0_1; ++y0) {
            for (int x1 = n1_0 / 4 * 4; x1 < n1_0; ++x1) {
              I1_l[x0 * 24 + y0 + x1 * 4] = I1[i_l * 15 + x0 * 60 + y0 * 15 + k_l * 3 + x1];
            }
          }
        }
        for (int x0 = 0; x0 * 4 < n0_0; ++x0) {
          const int m0_2 = min(4, n0_0 - x0 * 4);
          for (int y0 = m0_2 / 4 * 4; y0 < m0_2; ++y0) {
            for (int x1 = 0; x1 < n1_0 / 4 * 4; ++x1) {
              I1_l[x0 * 24 + y0 + x1 * 4] = I1[i_l * 15 + x0 * 60 + y0 * 15 + k_l * 3 + x1];
            }
          }
        }
      }
      for (int i_p = 0; i_p < i_n; i_p += 4) {
        for (int j_p = 0; j_p < 4; j_p += 2) {
          const int i = i_l + i_p;
          const int j = j_p;
          float4 acc0 = (float4)(0.0f);
          float4 acc1 = (float4)(0.0f);
          for (int k_p = 0; k_p < k_n; ++k_p) {
            for (int l_p = 0; l_p < 3; ++l_p) {
              acc0 = acc0 + (I0[j + k_l * 6 + k_p * 6 + l_p] * (*(__local const float4_u *)(I1_l + i_p * 6 + k_p * 12 + l_p * 4)));
              acc1 = acc1 + (I0[j + k_l * 6 + k_p * 6 + l_p + 1] * (*(__local const float4_u *)(I1_l + i_p * 6 + k_p * 12 + l_p * 4)));
            }
          }
          if (k_l == 0) {
            if (i_l + i_p <= 5) {
              scatter__global_float4(O0 + i * 4 + j, 4, 4, acc0);
              scatter__global_float4(O0 + i * 4 + j + 1, 4, 4, acc1);
            } else {
              if (i < 9) {
                scatter__global_float4(O0 + i * 4 + j, 4, 9 - i, acc0);
              }
              if (i < 9) {
                scatter__global_float4(O0 + i * 4 + j + 1, 4, 9 - i, acc1);
              }
            }
          } else {
            if (i_l + i_p <= 5) {
              acc0 = gather__global_float4(O0 + i * 4 + j, 4) + acc0;
              scatter__global_float4(O0 + i * 4 + j, 4, 4, acc0);
              acc1 = gather__global_float4(O0 + i * 4 + j + 1, 4) + acc1;
              scatter__global_float4(O0 + i * 4 + j + 1, 4, 4, acc1);
            } else {
              if (i < 9) {
                acc0 = gather_part__global_float4(O0 + i * 4 + j, 4, 9 - i) + acc0;
                scatter__global_float4(O0 + i * 4 + j, 4, 9 - i, acc0);
              }
              if (i < 9) {
                acc1 = gather_part__global_float4(O0 + i * 4 + j + 1, 4, 9 - i) + acc1;
                scatter__global_float4(O0 + i * 4 + j + 1, 4, 9 - i, acc1);
              }
            }
          }
        }
      }
    }
  }
}

// mdh_0: 1 work-items, 1 a work-group; input 0, input 1, output 0
