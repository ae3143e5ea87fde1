#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/kernels/moments/moments.h"
#include "ropewalk/moments/accumulators/accumulator.h"
#include "ropewalk/moments/block_counts.h"
#include "ropewalk/moments/capture_info.h"
#include "ropewalk/moments/document_values.h"

namespace ropewalk {

struct Document;

// The highest document number; such numbers are also sent as float64.
inline constexpr int64_t kMostDocuments = int64_t{1} << 52;

// A document that was read: its index among the kept documents, and digests of its tokens.
struct DocumentRecord {
  int64_t index = 0;
  uint64_t digest = 0;         // of all its tokens
  uint64_t prefix_digest = 0;  // of its first tokens: independent of the context that it was cut to
  int64_t tokens = 0;          // 0: unknown, for vectors of other programs

  bool operator==(const DocumentRecord&) const = default;
};

std::vector<DocumentRecord> make_records(std::span<const Document> documents);
// The tokens of each block of these documents.
BlockCounts count_blocks(std::span<const Document> documents, int64_t blocks);

// The facts that accumulators need about a capture of these documents, whatever it kept.
CaptureShape shape_of(const CaptureInfo& info, const std::vector<DocumentRecord>& documents,
                      int64_t head_dim);

// One digest over all documents that were read.
std::string documents_digest(const std::vector<DocumentRecord>& documents);

// Identifies a stream of a model.
struct StreamId {
  int64_t layer = 0;
  int64_t head = 0;

  auto operator<=>(const StreamId&) const = default;
};

// What an accumulator kept: tensors in the order of its fields.
struct AccumulatedFields {
  const Accumulator* accumulator = nullptr;
  std::vector<at::Tensor> total;  // [streams, width] float64; compact fields as in a file
  // [streams, blocks, width]; read from a file, float32 unless exact, and [streams, 1, 0] for a
  // field without blocks. Empty: unknown (moments_file.h).
  std::vector<at::Tensor> blocks;
};

// The moments of all streams of one kind. A stream is the queries, or the keys, of one head.
struct StreamSet {
  std::vector<StreamId> ids;  // sorted
  Moments total;
  Moments blocks;  // undefined: unknown

  // The row of a stream, or -1.
  int64_t find(const StreamId& id) const;
  int64_t d() const { return total.mean.size(-1); }
};

// What one capture measured: the contents of a moments file (docs/moments.md).
struct CaptureMoments {
  CaptureInfo info;
  std::vector<DocumentRecord> documents;  // sorted by index
  BlockCounts counts;
  // For sampled vectors, whose sample differs from stream to stream: every stream's own counts, in
  // the order of `queries` and `keys`. Empty: every stream has all tokens of `counts`.
  std::vector<BlockCounts> query_counts;
  std::vector<BlockCounts> key_counts;
  std::vector<StreamId> queries;  // sorted, like all streams
  std::vector<StreamId> keys;
  // Second moments first; empty where no vectors were captured.
  std::vector<AccumulatedFields> accumulated;
  std::vector<DocumentValues> document_values;

  int64_t blocks() const { return counts.blocks(); }
  bool sampled() const { return !query_counts.empty(); }
  const BlockCounts& counts_of(StreamKind kind, int64_t row) const {
    const auto& own = kind == StreamKind::query ? query_counts : key_counts;
    return own.empty() ? counts : own[static_cast<size_t>(row)];
  }
  const std::vector<StreamId>& ids(StreamKind kind) const {
    return kind == StreamKind::query ? queries : keys;
  }
  StreamSet streams(StreamKind kind) const;
};

// A copy with tensors of its own, which can be changed.
CaptureMoments copy_of(CaptureMoments moments);

// Joins layers of one capture, in order.
CaptureMoments join_layers(std::vector<CaptureMoments> layers);

}  // namespace ropewalk
