#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float2 float2_u __attribute__((aligned(sizeof(float))));
typedef float4 float4_u __attribute__((aligned(sizeof(float))));
static inline void scatter__global_float4(__global float *p, int s, int n, float4 v)
{ const int m = n;
  if (s == 1 && m >= 4) { *(__global float4_u *)p = v; return; }
  if (s == 1) { float2 v2 = v.lo; if (m & 2) { *(__global float2_u *)p = v2; p += 2; v2 = v.hi; } if (m & 1) *p = v2.lo; return; }
  if (n > 0) p[0 * s] = v.s0; if (n > 1) p[1 * s] = v.s1; if (n > 2) p[2 * s] = v.s2; if (n > 3) p[3 * s] = v.s3; }

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  __local float I0_l[16];
  __local float I1_l[64];
  __local float o0_l[64];
  const int g = get_group_id(0);
  const int i_g = g;
  const int i_l = i_g * 4;
  const int i_n = min(4, 7 - i_l);
  for (int k_l = 0; k_l < 9; k_l += 4) {
    const int k_n = min(4, 9 - k_l);
    // The tile of I0 to local memory
    if (i_l <= 3 && k_l <= 5) {
      for (int x0 = 0; x0 < 2; ++x0) {
        for (int x1 = 0; x1 < 4; ++x1) {
          for (int y0 = 0; y0 < 2; ++y0) {
            I0_l[x0 * 8 + x1 * 2 + y0] = I0[i_l * 9 + x0 * 18 + y0 * 9 + k_l + x1];
          }
        }
      }
    } else {
      for (int e = 0; e < 16; ++e) I0_l[e] = 0;
      const int n0_0 = min(4, 7 - i_l);
      const int n1_0 = min(4, 9 - k_l);
      for (int x0 = 0; x0 * 2 < n0_0; ++x0) {
        for (int x1 = 0; x1 < n1_0; ++x1) {
          const int m0_0 = min(2, n0_0 - x0 * 2);
          for (int y0 = 0; y0 < m0_0; ++y0) {
            I0_l[x0 * 8 + x1 * 2 + y0] = I0[i_l * 9 + x0 * 18 + y0 * 9 + k_l + x1];
          }
        }
      }
    }
    // The tile of I1 to local memory
    for (int e = 0; e < 64; ++e) I1_l[e] = 0;
    const int n0_1 = min(4, 9 - k_l);
    for (int x1 = 0; x1 * 8 < 11; ++x1) {
      for (int x0 = 0; x0 < n0_1; ++x0) {
        const int m1_0 = min(8, 11 - x1 * 8);
        for (int y1 = 0; y1 < m1_0; ++y1) {
          I1_l[x1 * 32 + x0 * 8 + y1] = I1[k_l * 11 + x0 * 11 + x1 * 8 + y1];
        }
      }
    }
    {
      for (int i_p = 0; i_p < i_n; i_p += 2) {
        for (int j_p = 0; j_p < 11; j_p += 8) {
          const int i = i_l + i_p;
          const int j = j_p;
          float4 acc0 = (float4)(0.0f);
          float4 acc1 = (float4)(0.0f);
          float4 acc2 = (float4)(0.0f);
          float4 acc3 = (float4)(0.0f);
          for (int k_p = 0; k_p < k_n; ++k_p) {
            const float I0_0 = I0_l[i_p * 4 + k_p * 2];
            const float4 I1_0 = *(__local const float4_u *)(I1_l + k_p * 8 + j_p * 4);
            acc0 = acc0 + (I0_0 * I1_0);
            const float4 I1_1 = *(__local const float4_u *)(I1_l + k_p * 8 + j_p * 4 + 4);
            acc1 = acc1 + (I0_0 * I1_1);
            const float I0_1 = I0_l[i_p * 4 + k_p * 2 + 1];
            acc2 = acc2 + (I0_1 * I1_0);
            acc3 = acc3 + (I0_1 * I1_1);
          }
          if (!(k_l == 0)) {
            acc0 = (*(__local const float4_u *)(o0_l + j_p + i_p * 16)) + acc0;
            acc1 = (*(__local const float4_u *)(o0_l + j_p + i_p * 16 + 4)) + acc1;
            acc2 = (*(__local const float4_u *)(o0_l + j_p + i_p * 16 + 16)) + acc2;
            acc3 = (*(__local const float4_u *)(o0_l + j_p + i_p * 16 + 20)) + acc3;
          }
          *(__local float4_u *)(o0_l + j_p + i_p * 16) = acc0;
          *(__local float4_u *)(o0_l + j_p + i_p * 16 + 4) = acc1;
          *(__local float4_u *)(o0_l + j_p + i_p * 16 + 16) = acc2;
          *(__local float4_u *)(o0_l + j_p + i_p * 16 + 20) = acc3;
        }
      }
    }
  }
  {
    for (int i_p = 0; i_p < i_n; i_p += 2) {
      for (int j_p = 0; j_p < 11; j_p += 8) {
        const int i = i_l + i_p;
        const int j = j_p;
        const float4 acc4 = *(__local const float4_u *)(o0_l + j_p + i_p * 16);
        const float4 acc5 = *(__local const float4_u *)(o0_l + j_p + i_p * 16 + 4);
        const float4 acc6 = *(__local const float4_u *)(o0_l + j_p + i_p * 16 + 16);
        const float4 acc7 = *(__local const float4_u *)(o0_l + j_p + i_p * 16 + 20);
        if (i_l + i_p <= 5 && j_p <= 3) {
          *(__global float4_u *)(O0 + i * 11 + j) = acc4;
          *(__global float4_u *)(O0 + i * 11 + j + 4) = acc5;
          *(__global float4_u *)(O0 + i * 11 + j + 11) = acc6;
          *(__global float4_u *)(O0 + i * 11 + j + 15) = acc7;
        } else {
          scatter__global_float4(O0 + i * 11 + j, 1, 11 - j, acc4);
          if (j + 4 < 11) {
            scatter__global_float4(O0 + i * 11 + j + 4, 1, 7 - j, acc5);
          }
          if (i + 1 < 7) {
            scatter__global_float4(O0 + i * 11 + j + 11, 1, 11 - j, acc6);
          }
          if (i + 1 < 7 && j + 4 < 11) {
            scatter__global_float4(O0 + i * 11 + j + 15, 1, 7 - j, acc7);
          }
        }
      }
    }
  }
}

// mdh_0: 2 work-items, 1 a work-group; input 0, input 1, output 0
