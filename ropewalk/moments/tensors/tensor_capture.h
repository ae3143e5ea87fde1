#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "ropewalk/kernels/positions.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

class Communicator;
struct SharedBatches;

// What vectors a program has.
struct TensorShape {
  int64_t layers = 1;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;  // q_heads is a multiple
  int64_t head_dim = 0;
  int64_t blocks = 16;         // of documents, for standard errors
  double attention_scale = 0;  // what attention multiplies q·k by; 0: unknown
  int64_t context = 0;         // tokens per document at most; 0: unknown
  // The model's config.json: it says how RoPE turned the vectors. Sums before it are kept then.
  std::string config{};
  KeepOptions keep{};  // where it can be: what stood before RoPE needs the model's config
};

// Measures queries and keys that the caller computed, of a model that it trains or that another
// library runs. The caller's settings of torch (autograd, autocast, TF32) neither matter nor
// change. For one thread at a time; SharedMoments (shared_moments.h) is for several.
class TensorCapture {
 public:
  // Throws UsageError where the sizes do not go together.
  explicit TensorCapture(const TensorShape& shape);

  // Adds one document's vectors in one layer, as the dot product sees them: q [q_heads, T,
  // head_dim] and k [kv_heads, T, head_dim], of any floating type, on any device (float64 of a GPU
  // is rounded to float32). `positions`: [T], integers; default: 0 … T - 1. The caller numbers
  // documents from 0: document i lies in block i modulo `blocks`. `turned`: tokens that RoPE was
  // chosen for, where that depends on a length: of the longest document of a batch; 0: its own.
  // Throws UsageError on other shapes and on a document that the layer has, and adds nothing then;
  // InputError on what is not finite.
  void add(int64_t layer, int64_t document, const at::Tensor& q, const at::Tensor& k,
           const std::optional<at::Tensor>& positions = {}, int64_t turned = 0);

  // The same of several documents, rows of q [rows, q_heads, T, head_dim] and k alike, of which
  // together() says that they can be taken as one. `positions`: [T] or [rows, T].
  void add(int64_t layer, std::span<const int64_t> documents, const at::Tensor& q,
           const at::Tensor& k, const std::optional<at::Tensor>& positions = {},
           int64_t turned = 0);
  // How many documents, from the first one on, can be taken as one: those of one block, whose rows
  // lie one behind the other in memory. A GPU is then told once what it would be told row by row.
  // No more than have the tokens of a long document, as its workspace grows with them.
  int64_t together(std::span<const int64_t> documents, const at::Tensor& q,
                   const at::Tensor& k) const;

  // Throws as add() would of documents that a layer has, or gets twice.
  void require_new(int64_t layer, std::span<const int64_t> documents) const;
  // Tokens per document at most, where that became known later.
  void set_context(int64_t context) { context_ = context; }

  // Brings what a GPU holds to the host. Throws InputError on what is not finite.
  void fetch() { collector_.fetch(); }
  // All that a layer has so far, for analyze_capture (analysis/analyze/analyze_capture.h).
  CaptureMoments layer(int64_t number);
  // The same of all layers that were given documents, for write_moments and merge. Throws
  // UsageError where they have not read the same ones.
  CaptureMoments moments();
  // The same, but blocks with values that are not finite are left out: returns which. Nothing is
  // added afterwards.
  std::set<int64_t> fetch_finite();
  // Forgets the documents of a block. Sums that have no blocks (moments/accumulators/accumulator.h)
  // keep what they have of it.
  void leave_out(int64_t block);
  // Joins the batches of all processes, of which each has batch j in block j, in these layers: in
  // the first process, null elsewhere. Collective, as join_batches().
  std::unique_ptr<TensorCapture> join(const SharedBatches& shared,
                                      const std::vector<int64_t>& layers, const TensorShape& shape,
                                      const Communicator& processes) const;

 private:
  // Positions of a document, and what turns its vectors back, by RoPE of the model and as needed.
  struct DocumentPositions {
    explicit DocumentPositions(const at::Tensor& given) : positions(given) {}
    Positions positions;
    std::map<std::pair<int, int64_t>, RopeTable> back;  // by RoPE and the tokens it is chosen for
  };
  void add_as_one(int64_t layer, std::span<const int64_t> documents, const at::Tensor& q,
                  const at::Tensor& k, const std::optional<at::Tensor>& positions, int64_t turned);
  DocumentPositions& positions_of(int64_t tokens, const std::optional<at::Tensor>& given);
  const RopeTable& table_back(DocumentPositions& document, int rope, int64_t turned,
                              const at::Device& device) const;

  bool turns_;  // it is known how vectors were turned
  ModelConfig config_;
  int64_t context_;
  MomentsCollector collector_;
  std::map<int64_t, std::set<int64_t>> documents_;  // by layer
  std::list<DocumentPositions> latest_;  // the other layers have the same, and what is made of them
};

}  // namespace ropewalk
