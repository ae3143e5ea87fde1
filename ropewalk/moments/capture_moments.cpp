#include "ropewalk/moments/capture_moments.h"

#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/base/hash.h"
#include "ropewalk/moments/accumulators/second_moments.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

std::vector<DocumentRecord> make_records(std::span<const Document> documents) {
  std::vector<DocumentRecord> records;
  for (const Document& document : documents) {
    records.push_back({document.index, document.digest, document.prefix_digest});
  }
  return records;
}

std::string documents_digest(const std::vector<DocumentRecord>& documents) {
  Sha256 hash;
  for (const DocumentRecord& document : documents) {
    hash.update(fmt::format("{}:{:016x}\n", document.index, document.digest));
  }
  return hash.hex();
}

int64_t StreamSet::find(const StreamId& id) const {
  const auto found = std::lower_bound(ids.begin(), ids.end(), id);
  return found != ids.end() && *found == id ? found - ids.begin() : -1;
}

StreamSet CaptureMoments::streams(StreamKind kind) const {
  const Accumulated& moments = accumulated.front();
  StreamSet set{ids(kind), moments_of(moments.total, kind), {}};
  if (!moments.blocks.empty()) set.blocks = moments_of(moments.blocks, kind);
  return set;
}

std::vector<at::Tensor> total_of(const Accumulator& accumulator,
                                 const std::vector<at::Tensor>& blocks, const BlockCounts& counts) {
  BlockFields total;
  for (const at::Tensor& field : blocks) {
    total.numbers.push_back(at::zeros({field.size(0), field.size(2)}, at::kDouble));
  }
  BlockCounts joined(1);
  for (int64_t b = 0; b < counts.blocks(); ++b) {
    total.tokens = joined.set(0);
    if (counts.set(b).tokens > 0) accumulator.combine(total, block_of(blocks, b, counts.set(b)));
    joined.add_block(0, counts, b);
  }
  return total.numbers;
}

}  // namespace ropewalk
