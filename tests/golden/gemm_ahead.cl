#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  __local float I0_l[30] __attribute__((aligned(16)));
  __local float I1_l[48] __attribute__((aligned(16)));
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
  for (int ahead = 0; ahead < 1; ++ahead) {
    const int slot = ahead % 2;
    const int k_l = ahead * 3;
    // The next tile of I0 to local memory
    const int x1_0 = w % 3;
    const int x0_0 = w / 3;
    I0_l[slot * 15 + x0_0 + x1_0 * 5] = I0[i_l * 9 + x0_0 * 9 + k_l + x1_0];
    const int x1_1 = (w + 8) % 3;
    const int x0_1 = (w + 8) / 3 % 4;
    if (w + 8 < 12) {
      I0_l[slot * 15 + x0_1 + x1_1 * 5] = (i_l + x0_1 <= 6 ? I0[i_l * 9 + x0_1 * 9 + k_l + x1_1] : (float)0.0f);
    }
    // The next tile of I1 to local memory
    I1_l[slot * 24 + w] = (j_l + w <= 10 ? I1[k_l * 11 + j_l + w] : (float)0.0f);
    I1_l[slot * 24 + w + 8] = (j_l + w <= 10 ? I1[k_l * 11 + j_l + w + 11] : (float)0.0f);
    I1_l[slot * 24 + w + 16] = (j_l + w <= 10 ? I1[k_l * 11 + j_l + w + 22] : (float)0.0f);
  }
  for (int now = 0; now < 3; ++now) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float next0 = 0.0f;
    float next1 = 0.0f;
    float next2 = 0.0f;
    float next3 = 0.0f;
    float next4 = 0.0f;
    {
      const int ahead = now + 1;
      if (ahead < 3) {
        const int slot = ahead % 2;
        const int k_l = ahead * 3;
        // The next tile of I0 to local memory
        const int x1_2 = w % 3;
        const int x0_2 = w / 3;
        next0 = I0[i_l * 9 + x0_2 * 9 + k_l + x1_2];
        const int x1_3 = (w + 8) % 3;
        const int x0_3 = (w + 8) / 3 % 4;
        if (w + 8 < 12) {
          next1 = (i_l + x0_3 <= 6 ? I0[i_l * 9 + x0_3 * 9 + k_l + x1_3] : (float)0.0f);
        }
        // The next tile of I1 to local memory
        next2 = (j_l + w <= 10 ? I1[k_l * 11 + j_l + w] : (float)0.0f);
        next3 = (j_l + w <= 10 ? I1[k_l * 11 + j_l + w + 11] : (float)0.0f);
        next4 = (j_l + w <= 10 ? I1[k_l * 11 + j_l + w + 22] : (float)0.0f);
      }
    }
    {
      const int slot = now % 2;
      const int k_l = now * 3;
      for (int k_p = 0; k_p < 3; ++k_p) {
        acc0 = acc0 + (I0_l[i_w + k_p * 5 + slot * 15] * I1_l[k_p * 8 + j_w + slot * 24]);
        acc1 = acc1 + (I0_l[i_w + k_p * 5 + slot * 15] * I1_l[k_p * 8 + j_w + slot * 24 + 4]);
        acc2 = acc2 + (I0_l[i_w + k_p * 5 + slot * 15 + 2] * I1_l[k_p * 8 + j_w + slot * 24]);
        acc3 = acc3 + (I0_l[i_w + k_p * 5 + slot * 15 + 2] * I1_l[k_p * 8 + j_w + slot * 24 + 4]);
      }
    }
    {
      const int ahead = now + 1;
      if (ahead < 3) {
        const int slot = ahead % 2;
        const int k_l = ahead * 3;
        // The next tile of I0 to local memory
        const int x1_4 = w % 3;
        const int x0_4 = w / 3;
        I0_l[slot * 15 + x0_4 + x1_4 * 5] = next0;
        const int x1_5 = (w + 8) % 3;
        const int x0_5 = (w + 8) / 3 % 4;
        if (w + 8 < 12) {
          I0_l[slot * 15 + x0_5 + x1_5 * 5] = next1;
        }
        // The next tile of I1 to local memory
        I1_l[slot * 24 + w] = next2;
        I1_l[slot * 24 + w + 8] = next3;
        I1_l[slot * 24 + w + 16] = next4;
      }
    }
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
