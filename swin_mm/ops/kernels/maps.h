// Maps on their way to the next stage, and out of the network.
#pragma once

#include <algorithm>

#include "products.h"
#include "rows.h"

namespace swin_mm {

// result = norm of every 2 x 2 neighbours of x (pictures, height, width, channels), one neighbour's
// channels after the other, row by row: (0, 0), (0, 1), (1, 0), (1, 1). There are zeros outside.
template <typename X, typename T>
void merge_normed(const X* x, Norm norm, T* result, long pictures, long height, long width,
                  long channels, int threads) {
  const long down = (height + 1) / 2, across = (width + 1) / 2, wide = 4 * channels;
#pragma omp parallel num_threads(threads)
  {
    Scratch scratch(rounded_up(wide) + LANES);
    float* row = scratch.take(rounded_up(wide) + LANES);
#pragma omp for schedule(static)
    for (long r = 0; r < pictures * down * across; r++) {
      const long picture = r / (down * across), i = r / across % down * 2, j = r % across * 2;
      for (long which = 0; which < 4; which++) {
        const long y = i + which / 2, z = j + which % 2;
        // Whole vectors are written: zeros spill into the next neighbour's room, which is yet to
        // be filled, and behind the last, where a norm wants them.
        float* to = row + which * channels;
        if (y < height && z < width)
          read_row(x + ((picture * height + y) * width + z) * channels, channels, to);
        else
          std::memset(to, 0, channels * sizeof(float));
      }
      write_normed(row, wide, norm, nullptr, result + r * wide);
    }
  }
}

// result (pictures, channels, area) = the norms of x (pictures, area, channels), turned.
template <typename T>
void norm_to_map(const T* x, Norm norm, T* result, long pictures, long area, long channels,
                 int threads) {
  constexpr long TOKENS = 2 * LANES;  // of a tile: a cache line of halves, or two of floats
  const long tiles = (area + TOKENS - 1) / TOKENS, wide = rounded_up(channels);
#pragma omp parallel num_threads(threads)
  {
    Scratch scratch(TOKENS * wide);
    float* rows = scratch.take(TOKENS * wide);
#pragma omp for schedule(static)
    for (long tile = 0; tile < pictures * tiles; tile++) {
      const long picture = tile / tiles, first = tile % tiles * TOKENS;
      const long count = std::min(TOKENS, area - first);
      for (long t = 0; t < count; t++) {
        float* row = rows + t * wide;
        read_row(x + (picture * area + first + t) * channels, channels, row);
        write_normed(row, channels, norm, nullptr, row);
      }
      for (long c = 0; c < channels; c += LANES) {
        T* to = result + (picture * channels + c) * area + first;
        const long some = std::min<long>(LANES, channels - c);
        along(count, [&](long t, auto part) {
          Floats block[LANES];
          for (long i = 0; i < LANES; i++)
            block[i] = t + i < count ? load(rows + (t + i) * wide + c) : Floats{};
          transpose(block);
          for (long i = 0; i < some; i++) part.store(to + i * area + t, block[i]);
        });
      }
    }
  }
}

}  // namespace swin_mm
