#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int shuffle_int(int v, int d)
{ int r; asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d)); return r; }
static inline int shuffle_up_int(int v, int d)
{ int r; asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d)); return r; }
static inline float shuffle_float(float v, int d)
{ return as_float(shuffle_int(as_int(v), d)); }
static inline float shuffle_up_float(float v, int d)
{ return as_float(shuffle_up_int(as_int(v), d)); }

// md_hom(id, (++, +)) ∘ (I0[j,i]) -> P0[i]
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void mdh_0(__global const float *restrict I0, __global float *restrict P0) {
  #pragma OPENCL FP_CONTRACT ON
  volatile __local float r0_l[8];
  const int g = get_group_id(0);
  const int j_g = g;
  const int w = get_local_id(0);
  const int j_w = w % 64;
  const int i_w = w / 64;
  const int j_l = j_g * 384;
  const int j_n = min(384, 700 - j_l);
  const int i = i_w;
  float acc0 = 0.0f;
  float acc1 = 0.0f;
  const int i_0 = min(i + 2, 2);
  for (int j_p = 0; j_p + 128 <= j_n; j_p += 128) {
    acc0 = acc0 + I0[i + j_l * 3 + j_p * 3 + j_w * 3];
    acc0 = acc0 + I0[i + j_l * 3 + j_p * 3 + j_w * 3 + 192];
    acc1 = acc1 + I0[i_0 + j_l * 3 + j_p * 3 + j_w * 3];
    acc1 = acc1 + I0[i_0 + j_l * 3 + j_p * 3 + j_w * 3 + 192];
  }
  for (int j_p = j_n / 128 * 128 + j_w; j_p < j_n; j_p += 64) {
    acc0 = acc0 + I0[i + j_l * 3 + j_p * 3];
    acc1 = acc1 + I0[i_0 + j_l * 3 + j_p * 3];
  }
  // The work-items' results together, in a tree
  for (int d = 1; d < 32; d = d * 2) {
    const float other0 = shuffle_float(acc0, d);
    const float other1 = shuffle_float(acc1, d);
    acc0 = acc0 + other0;
    acc1 = acc1 + other1;
  }
  if (j_w % 32 == 0) {
    r0_l[i_w * 2 + j_w / 32] = acc0;
    r0_l[i_w * 2 + j_w / 32 + 4] = acc1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  acc0 = r0_l[i_w * 2 + j_w % 2];
  acc1 = r0_l[i_w * 2 + j_w % 2 + 4];
  for (int d = 1; d < 2; d = d * 2) {
    const float other2 = shuffle_float(acc0, d);
    const float other3 = shuffle_float(acc1, d);
    acc0 = acc0 + other2;
    acc1 = acc1 + other3;
  }
  if (j_w == 0) {
    P0[j_g * 3 + i] = acc0;
    if (i + 2 < 3) {
      P0[j_g * 3 + i + 2] = acc1;
    }
  }
}

// md_hom(id, (++, ps(+))) ∘ (I0[j,i]) -> O0[j,i]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_1(__global const float *restrict I0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  for (int i_l = 0; i_l < 3; ++i_l) {
    const int i = i_l;
    float carry0 = 0.0f;
    for (int j_p = 0; j_p < 2; ++j_p) {
      carry0 = carry0 + I0[i + j_p * 3];
      O0[i + j_p * 3] = carry0;
    }
  }
}

