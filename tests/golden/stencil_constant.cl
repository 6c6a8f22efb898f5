#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float2 float2_u __attribute__((aligned(sizeof(float))));
typedef float4 float4_u __attribute__((aligned(sizeof(float))));
static __attribute__((noinline)) float4 bounded_constant_float4(__global const float *p, int s, int i, int n, float c)
{
  if (s == 1 && i >= 0 && i <= n - 4) return *(__global const float4_u *)(p + i);
  if (s == 1 && n >= 4 && i > -4 && i < n) { const int b = clamp((int)i, 0, (int)n - 4); const float4 v = *(__global const float4_u *)(p + b); const int4 l = (int4)(0, 1, 2, 3) + (int)i; return select((float4)(c), shuffle(v, convert_uint4(clamp(l - b, (int4)(0), (int4)(3)))), convert_int4(l >= 0 && l < n)); }
  return (float4)(i + 0 >= 0 && i + 0 < n ? p[(i + 0) * s] : c, i + 1 >= 0 && i + 1 < n ? p[(i + 1) * s] : c, i + 2 >= 0 && i + 2 < n ? p[(i + 2) * s] : c, i + 3 >= 0 && i + 3 < n ? p[(i + 3) * s] : c);
}
static __attribute__((noinline)) void scatter_rest__global_float4(__global float *p, int s, int n, float4 v)
{ const int m = 4 - n;
  if (s == 1 && m >= 4) { *(__global float4_u *)p = v; return; }
  if (s == 1) { p += 4; float2 v2 = v.hi; if (m & 2) { p -= 2; *(__global float2_u *)p = v2; v2 = v.lo; } if (m & 1) p[-1] = v2.hi; return; }
  if (n <= 0) p[0 * s] = v.s0; if (n <= 1) p[1 * s] = v.s1; if (n <= 2) p[2 * s] = v.s2; if (n <= 3) p[3 * s] = v.s3; }

// md_hom(((((x0 + x1) + x4) + x3) - (4.0 * x2)), (++, ++)) ∘ (I0[i-1,j], I0[i,j-1], I0[i,j], I0[i,j+1], I0[i+1,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT OFF
  for (int i_l = 0; i_l < 6; i_l += 4) {
    const int i_n = min(4, 6 - i_l);
    for (int j_l = 0; j_l < 9; j_l += 8) {
      const int j_n = min(8, 9 - j_l);
      for (int i_p = 0; i_p < i_n; i_p += 2) {
        for (int j_p = 0; j_p < j_n; j_p += 4) {
          const int i = i_l + i_p;
          const int j = j_l + j_p;
          if (j_l + j_p <= 5 && i_l + i_p - 1 >= 0 && i_l + i_p - 1 <= 2 && j_l + j_p - 1 >= 0 && j_l + j_p - 1 <= 3) {
            const float4 I0_0 = *(__global const float4_u *)(I0 + i * 9 + j - 9);
            const float4 I0_1 = *(__global const float4_u *)(I0 + i * 9 + j - 1);
            const float4 I0_2 = *(__global const float4_u *)(I0 + i * 9 + j);
            const float4 I0_3 = *(__global const float4_u *)(I0 + i * 9 + j + 1);
            const float4 I0_4 = *(__global const float4_u *)(I0 + i * 9 + j + 9);
            const float4 o0 = (((I0_0 + I0_1) + I0_4) + I0_3) - (4.0f * I0_2);
            const float4 I0_5 = *(__global const float4_u *)(I0 + i * 9 + j + 8);
            const float4 I0_6 = *(__global const float4_u *)(I0 + i * 9 + j + 10);
            const float4 I0_7 = *(__global const float4_u *)(I0 + i * 9 + j + 18);
            const float4 o1 = (((I0_2 + I0_5) + I0_7) + I0_6) - (4.0f * I0_4);
            *(__global float4_u *)(O0 + i * 9 + j) = o0;
            *(__global float4_u *)(O0 + i * 9 + j + 9) = o1;
          } else {
            for (int i_b = 0; i_b < 2; ++i_b) {
              if (j < 9) {
                const int first0 = min(j, 5);
                if (j <= 5 && i + i_b - 1 >= 0 && i + i_b - 1 <= 3 && j - 1 >= 0 && j - 1 <= 3) {
                  const float4 I0_8 = *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + j - 9);
                  const float4 I0_9 = *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + j - 1);
                  const float4 I0_10 = *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + j);
                  const float4 I0_11 = *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + j + 1);
                  const float4 I0_12 = *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + j + 9);
                  *(__global float4_u *)(O0 + i * 9 + i_b * 9 + j) = (((I0_8 + I0_9) + I0_12) + I0_11) - (4.0f * I0_10);
                } else {
                  const float4 I0_13 = (i + i_b - 1 >= 0 && i + i_b - 1 <= 5 ? *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + first0 - 9) : (float4)((float)0.0f));
                  const float4 I0_14 = bounded_constant_float4(I0 + i * 9 + i_b * 9, 1, first0 - 1, i + i_b <= 5 ? 9 : 0, (float)0.0f);
                  const float4 I0_15 = (i + i_b <= 5 ? *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + first0) : (float4)((float)0.0f));
                  const float4 I0_16 = bounded_constant_float4(I0 + i * 9 + i_b * 9, 1, first0 + 1, i + i_b <= 5 ? 9 : 0, (float)0.0f);
                  const float4 I0_17 = (i + i_b + 1 <= 5 ? *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + first0 + 9) : (float4)((float)0.0f));
                  scatter_rest__global_float4(O0 + i * 9 + i_b * 9 + first0, 1, j - first0, (((I0_13 + I0_14) + I0_17) + I0_16) - (4.0f * I0_15));
                }
              }
            }
          }
        }
      }
    }
  }
}

// mdh_0: 1 work-items, 1 a work-group; input 0, output 0
