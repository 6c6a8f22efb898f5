#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float8 float8_u __attribute__((aligned(sizeof(float))));

// md_hom(*, (+,)) ∘ (I0[i], I1[i]) -> O0[]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  float8 acc0 = (float8)(0.0f);
  float acc_tail0 = 0.0f;
  for (int i_p = 0; i_p + 16 <= 61; i_p += 16) {
    acc0 = acc0 + ((*(__global const float8_u *)(I0 + i_p)) * (*(__global const float8_u *)(I1 + i_p)));
    acc0 = acc0 + ((*(__global const float8_u *)(I0 + i_p + 8)) * (*(__global const float8_u *)(I1 + i_p + 8)));
  }
  for (int i_p = 48; i_p + 8 <= 61; i_p += 8) {
    acc0 = acc0 + ((*(__global const float8_u *)(I0 + i_p)) * (*(__global const float8_u *)(I1 + i_p)));
  }
  for (int i_p = 56; i_p < 61; ++i_p) {
    acc_tail0 = acc_tail0 + (I0[i_p] * I1[i_p]);
  }
  float4 h0 = acc0.lo;
  h0 = h0 + acc0.hi;
  float2 h1 = h0.lo;
  h1 = h1 + h0.hi;
  float h2 = h1.lo;
  h2 = h2 + h1.hi;
  h2 = h2 + acc_tail0;
  O0[0] = h2;
}

// mdh_0: 1 work-items, 1 a work-group; input 0, input 1, output 0
