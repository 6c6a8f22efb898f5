#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float2 float2_u __attribute__((aligned(sizeof(float))));
typedef float4 float4_u __attribute__((aligned(sizeof(float))));
typedef float8 float8_u __attribute__((aligned(sizeof(float))));
static __attribute__((noinline)) void scatter_rest__global_float8(__global float *p, int s, int n, float8 v)
{ const int m = 8 - n;
  if (s == 1 && m >= 8) { *(__global float8_u *)p = v; return; }
  if (s == 1) { p += 8; float4 v4 = v.hi; if (m & 4) { p -= 4; *(__global float4_u *)p = v4; v4 = v.lo; } float2 v2 = v4.hi; if (m & 2) { p -= 2; *(__global float2_u *)p = v2; v2 = v4.lo; } if (m & 1) p[-1] = v2.hi; return; }
  if (n <= 0) p[0 * s] = v.s0; if (n <= 1) p[1 * s] = v.s1; if (n <= 2) p[2 * s] = v.s2; if (n <= 3) p[3 * s] = v.s3; if (n <= 4) p[4 * s] = v.s4; if (n <= 5) p[5 * s] = v.s5; if (n <= 6) p[6 * s] = v.s6; if (n <= 7) p[7 * s] = v.s7; }

// md_hom(((((x0 + x1) + x4) + x3) - (4.0 * x2)), (++, ++)) ∘ (I0[i,j+1], I0[i+1,j], I0[i+1,j+1], I0[i+1,j+2], I0[i+2,j+1]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT OFF
  const int g = get_group_id(0);
  const int i_g = g;
  const int i_l = i_g * 4;
  const int i_n = min(4, 7 - i_l);
  for (int j_l = 0; j_l < 17; j_l += 8) {
    const int j_n = min(8, 17 - j_l);
    for (int i_p = 0; i_p < i_n; i_p += 2) {
      const int i = i_l + i_p;
      const int j = j_l;
      if (i_l + i_p <= 5 && j_l <= 9) {
        const float8 o0 = ((((*(__global const float8_u *)(I0 + i * 19 + j + 1)) + (*(__global const float8_u *)(I0 + i * 19 + j + 19))) + (*(__global const float8_u *)(I0 + i * 19 + j + 39))) + (*(__global const float8_u *)(I0 + i * 19 + j + 21))) - (4.0f * (*(__global const float8_u *)(I0 + i * 19 + j + 20)));
        const float8 o1 = ((((*(__global const float8_u *)(I0 + i * 19 + j + 20)) + (*(__global const float8_u *)(I0 + i * 19 + j + 38))) + (*(__global const float8_u *)(I0 + i * 19 + j + 58))) + (*(__global const float8_u *)(I0 + i * 19 + j + 40))) - (4.0f * (*(__global const float8_u *)(I0 + i * 19 + j + 39)));
        *(__global float8_u *)(O0 + i * 17 + j) = o0;
        *(__global float8_u *)(O0 + i * 17 + j + 17) = o1;
      } else {
        for (int i_b = 0; i_b < 2; ++i_b) {
          if (i + i_b < 7) {
            const int first0 = min(j, 9);
            if (j <= 9) {
              *(__global float8_u *)(O0 + i * 17 + i_b * 17 + j) = ((((*(__global const float8_u *)(I0 + i * 19 + i_b * 19 + j + 1)) + (*(__global const float8_u *)(I0 + i * 19 + i_b * 19 + j + 19))) + (*(__global const float8_u *)(I0 + i * 19 + i_b * 19 + j + 39))) + (*(__global const float8_u *)(I0 + i * 19 + i_b * 19 + j + 21))) - (4.0f * (*(__global const float8_u *)(I0 + i * 19 + i_b * 19 + j + 20)));
            } else {
              scatter_rest__global_float8(O0 + i * 17 + i_b * 17 + first0, 1, j - first0, ((((*(__global const float8_u *)(I0 + i * 19 + i_b * 19 + first0 + 1)) + (*(__global const float8_u *)(I0 + i * 19 + i_b * 19 + first0 + 19))) + (*(__global const float8_u *)(I0 + i * 19 + i_b * 19 + first0 + 39))) + (*(__global const float8_u *)(I0 + i * 19 + i_b * 19 + first0 + 21))) - (4.0f * (*(__global const float8_u *)(I0 + i * 19 + i_b * 19 + first0 + 20))));
            }
          }
        }
      }
    }
  }
}

// mdh_0: 2 work-items, 1 a work-group; input 0, output 0
