#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "ropewalk/moments/stream_key.h"

namespace ropewalk {

// Vectors of one document to add to a stream: n rows, d numbers per row.
struct VectorRows {
  int64_t example_id = 0;                 // its low 32 bits are stored
  std::span<const int32_t> positions;     // [n], tokens
  std::span<const int32_t> buckets;       // [n]
  std::span<const float> vectors;         // [n, d]
  std::optional<int32_t> sliding_window;  // in tokens, where the layer slides
};

// Writes sampled vectors in the published layout: `<folder>/vectors/l{LL}h{HH}{q|k}/data.parquet`
// with columns bucket, example_id, position, vector, sliding_window. Rows wait in memory and are
// written as row groups, the fullest streams first, whenever more than `memory` bytes wait. No
// descriptor stays open between writes, so thousands of streams can be in progress.
//
// Files are readable only after `finish`. Without it (after an error or an interrupt) they have no
// footer, which every Parquet reader reports. Throws SystemError naming the file where the disk
// refuses.
class VectorsWriter {
 public:
  VectorsWriter(std::filesystem::path folder, int64_t head_dim,
                int64_t memory = int64_t{256} << 20);
  ~VectorsWriter();
  VectorsWriter(const VectorsWriter&) = delete;
  VectorsWriter& operator=(const VectorsWriter&) = delete;

  // Throws UsageError where the spans disagree about n.
  void append(const StreamKey& key, const VectorRows& rows);
  // Writes every waiting row, and the footers.
  void finish();

 private:
  class Stream;
  class Levels;
  Stream& stream(const StreamKey& key);
  void write_out(Stream& stream);
  void make_room();

  std::filesystem::path folder_;
  int64_t head_dim_;
  int64_t memory_;
  std::unique_ptr<const Levels> levels_;
  std::map<StreamKey, std::unique_ptr<Stream>> streams_;
  int64_t waiting_bytes_ = 0;
  bool finished_ = false;
};

}  // namespace ropewalk
