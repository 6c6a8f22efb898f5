#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float2 float2_u __attribute__((aligned(sizeof(float))));
typedef float4 float4_u __attribute__((aligned(sizeof(float))));
static inline void scatter__global_float4(__global float *p, int s, int n, float4 v)
{ const int m = n;
  if (s == 1 && m >= 4) { *(__global float4_u *)p = v; return; }
  if (s == 1) { float2 v2 = v.lo; if (m & 2) { *(__global float2_u *)p = v2; p += 2; v2 = v.hi; } if (m & 1) *p = v2.lo; return; }
  if (n > 0) p[0 * s] = v.s0; if (n > 1) p[1 * s] = v.s1; if (n > 2) p[2 * s] = v.s2; if (n > 3) p[3 * s] = v.s3; }
static inline void scatter_pairs__global_float4(__global float *p, float4 a, float4 b)
{ float4 low, high; low.even = a.lo; low.odd = b.lo; high.even = a.hi; high.odd = b.hi; *(__global float4_u *)p = low; *(__global float4_u *)(p + 4) = high; }

// md_hom((((x0 * x2) - (x1 * x3)), ((x0 * x3) + (x1 * x2))), (++, ++, +)) ∘ (I0[i,k], I1[i,k], I2[k,j], I3[k,j]) -> O0[i,j], O1[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global const float *restrict I2, __global const float *restrict I3, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  __global float *const O1 = O0;
  __local float I2_l[36];
  __local float I3_l[36];
  for (int i_l = 0; i_l < 7; i_l += 2) {
    const int i_n = min(2, 7 - i_l);
    for (int j_l = 0; j_l < 11; j_l += 4) {
      const int j_n = min(4, 11 - j_l);
      // The tile of I2 to local memory
      if (j_l <= 7) {
        for (int x0 = 0; x0 < 9; ++x0) {
          for (int y1 = 0; y1 < 4; ++y1) {
            I2_l[x0 * 4 + y1] = I2[x0 * 22 + j_l * 2 + y1 * 2];
          }
        }
      } else {
        for (int e = 0; e < 36; ++e) I2_l[e] = 0;
        const int n1_0 = min(4, 11 - j_l);
        for (int x0 = 0; x0 < 9; ++x0) {
          const int m1_0 = min(4, n1_0);
          for (int y1 = 0; y1 < m1_0; ++y1) {
            I2_l[x0 * 4 + y1] = I2[x0 * 22 + j_l * 2 + y1 * 2];
          }
        }
      }
      // The tile of I3 to local memory
      if (j_l <= 7) {
        for (int x0 = 0; x0 < 9; ++x0) {
          for (int y1 = 0; y1 < 4; ++y1) {
            I3_l[x0 * 4 + y1] = I3[x0 * 22 + j_l * 2 + y1 * 2 + 1];
          }
        }
      } else {
        for (int e = 0; e < 36; ++e) I3_l[e] = 0;
        const int n1_1 = min(4, 11 - j_l);
        for (int x0 = 0; x0 < 9; ++x0) {
          const int m1_1 = min(4, n1_1);
          for (int y1 = 0; y1 < m1_1; ++y1) {
            I3_l[x0 * 4 + y1] = I3[x0 * 22 + j_l * 2 + y1 * 2 + 1];
          }
        }
      }
      const int i = i_l;
      const int j = j_l;
      float4 acc0 = (float4)(0.0f);
      float4 acc1 = (float4)(0.0f);
      float4 acc2 = (float4)(0.0f);
      float4 acc3 = (float4)(0.0f);
      if (i_l <= 5) {
        for (int k_p = 0; k_p < 9; ++k_p) {
          const float I0_0 = I0[i * 18 + k_p * 2];
          const float I1_0 = I1[i * 18 + k_p * 2 + 1];
          const float4 I2_0 = *(__local const float4_u *)(I2_l + k_p * 4);
          const float4 I3_0 = *(__local const float4_u *)(I3_l + k_p * 4);
          const float4 n0 = (acc0 + (I0_0 * I2_0)) - (I1_0 * I3_0);
          const float4 n1 = (acc1 + (I0_0 * I3_0)) + (I1_0 * I2_0);
          acc0 = n0;
          acc1 = n1;
          const float I0_1 = I0[i * 18 + k_p * 2 + 18];
          const float I1_1 = I1[i * 18 + k_p * 2 + 19];
          const float4 n2 = (acc2 + (I0_1 * I2_0)) - (I1_1 * I3_0);
          const float4 n3 = (acc3 + (I0_1 * I3_0)) + (I1_1 * I2_0);
          acc2 = n2;
          acc3 = n3;
        }
      } else {
        const int i_0 = min(i + 1, 6);
        const int valid0 = 11 - j;
        for (int k_p = 0; k_p < 9; ++k_p) {
          const float I0_2 = I0[i * 18 + k_p * 2];
          const float I1_2 = I1[i * 18 + k_p * 2 + 1];
          const float4 I2_1 = *(__local const float4_u *)(I2_l + k_p * 4);
          const float4 I3_1 = *(__local const float4_u *)(I3_l + k_p * 4);
          const float4 n4 = (acc0 + (I0_2 * I2_1)) - (I1_2 * I3_1);
          const float4 n5 = (acc1 + (I0_2 * I3_1)) + (I1_2 * I2_1);
          acc0 = n4;
          acc1 = n5;
          const float I0_3 = I0[i_0 * 18 + k_p * 2];
          const float I1_3 = I1[i_0 * 18 + k_p * 2 + 1];
          const float4 n6 = (acc2 + (I0_3 * I2_1)) - (I1_3 * I3_1);
          const float4 n7 = (acc3 + (I0_3 * I3_1)) + (I1_3 * I2_1);
          acc2 = n6;
          acc3 = n7;
        }
      }
      if (i_l <= 5 && j_l <= 7) {
        scatter_pairs__global_float4(O0 + i * 22 + j * 2, acc0, acc1);
        scatter_pairs__global_float4(O0 + i * 22 + j * 2 + 22, acc2, acc3);
      } else {
        scatter__global_float4(O0 + i * 22 + j * 2, 2, 11 - j, acc0);
        scatter__global_float4(O1 + i * 22 + j * 2 + 1, 2, 11 - j, acc1);
        if (i + 1 < 7) {
          scatter__global_float4(O0 + i * 22 + j * 2 + 22, 2, 11 - j, acc2);
          scatter__global_float4(O1 + i * 22 + j * 2 + 23, 2, 11 - j, acc3);
        }
      }
    }
  }
}

// mdh_0: 1 work-items, 1 a work-group; input 0, input 0, input 1, input 1, output 0
