// What happens to each token by itself: norms, residuals and their gradients.
#pragma once

#include "vectors.h"

namespace swin_mm {

// A LayerNorm over the channels of a row. Without moments to keep, and without weights, nothing.
struct Norm {
  const float *weight, *bias;  // (C,)
  float eps;

  explicit operator bool() const { return weight != nullptr; }
};

// Mean and 1 / deviation of a row, as a LayerNorm wants them.
struct Moments {
  float mean, share;
};

INLINE Moments moments_of(const float* row, long channels, float eps) {
  Floats all = {};
  long c = 0;
  for (; c + LANES <= channels; c += LANES) all += load(row + c);
  if (c < channels) all += load(row + c, channels - c);
  float mean = sum(all) / channels, rest = 0;
  Floats squares = {};
  for (c = 0; c + LANES <= channels; c += LANES) {
    Floats x = load(row + c) - mean;
    squares += x * x;
  }
  for (; c < channels; c++) rest += (row[c] - mean) * (row[c] - mean);
  float variance = (sum(squares) + rest) / channels;
  return {mean, 1.0f / std::sqrt(variance + eps)};
}

// Write a row of float32, normed or as it is.
template <typename T>
INLINE void write_normed(const float* row, long channels, Norm norm, Moments* kept, T* to) {
  if (!norm) {
    for (long c = 0; c < channels; c += LANES)
      store(to + c, load(row + c, channels - c), channels - c);
    return;
  }
  Moments m = moments_of(row, channels, norm.eps);
  if (kept) *kept = m;
  for (long c = 0; c < channels; c += LANES) {
    long count = channels - c;
    Floats x = (load(row + c, count) - m.mean) * m.share;
    store(to + c, x * load(norm.weight + c, count) + load(norm.bias + c, count), count);
  }
}

template <typename T>
INLINE void read_row(const T* from, long channels, float* row) {
  for (long c = 0; c < channels; c += LANES)
    store(row + c, load(from + c, channels - c), channels - c);
}

// result[r] = norm(x[index[r]]), or zeros where the index is negative.
template <typename X, typename T>
void take_normed(const X* x, const int64_t* index, long rows, long channels, Norm norm, T* result,
                 Moments* kept, int threads) {
#pragma omp parallel num_threads(threads)
  {
    Scratch scratch(rounded_up(channels));
    float* row = scratch.take(channels);
#pragma omp for schedule(static)
    for (long r = 0; r < rows; r++) {
      if (index[r] < 0) {
        std::memset(static_cast<void*>(result + r * channels), 0, channels * sizeof(T));
        if (kept) kept[r] = {};
        continue;
      }
      read_row(x + index[r] * channels, channels, row);
      write_normed(row, channels, norm, kept ? kept + r : nullptr, result + r * channels);
    }
  }
}

// A branch as its last linear layer gave it, still without that layer's bias.
template <typename T>
struct Branch {
  const T* rows;
  const float* bias;    // (C,)
  Norm norm;            // where norms come last
  Moments* kept;        // of that
  const float* factor;  // of stochastic depth, a row each, or null
};

// total[r] = x[from[r]] + factor[r] * norm(branch[r] + bias), at total[to[r]], and its norm beside.
template <typename X, typename S, typename T>
void add_branch(const X* x, const int64_t* from, Branch<T> branch, S* total, const int64_t* to,
                Norm next, T* given, Moments* kept, long rows, long channels, int threads) {
#pragma omp parallel num_threads(threads)
  {
    Scratch scratch(2 * rounded_up(channels));
    float *row = scratch.take(rounded_up(channels)), *own = scratch.take(rounded_up(channels));
#pragma omp for schedule(static)
    for (long r = 0; r < rows; r++) {
      const T* at = branch.rows + r * channels;
      for (long c = 0; c < channels; c += LANES) {
        long count = channels - c;
        store(own + c, load(at + c, count) + load(branch.bias + c, count), count);
      }
      if (branch.norm)
        write_normed(own, channels, branch.norm, branch.kept ? branch.kept + r : nullptr, own);
      const X* base = x + (from ? from[r] : r) * channels;
      S* sum_at = total + (to ? to[r] : r) * channels;
      float factor = branch.factor ? branch.factor[r] : 1.0f;
      for (long c = 0; c < channels; c += LANES) {
        long count = channels - c;
        Floats y = load(base + c, count) + load(own + c, count) * factor;
        store(row + c, y, count);
        store(sum_at + c, y, count);
      }
      if (given) write_normed(row, channels, next, kept ? kept + r : nullptr, given + r * channels);
    }
  }
}

}  // namespace swin_mm
