#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  __local float I0_l[12];
  __local float I1_l[24];
  const int g = get_group_id(0);
  const int j_g = g % 2;
  const int i_g = g / 2;
  const int w = get_local_id(0);
  const int j_w = w % 4;
  const int i_w = w / 4;
  const int i_l = i_g * 4;
  const int i_n = min(4, 7 - i_l);
  const int j_l = j_g * 8;
  const int j_n = min(8, 11 - j_l);
  const int i = i_l + i_w;
  const int j = j_l + j_w;
  float acc0 = 0.0f;
  float acc1 = 0.0f;
  float acc2 = 0.0f;
  float acc3 = 0.0f;
  for (int k_l = 0; k_l < 9; k_l += 3) {
    barrier(CLK_LOCAL_MEM_FENCE);
    // The tile of I0 to local memory
    if (i_l <= 3) {
      for (int e = w; e < 12; e += 8) {
        const int x1 = e % 3;
        const int x0 = e / 3;
        I0_l[x1 * 4 + x0] = I0[i_l * 9 + x0 * 9 + k_l + x1];
      }
    } else {
      for (int e = w; e < 12; e += 8) {
        const int x1 = e % 3;
        const int x0 = e / 3;
        I0_l[x1 * 4 + x0] = I0[min(i_l + x0, 6) * 9 + k_l + x1];
      }
    }
    // The tile of I1 to local memory
    if (j_l <= 3) {
      for (int e = w; e < 24; e += 8) {
        const int x1 = e % 8;
        const int x0 = e / 8;
        I1_l[x1 + x0 * 8] = I1[k_l * 11 + x0 * 11 + j_l + x1];
      }
    } else {
      for (int e = w; e < 24; e += 8) {
        const int x1 = e % 8;
        const int x0 = e / 8;
        I1_l[x1 + x0 * 8] = I1[k_l * 11 + x0 * 11 + min(j_l + x1, 10)];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k_p = 0; k_p < 3; ++k_p) {
      acc0 = acc0 + (I0_l[i_w + k_p * 4] * I1_l[k_p * 8 + j_w]);
      acc1 = acc1 + (I0_l[i_w + k_p * 4] * I1_l[k_p * 8 + j_w + 4]);
      acc2 = acc2 + (I0_l[i_w + k_p * 4 + 2] * I1_l[k_p * 8 + j_w]);
      acc3 = acc3 + (I0_l[i_w + k_p * 4 + 2] * I1_l[k_p * 8 + j_w + 4]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i_l <= 3 && j_l <= 3) {
    O0[i * 11 + j] = acc0;
    O0[i * 11 + j + 4] = acc1;
    O0[i * 11 + j + 22] = acc2;
    O0[i * 11 + j + 26] = acc3;
  } else {
    if (j < 11) {
      O0[i * 11 + j] = acc0;
    }
    if (j + 4 < 11) {
      O0[i * 11 + j + 4] = acc1;
    }
    if (i + 2 < 7 && j < 11) {
      O0[i * 11 + j + 22] = acc2;
    }
    if (i + 2 < 7 && j + 4 < 11) {
      O0[i * 11 + j + 26] = acc3;
    }
  }
}

// mdh_0: 32 work-items, 8 a work-group; input 0, input 1, output 0
