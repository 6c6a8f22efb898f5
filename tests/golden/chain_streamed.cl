#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef float8 float8_u __attribute__((aligned(sizeof(float))));
static __attribute__((noinline)) float8 bounded_constant_float8(__global const float *p, int s, int i, int n, float c)
{
  if (s == 1 && i >= 0 && i <= n - 8) return *(__global const float8_u *)(p + i);
  if (s == 1 && n >= 8 && i > -8 && i < n) { const int b = clamp((int)i, 0, (int)n - 8); const float8 v = *(__global const float8_u *)(p + b); const int8 l = (int8)(0, 1, 2, 3, 4, 5, 6, 7) + (int)i; return select((float8)(c), shuffle(v, convert_uint8(clamp(l - b, (int8)(0), (int8)(7)))), convert_int8(l >= 0 && l < n)); }
  return (float8)(i + 0 >= 0 && i + 0 < n ? p[(i + 0) * s] : c, i + 1 >= 0 && i + 1 < n ? p[(i + 1) * s] : c, i + 2 >= 0 && i + 2 < n ? p[(i + 2) * s] : c, i + 3 >= 0 && i + 3 < n ? p[(i + 3) * s] : c, i + 4 >= 0 && i + 4 < n ? p[(i + 4) * s] : c, i + 5 >= 0 && i + 5 < n ? p[(i + 5) * s] : c, i + 6 >= 0 && i + 6 < n ? p[(i + 6) * s] : c, i + 7 >= 0 && i + 7 < n ? p[(i + 7) * s] : c);
}
static inline __attribute__((always_inline)) float8 near_constant_float8(__local const float *p, int i, int n, float c)
{ if (n == 0) return (float8)(c); const int b = clamp((int)i, 0, (int)n - 8); const float8 v = *(__local const float8_u *)(p + b); const int8 l = (int8)(0, 1, 2, 3, 4, 5, 6, 7) + (int)i; return select((float8)(c), shuffle(v, convert_uint8(clamp(l - b, (int8)(0), (int8)(7)))), convert_int8(l >= 0 && l < n)); }

