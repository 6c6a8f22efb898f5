#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(6, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  volatile __local float r0_l[24];
  const int w = get_local_id(0);
  const int k_w = w % 3;
  const int j_w = w / 3;
  for (int i_l = 0; i_l < 7; i_l += 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int i_n = min(2, 7 - i_l);
    for (int j_l = 0; j_l < 11; j_l += 4) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const int j_n = min(4, 11 - j_l);
      const int i = i_l;
      const int j = j_l + j_w;
      float acc0 = 0.0f;
      float acc1 = 0.0f;
      float acc2 = 0.0f;
      float acc3 = 0.0f;
      for (int k_l = 0; k_l < 9; k_l += 6) {
        const int k_n = min(6, 9 - k_l);
        if (i_l <= 5 && j_l <= 7) {
          for (int k_p = 0; k_p + 6 <= k_n; k_p += 6) {
            acc0 = acc0 + (I0[i * 9 + k_l + k_p + k_w] * I1[j + k_l * 11 + k_p * 11 + k_w * 11]);
            acc0 = acc0 + (I0[i * 9 + k_l + k_p + k_w + 3] * I1[j + k_l * 11 + k_p * 11 + k_w * 11 + 33]);
            acc1 = acc1 + (I0[i * 9 + k_l + k_p + k_w] * I1[j + k_l * 11 + k_p * 11 + k_w * 11 + 2]);
            acc1 = acc1 + (I0[i * 9 + k_l + k_p + k_w + 3] * I1[j + k_l * 11 + k_p * 11 + k_w * 11 + 35]);
            acc2 = acc2 + (I0[i * 9 + k_l + k_p + k_w + 9] * I1[j + k_l * 11 + k_p * 11 + k_w * 11]);
            acc2 = acc2 + (I0[i * 9 + k_l + k_p + k_w + 12] * I1[j + k_l * 11 + k_p * 11 + k_w * 11 + 33]);
            acc3 = acc3 + (I0[i * 9 + k_l + k_p + k_w + 9] * I1[j + k_l * 11 + k_p * 11 + k_w * 11 + 2]);
            acc3 = acc3 + (I0[i * 9 + k_l + k_p + k_w + 12] * I1[j + k_l * 11 + k_p * 11 + k_w * 11 + 35]);
          }
          for (int k_p = k_n / 6 * 6 + k_w; k_p < k_n; k_p += 3) {
            acc0 = acc0 + (I0[i * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11]);
            acc1 = acc1 + (I0[i * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11 + 2]);
            acc2 = acc2 + (I0[i * 9 + k_l + k_p + 9] * I1[j + k_l * 11 + k_p * 11]);
            acc3 = acc3 + (I0[i * 9 + k_l + k_p + 9] * I1[j + k_l * 11 + k_p * 11 + 2]);
          }
        } else {
          const int i_0 = min(i + 1, 6);
          const int j_0 = min(j + 2, 10);
          for (int k_p = 0; k_p + 6 <= k_n; k_p += 6) {
            acc0 = acc0 + (I0[i * 9 + k_l + k_p + k_w] * I1[j + k_l * 11 + k_p * 11 + k_w * 11]);
            acc0 = acc0 + (I0[i * 9 + k_l + k_p + k_w + 3] * I1[j + k_l * 11 + k_p * 11 + k_w * 11 + 33]);
            acc1 = acc1 + (I0[i * 9 + k_l + k_p + k_w] * I1[j_0 + k_l * 11 + k_p * 11 + k_w * 11]);
            acc1 = acc1 + (I0[i * 9 + k_l + k_p + k_w + 3] * I1[j_0 + k_l * 11 + k_p * 11 + k_w * 11 + 33]);
            acc2 = acc2 + (I0[i_0 * 9 + k_l + k_p + k_w] * I1[j + k_l * 11 + k_p * 11 + k_w * 11]);
            acc2 = acc2 + (I0[i_0 * 9 + k_l + k_p + k_w + 3] * I1[j + k_l * 11 + k_p * 11 + k_w * 11 + 33]);
            acc3 = acc3 + (I0[i_0 * 9 + k_l + k_p + k_w] * I1[j_0 + k_l * 11 + k_p * 11 + k_w * 11]);
            acc3 = acc3 + (I0[i_0 * 9 + k_l + k_p + k_w + 3] * I1[j_0 + k_l * 11 + k_p * 11 + k_w * 11 + 33]);
          }
          for (int k_p = k_n / 6 * 6 + k_w; k_p < k_n; k_p += 3) {
            acc0 = acc0 + (I0[i * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11]);
            acc1 = acc1 + (I0[i * 9 + k_l + k_p] * I1[j_0 + k_l * 11 + k_p * 11]);
            acc2 = acc2 + (I0[i_0 * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11]);
            acc3 = acc3 + (I0[i_0 * 9 + k_l + k_p] * I1[j_0 + k_l * 11 + k_p * 11]);
          }
        }
      }
      // The work-items' results together, in a tree
      r0_l[j_w * 3 + k_w] = acc0;
      r0_l[j_w * 3 + k_w + 6] = acc1;
      r0_l[j_w * 3 + k_w + 12] = acc2;
      r0_l[j_w * 3 + k_w + 18] = acc3;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int d = 2; d > 0; d = d / 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k_w < d && k_w + d < 3) {
          r0_l[j_w * 3 + k_w] = r0_l[j_w * 3 + k_w] + r0_l[j_w * 3 + k_w + d];
          r0_l[j_w * 3 + k_w + 6] = r0_l[j_w * 3 + k_w + 6] + r0_l[j_w * 3 + k_w + d + 6];
          r0_l[j_w * 3 + k_w + 12] = r0_l[j_w * 3 + k_w + 12] + r0_l[j_w * 3 + k_w + d + 12];
          r0_l[j_w * 3 + k_w + 18] = r0_l[j_w * 3 + k_w + 18] + r0_l[j_w * 3 + k_w + d + 18];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      acc0 = r0_l[j_w * 3];
      acc1 = r0_l[j_w * 3 + 6];
      acc2 = r0_l[j_w * 3 + 12];
      acc3 = r0_l[j_w * 3 + 18];
      if (k_w == 0) {
        if (i_l <= 5 && j_l <= 7) {
          O0[i * 11 + j] = acc0;
          O0[i * 11 + j + 2] = acc1;
          O0[i * 11 + j + 11] = acc2;
          O0[i * 11 + j + 13] = acc3;
        } else {
          O0[i * 11 + j] = acc0;
          if (j + 2 < 11) {
            O0[i * 11 + j + 2] = acc1;
          }
          if (i + 1 < 7) {
            O0[i * 11 + j + 11] = acc2;
          }
          if (i + 1 < 7 && j + 2 < 11) {
            O0[i * 11 + j + 13] = acc3;
          }
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// mdh_0: 6 work-items, 6 a work-group; input 0, input 1, output 0
