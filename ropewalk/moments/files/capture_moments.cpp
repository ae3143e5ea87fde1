#include "ropewalk/moments/files/capture_moments.h"

#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/base/files/hash.h"
#include "ropewalk/moments/accumulators/second_moments.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

std::vector<DocumentRecord> make_records(std::span<const Document> documents) {
  std::vector<DocumentRecord> records;
  for (const Document& document : documents) {
    records.push_back({document.index, document.digest, document.prefix_digest,
                       static_cast<int64_t>(document.tokens.size())});
  }
  return records;
}

CaptureShape shape_of(const CaptureInfo& info, const std::vector<DocumentRecord>& documents,
                      int64_t head_dim) {
  CaptureShape shape{head_dim, info.point, options_of(info.accumulators), info.context,
                     documents.empty() ? 0 : documents.back().index + 1};
  for (const auto& [name, record] : info.accumulators) shape.numerics[name] = record.numerics;
  return shape;
}

BlockCounts count_blocks(std::span<const Document> documents, int64_t blocks) {
  BlockCounts counts(blocks);
  for (const Document& document : documents) {
    counts.add_document(document.block(blocks), static_cast<int64_t>(document.tokens.size()));
  }
  return counts;
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
  const AccumulatedFields& moments = accumulated.front();
  StreamSet set{ids(kind), moments_of(moments.total, kind), {}};
  if (!moments.blocks.empty()) set.blocks = moments_of(moments.blocks, kind);
  return set;
}

CaptureMoments copy_of(CaptureMoments moments) {
  for (AccumulatedFields& kept : moments.accumulated) {
    for (auto* fields : {&kept.total, &kept.blocks}) {
      for (at::Tensor& field : *fields) field = field.clone();
    }
  }
  return moments;
}

CaptureMoments join_layers(std::vector<CaptureMoments> layers) {
  CaptureMoments all = std::move(layers.front());
  for (size_t i = 1; i < layers.size(); ++i) {
    all.queries.insert(all.queries.end(), layers[i].queries.begin(), layers[i].queries.end());
    all.keys.insert(all.keys.end(), layers[i].keys.begin(), layers[i].keys.end());
  }
  const auto join = [&](size_t kept, std::vector<at::Tensor> AccumulatedFields::*fields) {
    std::vector<at::Tensor>& own = all.accumulated[kept].*fields;
    for (size_t field = 0; field < own.size(); ++field) {
      std::vector<at::Tensor> parts{own[field]};
      for (size_t i = 1; i < layers.size(); ++i) {
        parts.push_back(std::move((layers[i].accumulated[kept].*fields)[field]));
      }
      own[field] = at::cat(parts);
    }
  };
  for (size_t kept = 0; kept < all.accumulated.size(); ++kept) {
    join(kept, &AccumulatedFields::total);
    join(kept, &AccumulatedFields::blocks);
  }
  return all;
}

}  // namespace ropewalk
