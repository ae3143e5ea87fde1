#include "ropewalk/model/forward.h"

#include <algorithm>
#include <list>
#include <map>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/interrupt.h"
#include "ropewalk/base/log.h"
#include "ropewalk/kernels/exact_float32.h"
#include "ropewalk/model/layer.h"
#include "ropewalk/model/layer_stream.h"
#include "ropewalk/model/mixture.h"

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

// Positions of documents of one length are the same. Those of the last few lengths stay: a GPU is
// given the work on a document a little later than it is offered.
class CountedPositions {
 public:
  const Positions& find(int64_t tokens) {
    for (const Positions& known : latest_) {
      if (known.tokens() == tokens) return known;
    }
    constexpr size_t kLatest = 8;
    if (latest_.size() == kLatest) latest_.pop_back();
    return latest_.emplace_front(Positions::counted(tokens));
  }

 private:
  std::list<Positions> latest_;
};

// What a collector wants, and what it got of it.
class Taps {
 public:
  Taps(Collector& collector, int64_t last_layer) : collector_(collector) {
    for (int64_t layer = 0; layer <= last_layer; ++layer) {
      for (const Tap& tap : collector.taps(layer)) waiting_[layer].insert(tap);
    }
    wanted_ = waiting_;
  }

  bool wanted(int64_t layer, std::string_view point) const {
    const auto found = wanted_.find(layer);
    return found != wanted_.end() && any_at(found->second, point);
  }

  // Hands on what is wanted.
  void offer(Taken taken) {
    std::erase_if(taken.vectors, [](const auto& named) { return !named.second.defined(); });
    std::erase_if(waiting_[taken.layer], [&](const Tap& tap) {
      return tap.point == taken.point && taken.vectors.contains(tap.vectors);
    });
    collector_.collect(taken);
  }

  // Once documents have passed all layers.
  void require_all() const {
    for (const auto& [layer, taps] : waiting_) {
      if (taps.empty()) continue;
      throw UsageError("the tap '{}' of layer {} got nothing: this model has no such vectors there",
                       taps.begin()->name(), layer);
    }
  }

 private:
  Collector& collector_;
  std::map<int64_t, std::set<Tap>> wanted_;
  std::map<int64_t, std::set<Tap>> waiting_;
};

}  // namespace

int64_t run_forward(const ModelConfig& config, const WeightReader& weights, int64_t last_layer,
                    std::span<const Document> documents, Collector& collector,
                    const ForwardOptions& options) {
  const c10::InferenceMode no_autograd;
  const ExactFloat32 exact;
  exact.require_on(weights.device());
  size_t longest = 0;
  for (const Document& document : documents) longest = std::max(longest, document.tokens.size());
  const auto most_tokens = static_cast<int64_t>(longest);
  MemoryNeeds needs =
      memory_needs(config, weights, last_layer, most_tokens,
                   collector.workspace(most_tokens, weights.dtype(), weights.device()));
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

  LayerStream stream(weights, last_layer, plan);
  RopeTables tables(config, weights.device());
  CountedPositions positions;
  Taps taps(collector, last_layer);
  int64_t done = 0;  // documents
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<at::Tensor> hidden(groups[g].size());  // of each document, [T, d_model]
    for (int64_t layer = 0; layer <= last_layer; ++layer) {
      const LayerConfig& layer_config = config.layers[static_cast<size_t>(layer)];
      const auto layer_weights = stream.take(layer, g + 1 < groups.size());
      for (size_t i = 0; i < groups[g].size(); ++i) {
        throw_if_interrupted();
        const Document& document = groups[g][i];
        if (layer == 0) hidden[i] = weights.embed(document.tokens);
        if (layer_config.self_attention) {
          const auto tokens = static_cast<int64_t>(document.tokens.size());
          const auto offer = [&](const char* point, const Projection& made, bool changing) {
            if (!taps.wanted(layer, point)) return;
            taps.offer({layer,
                        &document,
                        &positions.find(tokens),
                        point,
                        {{"q", made.q}, {"k", made.k}, {"v", made.v}},
                        changing});
          };
          const bool keep = weights.device().is_cuda() && tokens <= kMostKeptTokens &&
                            taps.wanted(layer, kPreRope);
          const bool changing = layer_config.rope && !keep;
          Projection projection =
              project(config, *layer_weights, hidden[i],
                      [&](const Projection& raw) { offer(kPreNorm, raw, changing); });
          offer(kPreRope, projection, changing);
          apply_position(config, layer_config, tables.find(layer_config, tokens), projection, keep);
          offer(kPostRope, projection, false);
          if (layer < last_layer) {
            hidden[i] = finish_layer(config, layer_config, *layer_weights, std::move(hidden[i]),
                                     std::move(projection));
          }
        }
        if (options.progress) options.progress(layer, static_cast<int64_t>(document.tokens.size()));
      }
      if (layer_config.mixture && layer < last_layer) {
        const auto expert = [&](int64_t i) {
          if (plan.keep_experts) return layer_weights->experts[static_cast<size_t>(i)];
          LayerWeights read = weights.load_expert(layer, i);
          pack_projections(read);
          return read;
        };
        add_experts(config, *layer_weights, expert, hidden);
      }
    }
    taps.require_all();
    done += static_cast<int64_t>(groups[g].size());
    if (options.go_on && !options.go_on(done)) break;
  }
  log::debug("{:.3f} s waited for weights", stream.seconds_waited());
  return done;
}

}  // namespace ropewalk
