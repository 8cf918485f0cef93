// What happens to each token by itself: norms and residuals.
//
// Rows that a thread works on lie in its own memory, padded with zeros to whole vectors.
#pragma once

#include "vectors.h"

namespace swin_mm {

// A LayerNorm over the channels of a row; without weights, nothing.
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
  Floats all = {}, rest = {}, squares = {};
  for (long c = 0; c < channels; c += LANES) all += load(row + c);
  const float near = sum(all) / channels;
  along(channels, [&](long c, auto part) {
    const Floats x = part.keep(load(row + c) - near);
    rest += x;
    squares += x * x;
  });
  // What rounding left out of the mean is found again beside it: of large values that are all the
  // same, nothing else would be left.
  const float left = sum(rest) / channels, variance = sum(squares) / channels - left * left;
  return {near + left, 1.0f / std::sqrt((variance < 0.0f ? 0.0f : variance) + eps)};
}

// Write a row, normed or as it is.
template <typename T>
INLINE void write_normed(const float* row, long channels, Norm norm, Moments* kept, T* to) {
  if (!norm) {
    along(channels, [&](long c, auto part) { part.store(to + c, load(row + c)); });
    return;
  }
  const Moments m = moments_of(row, channels, norm.eps);
  if (kept) *kept = m;
  along(channels, [&](long c, auto part) {
    const Floats x = (load(row + c) - m.mean) * m.share;
    part.store(to + c, x * part.load(norm.weight + c) + part.load(norm.bias + c));
  });
}

template <typename T>
INLINE void read_row(const T* from, long channels, float* row) {
  along(channels, [&](long c, auto part) { store(row + c, part.load(from + c)); });
}

// result[r] = norm(x[index[r]]), or zeros where the index is negative.
template <typename X, typename T>
void take_normed(const X* x, const int64_t* index, long rows, long channels, Norm norm, T* result,
                 Moments* kept, int threads) {
#pragma omp parallel num_threads(threads)
  {
    Scratch scratch(rounded_up(channels));
    float* row = scratch.take(rounded_up(channels));
#pragma omp for schedule(static)
    for (long r = 0; r < rows; r++) {
      if (r + 2 < rows && index[r + 2] >= 0) fetch(x + index[r + 2] * channels, channels);
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

// total[to[r]] = x[from[r]] + factor[r] * norm(branch[r] + bias), and its norm in given[r].
template <typename X, typename S, typename T>
void add_branch(const X* x, const int64_t* from, Branch<T> branch, S* total, const int64_t* to,
                Norm next, T* given, Moments* kept, long rows, long channels, int threads) {
#pragma omp parallel num_threads(threads)
  {
    Scratch scratch(2 * rounded_up(channels));
    float *row = scratch.take(rounded_up(channels)), *own = scratch.take(rounded_up(channels));
#pragma omp for schedule(static)
    for (long r = 0; r < rows; r++) {
      if (r + 2 < rows) {
        if (from) fetch(x + from[r + 2] * channels, channels);
        if (to) fetch(total + to[r + 2] * channels, channels);
      }
      const T* at = branch.rows + r * channels;
      const X* base = x + (from ? from[r] : r) * channels;
      S* end = total + (to ? to[r] : r) * channels;
      const float factor = branch.factor ? branch.factor[r] : 1.0f;
      if (branch.norm) {
        along(channels, [&](long c, auto part) {
          store(own + c, part.load(at + c) + part.load(branch.bias + c));
        });
        write_normed(own, channels, branch.norm, branch.kept ? branch.kept + r : nullptr, own);
      }
      along(channels, [&](long c, auto part) {
        const Floats added = branch.norm ? part.keep(load(own + c))
                                         : part.load(at + c) + part.load(branch.bias + c);
        const Floats y = part.load(base + c) + added * factor;
        store(row + c, y);
        part.store(end + c, y);
      });
      if (given) write_normed(row, channels, next, kept ? kept + r : nullptr, given + r * channels);
    }
  }
}

}  // namespace swin_mm
