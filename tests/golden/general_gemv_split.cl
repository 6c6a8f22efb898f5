#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float4 float4_u __attribute__((aligned(sizeof(float))));

// md_hom(*, (++, +)) ∘ (I0[i,j], I1[j], I2[i]) -> P0[i]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global const float *restrict I2, __global float *restrict P0, const int i_e, const int i_wg, const int i_c, const int j_e, const int j_wg, const int j_c, const int I0_s0) {
  #pragma OPENCL FP_CONTRACT ON
  const int g = get_group_id(0);
  const int j_g = g % j_wg;
  const int i_g = g / j_wg;
  for (int i_l = i_g * i_c; i_l < min(i_g * i_c + i_c, i_e); i_l += 4) {
    const int i_n = min(4, i_e - i_l);
    const int i = i_l;
    float4 acc0 = (float4)(0.0f);
    float4 acc1 = (float4)(0.0f);
    float4 acc2 = (float4)(0.0f);
    float4 acc3 = (float4)(0.0f);
    float acc_tail0 = 0.0f;
    float acc_tail1 = 0.0f;
    float acc_tail2 = 0.0f;
    float acc_tail3 = 0.0f;
    float4 lost0 = (float4)(0.0f);
    float4 lost1 = (float4)(0.0f);
    float4 lost2 = (float4)(0.0f);
    float4 lost3 = (float4)(0.0f);
    float lost_tail0 = 0.0f;
    float lost_tail1 = 0.0f;
    float lost_tail2 = 0.0f;
    float lost_tail3 = 0.0f;
    for (int j_l = j_g * j_c; j_l < min(j_g * j_c + j_c, j_e); j_l += 8) {
      const int j_n = min(8, j_e - j_l);
      float4 part0 = (float4)(0.0f);
      float4 part1 = (float4)(0.0f);
      float4 part2 = (float4)(0.0f);
      float4 part3 = (float4)(0.0f);
      float part_tail0 = 0.0f;
      float part_tail1 = 0.0f;
      float part_tail2 = 0.0f;
      float part_tail3 = 0.0f;
      if (i_l <= i_e - 4) {
        for (int j_p = 0; j_p + 4 <= j_n; j_p += 4) {
          part0 = part0 + ((*(__global const float4_u *)(I0 + i * I0_s0 + j_l + j_p)) * (*(__global const float4_u *)(I1 + j_l + j_p)));
          part1 = part1 + ((*(__global const float4_u *)(I0 + I0_s0 + i * I0_s0 + j_l + j_p)) * (*(__global const float4_u *)(I1 + j_l + j_p)));
          part2 = part2 + ((*(__global const float4_u *)(I0 + I0_s0 * 2 + i * I0_s0 + j_l + j_p)) * (*(__global const float4_u *)(I1 + j_l + j_p)));
          part3 = part3 + ((*(__global const float4_u *)(I0 + I0_s0 * 3 + i * I0_s0 + j_l + j_p)) * (*(__global const float4_u *)(I1 + j_l + j_p)));
        }
        for (int j_p = j_n / 4 * 4; j_p < j_n; ++j_p) {
          part_tail0 = part_tail0 + (I0[i * I0_s0 + j_l + j_p] * I1[j_l + j_p]);
          part_tail1 = part_tail1 + (I0[I0_s0 + i * I0_s0 + j_l + j_p] * I1[j_l + j_p]);
          part_tail2 = part_tail2 + (I0[I0_s0 * 2 + i * I0_s0 + j_l + j_p] * I1[j_l + j_p]);
          part_tail3 = part_tail3 + (I0[I0_s0 * 3 + i * I0_s0 + j_l + j_p] * I1[j_l + j_p]);
        }
      } else {
        const int i_0 = min(i, i_e - 1);
        const int i_1 = min(i + 1, i_e - 1);
        const int i_2 = min(i + 2, i_e - 1);
        const int i_3 = min(i + 3, i_e - 1);
        for (int j_p = 0; j_p + 4 <= j_n; j_p += 4) {
          part0 = part0 + ((*(__global const float4_u *)(I0 + i_0 * I0_s0 + j_l + j_p)) * (*(__global const float4_u *)(I1 + j_l + j_p)));
          part1 = part1 + ((*(__global const float4_u *)(I0 + i_1 * I0_s0 + j_l + j_p)) * (*(__global const float4_u *)(I1 + j_l + j_p)));
          part2 = part2 + ((*(__global const float4_u *)(I0 + i_2 * I0_s0 + j_l + j_p)) * (*(__global const float4_u *)(I1 + j_l + j_p)));
          part3 = part3 + ((*(__global const float4_u *)(I0 + i_3 * I0_s0 + j_l + j_p)) * (*(__global const float4_u *)(I1 + j_l + j_p)));
        }
        for (int j_p = j_n / 4 * 4; j_p < j_n; ++j_p) {
          part_tail0 = part_tail0 + (I0[i_0 * I0_s0 + j_l + j_p] * I1[j_l + j_p]);
          part_tail1 = part_tail1 + (I0[i_1 * I0_s0 + j_l + j_p] * I1[j_l + j_p]);
          part_tail2 = part_tail2 + (I0[i_2 * I0_s0 + j_l + j_p] * I1[j_l + j_p]);
          part_tail3 = part_tail3 + (I0[i_3 * I0_s0 + j_l + j_p] * I1[j_l + j_p]);
        }
      }
      {
        const float4 add0 = part0 - lost0;
        const float4 sum0 = acc0 + add0;
        lost0 = sum0 - sum0 == (float4)(0.0f) ? (sum0 - acc0) - add0 : (float4)(0.0f);
        acc0 = sum0;
        const float4 add1 = part1 - lost1;
        const float4 sum1 = acc1 + add1;
        lost1 = sum1 - sum1 == (float4)(0.0f) ? (sum1 - acc1) - add1 : (float4)(0.0f);
        acc1 = sum1;
        const float4 add2 = part2 - lost2;
        const float4 sum2 = acc2 + add2;
        lost2 = sum2 - sum2 == (float4)(0.0f) ? (sum2 - acc2) - add2 : (float4)(0.0f);
        acc2 = sum2;
        const float4 add3 = part3 - lost3;
        const float4 sum3 = acc3 + add3;
        lost3 = sum3 - sum3 == (float4)(0.0f) ? (sum3 - acc3) - add3 : (float4)(0.0f);
        acc3 = sum3;
        const float add4 = part_tail0 - lost_tail0;
        const float sum4 = acc_tail0 + add4;
        lost_tail0 = sum4 - sum4 == 0.0f ? (sum4 - acc_tail0) - add4 : 0.0f;
        acc_tail0 = sum4;
        const float add5 = part_tail1 - lost_tail1;
        const float sum5 = acc_tail1 + add5;
        lost_tail1 = sum5 - sum5 == 0.0f ? (sum5 - acc_tail1) - add5 : 0.0f;
        acc_tail1 = sum5;
        const float add6 = part_tail2 - lost_tail2;
        const float sum6 = acc_tail2 + add6;
        lost_tail2 = sum6 - sum6 == 0.0f ? (sum6 - acc_tail2) - add6 : 0.0f;
        acc_tail2 = sum6;
        const float add7 = part_tail3 - lost_tail3;
        const float sum7 = acc_tail3 + add7;
        lost_tail3 = sum7 - sum7 == 0.0f ? (sum7 - acc_tail3) - add7 : 0.0f;
        acc_tail3 = sum7;
      }
    }
    float2 h0 = acc0.lo;
    h0 = h0 + acc0.hi;
    float h1 = h0.lo;
    h1 = h1 + h0.hi;
    h1 = h1 + acc_tail0;
    float2 h2 = acc1.lo;
    h2 = h2 + acc1.hi;
    float h3 = h2.lo;
    h3 = h3 + h2.hi;
    h3 = h3 + acc_tail1;
    float2 h4 = acc2.lo;
    h4 = h4 + acc2.hi;
    float h5 = h4.lo;
    h5 = h5 + h4.hi;
    h5 = h5 + acc_tail2;
    float2 h6 = acc3.lo;
    h6 = h6 + acc3.hi;
    float h7 = h6.lo;
    h7 = h7 + h6.hi;
    h7 = h7 + acc_tail3;
    if (i_l <= i_e - 4) {
      P0[j_g * i_e + i] = h1;
      P0[j_g * i_e + i + 1] = h3;
      P0[j_g * i_e + i + 2] = h5;
      P0[j_g * i_e + i + 3] = h7;
    } else {
      if (i < i_e) {
        P0[j_g * i_e + i] = h1;
      }
      if (i + 1 < i_e) {
        P0[j_g * i_e + i + 1] = h3;
      }
      if (i + 2 < i_e) {
        P0[j_g * i_e + i + 2] = h5;
      }
      if (i + 3 < i_e) {
        P0[j_g * i_e + i + 3] = h7;
      }
    }
  }
}

