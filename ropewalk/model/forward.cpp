#include "ropewalk/model/forward.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/interrupt.h"
#include "ropewalk/base/log.h"
#include "ropewalk/kernels/exact_float32.h"
#include "ropewalk/kernels/linear.h"
#include "ropewalk/model/head.h"
#include "ropewalk/model/layer.h"
#include "ropewalk/model/layer_parts.h"
#include "ropewalk/model/layer_stream.h"
#include "ropewalk/model/mixture.h"
#include "ropewalk/model/observers.h"

namespace ropewalk {
namespace {

// Tables by (rope settings, length): documents of one length share theirs. Only the latest length
// is kept, as lengths mostly agree and tables of long documents are large.
class RopeTables {
 public:
  RopeTables(const ModelConfig& config, at::Device device) : config_(config), device_(device) {}

  const RopeTable* find(const LayerConfig& layer, int64_t tokens) {
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

 private:
  const ModelConfig& config_;
  at::Device device_;
  int64_t tokens_ = -1;
  std::map<int, RopeTable> tables_;
};

// Positions of documents of one length are the same.
class CountedPositions {
 public:
  const Positions& find(int64_t tokens) {
    if (!positions_ || positions_->tokens() != tokens) positions_ = Positions::counted(tokens);
    return *positions_;
  }

 private:
  std::optional<Positions> positions_;
};

int64_t size_of(const Document& document) { return static_cast<int64_t>(document.tokens.size()); }

// The rows of some documents, [T, d_model].
at::Tensor embed(const WeightReader& weights, std::span<const Document> documents) {
  std::vector<at::Tensor> rows;
  for (const Document& document : documents) rows.push_back(weights.embed(document.tokens));
  return rows.size() == 1 ? rows.front() : at::cat(rows);
}

// Layers of a model, and those who are shown what happens in them.
class Layers {
 public:
  Layers(const ModelConfig& config, const WeightReader& weights, Observers& observers)
      : config_(config),
        weights_(weights),
        tables_(config, weights.device()),
        observers_(observers) {}

  // Documents of a group whose rows a product takes together. Ours gives a row the same numbers
  // among any others, so that small documents need not be multiplied one by one.
  std::vector<std::span<const Document>> batches(std::span<const Document> group) const;
  // What a layer makes of the rows of some documents, [T, d_model]. Where queries and keys alone
  // are needed of it, it is left once they are known.
  at::Tensor run(int64_t layer, const LayerWeights& weights, std::span<const Document> batch,
                 at::Tensor rows);
  // Shows what leaves a layer.
  void show(int64_t layer, std::span<const Document> batch, const at::Tensor& rows);
  // Makes the logits of what left the last one and shows them, some rows at a time.
  void show_logits(const LayerWeights& head, std::span<const Document> batch,
                   const at::Tensor& rows);

 private:
  void offer(int64_t layer, const Document& document, const char* point, const Projection& made,
             bool changing);

