#include "ropewalk/model/layers.h"

#include <algorithm>

#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/kernels/products/linear.h"
#include "ropewalk/model/edited_layer.h"
#include "ropewalk/model/head.h"
#include "ropewalk/model/layer_parts.h"
#include "ropewalk/model/memory_plan.h"

namespace ropewalk {
namespace {

int64_t tokens_of(const Document& document) { return static_cast<int64_t>(document.tokens.size()); }

}  // namespace

const RopeTable* RopeTables::find(const LayerConfig& layer, int64_t tokens) {
  if (!layer.rope) return nullptr;
  if (tokens != tokens_) tables_.clear();
  tokens_ = tokens;
  auto [found, added] = tables_.try_emplace(layer.rope_index);
  if (added) {
    found->second =
        make_rope_table(config_.ropes[static_cast<size_t>(layer.rope_index)], tokens, device_);
  }
  return &found->second;
}

const Positions& CountedPositions::find(int64_t tokens) {
  if (!positions_ || positions_->tokens() != tokens) positions_ = Positions::counted(tokens);
  return *positions_;
}

std::vector<std::span<const Document>> Layers::batches(std::span<const Document> group) const {
  // An observer gets all points of a document before the next document, so the documents of a batch
  // cannot be shown the early points together.
  bool together = packs_weights(weights_.dtype(), weights_.device()) && !config_.mixture;
  for (int64_t layer = 0; layer <= weights_.extent().last_layer; ++layer) {
    together = together && !observers_.want(layer, kPreNorm);
  }
  const int64_t rows = together ? rows_at_a_time(weights_.dtype(), weights_.device()) : 0;
  return group_documents(group, /*bytes_per_token=*/1, {.hidden_budget = rows});
}

void Layers::offer(TappedVectors given, const Projection& made) {
  if (!observers_.want(given.layer, given.point)) return;
  given.positions = &positions_.find(tokens_of(*given.document));
  given.vectors = {{"q", made.q}, {"k", made.k}, {"v", made.v}};
  observers_.offer(std::move(given));
}

void Layers::show(int64_t layer, std::span<const Document> batch, const at::Tensor& rows) {
  if (!observers_.want_hidden(layer)) return;
  int64_t begin = 0;
  for (const Document& document : batch) {
    const int64_t end = begin + tokens_of(document);
    observers_.offer(HiddenStates{layer, &document, rows.slice(0, begin, end)});
    begin = end;
  }
}

void Layers::show_logits(const LayerWeights& head, std::span<const Document> batch,
                         const at::Tensor& rows, std::span<const EditedRows> edited) {
  const int64_t some = logit_rows(config_);
  for (int64_t begin = 0; begin < rows.size(0); begin += some) {
    throw_if_interrupted();
    const int64_t end = std::min(begin + some, rows.size(0));
    // Computes logits of a pass's rows and calls see() with the part of each document.
    const auto by_document = [&](const at::Tensor& made, const auto& see) {
      int64_t first = 0;  // first row of the document
      for (const Document& document : batch) {
        const int64_t from = std::max(begin, first),
                      to = std::min(end, first + tokens_of(document));
        if (from < to) {
          see(Logits{&document, from - first, made.slice(0, from - begin, to - begin)});
        }
        first += tokens_of(document);
      }
    };
    const at::Tensor made = logits(config_, head, rows.slice(0, begin, end));
    by_document(made, [&](const Logits& logits) { observers_.offer(logits); });
    for (const EditedRows& other : edited) {
      throw_if_interrupted();
      const at::Tensor changed =
          other.rows.defined() ? logits(config_, head, other.rows.slice(0, begin, end)) : made;
      std::vector<at::Tensor> unedited;
      by_document(made, [&](const Logits& logits) { unedited.push_back(logits.rows); });
      size_t document = 0;
      by_document(changed, [&](const Logits& logits) {
        observers_.offer(EditedLogits{other.edit, logits, unedited[document++]});
      });
    }
  }
}

std::vector<Layers::Vectors> Layers::vectors(int64_t layer, const LayerWeights& weights,
                                             std::span<const Document> batch,
                                             const at::Tensor& rows, bool before_rope, bool shown) {
  const LayerConfig& settings = config_.layers[static_cast<size_t>(layer)];
  const bool late = shown && weights_.device().is_cuda() && rows.size(0) <= kMostKeptTokens &&
                    observers_.want(layer, kPreRope);
  const bool keep = before_rope || late;
  const bool changing = settings.rope && !keep;
  const auto taken_at = [&](const Document& document, const char* point) {
    TappedVectors given;
    given.layer = layer;
    given.document = &document;
    given.point = point;
    given.changing = changing;
    return given;
  };
  const auto raw = [&](const Projection& made) {  // of a batch of one, where anybody wants it
    if (shown) offer(taken_at(batch.front(), kPreNorm), made);
  };
  const ScoreOptions scores = score_options(config_, settings, weights);
  const Projection all = project(config_, weights, rows, raw);
  std::vector<Vectors> documents;
  int64_t begin = 0;
  for (const Document& document : batch) {
    const int64_t tokens = tokens_of(document);
    Vectors made{&document, begin, {}, slice(all, begin, begin + tokens)};
    if (before_rope) made.before_rope = made.after;
    if (shown) offer(taken_at(document, kPreRope), made.after);
    const RopeTable* const table = tables_.find(settings, tokens);
    apply_position(config_, settings, table, made.after, keep);
    TappedVectors after = taken_at(document, kPostRope);
    after.changing = false;
    after.scores = &scores;
    after.rope = table;
    if (shown) offer(std::move(after), made.after);
    documents.push_back(std::move(made));
    begin += tokens;
  }
  return documents;
}

// Vectors that nobody needs `again` are freed: the MLP needs the memory.
at::Tensor Layers::attend_all(int64_t layer, const LayerWeights& weights,
                              std::vector<Vectors>& documents, bool again) {
  const LayerConfig& settings = config_.layers[static_cast<size_t>(layer)];
  const ScoreOptions scores = score_options(config_, settings, weights);
  std::vector<at::Tensor> of_each;
  for (Vectors& document : documents) {
    of_each.push_back(attend(config_, scores, document.after));
    if (!again) document.after = {};
  }
  return of_each.size() == 1 ? of_each.front() : at::cat(of_each);
}

void Layers::edit_all(int64_t layer, const LayerWeights& weights,
                      const std::vector<Vectors>& documents, const Edit& edit,
                      const at::Tensor& attended) const {
  for (const Vectors& of : documents) {
    throw_if_interrupted();
    const EditedLayerInput inside{config_, layer, weights, *of.document, of.before_rope, of.after};
    edit_outputs(inside, edit, attended.slice(0, of.begin, of.begin + tokens_of(*of.document)));
  }
}

at::Tensor Layers::run(int64_t layer, const LayerWeights& weights, std::span<const Document> batch,
                       at::Tensor rows, std::span<DepartingEdit> parted) {
  const LayerConfig& settings = config_.layers[static_cast<size_t>(layer)];
  const bool before = std::any_of(parted.begin(), parted.end(), [](const DepartingEdit& other) {
    return needs_before_rope(*other.edit);
  });
  std::vector<Vectors> documents = vectors(layer, weights, batch, rows, before, /*shown=*/true);
  if (weights_.extent().of(layer) < Needed::layer) return rows;
  const at::Tensor attended = attend_all(layer, weights, documents, !parted.empty());
  if (observers_.want_outputs()) {
    for (const Vectors& of : documents) {
      const int64_t end = of.begin + tokens_of(*of.document);
      observers_.offer(
          TappedOutputs{layer, of.document, attended.slice(0, of.begin, end).flatten(1, 2)});
    }
  }
  for (DepartingEdit& other : parted) {
    const at::Tensor changed = attended.clone();
    edit_all(layer, weights, documents, *other.edit, changed);
    other.rows = finish_layer(config_, settings, weights, rows.clone(), changed);
  }
  documents.clear();
  return finish_layer(config_, settings, weights, std::move(rows), attended);
}

at::Tensor Layers::run_edited(int64_t layer, const LayerWeights& weights,
                              std::span<const Document> batch, at::Tensor rows, const Edit& edit) {
  const LayerConfig& settings = config_.layers[static_cast<size_t>(layer)];
  std::vector<Vectors> documents =
      vectors(layer, weights, batch, rows, needs_before_rope(edit), /*shown=*/false);
  const bool again = edit.heads.contains(layer);
  const at::Tensor attended = attend_all(layer, weights, documents, again);
  if (again) edit_all(layer, weights, documents, edit, attended);
  documents.clear();
  return finish_layer(config_, settings, weights, std::move(rows), attended);
}

}  // namespace ropewalk
