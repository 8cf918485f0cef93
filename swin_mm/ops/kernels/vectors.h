// Vectors of floats in the compiler's own notation, and what is loaded into and stored from them.
//
// The compiler turns these types into the widest registers that it may use, so that one source
// serves every kind of processor. Everything is computed in float32; bfloat16 is a way to store.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <immintrin.h>

#define INLINE inline __attribute__((always_inline))

namespace swin_mm {

#ifdef __AVX512F__
constexpr int LANES = 16;
#else
constexpr int LANES = 8;
#endif

typedef float Floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

struct bfloat16 {
  uint16_t bits;  // the upper half of a float32
};

INLINE Floats splat(float x) { return x - Floats{}; }

INLINE Floats load(const float* from) { return *reinterpret_cast<const Floats*>(from); }

// Between halves and whole words by the processor's own instructions: a compiler's take twice the
// time.
INLINE Bits widened(Halves x) {
#ifdef __AVX512F__
  return reinterpret_cast<Bits>(_mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(x)));
#else
  return reinterpret_cast<Bits>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(x)));
#endif
}

INLINE Halves narrowed(Bits x) {
#ifdef __AVX512F__
  return reinterpret_cast<Halves>(_mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(x)));
#else
  __m256i both = reinterpret_cast<__m256i>(x);
  return reinterpret_cast<Halves>(
      _mm_packus_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)));
#endif
}

INLINE Floats load(const bfloat16* from) {
  return reinterpret_cast<Floats>(widened(*reinterpret_cast<const Halves*>(from)) << 16);
}

INLINE void store(float* to, Floats x) { *reinterpret_cast<Floats*>(to) = x; }

// Rounded to the nearest, ties to even, as torch does; NaN stays NaN.
INLINE void store(bfloat16* to, Floats x) {
  Bits bits = reinterpret_cast<Bits>(x);
  Bits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  rounded = x == x ? rounded : Bits{} + 0x7fc0;
  *reinterpret_cast<Halves*>(to) = narrowed(rounded);
}

// A vector of a row, and the last few values of one, where what is loaded besides is zero.
struct Whole {
  INLINE Floats keep(Floats x) const { return x; }
  template <typename T>
  INLINE Floats load(const T* from) const {
    return swin_mm::load(from);
  }
  template <typename T>
  INLINE void store(T* to, Floats x) const {
    swin_mm::store(to, x);
  }
};

struct Last {
  long count;

  INLINE Floats keep(Floats x) const {
    float some[LANES] = {};
    std::memcpy(some, &x, count * sizeof(float));
    return swin_mm::load(some);
  }

  template <typename T>
  INLINE Floats load(const T* from) const {
    T some[LANES] = {};
    std::memcpy(static_cast<void*>(some), from, count * sizeof(T));
    return swin_mm::load(some);
  }
  template <typename T>
  INLINE void store(T* to, Floats x) const {
    T some[LANES];
    swin_mm::store(some, x);
    std::memcpy(static_cast<void*>(to), some, count * sizeof(T));
  }
};

// Go along a row of this many channels: body(first channel, Whole or Last).
template <typename Body>
INLINE void along(long channels, Body body) {
  long c = 0;
  for (; c + LANES <= channels; c += LANES) body(c, Whole{});
  if (c < channels) body(c, Last{channels - c});
}

// Have the next row of a map on its way from memory, which no processor guesses.
template <typename T>
INLINE void fetch(const T* row, long channels) {
  const char* at = reinterpret_cast<const char*>(row);
  for (long line = 0; line < channels * static_cast<long>(sizeof(T)); line += 64)
    __builtin_prefetch(at + line);
}

// Every lane beside the one that is STEP away.
template <int STEP>
INLINE Floats neighbours(Floats x) {
  Ints order;
  for (int lane = 0; lane < LANES; lane++) order[lane] = lane ^ STEP;
  return __builtin_shuffle(x, order);
}

INLINE Floats larger(Floats a, Floats b) { return a > b ? a : b; }

INLINE float sum(Floats x) {
  if (LANES == 16) x += neighbours<8>(x);
  x += neighbours<4>(x);
  x += neighbours<2>(x);
  x += neighbours<1>(x);
  return x[0];
}

INLINE float largest(Floats x) {
  if (LANES == 16) x = larger(x, neighbours<8>(x));
  x = larger(x, neighbours<4>(x));
  x = larger(x, neighbours<2>(x));
  x = larger(x, neighbours<1>(x));
  return x[0];
}

// 1 / x within 2 units of the last place, in a quarter of a division's time.
INLINE Floats reciprocal(Floats x) {
#ifdef __AVX512F__
  Floats y = (Floats)_mm512_maskz_rcp14_ps(0xffff, (__m512)x);
#else
  Floats y = (Floats)_mm256_rcp_ps((__m256)x);
#endif
  return y * (2.0f - x * y);
}

// e^x for x <= 0 within 2 units of the last place; 0 below -87.3, where the true value is no normal
// float32; NaN stays NaN.
// By Cody and Waite: x = n ln 2 + r, with a polynomial of r (Cephes, expf).
INLINE Floats exponential(Floats x) {
  constexpr float SHIFT = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  Floats n = x * 1.44269504f + SHIFT;
  Ints power = reinterpret_cast<Ints>(n) - reinterpret_cast<Ints>(splat(SHIFT));
  n -= SHIFT;
  Floats r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Floats p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  p *= reinterpret_cast<Floats>((power + 127) << 23);
  return x < -87.3f ? Floats{} : p;
}

struct Normal {
  Floats below;    // the share of the normal distribution below x
  Floats density;  // its density at x
};

// Within 1e-7 (Abramowitz and Stegun, 7.1.26, halved).
INLINE Normal normal(Floats x) {
  Floats far = x < 0.0f ? -x : x;
  far = far > 32.0f ? splat(32.0f) : far;  // the reciprocal of an infinite one is none
  Floats t = reciprocal(1.0f + 0.23164189f * far);  // 0.3275911 / sqrt(2)
  Floats bell = exponential(-0.5f * x * x);
  Floats p = splat(0.5307027145f);
  p = p * t - 0.7265760135f;
  p = p * t + 0.7107068705f;
  p = p * t - 0.1422483680f;
  p = p * t + 0.1274147960f;
  Floats tail = p * t * bell;
  return {x < 0.0f ? tail : 1.0f - tail, bell * 0.39894228f};
}

// Memory for a thread's own use, for as long as it lives, aligned to a cache line.
class Scratch {
 public:
  explicit Scratch(long floats)
      : at_(static_cast<float*>(std::aligned_alloc(64, (floats * 4 + 127) / 64 * 64))) {
    if (!at_) {  // torch would have failed before: these are a few MB at most
      std::fputs("swin_mm: no memory left for the kernels\n", stderr);
      std::abort();
    }
    std::memset(at_, 0, floats * 4);
  }
  ~Scratch() { std::free(at_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  float* at() const { return at_; }

  // The next piece of it.
  float* take(long floats) {
    float* piece = at_ + taken_;
    taken_ += floats;
    return piece;
  }

 private:
  float* at_;
  long taken_ = 0;
};

INLINE long rounded_up(long number) { return (number + LANES - 1) / LANES * LANES; }

}  // namespace swin_mm
