#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float8 float8_u __attribute__((aligned(sizeof(float))));
typedef ushort8 ushort8_u __attribute__((aligned(sizeof(ushort))));
static inline __attribute__((always_inline)) void vstore__global_half8(__global half *p, float8 v)
{ ushort8 h; vstore_half8_rte(v, 0, (half *)&h); *(__global ushort8_u *)p = h; }
static inline void scatter__global_half8(__global half *p, int s, int n, float8 v)
{ const int m = n;
  if (s == 1 && m >= 8) { vstore__global_half8(p, v); return; }
  if (n > 0) vstore_half_rte(v.s0, 0 * s, p); if (n > 1) vstore_half_rte(v.s1, 1 * s, p); if (n > 2) vstore_half_rte(v.s2, 2 * s, p); if (n > 3) vstore_half_rte(v.s3, 3 * s, p); if (n > 4) vstore_half_rte(v.s4, 4 * s, p); if (n > 5) vstore_half_rte(v.s5, 5 * s, p); if (n > 6) vstore_half_rte(v.s6, 6 * s, p); if (n > 7) vstore_half_rte(v.s7, 7 * s, p); }

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j] >> x0
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const half *restrict I0, __global const half *restrict I1, __global half *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  __local float I1_l[72];
  const int g = get_group_id(0);
  const int i_g = g;
  for (int i_l = i_g * 4; i_l < min(i_g * 4 + 4, 7); i_l += 2) {
    const int i_n = min(2, 7 - i_l);
    for (int j_l = 0; j_l < 11; j_l += 8) {
      const int j_n = min(8, 11 - j_l);
      // The tile of I1 to local memory
      if (j_l <= 3) {
        for (int x0 = 0; x0 < 9; ++x0) {
          for (int y1 = 0; y1 < 8; ++y1) {
            I1_l[x0 * 8 + y1] = vload_half(x0 * 11 + j_l + y1, I1);
          }
        }
      } else {
        for (int e = 0; e < 72; ++e) I1_l[e] = 0;
        const int n1_0 = min(8, 11 - j_l);
        for (int x0 = 0; x0 < 9; ++x0) {
          const int m1_0 = min(8, n1_0);
          for (int y1 = 0; y1 < m1_0; ++y1) {
            I1_l[x0 * 8 + y1] = vload_half(x0 * 11 + j_l + y1, I1);
          }
        }
      }
      const int i = i_l;
      const int j = j_l;
      float8 acc0 = (float8)(0.0f);
      float8 acc1 = (float8)(0.0f);
      if (i_l <= 5) {
        for (int k_p = 0; k_p < 9; ++k_p) {
          const float I0_0 = vload_half(i * 9 + k_p, I0);
          const float8 I1_0 = *(__local const float8_u *)(I1_l + k_p * 8);
          acc0 = acc0 + (I0_0 * I1_0);
          const float I0_1 = vload_half(i * 9 + k_p + 9, I0);
          acc1 = acc1 + (I0_1 * I1_0);
        }
      } else {
        const int i_0 = min(i + 1, 6);
        const int valid0 = 11 - j;
        for (int k_p = 0; k_p < 9; ++k_p) {
          const float I0_2 = vload_half(i * 9 + k_p, I0);
          const float8 I1_1 = *(__local const float8_u *)(I1_l + k_p * 8);
          acc0 = acc0 + (I0_2 * I1_1);
          const float I0_3 = vload_half(i_0 * 9 + k_p, I0);
          acc1 = acc1 + (I0_3 * I1_1);
        }
      }
      if (i_l <= 5 && j_l <= 3) {
        vstore__global_half8(O0 + i * 11 + j, acc0);
        vstore__global_half8(O0 + i * 11 + j + 11, acc1);
      } else {
        scatter__global_half8(O0 + i * 11 + j, 1, 11 - j, acc0);
        if (i + 1 < 7) {
          scatter__global_half8(O0 + i * 11 + j + 11, 1, 11 - j, acc1);
        }
      }
    }
  }
}

// mdh_0: 2 work-items, 1 a work-group; input 0, input 1, output 0
