#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int shuffle_int(int v, int d)
{ int r; asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d)); return r; }
static inline float shuffle_float(float v, int d)
{ return as_float(shuffle_int(as_int(v), d)); }

// md_hom(*, (+,)) ∘ (I0[i], I1[i]) -> O0[]
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  volatile __local float r0_l[4];
  const int w = get_local_id(0);
  const int i_w = w;
  float acc0 = 0.0f;
  for (int i_p = 0; i_p + 256 <= 1000; i_p += 256) {
    acc0 = acc0 + (I0[i_p + i_w] * I1[i_p + i_w]);
    acc0 = acc0 + (I0[i_p + i_w + 128] * I1[i_p + i_w + 128]);
  }
  for (int i_p = i_w + 768; i_p < 1000; i_p += 128) {
    acc0 = acc0 + (I0[i_p] * I1[i_p]);
  }
  // The work-items' results together, in a tree
  for (int d = 1; d < 32; d = d * 2) {
    const float other0 = shuffle_float(acc0, d);
    acc0 = acc0 + other0;
  }
  if (i_w % 32 == 0) {
    r0_l[i_w / 32] = acc0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  acc0 = r0_l[i_w % 4];
  for (int d = 1; d < 4; d = d * 2) {
    const float other1 = shuffle_float(acc0, d);
    acc0 = acc0 + other1;
  }
  if (i_w == 0) {
    O0[0] = acc0;
  }
}

// mdh_0: 128 work-items, 128 a work-group; input 0, input 1, output 0
