// Attention within windows, forwards and backwards, a window and a head at a time.
//
// Queries, keys and values lie in rows of a token each, (n * N, 3 C), as the linear layer before
// gives them, but for its bias, which is added here. All is computed in float32.
#pragma once

#include "products.h"

namespace swin_mm {

// What holds for all windows of a call. Tables have rows of rounded_up(N), -inf behind N.
struct Attention {
  long windows, tokens, heads, channels;  // n, N, nH, d
  const float* given;                     // bias of queries, keys and values, (3 C,)
  const float* bias;                      // added to the scores, (nH, N, rounded_up(N))
  long regions;                           // groups of windows that share a mask
  const int64_t* ends;                    // behind the last window of each
  const float* const* masks;              // of each, (N, rounded_up(N)) or null
  const float* cosine;                    // what cosines are multiplied with, (nH,), or null
  const int64_t* places;                  // row of each token in the result, -1 for none; or null
  float scale;                            // what products are multiplied with, where that is null
  int threads;

  const float* mask(long window) const {
    long region = 0;
    while (window >= ends[region]) region++;
    return masks[region];
  }
  float factor(long head) const { return cosine ? cosine[head] : scale; }
  long width() const { return heads * channels; }
  long row() const { return rounded_up(tokens); }
  long deep() const { return rounded_up(channels); }
};

// Queries, keys and values of one window and head in float32, padded with zeros to whole vectors.
struct Head {
  float *q, *k, *v;      // (N, deep); q and k of length 1 where their cosines are wanted
  float *k_turned;       // (deep, row)
  float *lengths;        // (2, row), of queries and keys, where cosines are

  static long floats(const Attention& with) {
    return 3 * with.tokens * with.deep() + with.deep() * with.row() + 2 * with.row();
  }

  Head(const Attention& with, Scratch& scratch)
      : q(scratch.take(with.tokens * with.deep())),
        k(scratch.take(with.tokens * with.deep())),
        v(scratch.take(with.tokens * with.deep())),
        k_turned(scratch.take(with.deep() * with.row())),
        lengths(scratch.take(2 * with.row())) {}
};

// Write (rows, deep) as (deep, rounded_up(rows)).
inline void turn(const float* from, float* to, long rows, long deep) {
  long width = rounded_up(rows);
  for (long i = 0; i < rows; i += LANES)
    for (long c = 0; c < deep; c += LANES) {
      Floats block[LANES];
      for (int t = 0; t < LANES; t++)
        block[t] = i + t < rows ? load(from + (i + t) * deep + c) : Floats{};
      transpose(block);
      for (int t = 0; t < LANES; t++) store(to + (c + t) * width + i, block[t]);
    }
}

// Divide rows by their lengths, zeros by 1, as unit_length does.
inline void to_unit_length(float* rows, float* lengths, long number, long deep) {
  for (long i = 0; i < number; i++) {
    float* row = rows + i * deep;
    Floats squares = {};
    for (long c = 0; c < deep; c += LANES) squares += load(row + c) * load(row + c);
    float square = sum(squares);
    lengths[i] = square > 1e-24f ? std::sqrt(square) : (square == square ? 1.0f : square);
    for (long c = 0; c < deep; c += LANES) store(row + c, load(row + c) / lengths[i]);
  }
}

template <typename T>
inline void read_head(const Attention& with, const T* qkv, long window, long head, Head& to) {
  long width = with.width(), deep = with.deep(), first = head * with.channels;
  const T* at = qkv + window * with.tokens * 3 * width + first;
  for (long i = 0; i < with.tokens; i++, at += 3 * width)
    along(with.channels, [&](long c, auto part) {
      const T* here = at + c;
      const float* given = with.given + first + c;
      store(to.q + i * deep + c, part.load(here) + part.load(given));
      store(to.k + i * deep + c, part.load(here + width) + part.load(given + width));
      store(to.v + i * deep + c, part.load(here + 2 * width) + part.load(given + 2 * width));
    });
  if (with.cosine) {
    to_unit_length(to.q, to.lengths, with.tokens, deep);
    to_unit_length(to.k, to.lengths + with.row(), with.tokens, deep);
  }
  turn(to.k, to.k_turned, with.tokens, deep);
}

// Scale the products of some queries, add bias and mask, and make e^(score - largest) of them;
// return through `shares` what each row is to be multiplied with to sum up to 1.
inline void exponentials(const Attention& with, float* scores, long head, const float* mask,
                         long first, long rows, float* shares) {
  long row = with.row();
  const float factor = with.factor(head);
  float most[TALLEST];
  for (long r = 0; r < rows; r++) {
    float* at = scores + r * row;
    const float* bias = with.bias + (head * with.tokens + first + r) * row;
    const float* hidden = mask ? mask + (first + r) * row : nullptr;
    Floats top = splat(-INFINITY);
    for (long j = 0; j < row; j += LANES) {
      Floats x = load(at + j) * factor + load(bias + j);
      if (hidden) x += load(hidden + j);
      store(at + j, x);
      top = larger(x, top);
    }
    most[r] = largest(top);
  }
  for (long r = 0; r < rows; r++) {
    float* at = scores + r * row;
    Floats total = {};
    for (long j = 0; j < row; j += LANES) {
      Floats x = exponential(load(at + j) - most[r]);
      store(at + j, x);
      total += x;
    }
    shares[r] = 1.0f / sum(total);
  }
}

// qkv (n * N, 3 C) to the attended values, (n * N, C), or the rows that `places` says.
template <typename T>
void attend(const Attention& with, const T* qkv, T* result) {
  long tokens = with.tokens, row = with.row(), deep = with.deep(), width = with.width();
#pragma omp parallel num_threads(with.threads)
  {
    Scratch scratch(Head::floats(with) + TALLEST * (row + deep));
    Head head(with, scratch);
    float *scores = scratch.take(TALLEST * row), *sums = scratch.take(TALLEST * deep);
#pragma omp for schedule(static)
    for (long item = 0; item < with.windows * with.heads; item++) {
      long window = item / with.heads, number = item % with.heads;
      read_head(with, qkv, window, number, head);
      const float* mask = with.mask(window);
      for (long i = 0; i < tokens; i += TALLEST) {
        long rows = tokens - i < TALLEST ? tokens - i : TALLEST;
        float shares[TALLEST];
        product({head.q + i * deep, deep, 1}, head.k_turned, row, scores, row, rows, with.channels,
                row / LANES);
        exponentials(with, scores, number, mask, i, rows, shares);
        product({scores, row, 1}, head.v, deep, sums, deep, rows, tokens, deep / LANES);
        for (long r = 0; r < rows; r++) {
          long place = window * tokens + i + r;
          if (with.places) place = with.places[place];
          if (place < 0) continue;
          T* to = result + place * width + number * with.channels;
          along(with.channels, [&](long c, auto part) {
            part.store(to + c, load(sums + r * deep + c) * shares[r]);
          });
        }
      }
    }
  }
}

}  // namespace swin_mm
