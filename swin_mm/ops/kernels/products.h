// Products of small matrices that a core finds in its own cache, and a transposition.
#pragma once

#include "vectors.h"

namespace swin_mm {

// Registers hold the tile of a product while its depth goes by: with AVX-512 7 rows of 4 vectors,
// 28 of 32, as 49 tokens are 7 times 7; with AVX2 12 of 16.
constexpr int WIDEST = 4;
constexpr int TALLEST = LANES == 16 ? 7 : 3;

// A matrix in memory of float32, its elements at any distance from each other.
struct Matrix {
  const float* at;
  long row;     // from one row to the next
  long column;  // and from one column to the next

  Matrix from_row(long number) const { return {at + number * row, row, column}; }
};

template <int TALL, int WIDE>
INLINE void tile(Matrix a, const float* b, long b_row, float* out, long out_row, long depth) {
  Floats total[TALL][WIDE];
#pragma GCC unroll 8
  for (int i = 0; i < TALL; i++)
#pragma GCC unroll 4
    for (int j = 0; j < WIDE; j++) total[i][j] = Floats{};
  for (long k = 0; k < depth; k++) {
    Floats line[WIDE];
#pragma GCC unroll 4
    for (int j = 0; j < WIDE; j++) line[j] = load(b + k * b_row + j * LANES);
#pragma GCC unroll 8
    for (int i = 0; i < TALL; i++) {
      Floats factor = splat(a.at[i * a.row + k * a.column]);
#pragma GCC unroll 4
      for (int j = 0; j < WIDE; j++) total[i][j] += factor * line[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < TALL; i++)
#pragma GCC unroll 4
    for (int j = 0; j < WIDE; j++) store(out + i * out_row + j * LANES, total[i][j]);
}

template <int WIDE>
inline void strip(Matrix a, const float* b, long b_row, float* out, long out_row, long rows,
                  long depth) {
  long i = 0;
  for (; i + TALLEST <= rows; i += TALLEST)
    tile<TALLEST, WIDE>(a.from_row(i), b, b_row, out + i * out_row, out_row, depth);
  for (; i + 2 <= rows; i += 2)
    tile<2, WIDE>(a.from_row(i), b, b_row, out + i * out_row, out_row, depth);
  if (i < rows) tile<1, WIDE>(a.from_row(i), b, b_row, out + i * out_row, out_row, depth);
}

// out (rows, vectors * LANES) = a (rows, depth) b (depth, vectors * LANES)
inline void product(Matrix a, const float* b, long b_row, float* out, long out_row, long rows,
                    long depth, long vectors) {
  for (; vectors >= WIDEST; vectors -= WIDEST) {
    strip<WIDEST>(a, b, b_row, out, out_row, rows, depth);
    b += WIDEST * LANES;
    out += WIDEST * LANES;
  }
  if (vectors == 3) strip<3>(a, b, b_row, out, out_row, rows, depth);
  if (vectors == 2) strip<2>(a, b, b_row, out, out_row, rows, depth);
  if (vectors == 1) strip<1>(a, b, b_row, out, out_row, rows, depth);
}

template <int STEP>
INLINE void exchange(Floats* rows) {
  Ints upper, lower;
  for (int lane = 0; lane < LANES; lane++) {
    upper[lane] = lane & STEP ? LANES + lane - STEP : lane;
    lower[lane] = lane & STEP ? LANES + lane : lane + STEP;
  }
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) {
    if (i & STEP) continue;
    Floats a = rows[i], b = rows[i + STEP];
    rows[i] = __builtin_shuffle(a, b, upper);
    rows[i + STEP] = __builtin_shuffle(a, b, lower);
  }
}

// Turn LANES rows of LANES values into columns.
INLINE void transpose(Floats* rows) {
  if (LANES == 16) exchange<8>(rows);
  exchange<4>(rows);
  exchange<2>(rows);
  exchange<1>(rows);
}

}  // namespace swin_mm
