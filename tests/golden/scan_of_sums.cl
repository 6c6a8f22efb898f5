#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// md_hom(id, (++, +)) ∘ (I0[i,j]) -> O0[i]
__kernel __attribute__((reqd_work_group_size(2, 1, 1)))
void mdh_0(__global const float *restrict I0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  volatile __local float r0_l[2];
  const int w = get_local_id(0);
  const int j_w = w;
  for (int i_p = 0; i_p < 7; ++i_p) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int i = i_p;
    float acc0 = 0.0f;
    for (int j_p = 0; j_p + 4 <= 9; j_p += 4) {
      acc0 = acc0 + I0[i * 9 + j_p + j_w];
      acc0 = acc0 + I0[i * 9 + j_p + j_w + 2];
    }
    for (int j_p = j_w + 8; j_p < 9; j_p += 2) {
      acc0 = acc0 + I0[i * 9 + j_p];
    }
    // The work-items' results together, in a tree
    r0_l[j_w] = acc0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d > 0; d = d / 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (j_w < d && j_w + d < 2) {
        r0_l[j_w] = r0_l[j_w] + r0_l[j_w + d];
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    acc0 = r0_l[0];
    if (j_w == 0) {
      O0[i] = acc0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// md_hom(id, (ps(+),)) ∘ (I0[i]) -> O0[i]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_1(__global const float *restrict I0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  float carry0 = 0.0f;
  for (int i_p = 0; i_p < 7; ++i_p) {
    carry0 = carry0 + I0[i_p];
    O0[i_p] = carry0;
  }
}

// mdh_0: 2 work-items, 2 a work-group; input 0, temporary 0
// mdh_1: 1 work-items, 1 a work-group; temporary 0, output 0
