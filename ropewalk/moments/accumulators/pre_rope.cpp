#include "ropewalk/moments/accumulators/pre_rope.h"

#include <algorithm>

#include "ropewalk/kernels/moments.h"
#include "ropewalk/model/config.h"
#include "ropewalk/moments/accumulators/stream_moments.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

// Places of a kind's fields among the numbers.
enum Field : size_t {
  first_tokens,
  sum,
  squares,
  pairs,
  first_sum,
  first_squares,
  first_pairs,
  products,
  of_a_kind
};

// The first and the second dimension of each pair, [pairs] int64.
struct PairPlaces {
  at::Tensor first;
  at::Tensor second;
};

PairPlaces places_of(const RotaryPairs& rotary, const at::Device& device) {
  const at::Tensor f =
      at::arange(rotary.count(), at::TensorOptions().dtype(at::kLong).device(device));
  if (rotary.interleaved) return {2 * f, 2 * f + 1};
  return {f, f + rotary.count()};
}

// Where the product of dimensions i <= j lies in a triangle.
at::Tensor in_triangle(const at::Tensor& i, const at::Tensor& j, int64_t d) {
  return i * d - (i * (i - 1)).div(2, "floor") + j - i;
}

// One kind's numbers of a block.
class Sums {
 public:
  Sums(const BlockFields& block, StreamKind kind, const RotaryPairs& rotary)
      : block_(block),
        begin_(kind == StreamKind::query ? size_t{0} : size_t{of_a_kind}),
        rotary_(rotary) {}

  // x: [streams, tokens, d], a few tokens.
  void add_first(const at::Tensor& x) const {
    const at::Tensor wide = x.to(at::kDouble);
    const PairPlaces places = places_of(rotary_, x.device());
    numbers(first_tokens).add_(x.size(1));
    numbers(first_sum).add_(wide.sum(1));
    numbers(first_squares).add_(wide.square().sum(1));
    paired(first_pairs)
        .add_((wide.index_select(2, places.first) * wide.index_select(2, places.second)).sum(1));
  }

  // Of the other tokens, n.
  void add_rest(const Moments& document, int64_t n) const {
    const int64_t d = document.mean.size(1);
    const at::Device device = document.mean.device();
    const at::Tensor half = at::triu_indices(d, d, 0, at::TensorOptions(at::kLong).device(device));
    // About zero: plus n times the product of the means.
    const at::Tensor all = document.mean.index_select(1, half[0])
                               .mul_(document.mean.index_select(1, half[1]))
                               .mul_(n)
                               .add_(document.products);
    const PairPlaces places = places_of(rotary_, device);
    const at::Tensor each = at::arange(d, at::TensorOptions(at::kLong).device(device));
    numbers(sum).add_(document.mean, n);
    numbers(squares).add_(all.index_select(1, in_triangle(each, each, d)));
    paired(pairs).add_(all.index_select(1, in_triangle(places.first, places.second, d)));
    numbers(products).add_(all);
  }

 private:
  const at::Tensor& numbers(Field field) const { return block_.numbers[begin_ + field]; }
  // Where fewer dimensions turn than there are, the last numbers stay 0.
  at::Tensor paired(Field field) const { return numbers(field).narrow(1, 0, rotary_.count()); }

  const BlockFields& block_;
  size_t begin_;
  const RotaryPairs& rotary_;
};

// Nothing yet, for one document.
Moments empty_moments(int64_t streams, int64_t d, const at::Device& device) {
  const auto options = at::TensorOptions().dtype(at::kDouble).device(device);
  return {at::zeros({streams, d}, options), at::zeros({streams, d}, options),
          at::zeros({streams, d * (d + 1) / 2}, options)};
}

class PreRope : public Accumulator {
 public:
  std::string name() const override { return "pre_rope"; }

  std::vector<Tap> taps(const CaptureShape& shape) const override {
    if (!has(shape)) return {};
    return {{kPreRope, "q"}, {kPreRope, "k"}};
  }

  std::vector<KeptField> fields(const CaptureShape& shape) const override {
    std::vector<KeptField> all;
    if (!has(shape)) return all;
    const int64_t d = shape.head_dim;
    for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
      // Differences of large sums tell how vectors spread, so those of blocks are not rounded. The
      // first tokens are few.
      all.push_back({"first_tokens", kind, 1, true});
      all.push_back({"sum", kind, d, true});
      all.push_back({"squares", kind, d, true});
      all.push_back({"pairs", kind, d / 2, true});
      all.push_back({"first_sum", kind, d});
      all.push_back({"first_squares", kind, d});
      all.push_back({"first_pairs", kind, d / 2});
      all.push_back({"products", kind, d * (d + 1) / 2, true, false});
    }
    return all;
  }

  void add(const Taken& taken, const Destination& to) const override {
    const Positions::Parts& tokens = taken.positions->parts(kFirstTokens);
    const at::Tensor& q = taken["q"];
    const at::Tensor& k = taken["k"];
    const Sums queries(to.block, StreamKind::query, to.pairs);
    const Sums keys(to.block, StreamKind::key, to.pairs);
    const auto heads = [&](const at::Tensor& on_gpu, const std::vector<int64_t>& list) {
      return on_gpu.defined() ? on_gpu : at::tensor(list, at::kLong);
    };
    const at::Tensor q_heads = heads(to.q_heads, to.streams.q_heads);
    const at::Tensor kv_heads = heads(to.kv_heads, to.streams.kv_heads);
    queries.add_first(tokens.early_of(q).index_select(0, q_heads));
    keys.add_first(tokens.early_of(k).index_select(0, kv_heads));
    const Positions& after = *tokens.after;
    if (after.tokens() == 0) return;
    const at::Tensor late_q = tokens.late_of(q);
    const at::Tensor late_k = tokens.late_of(k);
    if (!q.is_cuda()) {
      queries.add_rest(stream_moments(late_q, to.streams.q_heads, "queries", taken, after),
                       after.tokens());
      keys.add_rest(stream_moments(late_k, to.streams.kv_heads, "keys", taken, after),
                    after.tokens());
      return;
    }
    const Moments of_queries = empty_moments(q_heads.size(0), q.size(2), q.device());
    const Moments of_keys = empty_moments(kv_heads.size(0), k.size(2), k.device());
    join_on_gpu(late_q, {q_heads, of_queries}, late_k, {kv_heads, of_keys},
                {after, taken.document->index, {}}, to.bad);
    queries.add_rest(of_queries, after.tokens());
    keys.add_rest(of_keys, after.tokens());
  }

  void combine(const BlockFields& whole, const BlockFields& part) const override {
    for (size_t i = 0; i < whole.numbers.size(); ++i) whole.numbers[i].add_(part.numbers[i]);
  }

  int64_t workspace(const ModelConfig& config, int64_t tokens, at::ScalarType dtype,
                    const at::Device& device) const override {
    const int64_t d = config.d_head;
    const int64_t kernel =
        device.is_cuda()
            ? join_on_gpu_workspace(config.n_q_heads, config.n_kv_heads, tokens, d, dtype)
            : document_moments_workspace(config.n_q_heads, tokens, d);
    // A document's triangles, the same about zero, and what makes them so.
    return kernel + 2 * (config.n_q_heads + config.n_kv_heads) * d * (d + 1) *
                        static_cast<int64_t>(sizeof(double));
  }

 private:
  static bool has(const CaptureShape& shape) { return shape.pre_rope && shape.point == kPostRope; }
};

}  // namespace

const Accumulator& pre_rope() {
  static const PreRope kAccumulator;
  return kAccumulator;
}

}  // namespace ropewalk