  const ModelConfig& config_;
  const WeightReader& weights_;
  RopeTables tables_;
  CountedPositions positions_;
  Observers& observers_;
};

std::vector<std::span<const Document>> Layers::batches(std::span<const Document> group) const {
  // An observer gets all points of a document before the next one; the first is seen too early.
  bool together = packs_weights(weights_.dtype(), weights_.device()) && !config_.mixture;
  for (int64_t layer = 0; layer <= weights_.extent().last_layer; ++layer) {
    together = together && !observers_.want(layer, kPreNorm);
  }
  const int64_t rows = together ? rows_at_a_time(weights_.dtype(), weights_.device()) : 0;
  return group_documents(group, /*bytes_per_token=*/1, {.hidden_budget = rows});
}

void Layers::offer(int64_t layer, const Document& document, const char* point,
                   const Projection& made, bool changing) {
  if (!observers_.want(layer, point)) return;
  observers_.offer(Taken{layer,
                         &document,
                         &positions_.find(size_of(document)),
                         point,
                         {{"q", made.q}, {"k", made.k}, {"v", made.v}},
                         changing});
}

void Layers::show(int64_t layer, std::span<const Document> batch, const at::Tensor& rows) {
  if (!observers_.want_hidden(layer)) return;
  int64_t begin = 0;
  for (const Document& document : batch) {
    const int64_t end = begin + size_of(document);
    observers_.offer(Hidden{layer, &document, rows.slice(0, begin, end)});
    begin = end;
  }
}

void Layers::show_logits(const LayerWeights& head, std::span<const Document> batch,
                         const at::Tensor& rows) {
  const int64_t some = logit_rows(config_);
  for (int64_t begin = 0; begin < rows.size(0); begin += some) {
    throw_if_interrupted();
    const int64_t end = std::min(begin + some, rows.size(0));
    const at::Tensor made = logits(config_, head, rows.slice(0, begin, end));
    int64_t first = 0;  // row of the document
    for (const Document& document : batch) {
      const int64_t from = std::max(begin, first), to = std::min(end, first + size_of(document));
      if (from < to) {
        observers_.offer(Logits{&document, from - first, made.slice(0, from - begin, to - begin)});
      }
      first += size_of(document);
    }
  }
}

at::Tensor Layers::run(int64_t layer, const LayerWeights& weights, std::span<const Document> batch,
                       at::Tensor rows) {
  const LayerConfig& settings = config_.layers[static_cast<size_t>(layer)];
  const bool keep = weights_.device().is_cuda() && rows.size(0) <= kMostKeptTokens &&
                    observers_.want(layer, kPreRope);
  const bool changing = settings.rope && !keep;
  const auto raw = [&](const Projection& made) {  // of a batch of one, where anybody wants it
    offer(layer, batch.front(), kPreNorm, made, changing);
  };
  Projection all = project(config_, weights, rows, raw);
  std::vector<Projection> documents;
  int64_t begin = 0;
  for (const Document& document : batch) {
    const int64_t tokens = size_of(document);
    Projection made = slice(all, begin, begin + tokens);
    begin += tokens;
    offer(layer, document, kPreRope, made, changing);
    apply_position(config_, settings, tables_.find(settings, tokens), made, keep);
    offer(layer, document, kPostRope, made, false);
    documents.push_back(std::move(made));
  }
  all = {};
  if (weights_.extent().of(layer) == Needed::qk) return rows;
  return finish_layer(config_, settings, weights, std::move(rows), std::move(documents));
}

}  // namespace

int64_t run_forward(const ModelConfig& config, const WeightReader& weights,
                    std::span<const Document> documents, std::span<Observer* const> watching,
                    const ForwardOptions& options) {
  const c10::InferenceMode no_autograd;
  const Extent& extent = weights.extent();
  Observers observers(watching, config, extent);
  const ExactFloat32 exact;
  exact.require_on(weights.device());
  size_t longest = 0;
  for (const Document& document : documents) longest = std::max(longest, document.tokens.size());
  const auto most_tokens = static_cast<int64_t>(longest);
  MemoryNeeds needs =
      memory_needs(config, weights, most_tokens,
                   observers.workspace(most_tokens, weights.dtype(), weights.device()));
  needs.reserved = options.reserved;
  MemoryPlan plan = plan_memory(needs, options.memory);
  // Weights that stay need no large groups, and small ones hold less and can be saved more often. A
  // GPU is so much faster than a disk that a group has to be large to compute while it reads.
  const int64_t kept_group = weights.device().is_cuda() ? 64 : 8;
  const GroupLimits limits{plan.hidden_budget, plan.keep_weights ? kept_group : 0, options.round};
  const auto groups =
      group_documents(documents, bytes_per_token(config, weights.element_size()), limits);
  // Read once, weights need not stay. (Of a CPU's memory, what is given back is cleared again.)
  if (groups.size() == 1 && weights.device().is_cuda()) plan.keep_weights = false;
  log::debug("{} documents in {} groups, weights {}", documents.size(), groups.size(),
             plan.keep_weights ? "kept" : "streamed");

  LayerStream stream(weights, plan);
  Layers layers(config, weights, observers);
  std::chrono::duration<double> embedding{0};
  const auto report = [&](int64_t stage, std::span<const Document> batch) {
    for (const Document& document : batch) {
      if (options.progress) options.progress(stage, size_of(document));
    }
  };
  int64_t done = 0;  // documents
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto batches = layers.batches(groups[g]);
    std::vector<at::Tensor> hidden(batches.size());  // of each batch, [T, d_model]
    for (int64_t layer = 0; layer <= extent.last_layer; ++layer) {
      const LayerConfig& layer_config = config.layers[static_cast<size_t>(layer)];
      const auto layer_weights = stream.take(layer, g + 1 < groups.size());
      for (size_t i = 0; i < batches.size(); ++i) {
        throw_if_interrupted();
        if (layer == 0) {
          const auto start = std::chrono::steady_clock::now();
          hidden[i] = embed(weights, batches[i]);
          embedding += std::chrono::steady_clock::now() - start;
        }
        if (layer_config.self_attention) {
          hidden[i] = layers.run(layer, *layer_weights, batches[i], std::move(hidden[i]));
        }
        report(layer, batches[i]);
      }
      if (layer_config.mixture && extent.of(layer) != Needed::qk) {
        const auto expert = [&](int64_t i) {
          if (plan.keep_experts) return layer_weights->experts[static_cast<size_t>(i)];
          LayerWeights read = weights.load_expert(layer, i);
          pack_projections(read);
          return read;
        };
        add_experts(config, *layer_weights, expert, hidden);
      }
      if (extent.of(layer) == Needed::qk) continue;
      for (size_t i = 0; i < batches.size(); ++i) layers.show(layer, batches[i], hidden[i]);
    }
    if (extent.has_head()) {
      const auto head = stream.take(extent.last_stage(), g + 1 < groups.size());
      for (size_t i = 0; i < batches.size(); ++i) {
        layers.show_logits(*head, batches[i], std::move(hidden[i]));
        report(extent.last_stage(), batches[i]);
      }
    }
    done += static_cast<int64_t>(groups[g].size());
    if (options.go_on && !options.go_on(done)) break;
  }
  log::debug("{:.3f} s waited for weights, {:.3f} s for rows of the table of embeddings",
             stream.seconds_waited(), embedding.count());
  return done;
}

}  // namespace ropewalk
