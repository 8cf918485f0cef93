// What Python calls: C functions over pointers. Those that take tensors are in rows.py,
// attention.py and maps.py.
//
// `halves` say of which kind tensors are, a bit each: 0 float32, 1 bfloat16.
#pragma once

#ifdef __clang__
#error "The kernels want g++: the OpenMP that torch brings is GCC's, and Clang calls another."
#endif

#include "attention_backward.h"
#include "gelu.h"
#include "maps.h"

using namespace swin_mm;

namespace {

template <typename T>
const T* as(const void* at) {
  return static_cast<const T*>(at);
}
template <typename T>
T* as(void* at) {
  return static_cast<T*>(at);
}

// Call with a float or a bfloat16, as a bit says.
template <typename Call>
void with_kind(int halves, int bit, Call call) {
  if (halves >> bit & 1)
    call(bfloat16{});
  else
    call(float{});
}

}  // namespace

extern "C" {

int swin_mm_lanes() { return LANES; }

// halves: x, result
void swin_mm_take_normed(int halves, const void* x, const int64_t* index, long rows, long channels,
                         Norm norm, void* result, Moments* kept, int threads) {
  with_kind(halves, 0, [&](auto a) {
    with_kind(halves, 1, [&](auto b) {
      take_normed(as<decltype(a)>(x), index, rows, channels, norm, as<decltype(b)>(result), kept,
                  threads);
    });
  });
}

struct AddBranch {
  const void* x;
  const int64_t* from;
  const void* branch;
  const float* bias;
  Norm last;
  Moments* last_kept;
  const float* factor;
  void* total;
  const int64_t* to;
  Norm next;
  void* given;
  Moments* next_kept;
  long rows, channels;
};

// halves: x, total, branch and given
void swin_mm_add_branch(int halves, const AddBranch* job, int threads) {
  with_kind(halves, 0, [&](auto a) {
    with_kind(halves, 1, [&](auto b) {
      with_kind(halves, 2, [&](auto c) {
        using T = decltype(c);
        Branch<T> branch{as<T>(job->branch), job->bias, job->last, job->last_kept, job->factor};
        add_branch(as<decltype(a)>(job->x), job->from, branch, as<decltype(b)>(job->total),
                   job->to, job->next, as<T>(job->given), job->next_kept, job->rows,
                   job->channels, threads);
      });
    });
  });
}

struct Gradients {
  const void* above;
  const int64_t* from;
  const void* given;
  const int64_t* places;
  NormBackward<void> norm;
  void* result;
  const int64_t* to;
  void* branch;
  const float* factor;
  NormBackward<void> last;
  float* sums[5];
  long rows, channels;
};

// halves: above, given and branch, what norm was given, result
void swin_mm_gradient_rows(int halves, const Gradients* job, int threads) {
  with_kind(halves, 0, [&](auto a) {
    with_kind(halves, 1, [&](auto b) {
      with_kind(halves, 2, [&](auto c) {
        with_kind(halves, 3, [&](auto d) {
          using A = decltype(a);
          using T = decltype(b);
          using X = decltype(c);
          using R = decltype(d);
          const auto &n = job->norm, &l = job->last;
          GradientRows<A, T, X, R> rows{
              as<A>(job->above), job->from, as<T>(job->given), job->places,
              {as<X>(n.rows), n.index, n.bias, n.moments, n.places, n.weight},
              as<R>(job->result), job->to, as<T>(job->branch), job->factor,
              {as<T>(l.rows), l.index, l.bias, l.moments, l.places, l.weight}, {}};
          std::copy(job->sums, job->sums + 5, rows.sums);
          gradient_rows(rows, job->rows, job->channels, threads);
        });
      });
    });
  });
}

// halves: all
void swin_mm_gelu(int halves, const void* x, const float* bias, void* result, long rows,
                  long channels, int threads) {
  with_kind(halves, 0, [&](auto a) {
    using T = decltype(a);
    gelu(as<T>(x), bias, as<T>(result), rows, channels, threads);
  });
}

void swin_mm_gelu_backward(int halves, const void* x, const float* bias, void* result,
                           void* gradient, float* sums, long rows, long channels, int threads) {
  with_kind(halves, 0, [&](auto a) {
    using T = decltype(a);
    gelu_backward(as<T>(x), bias, as<T>(result), as<T>(gradient), sums, rows, channels, threads);
  });
}

// halves: x, result
void swin_mm_merge_normed(int halves, const void* x, Norm norm, void* result, long pictures,
                          long height, long width, long channels, int threads) {
  with_kind(halves, 0, [&](auto a) {
    with_kind(halves, 1, [&](auto b) {
      merge_normed(as<decltype(a)>(x), norm, as<decltype(b)>(result), pictures, height, width,
                   channels, threads);
    });
  });
}

// halves: all
void swin_mm_norm_to_map(int halves, const void* x, Norm norm, void* result, long pictures,
                         long area, long channels, int threads) {
  with_kind(halves, 0, [&](auto a) {
    using T = decltype(a);
    norm_to_map(as<T>(x), norm, as<T>(result), pictures, area, channels, threads);
  });
}

// halves: all
void swin_mm_attend(int halves, const Attention* with, const void* qkv, void* result) {
  with_kind(halves, 0, [&](auto a) {
    using T = decltype(a);
    attend(*with, as<T>(qkv), as<T>(result));
  });
}

long swin_mm_head_sums(const Attention* with) { return HeadSums::floats(*with); }

void swin_mm_attend_backward(int halves, const Attention* with, const void* qkv,
                             const void* gradient, void* result, float* sums) {
  with_kind(halves, 0, [&](auto a) {
    using T = decltype(a);
    attend_backward(*with, as<T>(qkv), as<T>(gradient), as<T>(result), sums);
  });
}

}  // extern "C"
