#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ropewalk/moments/stream_key.h"

namespace ropewalk {

enum class TokenSampling {
  uniform,      // buckets of one width
  log_uniform,  // buckets that double in width
  all,          // every token; buckets as with uniform
};

// "uniform", "log-uniform" or "all"; throws UsageError for another name.
TokenSampling parse_token_sampling(std::string_view name);

struct TokenSamplerOptions {
  TokenSampling mode = TokenSampling::uniform;
  double rate = 1;      // expected number of tokens per bucket; ignored with `all`
  int64_t context = 0;  // in tokens; sets the default of bucket_size
  // In tokens: the width, or the least width of log_uniform; 0: context / 16.
  int64_t bucket_size = 0;
};

struct SampledTokens {
  std::vector<int32_t> positions;  // ascending
  std::vector<int32_t> buckets;    // bucket of each position
};

// Chooses the tokens whose vectors are kept: one choice for each (example, layer, kind), shared by
// all heads, and the same choice as in the published captures (DESIGN.md, "Sampled vectors").
class TokenSampler {
 public:
  // Throws UsageError where an option makes no sense.
  explicit TokenSampler(const TokenSamplerOptions& options);

  SampledTokens sample(int64_t example_id, int32_t layer, StreamKind kind, int64_t n_tokens) const;

  TokenSampling mode() const { return mode_; }
  double rate() const { return rate_; }
  // The size in use: never 0.
  int64_t bucket_size() const { return bucket_size_; }

 private:
  struct Bucket {
    int32_t index;
    double width;  // tokens
  };
  Bucket bucket_of(int64_t position) const;

  TokenSampling mode_;
  double rate_;
  int64_t bucket_size_;
};

// The seed of the generator that draws for (example, layer, kind).
uint64_t token_sampler_seed(int64_t example_id, int32_t layer, StreamKind kind);

}  // namespace ropewalk
