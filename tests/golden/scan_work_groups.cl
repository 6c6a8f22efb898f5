#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// md_hom((x0, x1), (affine,)) ∘ (I0[i], I1[i]) -> P0[], P1[]
__kernel __attribute__((reqd_work_group_size(2, 1, 1)))
void mdh_0(__global const int *restrict I0, __global const int *restrict I1, __global int *restrict P0, __global int *restrict P1) {
  #pragma OPENCL FP_CONTRACT OFF
  volatile __local int r0_l[2];
  volatile __local int r1_l[2];
  const int g = get_group_id(0);
  const int i_g = g;
  const int w = get_local_id(0);
  const int i_w = w;
  int acc0 = 1;
  int acc1 = 0;
  for (int i_l = i_g * 12; i_l < min(i_g * 12 + 12, 29); i_l += 4) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int i_n = min(4, 29 - i_l);
    int part0 = 1;
    int part1 = 0;
    for (int i_p = i_w * 2; i_p < min(i_w * 2 + 2, i_n); ++i_p) {
      const int v0 = I0[i_l + i_p];
      const int n0 = (int)((uint)part0 * (uint)v0);
      const int n1 = (int)((uint)(int)((uint)v0 * (uint)part1) + (uint)I1[i_l + i_p]);
      part0 = n0;
      part1 = n1;
    }
    // The work-items' results together, in a tree
    r0_l[i_w] = part0;
    r1_l[i_w] = part1;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < 2; d = d * 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (i_w % (d * 2) == 0 && i_w + d < 2) {
        const int v1 = r0_l[i_w + d];
        const int n2 = (int)((uint)r0_l[i_w] * (uint)v1);
        const int n3 = (int)((uint)(int)((uint)v1 * (uint)r1_l[i_w]) + (uint)r1_l[i_w + d]);
        r0_l[i_w] = n2;
        r1_l[i_w] = n3;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    part0 = r0_l[0];
    part1 = r1_l[0];
    if (i_w == 0) {
      const int n4 = (int)((uint)acc0 * (uint)part0);
      const int n5 = (int)((uint)(int)((uint)part0 * (uint)acc1) + (uint)part1);
      acc0 = n4;
      acc1 = n5;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i_w == 0) {
    P0[i_g] = acc0;
    P1[i_g] = acc1;
  }
}

// md_hom((x0, x1), (ps(affine),)) ∘ (I0[i], I1[i]) -> O0[i], O1[i]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_1(__global const int *restrict I0, __global const int *restrict I1, __global int *restrict O0, __global int *restrict O1) {
  #pragma OPENCL FP_CONTRACT OFF
  int carry0 = 1;
  int carry1 = 0;
  for (int i_p = 0; i_p < 3; ++i_p) {
    const int v0 = I0[i_p];
    const int n0 = (int)((uint)carry0 * (uint)v0);
    const int n1 = (int)((uint)(int)((uint)v0 * (uint)carry1) + (uint)I1[i_p]);
    carry0 = n0;
    carry1 = n1;
    O0[i_p] = carry0;
    O1[i_p] = carry1;
  }
}