// md_hom(id, (++, ps(+))) ∘ (I0[j,i]) -> O0[j,i]
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void mdh_2(__global const float *restrict I0, __global const float *restrict S0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  volatile __local float r0_l[8];
  const int g = get_group_id(0);
  const int j_g = 1 - g;
  const int w = get_local_id(0);
  const int j_w = w % 64;
  const int i_w = w / 64;
  const int i = i_w;
  float carry0 = 0.0f;
  float carry1 = 0.0f;
  const int i_0 = min(i + 2, 2);
  if (j_g > 0) {
    carry0 = S0[j_g * 3 + i - 3];
    carry1 = S0[j_g * 3 + i_0 - 3];
  }
  for (int j_l = j_g * 384; j_l < min(j_g * 384 + 384, 700); j_l += 128) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int j_n = min(128, 700 - j_l);
    const int i_1 = min(i + 2, 2);
    const int lane0 = j_w % 32;
    const int part0 = j_w / 32;
    const int first0 = part0 * 64 + lane0;
    float x0 = 0.0f;
    float x1 = 0.0f;
    float x2 = 0.0f;
    float x3 = 0.0f;
    if (j_l + 128 <= 700) {
      x0 = I0[i + j_l * 3 + first0 * 3];
      x1 = I0[i + j_l * 3 + first0 * 3 + 96];
      x2 = I0[i_1 + j_l * 3 + first0 * 3];
      x3 = I0[i_1 + j_l * 3 + first0 * 3 + 96];
    } else {
      if (j_l + first0 < 700) {
        x0 = I0[i + j_l * 3 + first0 * 3];
      }
      if (j_l + first0 + 32 < 700) {
        x1 = I0[i + j_l * 3 + first0 * 3 + 96];
      }
      if (j_l + first0 < 700) {
        x2 = I0[i_1 + j_l * 3 + first0 * 3];
      }
      if (j_l + first0 + 32 < 700) {
        x3 = I0[i_1 + j_l * 3 + first0 * 3 + 96];
      }
    }
    for (int d = 1; d < 32; d = d * 2) {
      const float other0 = shuffle_up_float(x0, d);
      const float other1 = shuffle_up_float(x1, d);
      const float other2 = shuffle_up_float(x2, d);
      const float other3 = shuffle_up_float(x3, d);
      if (lane0 >= d) {
        x0 = other0 + x0;
        x1 = other1 + x1;
        x2 = other2 + x2;
        x3 = other3 + x3;
      }
    }
    const float other4 = shuffle_float(x0, 31 - lane0);
    const float other5 = shuffle_float(x1, 31 - lane0);
    float total0 = other4;
    x1 = total0 + x1;
    total0 = total0 + other5;
    const float other6 = shuffle_float(x2, 31 - lane0);
    const float other7 = shuffle_float(x3, 31 - lane0);
    float total1 = other6;
    x3 = total1 + x3;
    total1 = total1 + other7;
    float before0 = carry0;
    float before1 = carry1;
    if (lane0 == 0) {
      r0_l[i_w * 2 + part0] = total0;
      r0_l[i_w * 2 + part0 + 4] = total1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 0; s < 2; ++s) {
      if (s == part0) {
        before0 = carry0;
        before1 = carry1;
      }
      carry0 = carry0 + r0_l[i_w * 2 + s];
      carry1 = carry1 + r0_l[i_w * 2 + s + 4];
    }
    x0 = before0 + x0;
    x1 = before0 + x1;
    x2 = before1 + x2;
    x3 = before1 + x3;
    if (j_l + 128 <= 700) {
      O0[i + j_l * 3 + first0 * 3] = x0;
      O0[i + j_l * 3 + first0 * 3 + 96] = x1;
      if (i + 2 < 3) {
        O0[i + j_l * 3 + first0 * 3 + 2] = x2;
      }
      if (i + 2 < 3) {
        O0[i + j_l * 3 + first0 * 3 + 98] = x3;
      }
    } else {
      if (j_l + first0 < 700) {
        O0[i + j_l * 3 + first0 * 3] = x0;
      }
      if (j_l + first0 + 32 < 700) {
        O0[i + j_l * 3 + first0 * 3 + 96] = x1;
      }
      if (j_l + first0 < 700) {
        if (i + 2 < 3) {
          O0[i + j_l * 3 + first0 * 3 + 2] = x2;
        }
      }
      if (j_l + first0 + 32 < 700) {
        if (i + 2 < 3) {
          O0[i + j_l * 3 + first0 * 3 + 98] = x3;
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// mdh_0: 256 work-items, 128 a work-group; input 0, temporary 0
// mdh_1: 1 work-items, 1 a work-group; temporary 0, temporary 1
// mdh_2: 256 work-items, 128 a work-group; input 0, temporary 1, output 0
