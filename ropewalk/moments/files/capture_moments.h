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

// The highest number of a document: such numbers travel as float64 too.
inline constexpr int64_t kMostDocuments = int64_t{1} << 52;

// A document that was read: its place among the kept documents, what it held, how it began.
struct DocumentRecord {
  int64_t index = 0;
  uint64_t digest = 0;         // of all its tokens, as read
  uint64_t prefix_digest = 0;  // of its first tokens: the same whatever context it was cut to
  int64_t tokens = 0;          // 0: not known, as of vectors

  bool operator==(const DocumentRecord&) const = default;
};

std::vector<DocumentRecord> make_records(std::span<const Document> documents);

// What accumulators need to know of a capture of these documents, whatever it kept.
CaptureShape shape_of(const CaptureInfo& info, const std::vector<DocumentRecord>& documents,
                      int64_t head_dim);

// One digest of which documents were read.
std::string documents_digest(const std::vector<DocumentRecord>& documents);

// Which stream of a model.
struct StreamId {
  int64_t layer = 0;
  int64_t head = 0;

  auto operator<=>(const StreamId&) const = default;
};

// What an accumulator kept: tensors in the order of its fields.
struct AccumulatedFields {
  const Accumulator* accumulator = nullptr;
  std::vector<at::Tensor> total;  // [streams, width] float64; compact ones as a file has them
  // [streams, blocks, width]; in a file, float32 unless exact, and [streams, 1, 0] of a field
  // without blocks. Empty: not known (moments_file.h).
  std::vector<at::Tensor> blocks;
};

// Second moments of the streams of one kind: which these are, in all, and in each block.
struct StreamSet {
  std::vector<StreamId> ids;  // sorted
  Moments total;
  Moments blocks;  // undefined: not known

  // The row of a stream, or -1.
  int64_t find(const StreamId& id) const;
  int64_t d() const { return total.mean.size(-1); }
};

// What one capture measured: the contents of a moments file (docs/formats.md).
struct CaptureMoments {
  CaptureInfo info;
  std::vector<DocumentRecord> documents;  // sorted by index
  BlockCounts counts;
  // Of vectors of which a sample was taken, another one in each stream: every stream's own counts,
  // in the order of `queries` and `keys`. Empty: every stream has all tokens of `counts`.
  std::vector<BlockCounts> query_counts;
  std::vector<BlockCounts> key_counts;
  std::vector<StreamId> queries;  // sorted, as all streams
  std::vector<StreamId> keys;
  std::vector<AccumulatedFields> accumulated;  // second moments first; none where none were taken
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

// The same with tensors of its own, which can be changed.
CaptureMoments copy_of(CaptureMoments moments);

// Layers of one capture, one after the other.
CaptureMoments join_layers(std::vector<CaptureMoments> layers);

}  // namespace ropewalk
