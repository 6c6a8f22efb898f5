#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float16 float16_u __attribute__((aligned(sizeof(float))));
typedef float2 float2_u __attribute__((aligned(sizeof(float))));
typedef float4 float4_u __attribute__((aligned(sizeof(float))));
typedef float8 float8_u __attribute__((aligned(sizeof(float))));
static __attribute__((noinline)) void scatter_rest__global_float16(__global float *p, int s, int n, float16 v)
{ const int m = 16 - n;
  if (s == 1 && m >= 16) { *(__global float16_u *)p = v; return; }
  if (s == 1) { p += 16; float8 v8 = v.hi; if (m & 8) { p -= 8; *(__global float8_u *)p = v8; v8 = v.lo; } float4 v4 = v8.hi; if (m & 4) { p -= 4; *(__global float4_u *)p = v4; v4 = v8.lo; } float2 v2 = v4.hi; if (m & 2) { p -= 2; *(__global float2_u *)p = v2; v2 = v4.lo; } if (m & 1) p[-1] = v2.hi; return; }
  if (n <= 0) p[0 * s] = v.s0; if (n <= 1) p[1 * s] = v.s1; if (n <= 2) p[2 * s] = v.s2; if (n <= 3) p[3 * s] = v.s3; if (n <= 4) p[4 * s] = v.s4; if (n <= 5) p[5 * s] = v.s5; if (n <= 6) p[6 * s] = v.s6; if (n <= 7) p[7 * s] = v.s7; if (n <= 8) p[8 * s] = v.s8; if (n <= 9) p[9 * s] = v.s9; if (n <= 10) p[10 * s] = v.sa; if (n <= 11) p[11 * s] = v.sb; if (n <= 12) p[12 * s] = v.sc; if (n <= 13) p[13 * s] = v.sd; if (n <= 14) p[14 * s] = v.se; if (n <= 15) p[15 * s] = v.sf; }

// md_hom(id, (++, +)) ∘ (m0I0[m0i,m0j]) -> m0O0[m0i] ; md_hom((x0 - (x1 * 0.05000000074505806)), (++, ++)) ∘ (m1I0[m1i,m1j], m1I1[m1i]) -> m1O0[m1i,m1j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT OFF
  __local float t1_l[4];
  const int g = get_group_id(0);
  const int i_g = g;
  const int i_l = i_g * 4;
  {
    const int m0i_l = i_l;
    for (int m0i_p = 0; m0i_p < 4; ++m0i_p) {
      const int m0i = m0i_l + m0i_p;
      float16 acc0 = (float16)(0.0f);
      float acc_tail0 = 0.0f;
      for (int m0j_p = 0; m0j_p + 16 <= 20; m0j_p += 16) {
        const float16 m0I0_0 = *(__global const float16_u *)(I0 + m0i * 20 + m0j_p);
        acc0 = acc0 + m0I0_0;
      }
      for (int m0j_p = 16; m0j_p < 20; ++m0j_p) {
        const float m0I0_1 = I0[m0i * 20 + m0j_p];
        acc_tail0 = acc_tail0 + m0I0_1;
      }
      float8 h0 = acc0.lo;
      h0 = h0 + acc0.hi;
      float4 h1 = h0.lo;
      h1 = h1 + h0.hi;
      float2 h2 = h1.lo;
      h2 = h2 + h1.hi;
      float h3 = h2.lo;
      h3 = h3 + h2.hi;
      h3 = h3 + acc_tail0;
      t1_l[-i_l + m0i] = h3;
    }
  }
  {
    const int m1i_l = i_l;
    const int m1i = m1i_l;
    const int m1j = 0;
    for (int m1i_b = 0; m1i_b < 4; ++m1i_b) {
      for (int m1j_b = 0; m1j_b < 2; ++m1j_b) {
        const int first0 = min(m1j + m1j_b * 16, 4);
        if (m1j + m1j_b * 16 <= 4) {
          const float16 m1I0_0 = *(__global const float16_u *)(I0 + m1i * 20 + m1i_b * 20 + m1j + m1j_b * 16);
          const float m1I1_0 = t1_l[-i_l + m1i + m1i_b];
          *(__global float16_u *)(O0 + m1i * 20 + m1i_b * 20 + m1j + m1j_b * 16) = m1I0_0 - (m1I1_0 * 0.05000000074505806f);
        } else {
          const float16 m1I0_1 = *(__global const float16_u *)(I0 + m1i * 20 + m1i_b * 20 + first0);
          const float m1I1_1 = t1_l[-i_l + m1i + m1i_b];
          scatter_rest__global_float16(O0 + m1i * 20 + m1i_b * 20 + first0, 1, m1j + m1j_b * 16 - first0, m1I0_1 - (m1I1_1 * 0.05000000074505806f));
        }
      }
    }
  }
}

// mdh_0: 10 work-items, 1 a work-group; input 0, output 0
