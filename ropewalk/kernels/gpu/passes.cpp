#include "ropewalk/kernels/gpu/passes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ropewalk/kernels/bfloat16.h"

namespace ropewalk::cpu {
namespace {

// e^x with an error of two units in the last place, in a form that compilers vectorise; saturates
// beyond +-87.
ROPEWALK_INLINE float exponential(float x) {
  x = std::min(std::max(x, -87.0F), 87.0F);
  constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float n = (x * 1.44269504F + kMagic) - kMagic;
  const float r = (x - n * 0.693145752F) - n * 1.42860677e-6F;
  float p = 1.38888889e-3F;
  p = p * r + 8.33333333e-3F;
  p = p * r + 4.16666667e-2F;
  p = p * r + 1.66666667e-1F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const auto power = static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23;
  return p * std::bit_cast<float>(power);
}

template <Activation activation>
ROPEWALK_INLINE float activated(float x) {
  if constexpr (activation == Activation::silu) return x / (1 + exponential(-x));
  if constexpr (activation == Activation::gelu_tanh) {
    return x / (1 + exponential(-1.59576912F * (x + 0.044715F * x * x * x)));
  }
  if constexpr (activation == Activation::gelu) return 0.5F * x * (1 + std::erf(x * 0.707106781F));
  if constexpr (activation == Activation::relu) return std::max(x, 0.0F);
  if constexpr (activation == Activation::relu_squared) {
    const float positive = std::max(x, 0.0F);
    return positive * positive;
  }
  return x;
}

template <typename T>
ROPEWALK_INLINE T* row(const StridedRows& rows, int64_t i) {
  return static_cast<T*>(rows.data) + i / rows.inner * rows.outer_stride +
         i % rows.inner * rows.inner_stride;
}

template <typename T>
ROPEWALK_INLINE void norm_rows(const NormPass& pass, int64_t begin, int64_t end) {
  constexpr int64_t kLanes = 16;
  const int64_t width = pass.width;
  const int64_t whole = width / kLanes * kLanes;
  const T* weight = static_cast<const T*>(pass.weight);
  const float offset = pass.weight_plus_one ? 1 : 0;
  for (int64_t i = begin; i < end; ++i) {
    const T* x = row<T>(pass.x, i);
    T* out = static_cast<T*>(pass.out) + i * width;
    float lanes[kLanes] = {};
    for (int64_t j = 0; j < whole; j += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += load(x[j + l]) * load(x[j + l]);
    }
    float squares = 0;
    for (int64_t l = 0; l < kLanes; ++l) squares += lanes[l];
    for (int64_t j = whole; j < width; ++j) squares += load(x[j]) * load(x[j]);
    const float inverse = 1 / std::sqrt(squares / static_cast<float>(width) + pass.eps);
    for (int64_t j = 0; j < width; ++j) {
      store(load(x[j]) * inverse * (load(weight[j]) + offset), out[j]);
    }
  }
}

template <typename T>
ROPEWALK_INLINE void turn_rows(const TurnPass& pass, int64_t begin, int64_t end) {
  const int64_t pairs = pass.pairs;
  for (int64_t i = begin; i < end; ++i) {
    T* x = row<T>(pass.x, i);
    const int64_t position = i % pass.x.inner;
    const float* cos = pass.cos + position * pairs;
    const float* sin = pass.sin + position * pairs;
    if (pass.interleaved) {
      for (int64_t j = 0; j < pairs; ++j) {
        const float first = load(x[2 * j]);
        const float second = load(x[2 * j + 1]);
        store(first * cos[j] - second * sin[j], x[2 * j]);
        store(second * cos[j] + first * sin[j], x[2 * j + 1]);
      }
    } else {
      T* y = x + pairs;
#pragma GCC ivdep
      for (int64_t j = 0; j < pairs; ++j) {
        const float first = load(x[j]);
        const float second = load(y[j]);
        store(first * cos[j] - second * sin[j], x[j]);
        store(second * cos[j] + first * sin[j], y[j]);
      }
    }
  }
}

template <typename T, Activation activation>
ROPEWALK_INLINE void gate_rows(const GatePass& pass, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    T* gate = row<T>(pass.x, i);
    const T* up = gate + pass.width;
#pragma GCC ivdep
    for (int64_t j = 0; j < pass.width; ++j) {
      store(activated<activation>(load(gate[j])) * load(up[j]), gate[j]);
    }
  }
}

template <typename T>
ROPEWALK_INLINE void gate_rows(const GatePass& pass, int64_t begin, int64_t end) {
  switch (pass.activation) {
    case Activation::silu:
      return gate_rows<T, Activation::silu>(pass, begin, end);
    case Activation::gelu:
      return gate_rows<T, Activation::gelu>(pass, begin, end);
    case Activation::gelu_tanh:
      return gate_rows<T, Activation::gelu_tanh>(pass, begin, end);
    case Activation::relu:
      return gate_rows<T, Activation::relu>(pass, begin, end);
    case Activation::relu_squared:
      return gate_rows<T, Activation::relu_squared>(pass, begin, end);
    case Activation::xielu:  // is never gated
      return;
  }
}

ROPEWALK_INLINE float largest_of(const float* x, int64_t width) {
  constexpr int64_t kLanes = 64;
  const int64_t whole = width / kLanes * kLanes;
  float lanes[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lanes[l] = x[0];
  for (int64_t j = 0; j < whole; j += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] = x[j + l] > lanes[l] ? x[j + l] : lanes[l];
  }
  float largest = x[0];
  for (int64_t l = 0; l < kLanes; ++l) largest = std::max(largest, lanes[l]);
  for (int64_t j = whole; j < width; ++j) largest = std::max(largest, x[j]);
  return largest;
}

// Sums a few thousand numbers at a time in float32, which loses nothing, and those sums in float64.
// A value that is not finite makes the sum so too.
ROPEWALK_INLINE void sum_rows(const LogSumPass& pass, int64_t begin, int64_t end) {
  constexpr int64_t kLanes = 64;
  constexpr int64_t kPart = 4096;
  for (int64_t i = begin; i < end; ++i) {
    const float* x = pass.x + i * pass.width;
    const float largest = largest_of(x, pass.width);
    double sum = 0;
    double check = 0;  // exponential() saturates and would hide values that are not finite
    for (int64_t first = 0; first < pass.width; first += kPart) {
      const int64_t last = std::min(first + kPart, pass.width);
      const int64_t whole = first + (last - first) / kLanes * kLanes;
      float lanes[kLanes] = {};
      float zeros[kLanes] = {};
      for (int64_t j = first; j < whole; j += kLanes) {
        for (int64_t l = 0; l < kLanes; ++l) {
          lanes[l] += exponential(x[j + l] - largest);
          zeros[l] += x[j + l] * 0;
        }
      }
      for (int64_t l = 0; l < kLanes; ++l) {
        sum += lanes[l];
        check += zeros[l];
      }
      for (int64_t j = whole; j < last; ++j) {
        sum += exponential(x[j] - largest);
        check += x[j] * 0;
      }
    }
    pass.out[i] = largest + std::log(sum) + check;
  }
}

// Sums in the same way as sum_rows().
ROPEWALK_INLINE void gap_rows(const GapPass& pass, int64_t begin, int64_t end) {
  constexpr int64_t kLanes = 64;
  constexpr int64_t kPart = 4096;
  for (int64_t i = begin; i < end; ++i) {
    const float* x = pass.x + i * pass.width;
    const float* y = pass.y + i * pass.width;
    const auto log_sum = static_cast<float>(pass.log_sum[i]);
    double sum = 0;
    for (int64_t first = 0; first < pass.width; first += kPart) {
      const int64_t last = std::min(first + kPart, pass.width);
      const int64_t whole = first + (last - first) / kLanes * kLanes;
      float lanes[kLanes] = {};
      for (int64_t j = first; j < whole; j += kLanes) {
        for (int64_t l = 0; l < kLanes; ++l) {
          lanes[l] += exponential(x[j + l] - log_sum) * (x[j + l] - y[j + l]);
        }
      }
      for (int64_t l = 0; l < kLanes; ++l) sum += lanes[l];
      for (int64_t j = whole; j < last; ++j) sum += exponential(x[j] - log_sum) * (x[j] - y[j]);
    }
    pass.out[i] = sum;
  }
}

}  // namespace

ROPEWALK_CLONES void run(const GapPass& pass, int64_t begin, int64_t end) {
  gap_rows(pass, begin, end);
}

ROPEWALK_CLONES void run(const LogSumPass& pass, int64_t begin, int64_t end) {
  sum_rows(pass, begin, end);
}

ROPEWALK_CLONES void run(const NormPass& pass, int64_t begin, int64_t end) {
  if (pass.type == Number::float32) return norm_rows<float>(pass, begin, end);
  norm_rows<Bfloat16>(pass, begin, end);
}

ROPEWALK_CLONES void run(const TurnPass& pass, int64_t begin, int64_t end) {
  if (pass.type == Number::float32) return turn_rows<float>(pass, begin, end);
  turn_rows<Bfloat16>(pass, begin, end);
}

ROPEWALK_CLONES void run(const GatePass& pass, int64_t begin, int64_t end) {
  if (pass.type == Number::float32) return gate_rows<float>(pass, begin, end);
  gate_rows<Bfloat16>(pass, begin, end);
}

}  // namespace ropewalk::cpu
