#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ropewalk {

// A number, how sure it is, and what it is without each block of documents.
struct Estimate {
  double value = 0;  // NaN: undefined
  double se = 0;     // NaN: unknown
  std::vector<double> replicates;
};

// The leading components of one head's combined PCA.
struct HeadComponents {
  std::vector<Estimate> explained_variance;  // by component
  std::vector<Estimate> r_q;
  std::vector<Estimate> r_k;
  std::vector<std::string> flags;   // of each component, joined by ';'
  double pc0_stability = 0;         // smallest |v · v_replicate| of PC0; NaN without replicates
  std::vector<double> block_sizes;  // tokens left out with each replicate
};

// One query head with the KV head it reads.
struct HeadAnalysis {
  int64_t layer = 0;
  int64_t q_head = 0;
  int64_t kv_head = 0;
  bool rope = true;
  int64_t n_q = 0;  // tokens
  int64_t n_k = 0;
  HeadComponents components;
};

// The model behind a checkpoint's numbers and how it was run. Empty and 0: not known, as of
// vectors that another program wrote.
struct CheckpointOrigin {
  std::string architecture;  // model_type
  int64_t layers = 0;
  int64_t n_q_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  std::string point;   // "post-rope" or "pre-rope"
  std::string dtype;   // of the forward pass
  std::string device;  // "cpu" or "cuda"
};

// All heads of one checkpoint.
struct CheckpointAnalysis {
  std::string model;
  std::string label;
  std::string phase;
  int64_t order = 0;
  bool random = false;  // fresh weights: a baseline beside the run
  CheckpointOrigin origin;
  int64_t last_layer = 0;           // the model's highest layer index
  std::vector<HeadAnalysis> heads;  // by layer, then head
  // Which documents were read and in which of how many blocks each lies: two checkpoints are paired
  // where these agree.
  std::vector<std::pair<int64_t, uint64_t>> documents;
  int64_t blocks = 0;
};

}  // namespace ropewalk
