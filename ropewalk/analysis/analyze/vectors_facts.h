#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "ropewalk/analysis/analyze/capture_facts.h"

namespace ropewalk {

// What a folder says about the model behind its vectors.
struct VectorsFacts {
  int64_t group = 0;                    // query heads per KV head
  int64_t n_q_heads = 0;                // 0: not said
  int64_t n_kv_heads = 0;               // 0: not said
  std::optional<CaptureFacts> capture;  // of our own capture.json
};

// How many query heads share a KV head comes from our capture.json, from the published README's
// head counts (each in the folder or the one around it), or from `kv_group`, which wins; else it is
// an InputError.
VectorsFacts read_vectors_facts(const std::filesystem::path& folder,
                                std::optional<int64_t> kv_group);

}  // namespace ropewalk
