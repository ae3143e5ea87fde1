#include "ropewalk/moments/accumulators/pre_rope.h"

#include <algorithm>

#include "ropewalk/kernels/gpu/gpu_chunks.h"
#include "ropewalk/kernels/moments/head_rows.h"
#include "ropewalk/kernels/moments/moments.h"
#include "ropewalk/kernels/moments/sums.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/accumulators/stream_moments.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

// Indexes of a kind's fields.
enum PreRopeField : size_t {
  first_tokens,
  sum,
  squares,
  pairs,
  moduli,
  first_sum,
  first_squares,
  products,
  of_a_kind
};

// The numbers of one kind in a block.
class KindSums {
 public:
  KindSums(const BlockFields& block, StreamKind kind, const RotaryPairs& rotary)
      : block_(block),
        begin_(kind == StreamKind::query ? size_t{0} : size_t{of_a_kind}),
        rotary_(rotary) {}

  // x: [streams, tokens, d], the first tokens of a document.
  void add_first(const at::Tensor& x) const {
    const at::Tensor wide = x.to(at::kDouble);
    numbers(first_tokens).add_(x.size(1));
    numbers(first_sum).add_(wide.sum(1));
    numbers(first_squares).add_(wide.square().sum(1));
  }

  // x: [streams, n, d], the other tokens, and their moments.
  void add_rest(const at::Tensor& x, const Moments& document) const {
    for (int64_t stream = 0; stream < x.size(0); ++stream) {
      add_about_zero(stream, static_cast<double>(x.size(1)), document);
    }
    add_moduli(x);
  }

  const at::Tensor& numbers(PreRopeField field) const { return block_.numbers[begin_ + field]; }
  VectorSums first_numbers() const {
    return {numbers(first_tokens), numbers(first_sum), numbers(first_squares), {}, {}, {}};
  }
  VectorSums rest_numbers() const {
    return {{}, numbers(sum), numbers(squares), numbers(pairs), numbers(moduli), numbers(products)};
  }

 private:
  double* row(PreRopeField field, int64_t stream) const {
    return numbers(field).mutable_data_ptr<double>() + stream * numbers(field).stride(0);
  }

  // Products about zero are those about the means, plus n times the product of the means. They are
  // so few numbers that a tensor operation would take longer to start.
  void add_about_zero(int64_t stream, double n, const Moments& document) const {
    const int64_t d = document.mean.size(1);
    const double* mean = document.mean.const_data_ptr<double>() + stream * d;
    const double* about_mean =
        document.products.const_data_ptr<double>() + stream * document.products.size(1);
    const auto about_zero = [&](int64_t i, int64_t j) {  // i <= j
      return mean[i] * mean[j] * n + about_mean[i * d - i * (i - 1) / 2 + j - i];
    };
    double* triangle = row(products, stream);
    for (int64_t i = 0; i < d; ++i) {
      row(sum, stream)[i] += n * mean[i];
      row(squares, stream)[i] += about_zero(i, i);
      for (int64_t j = i; j < d; ++j) *triangle++ += about_zero(i, j);
    }
    for (int64_t f = 0; f < rotary_.count(); ++f) {
      row(pairs, stream)[f] +=
          rotary_.interleaved ? about_zero(2 * f, 2 * f + 1) : about_zero(f, f + rotary_.count());
    }
  }

  void add_moduli(const at::Tensor& x) const {
    // The runs of tokens are short enough for all threads to have work, and are added in order.
    constexpr int64_t kRun = 256;
    const int64_t runs = at::divup(x.size(1), kRun);
    const at::Tensor parts = at::zeros({runs, x.size(0), rotary_.count()}, at::kDouble);
    const HeadRows vectors(x);
    at::parallel_for(0, parts.size(0) * parts.size(1), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i / parts.size(1) * kRun;
        add_lengths(parts.mutable_data_ptr<double>() + i * parts.stride(1),
                    vectors.rows(i % parts.size(1), from, std::min(from + kRun, x.size(1))),
                    rotary_.count(), rotary_.interleaved);
      }
    });
    paired(moduli).add_(parts.sum(0));
  }

  // Where fewer dimensions turn than there are, the last numbers stay 0.
  at::Tensor paired(PreRopeField field) const {
    return numbers(field).narrow(1, 0, rotary_.count());
  }

  const BlockFields& block_;
  size_t begin_;
  const RotaryPairs& rotary_;
};

