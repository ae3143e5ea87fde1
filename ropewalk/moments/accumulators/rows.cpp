#include "ropewalk/moments/accumulators/rows.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/split_mix.h"
#include "ropewalk/kernels/gpu/host_numbers.h"
#include "ropewalk/kernels/rows/edges.h"
#include "ropewalk/kernels/rows/longest.h"
#include "ropewalk/kernels/rows/row_numbers.h"
#include "ropewalk/kernels/rows/row_sums.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/config/rope.h"
#include "ropewalk/moments/accumulators/pre_rope.h"
#include "ropewalk/moments/accumulators/stream_moments.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

static_assert(kFirstTokens == QueryRows::kFirstKey);

// Places of the fields.
enum RowField : size_t { sums, attended, largest, edges, edge_tokens, longest };

// The part of some heads of a document's or a layer's numbers, [heads, …].
at::Tensor of_heads(const at::Tensor& x, const std::vector<int64_t>& heads,
                    const at::Tensor& gpu_heads) {
  if (static_cast<int64_t>(heads.size()) == x.size(0)) return x;
  return gpu_heads.defined() ? x.index_select(0, gpu_heads) : chosen_heads(x, heads);
}

// The rows at positions t of a document in a layer, of the chosen heads.
QueryRows document_rows(const TappedVectors& taken, const BlockTarget& to, std::vector<int64_t> t) {
  const LayerStreams& streams = to.streams;
  QueryRows rows;
  const at::Tensor& q = taken["q"];
  rows.q = of_heads(q.index_select(1, on_device(t, q.device())), streams.q_heads, to.q_heads);
  rows.k = of_heads(taken["k"], streams.kv_heads, to.kv_heads);
  const int64_t group = q.size(0) / taken["k"].size(0);
  const std::vector<int64_t>& kv = streams.kv_heads;
  for (const int64_t head : streams.q_heads) {
    rows.kv.push_back(std::lower_bound(kv.begin(), kv.end(), head / group) - kv.begin());
  }
  rows.t = std::move(t);
  rows.tokens = at::tensor(taken.document->tokens, at::kInt);
  rows.scores = *taken.scores;
  for (at::Tensor* of_all : {&rows.scores.slopes, &rows.scores.sinks}) {
    if (of_all->defined()) *of_all = of_heads(*of_all, streams.q_heads, to.q_heads);
  }
  if (taken.rope != nullptr) {
    rows.cos = taken.rope->cos;
    rows.sin = taken.rope->sin;
    rows.interleaved = to.pairs.interleaved;
  }
  rows.seed = taken.document->prefix_digest;
  return rows;
}

class AttentionRows : public Accumulator {
 public:
  std::string name() const override { return "rows"; }
  int64_t numerics() const override { return 1; }

  std::vector<Tap> taps(const CaptureShape& shape) const override {
    if (!has(shape)) return {};
    return {{kPostRope, "q"}, {kPostRope, "k"}};
  }

  std::vector<KeptField> fields(const CaptureShape& shape) const override {
    if (!has(shape)) return {};
    const int64_t octaves = row_octaves(shape.context);
    const auto whole = [](const char* name, int64_t width, bool compact) {
      return KeptField{name, StreamKind::query, width, true, false, compact};
    };
    return {{"sums", StreamKind::query, octaves * RowNumber::count},
            {"attended", StreamKind::query, octaves * distance_parts(shape.context)},
            {"largest", StreamKind::query, 2},
            whole("edges", kEdges * EdgeNumber::count, false),
            whole("edge_tokens", kEdges * 2 * kEdgeTokens, true),
            {"longest", StreamKind::key, 1}};
  }

  void add(const TappedVectors& taken, const BlockTarget& to) const override {
    if (taken.scores == nullptr) {
      throw UsageError("rows of attention want a pass that knows how scores come about");
    }
    const std::vector<at::Tensor>& numbers = to.block.numbers;
    add_longest({taken["q"], to.streams.q_heads, to.q_heads, numbers[largest].narrow(1, 1, 1)},
                {taken["k"], to.streams.kv_heads, to.kv_heads, numbers[longest]});
    const int64_t tokens = taken.positions->tokens();
    const int64_t heads = numbers[sums].size(0);
    const at::Tensor by_octave = numbers[sums].view({heads, -1, RowNumber::count});
    add_row_sums(
        document_rows(taken, to, draw_rows(taken.document->prefix_digest, tokens, to.keep.rows)),
        taken.document->index,
        {by_octave, numbers[attended].view({heads, by_octave.size(1), -1}),
         numbers[largest].narrow(1, 0, 1), numbers[edges].view({heads, kEdges, -1}),
         numbers[edge_tokens].view({heads, kEdges, 2, kEdgeTokens})});
  }

  void combine(const BlockFields& whole, const BlockFields& part) const override {
    const auto& [mine, mine_tokens] = whole;
    const auto& [other, other_tokens] = part;
    const auto rows_of = [](const at::Tensor& all) {
      return all.view({all.size(0), -1, RowNumber::count})
          .select(2, RowNumber::rows)
          .sum(1)
          .unsqueeze(1);
    };
    const at::Tensor both = at::maximum(mine[largest], other[largest]);
    at::Tensor top = at::where(rows_of(mine[sums]) > 0, both, other[largest]);
    top = at::where(rows_of(other[sums]) > 0, top, mine[largest]);
    mine[largest].narrow(1, 0, 1).copy_(top.narrow(1, 0, 1));
    mine[largest].narrow(1, 1, 1).copy_(both.narrow(1, 1, 1));
    mine[longest].copy_(at::maximum(mine[longest], other[longest]));
    for (const RowField field : {sums, attended}) mine[field].add_(other[field]);
    if (mine[edges].size(1) == 0) return;
    const auto listed = [](const std::vector<at::Tensor>& of) {
      const int64_t heads = of[edges].size(0);
      return Edges{of[edges].view({heads, kEdges, -1}), of[edge_tokens].view({heads, kEdges, -1})};
    };
    const Edges strongest = strongest_edges(listed(mine), listed(other));
    mine[edges].copy_(strongest.numbers.flatten(1));
    mine[edge_tokens].copy_(strongest.tokens.flatten(1));
  }

  int64_t workspace(const ModelConfig& config, int64_t tokens, at::ScalarType,
                    const at::Device& device) const override {
    return row_sums_workspace(config.n_q_heads, config.n_kv_heads, tokens, tokens, config.d_head,
                              device);
  }

 private:
  static bool has(const CaptureShape& shape) {
    return shape.keep.rows.number > 0 && shape.context > kFirstTokens && shape.point == kPostRope;
  }
};

}  // namespace

const Accumulator& rows() {
  static const AttentionRows kAccumulator;
  return kAccumulator;
}

std::vector<int64_t> draw_rows(uint64_t prefix_digest, int64_t tokens, const KeepCount& count) {
  const int64_t late = std::max<int64_t>(0, tokens - kFirstTokens);
  const int64_t parts = std::min(late, count.number);
  std::vector<int64_t> drawn;
  for (int64_t part = 0; part < parts; ++part) {
    // Not late * part / parts, which a count of all would overflow; both fit in half of the bits.
    const int64_t begin = late * part / parts, end = late * (part + 1) / parts;
    SplitMix random(SplitMix::joined(prefix_digest, static_cast<uint64_t>(part)));
    drawn.push_back(kFirstTokens + begin + random.below(end - begin));
  }
  return drawn;
}

}  // namespace ropewalk
