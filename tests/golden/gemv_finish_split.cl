#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// md_hom(*, (++, +)) ∘ (I0[i,j], I1[j], I2[i]) -> P0[i]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global const float *restrict I2, __global float *restrict P0) {
  #pragma OPENCL FP_CONTRACT ON
  const int g = get_group_id(0);
  const int j_g = g % 3;
  const int i_g = g / 3;
  const int i_l = i_g * 4;
  const int i_n = min(4, 7 - i_l);
  const int j_l = j_g * 5;
  const int j_n = min(5, 13 - j_l);
  const int i = i_l;
  float acc0 = 0.0f;
  float acc1 = 0.0f;
  float acc2 = 0.0f;
  float acc3 = 0.0f;
  if (i_l <= 3) {
    for (int j_p = 0; j_p < j_n; ++j_p) {
      acc0 = acc0 + (I0[i * 13 + j_l + j_p] * I1[j_l + j_p]);
      acc1 = acc1 + (I0[i * 13 + j_l + j_p + 13] * I1[j_l + j_p]);
      acc2 = acc2 + (I0[i * 13 + j_l + j_p + 26] * I1[j_l + j_p]);
      acc3 = acc3 + (I0[i * 13 + j_l + j_p + 39] * I1[j_l + j_p]);
    }
  } else {
    const int i_0 = i + 1;
    const int i_1 = i + 2;
    const int i_2 = min(i + 3, 6);
    for (int j_p = 0; j_p < j_n; ++j_p) {
      acc0 = acc0 + (I0[i * 13 + j_l + j_p] * I1[j_l + j_p]);
      acc1 = acc1 + (I0[i_0 * 13 + j_l + j_p] * I1[j_l + j_p]);
      acc2 = acc2 + (I0[i_1 * 13 + j_l + j_p] * I1[j_l + j_p]);
      acc3 = acc3 + (I0[i_2 * 13 + j_l + j_p] * I1[j_l + j_p]);
    }
  }
  if (i_l <= 3) {
    P0[j_g * 7 + i] = acc0;
    P0[j_g * 7 + i + 1] = acc1;
    P0[j_g * 7 + i + 2] = acc2;
    P0[j_g * 7 + i + 3] = acc3;
  } else {
    P0[j_g * 7 + i] = acc0;
    P0[j_g * 7 + i + 1] = acc1;
    P0[j_g * 7 + i + 2] = acc2;
    if (i + 3 < 7) {
      P0[j_g * 7 + i + 3] = acc3;
    }
  }
}

// md_hom(id, (++, +)) ∘ (I0[j,i], I1[i]) -> O0[i] >> ((2.0 * x0) + x2)
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_1(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT OFF
  for (int i_p = 0; i_p < 7; ++i_p) {
    const int i = i_p;
    float acc0 = 0.0f;
    for (int j_p = 0; j_p < 3; ++j_p) {
      acc0 = acc0 + I0[i + j_p * 7];
    }
    O0[i] = (2.0f * acc0) + I1[i];
  }
}

// mdh_0: 6 work-items, 1 a work-group; input 0, input 1, input 2, temporary 0
// mdh_1: 1 work-items, 1 a work-group; temporary 0, input 2, output 0
