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

// The options of every verb that uses a model: which part of it is measured, and on which device.
struct ModelOptions {
  std::filesystem::path model;       // the model's folder
  std::optional<HubCheckpoint> hub;  // set where the folder is in the Hub's cache
  std::optional<int64_t>
      context;  // tokens per document; default: the model's max_position_embeddings
  std::optional<int64_t> heads;  // query heads to sample; default: all
  int64_t seed = 0;              // seed of the choice of heads
  bool sliding = false;          // also measure sliding layers
  bool head = false;             // compute the pass up to the logits
  bool scores = false;           // compute scores of attention, also in the last layer
  std::string device = "auto";
  std::string dtype = "auto";
  std::string backend = "auto";    // one of kBackends (backend_model.h)
  bool trust_remote_code = false;  // transformers may run Python code of the model's folder
  std::optional<int64_t> memory;   // bytes; default: four fifths of the free memory
  Json config = Json::object();    // overrides of config.json
  std::optional<int64_t> random;   // seed: fresh weights instead of the checkpoint's
  Communicator processes;          // processes that measure together
  // headers of checkpoints that were already read
  std::shared_ptr<KnownHeaders> headers = std::make_shared<KnownHeaders>();
  bool from_file = false;  // set from an experiment: messages name its keys instead of options
};

struct BackendModel;

// An opened checkpoint, with everything decided that does not depend on the text.
struct OpenModel {
  std::string name;  // the model's name: "org/name@COMMIT" or its folder
  std::shared_ptr<const Checkpoint> checkpoint;  // null: opened without weights
  TextModel text;
  int64_t context = 0;
  std::vector<QueryHead> heads;         // in the order in which they were drawn
  std::vector<int64_t> sliding_layers;  // layers whose window is shorter than the context
  int64_t last_layer = 0;  // the highest layer with a measured head; nothing after it is read
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  std::string dtype_reason;  // the reason for the dtype, in words
  int64_t memory = 0;        // bytes
  std::optional<RandomWeights> random;
  // Set where transformers runs the model; `text` then has no more than captures need.
  std::shared_ptr<const BackendModel> backend;

  bool head = false;    // the pass goes on to the logits
  bool scores = false;  // what scores of attention need is read of all layers

  // What the measured heads need, and how far the pass goes.
  Extent measured() const { return {last_layer, Needed::qk}; }
  Extent extent() const {
    if (head) return {text.config.n_layers - 1, Needed::head};
    // Learned sinks come with a whole layer.
    return {last_layer, scores && text.config.sinks ? Needed::layer : Needed::qk};
  }
  // Only token ids below this may be read: a head may lack the logits of some embeddings.
  int64_t known_words() const {
    return head ? text.config.vocabulary_size : text.config.embedding_rows;
  }
  // The name of a stage of the pass, for readers: "layer 3/30", "head".
  std::string stage_name(int64_t stage) const;
  // Reads the weights that the pass needs. The model must outlive the reader, and our own pass must
  // run it.
  WeightReader weights() const;
  // The digest of the weights that decide queries and keys; of a backend's, of all weights.
  std::string weights_digest() const;
  // The description of the model in captures.
  Json describe() const;
  // Describes dtype and device: "float32 on cpu (weights are stored in float32, under 2 GiB)".
  std::string arithmetic() const;
};

// `opened`: the same folder, if it is already open.
OpenModel open_model(const ModelOptions& options, std::shared_ptr<const Checkpoint> opened = {});

// The warning about a context that is longer than the config states, which is measured all the
// same; empty: none. Throws where the context exceeds the number of learned positions.
std::string long_context_warning(const ModelConfig& config, int64_t context);
std::string too_few_positions_error(const TextModel& text, int64_t context);

// Does everything that needs config.json alone: weights may be missing.
OpenModel open_without_weights(const ModelOptions& options);

}  // namespace ropewalk
