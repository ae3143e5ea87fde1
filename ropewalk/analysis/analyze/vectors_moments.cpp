#include "ropewalk/analysis/analyze/vectors_moments.h"

#include <algorithm>
#include <map>

#include "ropewalk/analysis/analyze/vectors_streams.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/moments/accumulators/second_moments.h"

namespace ropewalk {
namespace {

// The upper triangles of symmetric matrices [.., d, d], by rows: [.., d(d+1)/2].
at::Tensor pack_triangle(const at::Tensor& full) {
  const int64_t d = full.size(-1);
  const at::Tensor indexes = at::triu_indices(d, d, 0, at::kLong);  // [2, d(d+1)/2]
  const at::Tensor flat = indexes[0] * d + indexes[1];
  return full.flatten(-2).index_select(-1, flat);
}

BlockCounts counts_of(const StreamInput& input) {
  BlockCounts counts(static_cast<int64_t>(input.block_tokens.size()));
  for (size_t b = 0; b < input.block_tokens.size(); ++b) {
    counts.tokens[b] = static_cast<int64_t>(input.block_tokens[b]);
    counts.position_mean[b] = input.block_position_mean[b];
    counts.position_scatter[b] = input.block_position_scatter[b];
  }
  return counts;
}

// All streams of one kind with the same number of dimensions, one after another.
class VectorRows {
 public:
  void add(const StreamInput& input, const std::string& name) {
    if (!mean_.empty() && mean_.front().sizes() != input.mean.sizes()) {
      throw InputError("{}: its vectors have {} numbers, but vectors of other heads have {}", name,
                       input.mean.size(0), mean_.front().size(0));
    }
    mean_.push_back(input.mean);
    position_.push_back(input.position);
    products_.push_back(pack_triangle(input.products));
    // float32, as in the file: half the memory.
    block_mean_.push_back(input.block_mean);
    block_position_.push_back(input.block_position.to(at::kFloat));
    block_products_.push_back(pack_triangle(input.block_products).to(at::kFloat));
  }
  void append_to(AccumulatedFields& kept) const {
    for (const auto* rows : {&mean_, &position_, &products_}) {
      kept.total.push_back(at::stack(*rows));
    }
    for (const auto* rows : {&block_mean_, &block_position_, &block_products_}) {
      kept.blocks.push_back(at::stack(*rows));
    }
  }

 private:
  std::vector<at::Tensor> mean_, position_, products_;
  std::vector<at::Tensor> block_mean_, block_position_, block_products_;
};

}  // namespace

CaptureMoments moments_of_vectors(const std::filesystem::path& folder, CaptureInfo info,
                                  const std::function<void()>& done) {
  const c10::InferenceMode no_autograd;
  const VectorsReader reader(folder);
  const BlockOfExample block_of = assign_blocks(reader, /*runs=*/false);
  const int64_t blocks = kVectorBlocks;  // some blocks stay empty where examples are few
  CaptureMoments moments;
  VectorRows queries;
  VectorRows keys;
  // most tokens that any stream has in each block
  std::vector<int64_t> most(static_cast<size_t>(blocks));
  for (const StreamKey& key : reader.streams()) {
    throw_if_interrupted();
    const StreamInput input = read_stream(reader, key, block_of, blocks);
    const std::string file = reader.file(key).string();
    if (input.tokens < 2) {
      throw InputError("{}: has {:.0f} vectors; at least 2 are needed", file, input.tokens);
    }
    const bool query = key.kind == StreamKind::query;
    (query ? queries : keys).add(input, file);
    (query ? moments.queries : moments.keys).push_back({key.layer, key.head});
    const BlockCounts counts = counts_of(input);
    for (size_t b = 0; b < most.size(); ++b) most[b] = std::max(most[b], counts.tokens[b]);
    (query ? moments.query_counts : moments.key_counts).push_back(counts);
    done();
  }
  if (moments.queries.empty() || moments.keys.empty()) {
    throw InputError("{}: has no {} vectors", folder.string(),
                     moments.queries.empty() ? "query" : "key");
  }
  const std::map<int64_t, int64_t> examples(block_of.begin(), block_of.end());
  moments.counts = BlockCounts(blocks);
  for (const auto& [example, block] : examples) {
    const auto id = static_cast<uint64_t>(example);
    moments.documents.push_back({static_cast<int64_t>(moments.documents.size()), id, id, 0});
    ++moments.counts.documents[static_cast<size_t>(block)];
  }
  for (size_t b = 0; b < most.size(); ++b) {
    moments.counts.tokens[b] = std::max(most[b], moments.counts.documents[b]);
  }
  AccumulatedFields kept{&second_moments(), {}, {}};
  queries.append_to(kept);
  keys.append_to(kept);
  moments.accumulated.push_back(std::move(kept));
  info.blocks = blocks;
  info.documents = moments.counts.total_documents();
  info.tokens = moments.counts.total_tokens();
  info.corpus = documents_digest(moments.documents);
  moments.info = std::move(info);
  return moments;
}

}  // namespace ropewalk
