#include "ropewalk/moments/accumulators/second_moments.h"

#include "ropewalk/kernels/gpu/gpu_chunks.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/accumulators/stream_moments.h"
#include "ropewalk/moments/capture_info.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

class SecondMoments : public Accumulator {
 public:
  std::string name() const override { return ""; }
  int64_t numerics() const override { return kNumerics; }

  std::vector<Tap> taps(const CaptureShape& shape) const override {
    return {{shape.point, "q"}, {shape.point, "k"}};
  }

  std::vector<KeptField> fields(const CaptureShape& shape) const override {
    const int64_t d = shape.head_dim;
    std::vector<KeptField> all;
    for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
      all.push_back({"mean", kind, d, true});
      all.push_back({"position", kind, d});
      all.push_back({"products", kind, d * (d + 1) / 2});
    }
    return all;
  }

  void add(const TappedVectors& taken, const BlockTarget& to) const override {
    const at::Tensor& q = taken["q"];
    const at::Tensor& k = taken["k"];
    const auto block = [&](StreamKind kind) { return moments_of(to.block.numbers, kind); };
    if (q.is_cuda()) {
      join_on_gpu(q, {to.q_heads, block(StreamKind::query)}, k,
                  {to.kv_heads, block(StreamKind::key)},
                  {*taken.positions, taken.document->index, to.block.tokens}, to.bad);
      return;
    }
    add_streams(q, to.streams.q_heads, "queries", taken, block(StreamKind::query), to.block.tokens);
    add_streams(k, to.streams.kv_heads, "keys", taken, block(StreamKind::key), to.block.tokens);
  }

  void combine(const BlockFields& whole, const BlockFields& part) const override {
    for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
      join_moments(moments_of(whole.numbers, kind), whole.tokens, moments_of(part.numbers, kind),
                   part.tokens);
    }
  }

  int64_t workspace(const ModelConfig& config, int64_t tokens, at::ScalarType dtype,
                    const at::Device& device) const override {
    return device.is_cuda() ? gpu_chunks_workspace(config.n_q_heads, config.n_kv_heads, tokens,
                                                   config.d_head, dtype)
                            : document_moments_workspace(config.n_q_heads, tokens, config.d_head);
  }

 private:
  static void add_streams(const at::Tensor& vectors, const std::vector<int64_t>& heads,
                          const char* what, const TappedVectors& taken, const Moments& block,
                          const TokenSet& block_tokens) {
    const at::Tensor some = chosen_heads(vectors, heads);  // [heads, T, d]
    const bool wide = some.scalar_type() == at::kDouble;
    // Sums are made of float32. Numbers of float64 keep their digits once their mean is subtracted.
    const at::Tensor middle = wide ? some.mean(1, /*keepdim=*/true) : at::Tensor();
    Moments document = stream_moments(wide ? (some - middle).to(at::kFloat) : some, heads, what,
                                      taken, *taken.positions);
    if (wide) document.mean = document.mean.to(at::kDouble) + middle.squeeze(1);
    join_moments(block, block_tokens, document,
                 {static_cast<double>(taken.positions->tokens()), taken.positions->mean()});
  }
};

}  // namespace

const Accumulator& second_moments() {
  static const SecondMoments kAccumulator;
  return kAccumulator;
}

Moments moments_of(const std::vector<at::Tensor>& fields, StreamKind kind) {
  const size_t first = kind == StreamKind::query ? 0 : 3;
  return {fields[first], fields[first + 1], fields[first + 2]};
}

}  // namespace ropewalk
