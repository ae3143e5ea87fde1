#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "ropewalk/analysis/analyze/capture_facts.h"

namespace ropewalk {

// What a folder says about the model that made its vectors.
struct VectorsFacts {
  int64_t group = 0;                    // query heads per KV head
  int64_t n_q_heads = 0;                // 0: unknown
  int64_t n_kv_heads = 0;               // 0: unknown
  std::optional<CaptureFacts> capture;  // from our own capture.json
};

// The number of query heads per KV head comes from `kv_group` where it is given, else from our
// capture.json or the head counts in the published README (in the folder itself or the folder
// around it). Throws InputError where none of them has it.
VectorsFacts read_vectors_facts(const std::filesystem::path& folder,
                                std::optional<int64_t> kv_group);

}  // namespace ropewalk
