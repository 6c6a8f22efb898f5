#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float2 float2_u __attribute__((aligned(sizeof(float))));
typedef float4 float4_u __attribute__((aligned(sizeof(float))));
static __attribute__((noinline)) void scatter__global_float4(__global float *p, int s, int n, float4 v)
{ const int m = n;
  if (s == 1 && m >= 4) { *(__global float4_u *)p = v; return; }
  if (s == 1) { float2 v2 = v.lo; if (m & 2) { *(__global float2_u *)p = v2; p += 2; v2 = v.hi; } if (m & 1) *p = v2.lo; return; }
  if (n > 0) p[0 * s] = v.s0; if (n > 1) p[1 * s] = v.s1; if (n > 2) p[2 * s] = v.s2; if (n > 3) p[3 * s] = v.s3; }

// md_hom(((((x0 + x1) + x4) + x3) - (4.0 * x2)), (++, ++)) ∘ (I0[i-1,j], I0[i,j-1], I0[i,j], I0[i,j+1], I0[i+1,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT OFF
  __local float I0_l[24];
  for (int i_l = 0; i_l < 5; i_l += 2) {
    const int i_n = min(2, 5 - i_l);
    for (int j_l = 0; j_l < 7; j_l += 4) {
      const int j_n = min(4, 7 - j_l);
      // The tile of I0 to local memory
      if (i_l - 1 >= 0 && j_l - 1 >= 0 && i_l - 1 <= 1 && j_l - 1 <= 1) {
        for (int x0 = 0; x0 < 4; ++x0) {
          for (int x1 = 0; x1 < 6; ++x1) {
            I0_l[x0 * 6 + x1] = I0[i_l * 7 + x0 * 7 + j_l + x1 - 8];
          }
        }
      } else {
        for (int x0 = 0; x0 < 4; ++x0) {
          const int first0 = max(1 - j_l, 0);
          const int last0 = (i_l + x0 - 1 >= 0 && i_l + x0 - 1 <= 4 ? min(8 - j_l, 6) : first0);
          for (int x1 = 0; x1 < first0; ++x1) I0_l[x0 * 6 + x1] = (float)0.0f;
          for (int x1 = first0; x1 < last0; ++x1) I0_l[x0 * 6 + x1] = I0[i_l * 7 + x0 * 7 + j_l + x1 - 8];
          for (int x1 = last0; x1 < 6; ++x1) I0_l[x0 * 6 + x1] = (float)0.0f;
        }
      }
      const int i = i_l;
      const int j = j_l;
      if (i_l <= 3 && j_l <= 3) {
        const float4 o0 = ((((*(__local const float4_u *)(I0_l + 1)) + (*(__local const float4_u *)(I0_l + 6))) + (*(__local const float4_u *)(I0_l + 13))) + (*(__local const float4_u *)(I0_l + 8))) - (4.0f * (*(__local const float4_u *)(I0_l + 7)));
        const float4 o1 = ((((*(__local const float4_u *)(I0_l + 7)) + (*(__local const float4_u *)(I0_l + 12))) + (*(__local const float4_u *)(I0_l + 19))) + (*(__local const float4_u *)(I0_l + 14))) - (4.0f * (*(__local const float4_u *)(I0_l + 13)));
        *(__global float4_u *)(O0 + i * 7 + j) = o0;
        *(__global float4_u *)(O0 + i * 7 + j + 7) = o1;
      } else {
        for (int i_b = 0; i_b < 2; ++i_b) {
          if (i + i_b < 5) {
            if (j <= 3) {
              *(__global float4_u *)(O0 + i * 7 + i_b * 7 + j) = ((((*(__local const float4_u *)(I0_l + i_b * 6 + 1)) + (*(__local const float4_u *)(I0_l + i_b * 6 + 6))) + (*(__local const float4_u *)(I0_l + i_b * 6 + 13))) + (*(__local const float4_u *)(I0_l + i_b * 6 + 8))) - (4.0f * (*(__local const float4_u *)(I0_l + i_b * 6 + 7)));
            } else {
              scatter__global_float4(O0 + i * 7 + i_b * 7 + j, 1, 7 - j, ((((*(__local const float4_u *)(I0_l + i_b * 6 + 1)) + (*(__local const float4_u *)(I0_l + i_b * 6 + 6))) + (*(__local const float4_u *)(I0_l + i_b * 6 + 13))) + (*(__local const float4_u *)(I0_l + i_b * 6 + 8))) - (4.0f * (*(__local const float4_u *)(I0_l + i_b * 6 + 7))));
            }
          }
        }
      }
    }
  }
}

// mdh_0: 1 work-items, 1 a work-group; input 0, output 0