// md_hom(id, (+, ++)) ∘ (P0[i,j], I2[j]) -> O0[j] >> ((2.0 * x0) + x2)
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_1(__global const float *restrict P0, __global const float *restrict I2, __global float *restrict O0, const int i_e, const int j_e, const int j_wg, const int j_c, const int P0_s0) {
  #pragma OPENCL FP_CONTRACT OFF
  const int g = get_group_id(0);
  const int j_g = g;
  for (int j_l = j_g * j_c; j_l < min(j_g * j_c + j_c, j_e); ++j_l) {
    const int j_n = min(1, j_e - j_l);
    const int j = j_l;
    float acc0 = 0.0f;
    float lost0 = 0.0f;
    for (int i_l = 0; i_l < i_e; i_l += 3) {
      const int i_n = min(3, i_e - i_l);
      float part0 = 0.0f;
      for (int i_p = 0; i_p < i_n; ++i_p) {
        part0 = part0 + P0[i_l * P0_s0 + i_p * P0_s0 + j];
      }
      {
        const float add0 = part0 - lost0;
        const float sum0 = acc0 + add0;
        lost0 = sum0 - sum0 == 0.0f ? (sum0 - acc0) - add0 : 0.0f;
        acc0 = sum0;
      }
    }
    O0[j] = (2.0f * acc0) + I2[j];
  }
}

// mdh_0: 4 work-items, 1 a work-group; input 0, input 1, input 2, temporary 0, size 0, size 1, size 2, size 3, size 4, size 5, size 6
// mdh_1: 1 work-items, 1 a work-group; temporary 0, input 2, output 0, size 7, size 8, size 9, size 10, size 11
