// GELU of a linear layer's result, whose bias is added on the way, and its gradient.
#pragma once

#include "rows_backward.h"

namespace swin_mm {

// result = GELU(x + bias); they may be the same memory.
template <typename T>
void gelu(const T* x, const float* bias, T* result, long rows, long channels, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (long r = 0; r < rows; r++)
    along(channels, [&](long c, auto part) {
      const Floats y = part.load(x + r * channels + c) + part.load(bias + c);
      part.store(result + r * channels + c, y * normal(y).below);
    });
}

// The same again, and from the gradient of the result, in its place, to that of x.
template <typename T>
void gelu_backward(const T* x, const float* bias, T* result, T* gradient, float* sums, long rows,
                   long channels, int threads) {
  sum_over_rows(rows, channels, 1, &sums, threads, [&](long start, long stop, float* total, long) {
    for (long r = start; r < stop; r++)
      along(channels, [&](long c, auto part) {
        const long at = r * channels + c;
        const Floats y = part.load(x + at) + part.load(bias + c);
        const Normal found = normal(y);
        part.store(result + at, y * found.below);
        const Floats g = part.load(gradient + at) * (found.below + y * found.density);
        part.store(gradient + at, g);
        store(total + c, load(total + c) + g);
      });
  });
}

}  // namespace swin_mm
