#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef int4 int4_u __attribute__((aligned(sizeof(int))));
typedef uchar2 uchar2_u __attribute__((aligned(sizeof(uchar))));
typedef uchar4 uchar4_u __attribute__((aligned(sizeof(uchar))));
static inline void scatter_rest__global_uchar4(__global uchar *p, int s, int n, uchar4 v)
{ const int m = 4 - n;
  if (s == 1 && m >= 4) { *(__global uchar4_u *)p = v; return; }
  if (s == 1) { p += 4; uchar2 v2 = v.hi; if (m & 2) { p -= 2; *(__global uchar2_u *)p = v2; v2 = v.lo; } if (m & 1) p[-1] = v2.hi; return; }
  if (n <= 0) p[0 * s] = v.s0; if (n <= 1) p[1 * s] = v.s1; if (n <= 2) p[2 * s] = v.s2; if (n <= 3) p[3 * s] = v.s3; }

// md_hom(x0 > 0, (++, and)) ∘ (I0[j,i]) -> O0[i]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const int *restrict I0, __global uchar *restrict O0) {
  #pragma OPENCL FP_CONTRACT ON
  for (int i_l = 0; i_l < 7; i_l += 4) {
    const int i_n = min(4, 7 - i_l);
    const int i = i_l;
    int4 acc0 = (int4)(-1);
    if (i_l <= 3) {
      for (int j_p = 0; j_p < 9; ++j_p) {
        acc0 = acc0 & ((*(__global const int4_u *)(I0 + i + j_p * 7)) > 0);
      }
    } else {
      const int first0 = min(i, 3);
      for (int j_p = 0; j_p < 9; ++j_p) {
        acc0 = acc0 & ((*(__global const int4_u *)(I0 + first0 + j_p * 7)) > 0);
      }
    }
    if (i_l <= 3) {
      *(__global uchar4_u *)(O0 + i) = convert_uchar4(-acc0);
    } else {
      const int first1 = min(i, 3);
      scatter_rest__global_uchar4(O0 + first1, 1, i - first1, convert_uchar4(-acc0));
    }
  }
}

// mdh_0: 1 work-items, 1 a work-group; input 0, output 0
