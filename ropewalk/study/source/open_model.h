#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/checkpoint/checkpoint.h"
#include "ropewalk/checkpoint/hub_checkpoint.h"
#include "ropewalk/model/architecture.h"
#include "ropewalk/moments/head_sampling.h"

namespace ropewalk {

// Which part of a model is looked at, on which machine. Every verb that touches a model takes
// these.
struct ModelOptions {
  std::filesystem::path model;       // its folder
  std::optional<HubCheckpoint> hub;  // where the folder is one of the Hub's cache
  std::optional<int64_t>
      context;  // tokens per document; default: the model's max_position_embeddings
  std::optional<int64_t> heads;  // query heads to sample; default: all
  int64_t seed = 0;              // of the head sample
  bool sliding = false;          // sliding layers count too
  bool head = false;             // go on to the logits
  bool scores = false;           // scores of attention are asked for, in the last layer too
  std::string device = "auto";
  std::string dtype = "auto";
  std::optional<int64_t> memory;  // bytes; default: four fifths of what is free
  Json config = Json::object();   // overrides of config.json
  std::optional<int64_t> random;  // seed: fresh weights instead of the checkpoint's
  Communicator processes;         // that measure together
  std::shared_ptr<KnownHeaders> headers = std::make_shared<KnownHeaders>();  // of any checkpoints
  bool from_file = false;  // an experiment's: messages name its keys, not options
};

// An opened checkpoint with everything decided that does not depend on the text.
struct OpenModel {
  std::string name;                              // of the model: "org/name@COMMIT" or its folder
  std::shared_ptr<const Checkpoint> checkpoint;  // null: opened without weights
  TextModel text;
  int64_t context = 0;
  std::vector<QueryHead> heads;         // in the order sampled
  std::vector<int64_t> sliding_layers;  // whose window is shorter than the context
  int64_t last_layer = 0;               // the highest with a sampled head; nothing after it is read
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  std::string dtype_reason;  // why, for people
  int64_t memory = 0;        // bytes
  std::optional<RandomWeights> random;

  bool head = false;    // the pass goes on to the logits
  bool scores = false;  // what scores of attention need is read of all layers

  // What the measured heads need, and what the pass goes through.
  Extent measured() const { return {last_layer, Needed::qk}; }
  Extent extent() const {
    if (head) return {text.config.n_layers - 1, Needed::head};
    // Learned sinks come with a whole layer.
    return {last_layer, scores && text.config.sinks ? Needed::layer : Needed::qk};
  }
  // Token ids below this may be read: a head may have no logit for some embeddings.
  int64_t known_words() const {
    return head ? text.config.vocabulary_size : text.config.embedding_rows;
  }
  // Of a stage of the pass, for people: "layer 3/30", "head".
  std::string stage_name(int64_t stage) const;
  // Reads what the pass needs. The model must outlive it.
  WeightReader weights() const;
  // "float32 on cpu (weights are stored in float32, under 2 GiB)"
  std::string arithmetic() const;
};

// `opened`: the same folder, where somebody has opened it already.
OpenModel open_model(const ModelOptions& options, std::shared_ptr<const Checkpoint> opened = {});

// What to say of a context: one that is longer than the config states is measured, with a warning;
// one that has more tokens than learned positions is refused. Empty: nothing.
std::string long_context_warning(const ModelConfig& config, int64_t context);
std::string too_few_positions_error(const TextModel& text, int64_t context);

// All of that which config.json alone can tell: weights may be missing.
OpenModel open_without_weights(const ModelOptions& options);

}  // namespace ropewalk