// md_hom((x0, x1), (ps(affine),)) ∘ (I0[i], I1[i]) -> O0[i], O1[i]
__kernel __attribute__((reqd_work_group_size(2, 1, 1)))
void mdh_2(__global const int *restrict I0, __global const int *restrict I1, __global const int *restrict S0, __global const int *restrict S1, __global int *restrict O0, __global int *restrict O1) {
  #pragma OPENCL FP_CONTRACT OFF
  volatile __local int r0_l[4];
  volatile __local int r1_l[4];
  const int g = get_group_id(0);
  const int i_g = 2 - g;
  const int w = get_local_id(0);
  const int i_w = w;
  int carry0 = 1;
  int carry1 = 0;
  if (i_g > 0) {
    carry0 = S0[i_g - 1];
    carry1 = S1[i_g - 1];
  }
  for (int i_l = i_g * 12; i_l < min(i_g * 12 + 12, 29); i_l += 4) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int i_n = min(4, 29 - i_l);
    int x0 = 1;
    int x1 = 0;
    if (i_l + i_w * 2 < 29) {
      x0 = I0[i_l + i_w * 2];
      x1 = I1[i_l + i_w * 2];
    }
    int x2 = 1;
    int x3 = 0;
    if (i_l + i_w * 2 + 1 < 29) {
      x2 = I0[i_l + i_w * 2 + 1];
      x3 = I1[i_l + i_w * 2 + 1];
    }
    int y0 = x0;
    int y1 = x1;
    const int n0 = (int)((uint)y0 * (uint)x2);
    const int n1 = (int)((uint)(int)((uint)x2 * (uint)y1) + (uint)x3);
    y0 = n0;
    y1 = n1;
    x2 = y0;
    x3 = y1;
    int half0 = 0;
    r0_l[i_w] = x2;
    r1_l[i_w] = x3;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < 2; d = d * 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const int l0 = r0_l[half0 * 2 + max(i_w - d, 0)];
      const int l1 = r1_l[half0 * 2 + max(i_w - d, 0)];
      int y2 = r0_l[half0 * 2 + i_w];
      int y3 = r1_l[half0 * 2 + i_w];
      if (i_w >= d) {
        int y4 = l0;
        int y5 = l1;
        const int n2 = (int)((uint)y4 * (uint)y2);
        const int n3 = (int)((uint)(int)((uint)y2 * (uint)y5) + (uint)y3);
        y4 = n2;
        y5 = n3;
        y2 = y4;
        y3 = y5;
      }
      r0_l[2 - half0 * 2 + i_w] = y2;
      r1_l[2 - half0 * 2 + i_w] = y3;
      half0 = 1 - half0;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    int y6 = carry0;
    int y7 = carry1;
    if (i_w > 0) {
      const int v0 = r0_l[half0 * 2 + i_w - 1];
      const int n4 = (int)((uint)y6 * (uint)v0);
      const int n5 = (int)((uint)(int)((uint)v0 * (uint)y7) + (uint)r1_l[half0 * 2 + i_w - 1]);
      y6 = n4;
      y7 = n5;
    }
    int y8 = y6;
    int y9 = y7;
    const int n6 = (int)((uint)y8 * (uint)x0);
    const int n7 = (int)((uint)(int)((uint)x0 * (uint)y9) + (uint)x1);
    y8 = n6;
    y9 = n7;
    x0 = y8;
    x1 = y9;
    if (i_l + i_w * 2 < 29) {
      O0[i_l + i_w * 2] = x0;
      O1[i_l + i_w * 2] = x1;
    }
    int y10 = y6;
    int y11 = y7;
    const int n8 = (int)((uint)y10 * (uint)x2);
    const int n9 = (int)((uint)(int)((uint)x2 * (uint)y11) + (uint)x3);
    y10 = n8;
    y11 = n9;
    x2 = y10;
    x3 = y11;
    if (i_l + i_w * 2 + 1 < 29) {
      O0[i_l + i_w * 2 + 1] = x2;
      O1[i_l + i_w * 2 + 1] = x3;
    }
    const int v1 = r0_l[half0 * 2 + 1];
    const int n10 = (int)((uint)carry0 * (uint)v1);
    const int n11 = (int)((uint)(int)((uint)v1 * (uint)carry1) + (uint)r1_l[half0 * 2 + 1]);
    carry0 = n10;
    carry1 = n11;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// mdh_0: 6 work-items, 2 a work-group; input 0, input 1, temporary 0, temporary 1
// mdh_1: 1 work-items, 1 a work-group; temporary 0, temporary 1, temporary 2, temporary 3
// mdh_2: 6 work-items, 2 a work-group; input 0, input 1, temporary 2, temporary 3, output 0, output 1
