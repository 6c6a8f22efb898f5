#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// md_hom(id, (first,)) ∘ (I0[i]) -> P0[]
__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void mdh_0(__global const int *restrict I0, __global int *restrict P0) {
  #pragma OPENCL FP_CONTRACT ON
  volatile __local int r0_l[4];
  volatile __local int seen_l[4];
  const int g = get_group_id(0);
  const int i_g = g;
  const int w = get_local_id(0);
  const int i_w = w;
  int acc_seen0 = 0;
  int acc0 = 0;
  for (int i_l = i_g * 16; i_l < min(i_g * 16 + 16, 29); i_l += 8) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int i_n = min(8, 29 - i_l);
    int part_seen0 = 0;
    int part0 = 0;
    for (int i_p = i_w * 2; i_p < min(i_w * 2 + 2, i_n); ++i_p) {
      part0 = part_seen0 ? ((part0 != 0) ? part0 : I0[i_l + i_p]) : I0[i_l + i_p];
      part_seen0 = 1;
    }
    // The work-items' results together, in a tree
    r0_l[i_w] = part0;
    seen_l[i_w] = part_seen0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < 4; d = d * 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (i_w % (d * 2) == 0 && i_w + d < 4 && seen_l[i_w + d]) {
        const int v0 = r0_l[i_w];
        r0_l[i_w] = seen_l[i_w] ? ((v0 != 0) ? v0 : r0_l[i_w + d]) : r0_l[i_w + d];
        seen_l[i_w] = 1;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    part0 = r0_l[0];
    part_seen0 = seen_l[0];
    if (i_w == 0 && part_seen0) {
      acc0 = acc_seen0 ? ((acc0 != 0) ? acc0 : part0) : part0;
      acc_seen0 = 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i_w == 0) {
    P0[i_g] = acc0;
  }
}

// md_hom(id, (first,)) ∘ (I0[i]) -> O0[]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_1(__global const int *restrict I0, __global int *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  int acc_seen0 = 0;
  int acc0 = 0;
  for (int i_p = 0; i_p < 2; ++i_p) {
    acc0 = acc_seen0 ? ((acc0 != 0) ? acc0 : I0[i_p]) : I0[i_p];
    acc_seen0 = 1;
  }
  O0[0] = acc0;
}

// mdh_0: 8 work-items, 4 a work-group; input 0, temporary 0
// mdh_1: 1 work-items, 1 a work-group; temporary 0, output 0
