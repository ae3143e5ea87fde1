#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/moments/capture_info.h"
#include "ropewalk/moments/moments.h"
#include "ropewalk/moments/moments_collector.h"

namespace ropewalk {

// A document that was read: its place among the kept documents, what it held, how it began.
struct DocumentRecord {
  int64_t index = 0;
  uint64_t digest = 0;         // of all its tokens, as read
  uint64_t prefix_digest = 0;  // of its first tokens: the same whatever context it was cut to

  bool operator==(const DocumentRecord&) const = default;
};

std::vector<DocumentRecord> make_records(std::span<const Document> documents);

// One digest of which documents were read.
std::string documents_digest(const std::vector<DocumentRecord>& documents);

// A stream's place in the model.
struct StreamPlace {
  int64_t layer = 0;
  int64_t head = 0;

  auto operator<=>(const StreamPlace&) const = default;
};

// Streams of one kind: where they are, their moments in all, and in each block.
struct StreamSet {
  std::vector<StreamPlace> places;  // sorted
  MomentsView total;                // float64: [streams, d], [streams, d], [streams, d(d+1)/2]
  StreamMoments blocks;             // in a file: means float64, sums float32

  // The row of a stream, or -1.
  int64_t find(const StreamPlace& place) const;
};

// What one capture measured: the contents of a moments file (docs/formats.md).
struct CaptureMoments {
  CaptureInfo info;
  std::vector<DocumentRecord> documents;  // sorted by index
  BlockCounts counts;
  StreamSet queries;
  StreamSet keys;

  int64_t blocks() const { return counts.blocks(); }
};

inline constexpr const char* kMomentsName = "moments.safetensors";

// One layer of what a collector gathered (`gathered`: of all processes together), without
// documents; blocks are views of it.
CaptureMoments layer_moments(const MomentsCollector& collector, int64_t layer,
                             const MomentsCollector::Layer& gathered, CaptureInfo info);

// The moments of all blocks of each stream.
MomentsView total_moments(const StreamMoments& blocks, const BlockCounts& counts);

// Atomic. Sums of blocks are rounded to float32; totals are the float64 blocks added in order. What
// a collector holds is written layer by layer.
void write_moments(const std::filesystem::path& path, const MomentsCollector& collector,
                   const CaptureInfo& info, const std::vector<DocumentRecord>& documents);
void write_moments(const std::filesystem::path& path, const CaptureMoments& moments);

// Checks everything it reads; throws InputError naming the file and the tensor or key.
CaptureMoments read_moments(const std::filesystem::path& path);
// All of it but the streams.
CaptureMoments read_moments_head(const std::filesystem::path& path);

}  // namespace ropewalk
