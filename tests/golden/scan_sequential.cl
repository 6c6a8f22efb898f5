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

// md_hom(id, (++, ps(+))) ∘ (I0[j,i]) -> O0[j,i]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  for (int i_l = 0; i_l < 6; i_l += 4) {
    const int i_n = min(4, 6 - i_l);
    const int i = i_l;
    float4 carry0 = (float4)(0.0f);
    for (int j_l = 0; j_l < 11; j_l += 5) {
      const int j_n = min(5, 11 - j_l);
      if (i_l <= 2) {
        int j_p = 0;
        for (; j_p + 2 <= j_n; j_p += 2) {
          carry0 = carry0 + (*(__global const float4_u *)(I0 + i + j_l * 6 + j_p * 6));
          scatter__global_float4(O0 + i + j_l * 6 + j_p * 6, 1, 6 - i, carry0);
          carry0 = carry0 + (*(__global const float4_u *)(I0 + i + j_l * 6 + j_p * 6 + 6));
          scatter__global_float4(O0 + i + j_l * 6 + j_p * 6 + 6, 1, 6 - i, carry0);
        }
        for (; j_p < j_n; ++j_p) {
          carry0 = carry0 + (*(__global const float4_u *)(I0 + i + j_l * 6 + j_p * 6));
          scatter__global_float4(O0 + i + j_l * 6 + j_p * 6, 1, 6 - i, carry0);
        }
      } else {
        int j_p = 0;
        for (; j_p + 2 <= j_n; j_p += 2) {
          carry0 = carry0 + gather_part__global_float4(I0 + i + j_l * 6 + j_p * 6, 1, 6 - i);
          scatter__global_float4(O0 + i + j_l * 6 + j_p * 6, 1, 6 - i, carry0);
          carry0 = carry0 + gather_part__global_float4(I0 + i + j_l * 6 + j_p * 6 + 6, 1, 6 - i);
          scatter__global_float4(O0 + i + j_l * 6 + j_p * 6 + 6, 1, 6 - i, carry0);
        }
        for (; j_p < j_n; ++j_p) {
          carry0 = carry0 + gather_part__global_float4(I0 + i + j_l * 6 + j_p * 6, 1, 6 - i);
          scatter__global_float4(O0 + i + j_l * 6 + j_p * 6, 1, 6 - i, carry0);
        }
      }
    }
  }
}

// mdh_0: 1 work-items, 1 a work-group; input 0, output 0
