#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float4 float4_u __attribute__((aligned(sizeof(float))));

// md_hom(((((x0 + x1) + x4) + x3) - (4.0 * x2)), (++, ++)) ∘ (I0[i-1,j], I0[i,j-1], I0[i,j], I0[i,j+1], I0[i+1,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT OFF
  for (int i_l = 0; i_l < 6; i_l += 4) {
    const int i_n = min(4, 6 - i_l);
    for (int j_l = 0; j_l < 9; j_l += 8) {
      const int j_n = min(8, 9 - j_l);
      for (int i_p = 0; i_p < i_n; i_p += 2) {
        for (int j_p = 0; j_p < j_n; j_p += 4) {
          const int i = i_l + i_p;
          const int j = j_l + j_p;
          if (j_l + j_p <= 5 && i_l + i_p - 1 >= 0 && i_l + i_p - 1 <= 2 && j_l + j_p - 1 >= 0 && j_l + j_p - 1 <= 3) {
            const float4 I0_0 = *(__global const float4_u *)(I0 + i * 9 + j - 9);
            const float4 I0_1 = *(__global const float4_u *)(I0 + i * 9 + j - 1);
            const float4 I0_2 = *(__global const float4_u *)(I0 + i * 9 + j);
            const float4 I0_3 = *(__global const float4_u *)(I0 + i * 9 + j + 1);
            const float4 I0_4 = *(__global const float4_u *)(I0 + i * 9 + j + 9);
            const float4 o0 = (((I0_0 + I0_1) + I0_4) + I0_3) - (4.0f * I0_2);
            const float4 I0_5 = *(__global const float4_u *)(I0 + i * 9 + j + 8);
            const float4 I0_6 = *(__global const float4_u *)(I0 + i * 9 + j + 10);
            const float4 I0_7 = *(__global const float4_u *)(I0 + i * 9 + j + 18);
            const float4 o1 = (((I0_2 + I0_5) + I0_7) + I0_6) - (4.0f * I0_4);
            *(__global float4_u *)(O0 + i * 9 + j) = o0;
            *(__global float4_u *)(O0 + i * 9 + j + 9) = o1;
          } else {
            for (int i_b = 0; i_b < 2; ++i_b) {
              if (i + i_b <= 5 && j <= 5 && i + i_b - 1 >= 0 && i + i_b - 1 <= 3 && j - 1 >= 0 && j - 1 <= 3) {
                const float4 I0_8 = *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + j - 9);
                const float4 I0_9 = *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + j - 1);
                const float4 I0_10 = *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + j);
                const float4 I0_11 = *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + j + 1);
                const float4 I0_12 = *(__global const float4_u *)(I0 + i * 9 + i_b * 9 + j + 9);
                *(__global float4_u *)(O0 + i * 9 + i_b * 9 + j) = (((I0_8 + I0_9) + I0_12) + I0_11) - (4.0f * I0_10);
              } else {
                for (int j_v = 0; j_v < 4; ++j_v) {
                  if (j + j_v < 9) {
                    if (i + i_b - 1 >= 0 && i + i_b - 1 <= 3 && j + j_v - 1 >= 0 && j + j_v - 1 <= 6) {
                      const float I0_13 = I0[i * 9 + i_b * 9 + j + j_v - 9];
                      const float I0_14 = I0[i * 9 + i_b * 9 + j + j_v - 1];
                      const float I0_15 = I0[i * 9 + i_b * 9 + j + j_v];
                      const float I0_16 = I0[i * 9 + i_b * 9 + j + j_v + 1];
                      const float I0_17 = I0[i * 9 + i_b * 9 + j + j_v + 9];
                      O0[i * 9 + i_b * 9 + j + j_v] = (((I0_13 + I0_14) + I0_17) + I0_16) - (4.0f * I0_15);
                    } else {
                      const float I0_18 = (i + i_b - 1 >= 0 && i + i_b - 1 <= 5 && j + j_v >= 0 && j + j_v <= 8 ? I0[i * 9 + i_b * 9 + j + j_v - 9] : (float)0.0f);
                      const float I0_19 = (i + i_b >= 0 && i + i_b <= 5 && j + j_v - 1 >= 0 && j + j_v - 1 <= 8 ? I0[i * 9 + i_b * 9 + j + j_v - 1] : (float)0.0f);
                      const float I0_20 = (i + i_b >= 0 && i + i_b <= 5 && j + j_v >= 0 && j + j_v <= 8 ? I0[i * 9 + i_b * 9 + j + j_v] : (float)0.0f);
                      const float I0_21 = (i + i_b >= 0 && i + i_b <= 5 && j + j_v + 1 >= 0 && j + j_v + 1 <= 8 ? I0[i * 9 + i_b * 9 + j + j_v + 1] : (float)0.0f);
                      const float I0_22 = (i + i_b + 1 >= 0 && i + i_b + 1 <= 5 && j + j_v >= 0 && j + j_v <= 8 ? I0[i * 9 + i_b * 9 + j + j_v + 9] : (float)0.0f);
                      O0[i * 9 + i_b * 9 + j + j_v] = (((I0_18 + I0_19) + I0_22) + I0_21) - (4.0f * I0_20);
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

// mdh_0: 1 work-items, 1 a work-group; input 0, output 0
