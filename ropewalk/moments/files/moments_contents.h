#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

// What accumulators kept of consecutive layers: one layer of a running capture, or everything that
// was merged.
struct MomentsPiece {
  const std::vector<AccumulatedFields>& kept;  // without totals: the blocks joined
  std::function<void()> release;               // called when its numbers are not needed for now
};

// The contents of a moments file.
struct MomentsContents {
  const CaptureInfo& info;
  const std::vector<DocumentRecord>& documents;
  const BlockCounts& counts;
  std::vector<StreamId> queries;
  std::vector<StreamId> keys;
  CaptureShape shape;
  std::vector<MomentsPiece> pieces;
  std::vector<BlockCounts> query_counts{};  // of sampled vectors
  std::vector<BlockCounts> key_counts{};
  std::vector<DocumentValues> values{};
};

// Writes such a file, piece by piece. Throws InputError naming layer and head where sums are too
// large for its types.
void write_contents(const std::filesystem::path& path, const MomentsContents& contents);

// What the file says of the capture.
Json stored_info(const CaptureInfo& info);

// A reader treats values that are not finite as damage. Sums of large vectors may exceed float32,
// the type of blocks in files. `numbers` belong to the streams from `first` on.
void require_finite(const at::Tensor& numbers, const std::string& name, const CaptureInfo& info,
                    StreamKind kind, const std::vector<StreamId>& ids, int64_t first);

}  // namespace ropewalk
