#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int shuffle_int(int v, int d)
{ int r; asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d)); return r; }
static inline int shuffle_up_int(int v, int d)
{ int r; asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d)); return r; }

// md_hom((x0, x1), (affine,)) ∘ (I0[i], I1[i]) -> P0[], P1[]
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void mdh_0(__global const int *restrict I0, __global const int *restrict I1, __global int *restrict P0, __global int *restrict P1) {
  #pragma OPENCL FP_CONTRACT OFF
  const int g = get_group_id(0);
  const int i_g = g;
  const int w = get_local_id(0);
  const int i_w = w;
  int acc0 = 1;
  int acc1 = 0;
  for (int i_l = i_g * 64; i_l < min(i_g * 64 + 64, 90); i_l += 32) {
    const int i_n = min(32, 90 - i_l);
    int part0 = 1;
    int part1 = 0;
    for (int i_p = i_w; i_p < min(i_w + 1, i_n); ++i_p) {
      const int v0 = I0[i_l + i_p];
      const int n0 = (int)((uint)part0 * (uint)v0);
      const int n1 = (int)((uint)(int)((uint)v0 * (uint)part1) + (uint)I1[i_l + i_p]);
      part0 = n0;
      part1 = n1;
    }
    // The work-items' results together, in a tree
    for (int d = 1; d < 32; d = d * 2) {
      const int other0 = shuffle_int(part0, d);
      const int other1 = shuffle_int(part1, d);
      const int n2 = (int)((uint)part0 * (uint)other0);
      const int n3 = (int)((uint)(int)((uint)other0 * (uint)part1) + (uint)other1);
      part0 = n2;
      part1 = n3;
    }
    if (i_w == 0) {
      const int n4 = (int)((uint)acc0 * (uint)part0);
      const int n5 = (int)((uint)(int)((uint)part0 * (uint)acc1) + (uint)part1);
      acc0 = n4;
      acc1 = n5;
    }
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
  for (int i_p = 0; i_p < 2; ++i_p) {
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
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void mdh_2(__global const int *restrict I0, __global const int *restrict I1, __global const int *restrict S0, __global const int *restrict S1, __global int *restrict O0, __global int *restrict O1) {
  #pragma OPENCL FP_CONTRACT OFF
  const int g = get_group_id(0);
  const int i_g = 1 - g;
  const int w = get_local_id(0);
  const int i_w = w;
  int carry0 = 1;
  int carry1 = 0;
  if (i_g > 0) {
    carry0 = S0[i_g - 1];
    carry1 = S1[i_g - 1];
  }
  for (int i_l = i_g * 64; i_l < min(i_g * 64 + 64, 90); i_l += 32) {
    const int i_n = min(32, 90 - i_l);
    int x0 = 1;
    int x1 = 0;
    if (i_l + 32 <= 90) {
      x0 = I0[i_l + i_w];
      x1 = I1[i_l + i_w];
    } else {
      if (i_l + i_w < 90) {
        x0 = I0[i_l + i_w];
        x1 = I1[i_l + i_w];
      }
    }
    for (int d = 1; d < 32; d = d * 2) {
      const int other0 = shuffle_up_int(x0, d);
      const int other1 = shuffle_up_int(x1, d);
      if (i_w >= d) {
        const int n0 = (int)((uint)other0 * (uint)x0);
        const int n1 = (int)((uint)(int)((uint)x0 * (uint)other1) + (uint)x1);
        x0 = n0;
        x1 = n1;
      }
    }
    const int other2 = shuffle_int(x0, 31 - i_w);
    const int other3 = shuffle_int(x1, 31 - i_w);
    int total0 = other2;
    int total1 = other3;
    int before0 = carry0;
    int before1 = carry1;
    const int n2 = (int)((uint)carry0 * (uint)total0);
    const int n3 = (int)((uint)(int)((uint)total0 * (uint)carry1) + (uint)total1);
    carry0 = n2;
    carry1 = n3;
    const int n4 = (int)((uint)before0 * (uint)x0);
    const int n5 = (int)((uint)(int)((uint)x0 * (uint)before1) + (uint)x1);
    x0 = n4;
    x1 = n5;
    if (i_l + 32 <= 90) {
      O0[i_l + i_w] = x0;
      O1[i_l + i_w] = x1;
    } else {
      if (i_l + i_w < 90) {
        O0[i_l + i_w] = x0;
        O1[i_l + i_w] = x1;
      }
    }
  }
}

// mdh_0: 64 work-items, 32 a work-group; input 0, input 1, temporary 0, temporary 1
// mdh_1: 1 work-items, 1 a work-group; temporary 0, temporary 1, temporary 2, temporary 3
// mdh_2: 64 work-items, 32 a work-group; input 0, input 1, temporary 2, temporary 3, output 0, output 1
