#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/head_sampling.h"
#include "ropewalk/moments/keep_options.h"

namespace ropewalk {

// The shape of a program's vectors.
struct TensorShape {
  int64_t layers = 1;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;  // q_heads is a multiple of it
  int64_t head_dim = 0;
  int64_t blocks = 16;         // blocks of documents, for standard errors
  double attention_scale = 0;  // the factor of q·k in attention; 0: unknown
  int64_t context = 0;         // most tokens per document; 0: unknown
  // The model's config.json, which tells how RoPE turned the vectors. With it, sums before RoPE are
  // kept.
  std::string config{};
  KeepOptions keep{};  // where possible: numbers before RoPE need the model's config
  // What a capture knows before its first document, and a training does not.
  struct Planned {
    int64_t context = 0;  // these two as in CaptureShape
    int64_t documents = 0;
    std::vector<QueryHead> heads{};         // those that are measured
    std::map<int64_t, int64_t> windows{};   // of layers whose attention slides
    std::map<int64_t, int64_t> clusters{};  // of documents (text/documents.h); others have none
  };
  std::optional<Planned> planned{};
};

// The plan of a capture that another process measures, as JSON, and back; `keep` is what it keeps.
Json planned_json(const TensorShape::Planned& planned, const KeepOptions& keep);
void read_planned(const Json& json, TensorShape& shape);

// The config of a model with such vectors: its own, or one that has only sizes. Throws UsageError
// where the sizes do not fit together, or are not the model's.
ModelConfig make_config(const TensorShape& shape);

}  // namespace ropewalk