// md_hom(((((x0 + x1) + x2) + x3) * 0.25), (++, ++)) ∘ (I0[m0i-1,m0j], I0[m0i,m0j-1], I0[m0i,m0j+1], I0[m0i+1,m0j]) -> T1[m0i,m0j] ; md_hom(((((x0 + x1) + x2) + x3) * 0.25), (++, ++)) ∘ (T1[i-1,j], T1[i,j-1], T1[i,j+1], T1[i+1,j]) -> O0[i,j]
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mdh_0(__global const float *restrict I0, __global float *restrict O0) {
  #pragma OPENCL FP_CONTRACT OFF
  __local float t0_l[72];
  const int g = get_group_id(0);
  const int j_g = g;
  const int j_l = j_g * 16;
  const int j_n = min(16, 40 - j_l);
  const int m0j_s = clamp(min(j_l, 24) - 1, 0, 22);
  for (int i_s = -2; i_s < 9; i_s += 2) {
    if (i_s + 1 < 9) {
      {
        for (int m0j_p = 0; m0j_p < 18; m0j_p += 8) {
          const int m0j_q = min(m0j_p, 10);
          const int m0i = i_s + 1;
          const int m0j = m0j_s + m0j_q;
          if (i_s + 1 >= 0 && i_s + 1 <= 7 && i_s >= 0 && i_s <= 5 && m0j_s + m0j_q - 1 >= 0 && m0j_s + m0j_q - 1 <= 30) {
            const float8 o0 = ((((*(__global const float8_u *)(I0 + m0i * 40 + m0j - 40)) + (*(__global const float8_u *)(I0 + m0i * 40 + m0j - 1))) + (*(__global const float8_u *)(I0 + m0i * 40 + m0j + 1))) + (*(__global const float8_u *)(I0 + m0i * 40 + m0j + 40))) * 0.25f;
            const float8 o1 = ((((*(__global const float8_u *)(I0 + m0i * 40 + m0j)) + (*(__global const float8_u *)(I0 + m0i * 40 + m0j + 39))) + (*(__global const float8_u *)(I0 + m0i * 40 + m0j + 41))) + (*(__global const float8_u *)(I0 + m0i * 40 + m0j + 80))) * 0.25f;
            *(__local float8_u *)(t0_l + -m0j_s + m0j + m0i % 4 * 18) = o0;
            *(__local float8_u *)(t0_l + -m0j_s + m0j + (m0i + 1) % 4 * 18) = o1;
          } else {
            for (int m0i_b = 0; m0i_b < 2; ++m0i_b) {
              if (m0i + m0i_b >= 0 && m0i + m0i_b < 9) {
                if (m0i + m0i_b - 1 >= 0 && m0i + m0i_b - 1 <= 6 && m0j - 1 >= 0 && m0j - 1 <= 30) {
                  *(__local float8_u *)(t0_l + -m0j_s + m0j + (m0i + m0i_b) % 4 * 18) = ((((*(__global const float8_u *)(I0 + m0i * 40 + m0i_b * 40 + m0j - 40)) + (*(__global const float8_u *)(I0 + m0i * 40 + m0i_b * 40 + m0j - 1))) + (*(__global const float8_u *)(I0 + m0i * 40 + m0i_b * 40 + m0j + 1))) + (*(__global const float8_u *)(I0 + m0i * 40 + m0i_b * 40 + m0j + 40))) * 0.25f;
                } else {
                  *(__local float8_u *)(t0_l + -m0j_s + m0j + (m0i + m0i_b) % 4 * 18) = ((((m0i + m0i_b - 1 >= 0 && m0i + m0i_b - 1 <= 8 ? *(__global const float8_u *)(I0 + m0i * 40 + m0i_b * 40 + m0j - 40) : (float8)((float)0.0f)) + bounded_constant_float8(I0 + m0i * 40 + m0i_b * 40, 1, m0j - 1, m0i + m0i_b >= 0 && m0i + m0i_b <= 8 ? 40 : 0, (float)0.0f)) + bounded_constant_float8(I0 + m0i * 40 + m0i_b * 40, 1, m0j + 1, m0i + m0i_b >= 0 && m0i + m0i_b <= 8 ? 40 : 0, (float)0.0f)) + (m0i + m0i_b + 1 <= 8 ? *(__global const float8_u *)(I0 + m0i * 40 + m0i_b * 40 + m0j + 40) : (float8)((float)0.0f))) * 0.25f;
                }
              }
            }
          }
        }
      }
    }
    if (i_s >= 0) {
      {
        const int i_l = i_s;
        const int i_n = min(2, 9 - i_l);
        for (int j_p = 0; j_p < j_n; j_p += 8) {
          const int i = i_l;
          const int j = j_l + j_p;
          if (i_l <= 7 && i_l - 1 >= 0 && i_l - 1 <= 5 && j_l + j_p - 1 >= 0 && j_l + j_p - 1 <= 30) {
            const float8 o2 = ((((*(__local const float8_u *)(t0_l + -m0j_s + j + (i - 1) % 4 * 18)) + (*(__local const float8_u *)(t0_l + -m0j_s + j + i % 4 * 18 - 1))) + (*(__local const float8_u *)(t0_l + 1 - m0j_s + j + i % 4 * 18))) + (*(__local const float8_u *)(t0_l + -m0j_s + j + (i + 1) % 4 * 18))) * 0.25f;
            const float8 o3 = ((((*(__local const float8_u *)(t0_l + -m0j_s + j + i % 4 * 18)) + (*(__local const float8_u *)(t0_l + -m0j_s + j + (i + 1) % 4 * 18 - 1))) + (*(__local const float8_u *)(t0_l + 1 - m0j_s + j + (i + 1) % 4 * 18))) + (*(__local const float8_u *)(t0_l + -m0j_s + j + (i + 2) % 4 * 18))) * 0.25f;
            *(__global float8_u *)(O0 + i * 40 + j) = o2;
            *(__global float8_u *)(O0 + i * 40 + j + 40) = o3;
          } else {
            for (int i_b = 0; i_b < 2; ++i_b) {
              if (i + i_b < 9) {
                if (i + i_b - 1 >= 0 && i + i_b - 1 <= 6 && j - 1 >= 0 && j - 1 <= 30) {
                  *(__global float8_u *)(O0 + i * 40 + i_b * 40 + j) = ((((*(__local const float8_u *)(t0_l + -m0j_s + j + (i + i_b - 1) % 4 * 18)) + (*(__local const float8_u *)(t0_l + -m0j_s + j + (i + i_b) % 4 * 18 - 1))) + (*(__local const float8_u *)(t0_l + 1 - m0j_s + j + (i + i_b) % 4 * 18))) + (*(__local const float8_u *)(t0_l + -m0j_s + j + (i + i_b + 1) % 4 * 18))) * 0.25f;
                } else {
                  *(__global float8_u *)(O0 + i * 40 + i_b * 40 + j) = (((near_constant_float8(t0_l + -m0j_s + (i + i_b - 1) % 4 * 18, j, i + i_b - 1 >= 0 ? 40 : 0, (float)0.0f) + near_constant_float8(t0_l + -m0j_s + (i + i_b) % 4 * 18, j - 1, i + i_b <= 8 ? 40 : 0, (float)0.0f)) + near_constant_float8(t0_l + -m0j_s + (i + i_b) % 4 * 18, j + 1, i + i_b <= 8 ? 40 : 0, (float)0.0f)) + near_constant_float8(t0_l + -m0j_s + (i + i_b + 1) % 4 * 18, j, i + i_b + 1 <= 8 ? 40 : 0, (float)0.0f)) * 0.25f;
                }
              }
            }
          }
        }
      }
    }
  }
}

// mdh_0: 3 work-items, 1 a work-group; input 0, output 0
