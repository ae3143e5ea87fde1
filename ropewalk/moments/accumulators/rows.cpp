#include "ropewalk/moments/accumulators/rows.h"

#include <algorithm>
#include <bit>

#include "ropewalk/base/error.h"
#include "ropewalk/base/split_mix.h"
#include "ropewalk/kernels/attention/row_numbers.h"
#include "ropewalk/kernels/gpu/host_numbers.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/config/rope.h"
#include "ropewalk/moments/accumulators/pre_rope.h"
#include "ropewalk/moments/accumulators/stream_moments.h"
#include "ropewalk/moments/accumulators/strongest_edges.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

static_assert(kFirstTokens == QueryRows::kFirstKey);

// Places of the fields.
enum RowField : size_t { sums, attended, largest, edges, edge_tokens, longest };

// Of a document or a layer's vectors what some heads have.
at::Tensor of_heads(const at::Tensor& x, const std::vector<int64_t>& heads,
                    const at::Tensor& gpu_heads) {
  return gpu_heads.defined() ? x.index_select(0, gpu_heads) : chosen_heads(x, heads);
}

// The length of the longest vector of each head, [heads, 1].
at::Tensor longest_of(const at::Tensor& vectors) {
  return at::linalg_vector_norm(vectors, 2, at::IntArrayRef{2}, false, at::kFloat).amax(1, true);
}

// A document in a layer.
class DocumentRows {
 public:
  DocumentRows(const TappedVectors& taken, const BlockTarget& to, std::vector<int64_t> t)
      : taken_(taken),
        to_(to),
        q_(of_heads(taken["q"], to.streams.q_heads, to.q_heads)),
        k_(of_heads(taken["k"], to.streams.kv_heads, to.kv_heads)) {
    const at::Device device = q_.device();
    const at::Tensor chosen = on_device(t, device);
    rows_.q = q_.index_select(1, chosen).to(at::kFloat);
    rows_.k = k_.to(at::kFloat);
    const int64_t group = taken["q"].size(0) / taken["k"].size(0);
    for (const int64_t head : to.streams.q_heads) {
      const auto& kv = to.streams.kv_heads;
      rows_.kv.push_back(std::lower_bound(kv.begin(), kv.end(), head / group) - kv.begin());
    }
    rows_.t = std::move(t);
    rows_.tokens = on_device(taken.document->tokens, device);
    rows_.scores = *taken.scores;
    for (at::Tensor* of_all : {&rows_.scores.slopes, &rows_.scores.sinks}) {
      if (of_all->defined()) *of_all = of_heads(*of_all, to.streams.q_heads, to.q_heads);
    }
    if (taken.rope != nullptr) {
      rows_.cos = taken.rope->cos;
      rows_.sin = taken.rope->sin;
      rows_.interleaved = to.pairs.interleaved;
    }
    rows_.seed = taken.document->prefix_digest;
  }

  void add() const {
    add_longest(q_, numbers(largest).narrow(1, 1, 1));
    add_longest(k_, numbers(longest));
    if (rows_.t.empty()) return;
    const int64_t heads = rows_.heads();
    const at::Tensor all = numbers(sums).view({heads, -1, RowNumber::count});
    const at::Tensor parts = numbers(attended).view({heads, all.size(1), -1});
    const RowNumbers found = row_numbers(rows_, parts.size(2));
    // Whether there were rows before.
    const at::Tensor some = all.select(2, RowNumber::rows).sum(1, true).gt(0);  // [heads, 1]
    const at::Tensor top = numbers(largest).narrow(1, 0, 1);
    const at::Tensor mine = found.numbers.select(2, RowNumber::largest).amax(1, true);
    top.copy_(at::where(some, at::maximum(top, mine), mine));
    const at::Tensor by_octave = octaves(all.size(1));
    all.add_(at::matmul(by_octave, found.numbers));
    parts.add_(at::matmul(by_octave, found.distances));
    add_edges(found.strongest);
  }

 private:
  const at::Tensor& numbers(RowField field) const { return to_.block.numbers[field]; }

  static void add_longest(const at::Tensor& vectors, const at::Tensor& to) {
    if (vectors.size(1) > 0) to.copy_(at::maximum(to, longest_of(vectors)));
  }

  // Which rows are of which octave, [octaves, rows] of 0 and 1. What is beyond the last one counts
  // as of it.
  at::Tensor octaves(int64_t count) const {
    std::vector<double> in(static_cast<size_t>(count) * rows_.t.size(), 0);
    for (size_t row = 0; row < rows_.t.size(); ++row) {
      const int64_t octave = std::min(row_octave(rows_.t[row]), count - 1);
      in[static_cast<size_t>(octave) * rows_.t.size() + row] = 1;
    }
    return on_device(in, q_.device()).view({count, -1});
  }

  void add_edges(const at::Tensor& strongest) const {
    const int64_t heads = strongest.size(0), count = strongest.size(1);
    const at::Tensor index = at::full_like(strongest.narrow(2, 0, 1), taken_.document->index);
    const at::Tensor there = strongest.narrow(2, 2, 1).gt(0);
    const Edges mine{at::cat({index, strongest}, 2) * there,
                     (tokens_around(strongest.narrow(2, 0, 2)) * there.unsqueeze(3))
                         .reshape({heads, count, -1})
                         .to(at::kDouble)};
    const at::Tensor all = numbers(edges).view({heads, kEdges, -1});
    const at::Tensor tokens = numbers(edge_tokens).view({heads, kEdges, -1});
    const Edges both = strongest_edges({all, tokens}, mine);
    all.copy_(both.numbers);
    tokens.copy_(both.tokens);
  }

  // [heads, n, 2] → [heads, n, 2, kEdgeTokens]: ids plus 1
  at::Tensor tokens_around(const at::Tensor& positions) const {
    const at::Tensor padded =
        at::constant_pad_nd(rows_.tokens + 1, {kEdgeTokensAround, kEdgeTokensAround});
    const at::Tensor around = positions.to(at::kLong).unsqueeze(3) +
                              at::arange(kEdgeTokens, padded.options().dtype(at::kLong));
    return padded.index_select(0, around.flatten()).view(around.sizes());
  }

  const TappedVectors& taken_;
  const BlockTarget& to_;
  at::Tensor q_, k_;  // of the chosen heads, [heads, T, d_head]
  QueryRows rows_;
};

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
    const int64_t tokens = taken.positions->tokens();
    DocumentRows(taken, to, draw_rows(taken.document->prefix_digest, tokens, to.keep.rows)).add();
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
    return row_numbers_workspace(config.n_q_heads, config.n_kv_heads, tokens, tokens, config.d_head,
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

int64_t row_octave(int64_t t) {
  return std::bit_width(static_cast<uint64_t>(t)) -
         std::bit_width(static_cast<uint64_t>(kFirstTokens));
}

int64_t row_octave_begin(int64_t octave) { return kFirstTokens << octave; }

int64_t row_octaves(int64_t context) {
  return context > kFirstTokens ? row_octave(context - 1) + 1 : 0;
}

}  // namespace ropewalk
