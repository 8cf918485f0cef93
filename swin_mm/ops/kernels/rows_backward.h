// The gradients of what happens to each token by itself.
#pragma once

#include <algorithm>

#include "rows.h"

namespace swin_mm {

// Rows that several threads share out among themselves, and vectors of (C,) that they sum up on the
// way, joined in the order of the threads: with as many of them, the same numbers.
template <typename Work>
void sum_over_rows(long rows, long channels, int vectors, float* const* sums, int wanted,
                   Work work) {
  const long threads = std::max<long>(std::min<long>(wanted, rows), 1);
  const long wide = rounded_up(channels), each = vectors * wide;
  Scratch parts(threads * each);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (long thread = 0; thread < threads; thread++) {
    float* mine = parts.at() + thread * each;
    work(rows * thread / threads, rows * (thread + 1) / threads, mine, wide);
  }
  for (long thread = 0; thread < threads; thread++)
    for (int which = 0; which < vectors; which++) {
      if (!sums[which]) continue;
      const float* part = parts.at() + thread * each + which * wide;
      for (long c = 0; c < channels; c++) sums[which][c] += part[c];
    }
}

// A norm whose gradient is due: what it was given, plus `bias` where there is one, and its moments.
template <typename X>
struct NormBackward {
  const X* rows;
  const int64_t* index;  // where each row is among them, or null
  const float* bias;     // (C,) or null
  const Moments* moments;
  const int64_t* places;  // where each row's moments are, or null
  const float* weight;    // (C,); null where there is no norm

  explicit operator bool() const { return weight != nullptr; }
};

// gradient (C,) of a norm's result to that of what it was given, and on top of the sums of its
// weight and bias.
template <typename X>
INLINE void norm_backward(const NormBackward<X>& norm, long r, float* gradient, float* normed,
                          long channels, float* of_weight, float* of_bias) {
  const X* x = norm.rows + (norm.index ? norm.index[r] : r) * channels;
  const Moments m = norm.moments[norm.places ? norm.places[r] : r];
  Floats all = {}, shared = {};
  along(channels, [&](long c, auto part) {
    Floats y = part.load(x + c);
    if (norm.bias) y += part.load(norm.bias + c);
    y = part.keep((y - m.mean) * m.share);
    const Floats g = load(gradient + c), weighed = g * part.load(norm.weight + c);
    store(normed + c, y);
    store(of_weight + c, load(of_weight + c) + g * y);
    store(of_bias + c, load(of_bias + c) + g);
    store(gradient + c, weighed);
    all += weighed;
    shared += weighed * y;
  });
  const float mean = sum(all) / channels, share = sum(shared) / channels;
  along(channels, [&](long c, auto part) {
    const Floats g = (load(gradient + c) - mean - load(normed + c) * share) * m.share;
    store(gradient + c, part.keep(g));
  });
}

// Gradients on their way back past one branch and into the next.
//
//   result[to[r]] = above[from[r]] + norm's gradient of given[places[r]]
//   branch[r]     = last norm's gradient of factor[r] * the same
template <typename A, typename T, typename X, typename R>
struct GradientRows {
  const A* above;
  const int64_t* from;  // or null, likewise below
  const T* given;       // of what a branch was made of; null where none is to be added
  const int64_t* places;
  NormBackward<X> norm;
  R* result;
  const int64_t* to;
  T* branch;  // null where none is left
  const float* factor;
  NormBackward<T> last;
  float* sums[5];  // of norm's weight and bias, of last's, and of the branch
};

template <typename A, typename T, typename X, typename R>
void gradient_rows(const GradientRows<A, T, X, R>& job, long rows, long channels, int threads) {
  sum_over_rows(rows, channels, 5, job.sums, threads, [&](long start, long stop, float* sums,
                                                          long wide) {
    Scratch scratch(3 * wide);
    float *row = scratch.take(wide), *own = scratch.take(wide), *normed = scratch.take(wide);
    for (long r = start; r < stop; r++) {
      if (r + 2 < stop) {
        if (job.from) fetch(job.above + job.from[r + 2] * channels, channels);
        if (job.to) fetch(job.result + job.to[r + 2] * channels, channels);
      }
      read_row(job.above + (job.from ? job.from[r] : r) * channels, channels, row);
      if (job.given) {
        read_row(job.given + (job.places ? job.places[r] : r) * channels, channels, own);
        if (job.norm) norm_backward(job.norm, r, own, normed, channels, sums, sums + wide);
        for (long c = 0; c < channels; c += LANES) store(row + c, load(row + c) + load(own + c));
      }
      R* to = job.result + (job.to ? job.to[r] : r) * channels;
      along(channels, [&](long c, auto part) { part.store(to + c, load(row + c)); });
      if (!job.branch) continue;
      if (job.factor)
        for (long c = 0; c < channels; c += LANES) store(row + c, load(row + c) * job.factor[r]);
      if (job.last)
        norm_backward(job.last, r, row, normed, channels, sums + 2 * wide, sums + 3 * wide);
      T* branch = job.branch + r * channels;
      float* total = sums + 4 * wide;
      along(channels, [&](long c, auto part) {
        part.store(branch + c, load(row + c));
        store(total + c, load(total + c) + load(row + c));
      });
    }
  });
}

}  // namespace swin_mm
