#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "ropewalk/moments/stream_key.h"

namespace ropewalk {

// n rows of one stream, with d numbers per row.
struct VectorBatch {
  int64_t head_dim = 0;              // d; 0 while there are no rows
  std::vector<int32_t> buckets;      // [n]
  std::vector<int64_t> example_ids;  // [n]
  std::vector<int32_t> positions;    // [n], tokens
  std::vector<float> vectors;        // [n, d]
};

// A folder of sampled vectors in the published layout (vectors_writer.h), written by this or
// another program: `vector` may be a list, of fixed size or not, of float16, float32 or float64;
// integers may have any width; other columns, such as `token_str` and `sliding_window`, are not
// read.
class VectorsReader {
 public:
  // `folder` contains `vectors/`, or is that folder. Throws InputError where it has no stream, or
  // one twice.
  explicit VectorsReader(const std::filesystem::path& folder);

  // Sorted by layer, head and kind.
  std::vector<StreamKey> streams() const;

  // A stream's file and its size.
  const std::filesystem::path& file(const StreamKey& key) const;
  int64_t file_bytes(const StreamKey& key) const;

  // Passes on a stream's rows in order, some thousands at a time. Throws InputError naming file and
  // row for a missing column, a wrong type, a null, a vector of another length or a number that is
  // not finite; UsageError where there is no such stream.
  void read(const StreamKey& key, const std::function<void(const VectorBatch&)>& use) const;
  VectorBatch read_all(const StreamKey& key) const;

 private:
  std::map<StreamKey, std::filesystem::path> files_;
};

}  // namespace ropewalk
