#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ropewalk/kernels/positions.h"
#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/config/rope.h"
#include "ropewalk/model/edit.h"
#include "ropewalk/model/layer.h"
#include "ropewalk/model/observers.h"
#include "ropewalk/model/weights.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

// Rotary tables by (rope settings, length): documents of one length share theirs. Only the latest
// length is kept, because lengths mostly agree and tables of long documents are large.
class RopeTables {
 public:
  RopeTables(const ModelConfig& config, at::Device device) : config_(config), device_(device) {}

  const RopeTable* find(const LayerConfig& layer, int64_t tokens);

 private:
  const ModelConfig& config_;
  at::Device device_;
  int64_t tokens_ = -1;
  std::map<int, RopeTable> tables_;
};

// Documents of one length share their positions.
class CountedPositions {
 public:
  const Positions& find(int64_t tokens);

 private:
  std::optional<Positions> positions_;
};

// An edit whose pass departs from the unedited one in this layer, and the rows that it has after
// the layer.
struct DepartingEdit {
  const Edit* edit = nullptr;
  at::Tensor rows;
};

// Rows of an edit's pass, [T, d_model]; undefined where they are those of the unedited pass.
struct EditedRows {
  size_t edit = 0;  // index among the edits of the pass
  at::Tensor rows;
};

// The layers of a model, and the observers of what happens in them.
class Layers {
 public:
  Layers(const ModelConfig& config, const WeightReader& weights, Observers& observers)
      : config_(config),
        weights_(weights),
        tables_(config, weights.device()),
        observers_(observers) {}

  // Splits a group into batches whose rows one product takes together. Our product gives a row the
  // same numbers in any batch, so that small documents need not be multiplied one by one.
  std::vector<std::span<const Document>> batches(std::span<const Document> group) const;
  // Runs a layer on the rows of some documents, [T, d_model], and on the same rows in the passes
  // that depart there. Where only queries and keys are needed of the layer, it ends once they are
  // known.
  at::Tensor run(int64_t layer, const LayerWeights& weights, std::span<const Document> batch,
                 at::Tensor rows, std::span<DepartingEdit> parted);
  // Runs a layer in the pass of an edit, without observers.
  at::Tensor run_edited(int64_t layer, const LayerWeights& weights, std::span<const Document> batch,
                        at::Tensor rows, const Edit& edit);
  // Shows a layer's output to observers.
  void show(int64_t layer, std::span<const Document> batch, const at::Tensor& rows);
  // Computes the logits of the last layer's output, some rows at a time, and shows them to
  // observers.
  void show_logits(const LayerWeights& head, std::span<const Document> batch,
                   const at::Tensor& rows, std::span<const EditedRows> edited);

 private:
  struct Vectors {
    const Document* document;
    int64_t begin;           // first row
    Projection before_rope;  // set where an edit needs them
    Projection after;
  };

  // `given` names layer, document and point, and what of a Taken is known beside.
  void offer(TappedVectors given, const Projection& made);
  std::vector<Vectors> vectors(int64_t layer, const LayerWeights& weights,
                               std::span<const Document> batch, const at::Tensor& rows,
                               bool before_rope, bool shown);
  at::Tensor attend_all(int64_t layer, const LayerWeights& weights, std::vector<Vectors>& documents,
                        bool again);
  void edit_all(int64_t layer, const LayerWeights& weights, const std::vector<Vectors>& documents,
                const Edit& edit, const at::Tensor& attended) const;

  const ModelConfig& config_;
  const WeightReader& weights_;
  RopeTables tables_;
  CountedPositions positions_;
  Observers& observers_;
};

}  // namespace ropewalk
