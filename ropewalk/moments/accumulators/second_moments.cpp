#include "ropewalk/moments/accumulators/second_moments.h"

#include "ropewalk/base/error.h"
#include "ropewalk/model/config.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

// Says what is not finite in a document's moments.
void require_finite(const Moments& document, const at::Tensor& vectors,
                    const std::vector<int64_t>& heads, const char* what, const Taken& taken) {
  const at::Tensor finite = document.products.isfinite().all(-1).logical_and(
      document.position.isfinite().all(-1));  // [streams]
  if (finite.all().item<bool>()) return;
  const int64_t bad = finite.logical_not().nonzero()[0].item<int64_t>();
  const at::Tensor values = vectors.select(0, bad).to(at::kFloat);
  const bool overflow = values.isfinite().all().item<bool>();
  throw InputError(
      "{} in layer {}, head {}, document {} {}", what, taken.layer, heads[static_cast<size_t>(bad)],
      taken.document->index,
      overflow
          ? fmt::format("reach {:.3g}, whose squares overflow float32",
                        values.abs().max().item<float>())
          : std::string("are not all finite: the checkpoint is damaged or overflows this dtype"));
}

class SecondMoments : public Accumulator {
 public:
  std::string name() const override { return ""; }

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

  void add(const Taken& taken, const Destination& to) const override {
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
    return device.is_cuda() ? join_on_gpu_workspace(config.n_q_heads, config.n_kv_heads, tokens,
                                                    config.d_head, dtype)
                            : document_moments_workspace(config.n_q_heads, tokens, config.d_head);
  }

 private:
  static void add_streams(const at::Tensor& vectors, const std::vector<int64_t>& heads,
                          const char* what, const Taken& taken, const Moments& block,
                          const TokenSet& block_tokens) {
    const bool all = static_cast<int64_t>(heads.size()) == vectors.size(0);
    const at::Tensor chosen = all ? vectors : vectors.index_select(0, at::tensor(heads, at::kLong));
    const Moments document = document_moments(chosen, *taken.positions);
    require_finite(document, chosen, heads, what, taken);
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
