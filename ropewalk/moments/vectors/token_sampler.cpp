#include "ropewalk/moments/vectors/token_sampler.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {
namespace {

// The finaliser of SplitMix64.
uint64_t mix64(uint64_t value) {
  value ^= value >> 30;
  value *= 0xBF58476D1CE4E5B9;
  value ^= value >> 27;
  value *= 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace

uint64_t token_sampler_seed(int64_t example_id, int32_t layer, StreamKind kind) {
  uint64_t seed = 0x243F6A8885A308D3;
  for (const uint64_t value : {static_cast<uint64_t>(example_id), static_cast<uint64_t>(layer),
                               static_cast<uint64_t>(kind)}) {
    seed ^= mix64(value);
    seed *= 0x9E3779B97F4A7C15;
    seed ^= seed >> 32;
  }
  return seed;
}

TokenSampling parse_token_sampling(std::string_view name) {
  if (name == "uniform") return TokenSampling::uniform;
  if (name == "log-uniform") return TokenSampling::log_uniform;
  if (name == "all") return TokenSampling::all;
  throw UsageError("vectors: '{}' is not known; expected uniform, log-uniform or all", name);
}

TokenSampler::TokenSampler(const TokenSamplerOptions& options)
    : mode_(options.mode), rate_(options.rate), bucket_size_(options.bucket_size) {
  if (options.context < 1)
    throw UsageError("vectors: context is {}; expected tokens", options.context);
  if (bucket_size_ < 0 || bucket_size_ > std::numeric_limits<int32_t>::max()) {
    throw UsageError("vectors: bucket size is {}; expected 1 to 2147483647 tokens", bucket_size_);
  }
  if (!std::isfinite(rate_) || rate_ <= 0) {
    throw UsageError("vectors: rate is {}; expected more than 0 tokens per bucket", rate_);
  }
  if (bucket_size_ == 0) bucket_size_ = std::max<int64_t>(options.context / 16, 1);
}

TokenSampler::Bucket TokenSampler::bucket_of(int64_t position) const {
  if (mode_ == TokenSampling::log_uniform) {
    const int least = std::bit_width(static_cast<uint64_t>(bucket_size_ - 1));  // ceil(log2(size))
    const int own = std::bit_width(static_cast<uint64_t>(position + 1)) - 1;  // floor(log2(t + 1))
    const int index = std::max(own, least);
    return {index, std::ldexp(1.0, index)};
  }
  return {static_cast<int32_t>(position / bucket_size_), static_cast<double>(bucket_size_)};
}

SampledTokens TokenSampler::sample(int64_t example_id, int32_t layer, StreamKind kind,
                                   int64_t n_tokens) const {
  if (n_tokens < 0 || n_tokens > std::numeric_limits<int32_t>::max()) {
    throw UsageError("vectors: a document of {} tokens; expected 0 to 2147483647", n_tokens);
  }
  at::Tensor draws;  // [n_tokens], uniform in [0, 1)
  if (mode_ != TokenSampling::all) {
    const auto generator =
        at::make_generator<at::CPUGeneratorImpl>(token_sampler_seed(example_id, layer, kind));
    draws = at::rand({n_tokens}, generator, at::TensorOptions().dtype(at::kFloat).device(at::kCPU));
  }
  const float* u = draws.defined() ? draws.const_data_ptr<float>() : nullptr;
  SampledTokens tokens;
  for (int64_t t = 0; t < n_tokens; ++t) {
    const Bucket bucket = bucket_of(t);
    // Compared in float32, as in the published captures.
    if (u != nullptr && !(u[t] < static_cast<float>(std::min(1.0, rate_ / bucket.width)))) continue;
    tokens.positions.push_back(static_cast<int32_t>(t));
    tokens.buckets.push_back(bucket.index);
  }
  return tokens;
}

}  // namespace ropewalk