class PreRope : public Accumulator {
 public:
  std::string name() const override { return "pre_rope"; }
  int64_t numerics() const override { return 7; }

  std::vector<Tap> taps(const CaptureShape& shape) const override {
    if (!has(shape)) return {};
    return {{kPreRope, "q"}, {kPreRope, "k"}};
  }

  std::vector<KeptField> fields(const CaptureShape& shape) const override {
    std::vector<KeptField> all;
    if (!has(shape)) return all;
    const int64_t d = shape.head_dim;
    for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
      all.push_back({"first_tokens", kind, 1, true});
      all.push_back({"sum", kind, d});
      all.push_back({"squares", kind, d});
      all.push_back({"pairs", kind, d / 2});
      all.push_back({"moduli", kind, d / 2});
      all.push_back({"first_sum", kind, d});
      all.push_back({"first_squares", kind, d});
      all.push_back({"products", kind, d * (d + 1) / 2, true, false});
    }
    return all;
  }

  void add(const TappedVectors& taken, const BlockTarget& to) const override {
    const Positions::Parts& tokens = taken.positions->parts(kFirstTokens);
    const at::Tensor& q = taken["q"];
    const at::Tensor& k = taken["k"];
    if (q.is_cuda()) {
      add_on_gpu(q, k, tokens, taken.document->index, to);
      return;
    }
    const auto add_kind = [&](StreamKind kind, const at::Tensor& vectors, const char* what) {
      const std::vector<int64_t>& heads = to.streams.heads(kind);
      const at::Tensor chosen = chosen_heads(vectors, heads);
      const KindSums sums(to.block, kind, to.pairs);
      sums.add_first(tokens.early_of(chosen));
      const at::Tensor late = tokens.late_of(chosen);
      if (late.size(1) == 0) return;
      sums.add_rest(late, stream_moments(late, heads, what, taken, *tokens.after));
    };
    add_kind(StreamKind::query, q, "queries");
    add_kind(StreamKind::key, k, "keys");
  }

  void combine(const BlockFields& whole, const BlockFields& part) const override {
    for (size_t i = 0; i < whole.numbers.size(); ++i) whole.numbers[i].add_(part.numbers[i]);
  }

  int64_t workspace(const ModelConfig& config, int64_t tokens, at::ScalarType dtype,
                    const at::Device& device) const override {
    const int64_t d = config.d_head;
    const int64_t kernel =
        device.is_cuda()
            ? gpu_chunks_workspace(config.n_q_heads, config.n_kv_heads, tokens, d, dtype)
            : document_moments_workspace(config.n_q_heads, tokens, d);
    // These vectors may be kept for a while, together with those after RoPE.
    if (device.is_cuda()) {
      const int64_t kept = tokens <= kMostKeptTokens ? 2 : 0;
      return kernel + kept * (config.n_q_heads + config.n_kv_heads) * tokens * d *
                          static_cast<int64_t>(c10::elementSize(dtype));
    }
    // A document's triangles, their copies about zero, and temporaries.
    return kernel + config.n_q_heads * 2 * d * (d + 1) * static_cast<int64_t>(sizeof(double));
  }

 private:
  static void add_on_gpu(const at::Tensor& q, const at::Tensor& k, const Positions::Parts& tokens,
                         int64_t document, const BlockTarget& to) {
    const KindSums queries(to.block, StreamKind::query, to.pairs);
    const KindSums keys(to.block, StreamKind::key, to.pairs);
    const FewTokens early{tokens.early_of(q), tokens.early_of(k), queries.first_numbers(),
                          keys.first_numbers()};
    const at::Tensor late_q = tokens.late_of(q);
    if (late_q.size(1) == 0) {
      add_few_sums(early, to.q_heads, to.kv_heads);
      return;
    }
    add_sums(late_q, {to.q_heads, queries.rest_numbers()}, tokens.late_of(k),
             {to.kv_heads, keys.rest_numbers()}, early,
             {*tokens.after, document, {to.pairs.dim, to.pairs.interleaved}}, to.bad);
  }

  static bool has(const CaptureShape& shape) {
    return shape.keep.pre_rope && shape.point == kPostRope;
  }
};

}  // namespace

const Accumulator& pre_rope() {
  static const PreRope kAccumulator;
  return kAccumulator;
}

}  // namespace ropewalk
