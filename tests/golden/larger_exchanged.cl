#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int shuffle_int(int v, int d)
{ int r; asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d)); return r; }

// md_hom((x0, x1), (++, better)) ∘ (I0[i,j], I1[j]) -> O0[i], O1[i]
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void mdh_0(__global const int *restrict I0, __global const int *restrict I1, __global int *restrict O0, __global int *restrict O1) {
  #pragma OPENCL FP_CONTRACT ON
  const int w = get_local_id(0);
  const int j_w = w % 16;
  const int i_w = w / 16;
  for (int i_l = 0; i_l < 5; i_l += 2) {
    const int i_n = min(2, 5 - i_l);
    const int i = i_l + i_w;
    int acc_seen0 = 0;
    int acc0 = 0;
    int acc1 = 0;
    for (int j_l = 0; j_l < 40; j_l += 16) {
      const int j_n = min(16, 40 - j_l);
      int part_seen0 = 0;
      int part0 = 0;
      int part1 = 0;
      if (i_l <= 3) {
        for (int j_p = j_w; j_p < min(j_w + 1, j_n); ++j_p) {
          const int f0 = I0[i * 40 + j_l + j_p];
          const int f1 = I1[j_l + j_p];
          const int v0 = f0 > part0;
          const int n0 = part_seen0 ? (v0 ? f0 : part0) : f0;
          const int n1 = part_seen0 ? (v0 ? f1 : part1) : f1;
          part0 = n0;
          part1 = n1;
          part_seen0 = 1;
        }
      } else {
        const int i_0 = min(i, 4);
        for (int j_p = j_w; j_p < min(j_w + 1, j_n); ++j_p) {
          const int f2 = I0[i_0 * 40 + j_l + j_p];
          const int f3 = I1[j_l + j_p];
          const int v1 = f2 > part0;
          const int n2 = part_seen0 ? (v1 ? f2 : part0) : f2;
          const int n3 = part_seen0 ? (v1 ? f3 : part1) : f3;
          part0 = n2;
          part1 = n3;
          part_seen0 = 1;
        }
      }
      // The work-items' results together, in a tree
      for (int d = 1; d < 16; d = d * 2) {
        const int other0 = shuffle_int(part0, d);
        const int other1 = shuffle_int(part1, d);
        const int other2 = shuffle_int(part_seen0, d);
        if (other2) {
          const int f4 = other0;
          const int f5 = other1;
          const int v2 = f4 > part0;
          const int n4 = part_seen0 ? (v2 ? f4 : part0) : f4;
          const int n5 = part_seen0 ? (v2 ? f5 : part1) : f5;
          part0 = n4;
          part1 = n5;
          part_seen0 = 1;
        }
      }
      if (j_w == 0 && part_seen0) {
        const int f6 = part0;
        const int f7 = part1;
        const int v3 = f6 > acc0;
        const int n6 = acc_seen0 ? (v3 ? f6 : acc0) : f6;
        const int n7 = acc_seen0 ? (v3 ? f7 : acc1) : f7;
        acc0 = n6;
        acc1 = n7;
        acc_seen0 = 1;
      }
    }
    if (j_w == 0) {
      if (i_l <= 3) {
        O0[i] = acc0;
        O1[i] = acc1;
      } else {
        if (i < 5) {
          O0[i] = acc0;
          O1[i] = acc1;
        }
      }
    }
  }
}

// mdh_0: 32 work-items, 32 a work-group; input 0, input 1, output 0, output 1
