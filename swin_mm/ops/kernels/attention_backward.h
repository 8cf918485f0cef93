// The gradient of attention within windows. Scores are computed again from queries and keys.
#pragma once

#include <algorithm>

#include "attention.h"

namespace swin_mm {

// Gradients of what a head has learned, summed over windows: of its bias (N, row), of the bias of
// its queries, keys and values (3, deep), and of the factor of its cosines.
struct HeadSums {
  float* at;

  static long floats(const Attention& with) {
    return with.tokens * with.row() + 3 * with.deep() + LANES;
  }
  float* bias() { return at; }
  float* given(const Attention& with, int which) {
    return at + with.tokens * with.row() + which * with.deep();
  }
  float& cosine(const Attention& with) { return *given(with, 3); }
};

// Go back through the division by a row's own length: `rows` hold what came of it.
inline void from_unit_length(const float* rows, const float* lengths, float* gradient, long number,
                             long deep) {
  for (long i = 0; i < number; i++) {
    const float* row = rows + i * deep;
    float* at = gradient + i * deep;
    Floats along = {};
    for (long c = 0; c < deep; c += LANES) along += load(at + c) * load(row + c);
    const float part = sum(along);
    for (long c = 0; c < deep; c += LANES)
      store(at + c, (load(at + c) - load(row + c) * part) / lengths[i]);
  }
}

// Store a gradient of queries, keys or values, and add up that of their bias.
template <typename T>
inline void write_gradient(const Attention& with, const float* gradient, T* to, float factor,
                           float* total) {
  along(with.channels, [&](long c, auto part) {
    Floats all = {};
    for (long i = 0; i < with.tokens; i++) {
      Floats x = load(gradient + i * with.deep() + c) * factor;
      all += x;
      part.store(to + i * 3 * with.width() + c, x);
    }
    store(total + c, load(total + c) + all);
  });
}

// A thread's memory, and the gradients of one window and head.
template <typename T>
class HeadBackward {
 public:
  static long floats(const Attention& with) {
    return Head::floats(with) + 2 * with.tokens * with.row() + 2 * with.deep() * with.row() +
           3 * with.tokens * with.deep() + HeadSums::floats(with);
  }

  HeadBackward(const Attention& with, Scratch& scratch)
      : with_(with),
        head_(with, scratch),
        weights_(scratch.take(with.tokens * with.row())),
        of_scores_(scratch.take(with.tokens * with.row())),
        v_turned_(scratch.take(with.deep() * with.row())),
        above_(scratch.take(with.tokens * with.deep())),
        found_(scratch.take(with.tokens * with.deep())),
        sums_{scratch.take(HeadSums::floats(with))} {}

  HeadSums& sums() { return sums_; }

  void run(const T* qkv, const T* gradient, T* result, long window, long number) {
    const long tokens = with_.tokens, row = with_.row(), deep = with_.deep();
    const long width = with_.width(), channels = with_.channels;
    read_head(with_, qkv, window, number, head_);
    turn(head_.v, v_turned_, tokens, deep);
    const float *mask = with_.mask(window), factor = with_.factor(number);
    read_gradient(gradient, window, number);
    for (long i = 0; i < tokens; i += TALLEST) {
      long rows = std::min<long>(tokens - i, TALLEST);
      float *scores = weights_ + i * row, *of_scores = of_scores_ + i * row, shares[TALLEST];
      product({head_.q + i * deep, deep, 1}, head_.k_turned, row, scores, row, rows, channels,
              row / LANES);
      product({above_ + i * deep, deep, 1}, v_turned_, row, of_scores, row, rows, channels,
              row / LANES);
      exponentials(with_, scores, number, mask, i, rows, shares);
      softmax_backward(scores, of_scores, shares, i, rows);
    }
    T* to = result + window * tokens * 3 * width + number * channels;
    product({of_scores_, row, 1}, head_.k, deep, found_, deep, tokens, tokens, deep / LANES);
    if (with_.cosine) {
      Floats all = {};
      for (long at = 0; at < tokens * deep; at += LANES)
        all += load(found_ + at) * load(head_.q + at);
      sums_.cosine(with_) += sum(all);
      from_unit_length(head_.q, head_.lengths, found_, tokens, deep);
    }
    write_gradient(with_, found_, to, factor, sums_.given(with_, 0));
    product({of_scores_, 1, row}, head_.q, deep, found_, deep, tokens, tokens, deep / LANES);
    if (with_.cosine) from_unit_length(head_.k, head_.lengths + row, found_, tokens, deep);
    write_gradient(with_, found_, to + width, factor, sums_.given(with_, 1));
    product({weights_, 1, row}, above_, deep, found_, deep, tokens, tokens, deep / LANES);
    write_gradient(with_, found_, to + 2 * width, 1.0f, sums_.given(with_, 2));
  }

