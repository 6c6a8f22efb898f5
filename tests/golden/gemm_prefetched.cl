#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float8 float8_u __attribute__((aligned(sizeof(float))));
#if !defined(PREFETCH) && defined(__has_builtin)
#if __has_builtin(__builtin_prefetch)
#define PREFETCH(p, w) __builtin_prefetch((const void *)(size_t)(p), w)
#endif
#endif
#ifndef PREFETCH
#define PREFETCH(p, w)
#endif

// md_hom(*, (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global const float *restrict I1, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  __local float I1_l[2048];
  const int g = get_group_id(0);
  const int j_g = g;
  const int j_l = j_g * 32;
  for (int k_l = 0; k_l < 150; k_l += 64) {
    const int k_n = min(64, 150 - k_l);
    // The tile of I1 to local memory
    if (k_l <= 86) {
      for (int x0 = 0; x0 < 64; ++x0) {
        for (int y1 = 0; y1 < 32; ++y1) {
          I1_l[x0 * 32 + y1] = I1[k_l * 64 + x0 * 64 + j_l + y1];
        }
      }
    } else {
      for (int e = 0; e < 2048; ++e) I1_l[e] = 0;
      const int n0_0 = min(64, 150 - k_l);
      for (int x0 = 0; x0 < n0_0; ++x0) {
        for (int y1 = 0; y1 < 32; ++y1) {
          I1_l[x0 * 32 + y1] = I1[k_l * 64 + x0 * 64 + j_l + y1];
        }
      }
    }
    for (int i_l = 0; i_l < 7; i_l += 4) {
      const int i_n = min(4, 7 - i_l);
      for (int i_p = 0; i_p < i_n; i_p += 2) {
        const int i = i_l + i_p;
        const int j = j_l;
        PREFETCH(I0 + i * 150 + k_l + 300, 0);
        PREFETCH(I0 + i * 150 + k_l + 316, 0);
        PREFETCH(I0 + i * 150 + k_l + 332, 0);
        PREFETCH(I0 + i * 150 + k_l + 348, 0);
        PREFETCH(I0 + i * 150 + k_l + 450, 0);
        PREFETCH(I0 + i * 150 + k_l + 466, 0);
        PREFETCH(I0 + i * 150 + k_l + 482, 0);
        PREFETCH(I0 + i * 150 + k_l + 498, 0);
        PREFETCH(O0 + i * 64 + j, 1);
        PREFETCH(O0 + i * 64 + j + 16, 1);
        PREFETCH(O0 + i * 64 + j + 64, 1);
        PREFETCH(O0 + i * 64 + j + 80, 1);
        float8 acc0 = (float8)(0.0f);
        float8 acc1 = (float8)(0.0f);
        float8 acc2 = (float8)(0.0f);
        float8 acc3 = (float8)(0.0f);
        float8 acc4 = (float8)(0.0f);
        float8 acc5 = (float8)(0.0f);
        float8 acc6 = (float8)(0.0f);
        float8 acc7 = (float8)(0.0f);
        if (i_l + i_p <= 5) {
          for (int k_p = 0; k_p + 2 <= k_n; k_p += 2) {
            const float I0_0 = I0[i * 150 + k_l + k_p];
            const float8 I1_0 = *(__local const float8_u *)(I1_l + k_p * 32);
            acc0 = acc0 + (I0_0 * I1_0);
            const float I0_1 = I0[i * 150 + k_l + k_p + 1];
            const float8 I1_1 = *(__local const float8_u *)(I1_l + k_p * 32 + 32);
            acc0 = acc0 + (I0_1 * I1_1);
            const float8 I1_2 = *(__local const float8_u *)(I1_l + k_p * 32 + 8);
            acc1 = acc1 + (I0_0 * I1_2);
            const float8 I1_3 = *(__local const float8_u *)(I1_l + k_p * 32 + 40);
            acc1 = acc1 + (I0_1 * I1_3);
            const float8 I1_4 = *(__local const float8_u *)(I1_l + k_p * 32 + 16);
            acc2 = acc2 + (I0_0 * I1_4);
            const float8 I1_5 = *(__local const float8_u *)(I1_l + k_p * 32 + 48);
            acc2 = acc2 + (I0_1 * I1_5);
            const float8 I1_6 = *(__local const float8_u *)(I1_l + k_p * 32 + 24);
            acc3 = acc3 + (I0_0 * I1_6);
            const float8 I1_7 = *(__local const float8_u *)(I1_l + k_p * 32 + 56);
            acc3 = acc3 + (I0_1 * I1_7);
            const float I0_2 = I0[i * 150 + k_l + k_p + 150];
            acc4 = acc4 + (I0_2 * I1_0);
            const float I0_3 = I0[i * 150 + k_l + k_p + 151];
            acc4 = acc4 + (I0_3 * I1_1);
            acc5 = acc5 + (I0_2 * I1_2);
            acc5 = acc5 + (I0_3 * I1_3);
            acc6 = acc6 + (I0_2 * I1_4);
            acc6 = acc6 + (I0_3 * I1_5);
            acc7 = acc7 + (I0_2 * I1_6);
            acc7 = acc7 + (I0_3 * I1_7);
          }
          for (int k_p = k_n / 2 * 2; k_p < k_n; ++k_p) {
            const float I0_4 = I0[i * 150 + k_l + k_p];
            const float8 I1_8 = *(__local const float8_u *)(I1_l + k_p * 32);
            acc0 = acc0 + (I0_4 * I1_8);
            const float8 I1_9 = *(__local const float8_u *)(I1_l + k_p * 32 + 8);
            acc1 = acc1 + (I0_4 * I1_9);
            const float8 I1_10 = *(__local const float8_u *)(I1_l + k_p * 32 + 16);
            acc2 = acc2 + (I0_4 * I1_10);
            const float8 I1_11 = *(__local const float8_u *)(I1_l + k_p * 32 + 24);
            acc3 = acc3 + (I0_4 * I1_11);
            const float I0_5 = I0[i * 150 + k_l + k_p + 150];
            acc4 = acc4 + (I0_5 * I1_8);
            acc5 = acc5 + (I0_5 * I1_9);
            acc6 = acc6 + (I0_5 * I1_10);
            acc7 = acc7 + (I0_5 * I1_11);
          }
        } else {
          const int i_0 = min(i + 1, 6);
          for (int k_p = 0; k_p + 2 <= k_n; k_p += 2) {
            const float I0_6 = I0[i * 150 + k_l + k_p];
            const float8 I1_12 = *(__local const float8_u *)(I1_l + k_p * 32);
            acc0 = acc0 + (I0_6 * I1_12);
            const float I0_7 = I0[i * 150 + k_l + k_p + 1];
            const float8 I1_13 = *(__local const float8_u *)(I1_l + k_p * 32 + 32);
            acc0 = acc0 + (I0_7 * I1_13);
            const float8 I1_14 = *(__local const float8_u *)(I1_l + k_p * 32 + 8);
            acc1 = acc1 + (I0_6 * I1_14);
            const float8 I1_15 = *(__local const float8_u *)(I1_l + k_p * 32 + 40);
            acc1 = acc1 + (I0_7 * I1_15);
            const float8 I1_16 = *(__local const float8_u *)(I1_l + k_p * 32 + 16);
            acc2 = acc2 + (I0_6 * I1_16);
            const float8 I1_17 = *(__local const float8_u *)(I1_l + k_p * 32 + 48);
            acc2 = acc2 + (I0_7 * I1_17);
            const float8 I1_18 = *(__local const float8_u *)(I1_l + k_p * 32 + 24);
            acc3 = acc3 + (I0_6 * I1_18);
            const float8 I1_19 = *(__local const float8_u *)(I1_l + k_p * 32 + 56);
            acc3 = acc3 + (I0_7 * I1_19);
            const float I0_8 = I0[i_0 * 150 + k_l + k_p];
            acc4 = acc4 + (I0_8 * I1_12);
            const float I0_9 = I0[i_0 * 150 + k_l + k_p + 1];
            acc4 = acc4 + (I0_9 * I1_13);
            acc5 = acc5 + (I0_8 * I1_14);
            acc5 = acc5 + (I0_9 * I1_15);
            acc6 = acc6 + (I0_8 * I1_16);
            acc6 = acc6 + (I0_9 * I1_17);
            acc7 = acc7 + (I0_8 * I1_18);
            acc7 = acc7 + (I0_9 * I1_19);
          }
          for (int k_p = k_n / 2 * 2; k_p < k_n; ++k_p) {
            const float I0_10 = I0[i * 150 + k_l + k_p];
            const float8 I1_20 = *(__local const float8_u *)(I1_l + k_p * 32);
            acc0 = acc0 + (I0_10 * I1_20);
            const float8 I1_21 = *(__local const float8_u *)(I1_l + k_p * 32 + 8);
            acc1 = acc1 + (I0_10 * I1_21);
            const float8 I1_22 = *(__local const float8_u *)(I1_l + k_p * 32 + 16);
            acc2 = acc2 + (I0_10 * I1_22);
            const float8 I1_23 = *(__local const float8_u *)(I1_l + k_p * 32 + 24);
            acc3 = acc3 + (I0_10 * I1_23);
            const float I0_11 = I0[i_0 * 150 + k_l + k_p];
            acc4 = acc4 + (I0_11 * I1_20);
            acc5 = acc5 + (I0_11 * I1_21);
            acc6 = acc6 + (I0_11 * I1_22);
            acc7 = acc7 + (I0_11 * I1_23);
          }
        }
        if (k_l == 0) {
          if (i_l + i_p <= 5) {
            *(__global float8_u *)(O0 + i * 64 + j) = acc0;
            *(__global float8_u *)(O0 + i * 64 + j + 8) = acc1;
            *(__global float8_u *)(O0 + i * 64 + j + 16) = acc2;
            *(__global float8_u *)(O0 + i * 64 + j + 24) = acc3;
            *(__global float8_u *)(O0 + i * 64 + j + 64) = acc4;
            *(__global float8_u *)(O0 + i * 64 + j + 72) = acc5;
            *(__global float8_u *)(O0 + i * 64 + j + 80) = acc6;
            *(__global float8_u *)(O0 + i * 64 + j + 88) = acc7;
          } else {
            *(__global float8_u *)(O0 + i * 64 + j) = acc0;
            *(__global float8_u *)(O0 + i * 64 + j + 8) = acc1;
            *(__global float8_u *)(O0 + i * 64 + j + 16) = acc2;
            *(__global float8_u *)(O0 + i * 64 + j + 24) = acc3;
            if (i + 1 < 7) {
              *(__global float8_u *)(O0 + i * 64 + j + 64) = acc4;
            }
            if (i + 1 < 7) {
              *(__global float8_u *)(O0 + i * 64 + j + 72) = acc5;
            }
            if (i + 1 < 7) {
              *(__global float8_u *)(O0 + i * 64 + j + 80) = acc6;
            }
            if (i + 1 < 7) {
              *(__global float8_u *)(O0 + i * 64 + j + 88) = acc7;
            }
          }
        } else {
          if (i_l + i_p <= 5) {
            acc0 = (*(__global const float8_u *)(O0 + i * 64 + j)) + acc0;
            *(__global float8_u *)(O0 + i * 64 + j) = acc0;
            acc1 = (*(__global const float8_u *)(O0 + i * 64 + j + 8)) + acc1;
            *(__global float8_u *)(O0 + i * 64 + j + 8) = acc1;
            acc2 = (*(__global const float8_u *)(O0 + i * 64 + j + 16)) + acc2;
            *(__global float8_u *)(O0 + i * 64 + j + 16) = acc2;
            acc3 = (*(__global const float8_u *)(O0 + i * 64 + j + 24)) + acc3;
            *(__global float8_u *)(O0 + i * 64 + j + 24) = acc3;
            acc4 = (*(__global const float8_u *)(O0 + i * 64 + j + 64)) + acc4;
            *(__global float8_u *)(O0 + i * 64 + j + 64) = acc4;
            acc5 = (*(__global const float8_u *)(O0 + i * 64 + j + 72)) + acc5;
            *(__global float8_u *)(O0 + i * 64 + j + 72) = acc5;
            acc6 = (*(__global const float8_u *)(O0 + i * 64 + j + 80)) + acc6;
            *(__global float8_u *)(O0 + i * 64 + j + 80) = acc6;
            acc7 = (*(__global const float8_u *)(O0 + i * 64 + j + 88)) + acc7;
            *(__global float8_u *)(O0 + i * 64 + j + 88) = acc7;
          } else {
            acc0 = (*(__global const float8_u *)(O0 + i * 64 + j)) + acc0;
            *(__global float8_u *)(O0 + i * 64 + j) = acc0;
            acc1 = (*(__global const float8_u *)(O0 + i * 64 + j + 8)) + acc1;
            *(__global float8_u *)(O0 + i * 64 + j + 8) = acc1;
            acc2 = (*(__global const float8_u *)(O0 + i * 64 + j + 16)) + acc2;
            *(__global float8_u *)(O0 + i * 64 + j + 16) = acc2;
            acc3 = (*(__global const float8_u *)(O0 + i * 64 + j + 24)) + acc3;
            *(__global float8_u *)(O0 + i * 64 + j + 24) = acc3;
            if (i + 1 < 7) {
              acc4 = (*(__global const float8_u *)(O0 + i * 64 + j + 64)) + acc4;
              *(__global float8_u *)(O0 + i * 64 + j + 64) = acc4;
            }
            if (i + 1 < 7) {
              acc5 = (*(__global const float8_u *)(O0 + i * 64 + j + 72)) + acc5;
              *(__global float8_u *)(O0 + i * 64 + j + 72) = acc5;
            }
            if (i + 1 < 7) {
              acc6 = (*(__global const float8_u *)(O0 + i * 64 + j + 80)) + acc6;
              *(__global float8_u *)(O0 + i * 64 + j + 80) = acc6;
            }
            if (i + 1 < 7) {
              acc7 = (*(__global const float8_u *)(O0 + i * 64 + j + 88)) + acc7;
              *(__global float8_u *)(O0 + i * 64 + j + 88) = acc7;
            }
          }
        }
      }
    }
  }
}

// mdh_0: 2 work-items, 1 a work-group; input 0, input 1, output 0
