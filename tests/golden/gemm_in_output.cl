#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  for (int k_l = 0; k_l < 9; k_l += 4) {
    const int k_n = min(4, 9 - k_l);
    for (int i_l = 0; i_l < 7; i_l += 4) {
      const int i_n = min(4, 7 - i_l);
      for (int j_l = 0; j_l < 11; j_l += 4) {
        const int j_n = min(4, 11 - j_l);
        for (int i_p = 0; i_p < i_n; i_p += 2) {
          for (int j_p = 0; j_p < j_n; j_p += 2) {
            const int i = i_l + i_p;
            const int j = j_l + j_p;
            float acc0 = 0.0f;
            float acc1 = 0.0f;
            float acc2 = 0.0f;
            float acc3 = 0.0f;
            if (i_l + i_p <= 5 && j_l + j_p <= 9) {
              for (int k_p = 0; k_p + 2 <= k_n; k_p += 2) {
                acc0 = acc0 + (I0[i * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11]);
                acc0 = acc0 + (I0[i * 9 + k_l + k_p + 1] * I1[j + k_l * 11 + k_p * 11 + 11]);
                acc1 = acc1 + (I0[i * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11 + 1]);
                acc1 = acc1 + (I0[i * 9 + k_l + k_p + 1] * I1[j + k_l * 11 + k_p * 11 + 12]);
                acc2 = acc2 + (I0[i * 9 + k_l + k_p + 9] * I1[j + k_l * 11 + k_p * 11]);
                acc2 = acc2 + (I0[i * 9 + k_l + k_p + 10] * I1[j + k_l * 11 + k_p * 11 + 11]);
                acc3 = acc3 + (I0[i * 9 + k_l + k_p + 9] * I1[j + k_l * 11 + k_p * 11 + 1]);
                acc3 = acc3 + (I0[i * 9 + k_l + k_p + 10] * I1[j + k_l * 11 + k_p * 11 + 12]);
              }
              for (int k_p = k_n / 2 * 2; k_p < k_n; ++k_p) {
                acc0 = acc0 + (I0[i * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11]);
                acc1 = acc1 + (I0[i * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11 + 1]);
                acc2 = acc2 + (I0[i * 9 + k_l + k_p + 9] * I1[j + k_l * 11 + k_p * 11]);
                acc3 = acc3 + (I0[i * 9 + k_l + k_p + 9] * I1[j + k_l * 11 + k_p * 11 + 1]);
              }
            } else {
              const int i_0 = min(i + 1, 6);
              const int j_0 = min(j + 1, 10);
              for (int k_p = 0; k_p + 2 <= k_n; k_p += 2) {
                acc0 = acc0 + (I0[i * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11]);
                acc0 = acc0 + (I0[i * 9 + k_l + k_p + 1] * I1[j + k_l * 11 + k_p * 11 + 11]);
                acc1 = acc1 + (I0[i * 9 + k_l + k_p] * I1[j_0 + k_l * 11 + k_p * 11]);
                acc1 = acc1 + (I0[i * 9 + k_l + k_p + 1] * I1[j_0 + k_l * 11 + k_p * 11 + 11]);
                acc2 = acc2 + (I0[i_0 * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11]);
                acc2 = acc2 + (I0[i_0 * 9 + k_l + k_p + 1] * I1[j + k_l * 11 + k_p * 11 + 11]);
                acc3 = acc3 + (I0[i_0 * 9 + k_l + k_p] * I1[j_0 + k_l * 11 + k_p * 11]);
                acc3 = acc3 + (I0[i_0 * 9 + k_l + k_p + 1] * I1[j_0 + k_l * 11 + k_p * 11 + 11]);
              }
              for (int k_p = k_n / 2 * 2; k_p < k_n; ++k_p) {
                acc0 = acc0 + (I0[i * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11]);
                acc1 = acc1 + (I0[i * 9 + k_l + k_p] * I1[j_0 + k_l * 11 + k_p * 11]);
                acc2 = acc2 + (I0[i_0 * 9 + k_l + k_p] * I1[j + k_l * 11 + k_p * 11]);
                acc3 = acc3 + (I0[i_0 * 9 + k_l + k_p] * I1[j_0 + k_l * 11 + k_p * 11]);
              }
            }
            if (k_l == 0) {
              if (i_l + i_p <= 5 && j_l + j_p <= 9) {
                O0[i * 11 + j] = acc0;
                O0[i * 11 + j + 1] = acc1;
                O0[i * 11 + j + 11] = acc2;
                O0[i * 11 + j + 12] = acc3;
              } else {
                O0[i * 11 + j] = acc0;
                if (j + 1 < 11) {
                  O0[i * 11 + j + 1] = acc1;
                }
                if (i + 1 < 7) {
                  O0[i * 11 + j + 11] = acc2;
                }
                if (i + 1 < 7 && j + 1 < 11) {
                  O0[i * 11 + j + 12] = acc3;
                }
              }
            } else {
              if (i_l + i_p <= 5 && j_l + j_p <= 9) {
                acc0 = O0[i * 11 + j] + acc0;
                O0[i * 11 + j] = acc0;
                acc1 = O0[i * 11 + j + 1] + acc1;
                O0[i * 11 + j + 1] = acc1;
                acc2 = O0[i * 11 + j + 11] + acc2;
                O0[i * 11 + j + 11] = acc2;
                acc3 = O0[i * 11 + j + 12] + acc3;
                O0[i * 11 + j + 12] = acc3;
              } else {
                acc0 = O0[i * 11 + j] + acc0;
                O0[i * 11 + j] = acc0;
                if (j + 1 < 11) {
                  acc1 = O0[i * 11 + j + 1] + acc1;
                  O0[i * 11 + j + 1] = acc1;
                }
                if (i + 1 < 7) {
                  acc2 = O0[i * 11 + j + 11] + acc2;
                  O0[i * 11 + j + 11] = acc2;
                }
                if (i + 1 < 7 && j + 1 < 11) {
                  acc3 = O0[i * 11 + j + 12] + acc3;
                  O0[i * 11 + j + 12] = acc3;
                }
              }
            }
          }
        }
      }
    }
  }
}

// mdh_0: 1 work-items, 1 a work-group; input 0, input 1, output 0