 private:
  void read_gradient(const T* gradient, long window, long number) {
    for (long i = 0; i < with_.tokens; i++) {
      long place = window * with_.tokens + i;
      if (with_.places) place = with_.places[place];
      float* to = above_ + i * with_.deep();
      if (place < 0) {
        std::memset(to, 0, with_.deep() * sizeof(float));
        continue;
      }
      const T* at = gradient + place * with_.width() + number * with_.channels;
      along(with_.channels, [&](long c, auto part) { store(to + c, part.load(at + c)); });
    }
  }

  // From exponentials to attention weights, and from the gradient of these to that of the scores.
  void softmax_backward(float* weights, float* of_weights, const float* shares, long first,
                        long rows) {
    const long row = with_.row();
    for (long r = 0; r < rows; r++, weights += row, of_weights += row) {
      float* total = sums_.bias() + (first + r) * row;
      Floats all = {};
      for (long j = 0; j < row; j += LANES) {
        Floats p = load(weights + j) * shares[r];
        store(weights + j, p);
        all += p * load(of_weights + j);
      }
      float mean = sum(all);
      for (long j = 0; j < row; j += LANES) {
        Floats x = load(weights + j) * (load(of_weights + j) - mean);
        store(of_weights + j, x);
        store(total + j, load(total + j) + x);
      }
    }
  }

  const Attention& with_;
  Head head_;
  float *weights_, *of_scores_, *v_turned_, *above_, *found_;
  HeadSums sums_;
};

// From the gradient of the result, (n * N, C) or the rows that `places` says, to that of qkv,
// (n * N, 3 C), and to `sums`, HeadSums of every head.
//
// Each thread takes windows of as few heads as can be, and the sums of a head whose windows two
// threads had are joined in the order of the threads: with as many of them, the same numbers.
template <typename T>
void attend_backward(const Attention& with, const T* qkv, const T* gradient, T* result,
                     float* sums) {
  const long all = with.windows * with.heads, each = HeadSums::floats(with);
  const long threads = std::max<long>(std::min<long>(with.threads, all), 1);
  Scratch parts(threads * 2 * each);  // of the first and of the last head of each thread
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (long thread = 0; thread < threads; thread++) {
    Scratch scratch(HeadBackward<T>::floats(with));
    HeadBackward<T> backward(with, scratch);
    float* here = parts.at() + thread * 2 * each;
    const long start = all * thread / threads, stop = all * (thread + 1) / threads;
    for (long item = start; item < stop; item++) {
      const long number = item / with.windows, window = item % with.windows;
      backward.run(qkv, gradient, result, window, number);
      if (item + 1 < stop && window + 1 < with.windows) continue;
      const bool opens = number == start / with.windows, closes = item + 1 == stop;
      float* to = opens ? here : closes ? here + each : sums + number * each;
      float* from = backward.sums().at;
      for (long i = 0; i < each; i += LANES) {
        store(to + i, load(to + i) + load(from + i));
        store(from + i, Floats{});
      }
    }
  }
  for (long thread = 0; thread < threads; thread++) {
    const long start = all * thread / threads, stop = all * (thread + 1) / threads;
    if (start == stop) continue;
    const long numbers[2] = {start / with.windows, (stop - 1) / with.windows};
    for (int which = 0; which < 2; which++) {
      const float* from = parts.at() + (thread * 2 + which) * each;
      float* to = sums + numbers[which] * each;
      for (long i = 0; i < each; i += LANES) store(to + i, load(to + i) + load(from + i));
    }
  }
}

}  // namespace swin_mm
