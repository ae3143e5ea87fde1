#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

class JsonReader;

enum class RopeType { standard, linear, dynamic, llama3, yarn, longrope };

// "default", "linear", …: the spelling of config.json.
std::string rope_type_name(RopeType type);

// One set of rotary parameters, from any spelling.
struct RopeSettings {
  RopeType type = RopeType::standard;
  double theta = 0;
  int64_t rotary_dim = 0;     // dimensions that rotate, from the front of the head
  bool interleaved = false;   // pairs are (2i, 2i+1) instead of (i, i + rotary_dim/2)
  int64_t max_positions = 0;  // max_position_embeddings, the start of dynamic scaling

  double factor = 1;                       // linear, dynamic, llama3, yarn, longrope
  int64_t original_context = 0;            // llama3, yarn, longrope
  double low_freq_factor = 0;              // llama3
  double high_freq_factor = 0;             // llama3
  double beta_fast = 32;                   // yarn
  double beta_slow = 1;                    // yarn
  bool truncate = true;                    // yarn
  std::optional<double> attention_factor;  // yarn, longrope
  std::optional<double> mscale;            // yarn
  std::optional<double> mscale_all_dim;    // yarn
  std::vector<double> short_factors;       // longrope: one per pair, up to original_context tokens
  std::vector<double> long_factors;        // longrope: one per pair, for longer documents

  // Pairs that take more tokens than this for a turn do not turn. No config.json has such a key.
  double still_above = std::numeric_limits<double>::infinity();
};

// What a family knows about its rotary embedding beyond config.json.
struct RopeTraits {
  int64_t d_head = 0;
  int64_t max_positions = 0;
  bool interleaved = false;
  // Families that rotate a part of the head give its share here, for configs that do not say; the
  // others refuse a partial_rotary_factor other than 1.
  std::optional<double> default_partial;
  const char* theta_key = "rope_theta";  // spelling at the top level
  const char* partial_key = "partial_rotary_factor";
};

// Reads the rotary parameters of config.json in the order of docs/architectures.md:
// `rope_parameters` (those of `layer_type` where they are nested), else the top-level
// `rope_scaling` and theta. A missing theta is an InputError that says what to write.
RopeSettings read_rope(const JsonReader& config, const RopeTraits& traits,
                       const std::string& layer_type = "full_attention");

// Cosines and sines of every position, [tokens, rotary_dim / 2] float32 each, multiplied by the
// attention factor. The operations and their order are those of transformers, in float32: at
// position 65,536 another order of rounding would already differ in the third decimal.
struct RopeTable {
  at::Tensor cos;
  at::Tensor sin;
};
RopeTable make_rope_table(const RopeSettings& settings, int64_t tokens, const at::Device& device);

}  // namespace ropewalk
