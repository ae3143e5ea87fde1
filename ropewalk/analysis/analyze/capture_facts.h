#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "ropewalk/analysis/replicates/logit_units.h"
#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/moments/capture_info.h"

namespace ropewalk {

// The parts of a capture's description that its analysis needs.
struct CaptureFacts {
  CheckpointOrigin origin;
  std::string model;
  std::string label;
  bool random = false;   // fresh weights
  bool chunked = false;  // documents are pieces of longer texts
  std::string shard;  // "0/4": the documents are one part of the corpus; empty: they are all of it
  bool ids_are_positions = false;  // the ids of pieces are positions, which tell neighbours
  std::set<int64_t> nope_layers;
  LogitUnits units;

  int64_t group() const { return origin.n_q_heads / origin.n_kv_heads; }  // query heads per KV head
};

// Throws InputError naming `source` and the key that is missing or out of bounds.
CaptureFacts capture_facts(const CaptureInfo& info, const std::string& source);

// A checkpoint that has no heads yet.
CheckpointTable begin_checkpoint(const CaptureFacts& facts);

}  // namespace ropewalk
