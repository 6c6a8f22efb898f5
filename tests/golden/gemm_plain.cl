#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  for (int i_p = 0; i_p < 7; ++i_p) {
    for (int j_p = 0; j_p < 11; ++j_p) {
      const int i = i_p;
      const int j = j_p;
      float acc0 = 0.0f;
      for (int k_p = 0; k_p < 9; ++k_p) {
        acc0 = acc0 + (I0[i * 9 + k_p] * I1[j + k_p * 11]);
      }
      O0[i * 11 + j] = acc0;
    }
  }
}

// mdh_0: 1 work-items, 1 a work-group; input 0, input 1, output 0
