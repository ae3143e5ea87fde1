#include "ropewalk/model/forward.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/kernels/products/exact_float32.h"
#include "ropewalk/model/layer_stream.h"
#include "ropewalk/model/layers.h"
#include "ropewalk/model/mixture.h"
#include "ropewalk/model/observers.h"

namespace ropewalk {
namespace {

int64_t size_of(const Document& document) { return static_cast<int64_t>(document.tokens.size()); }

// The embeddings of some documents, [T, d_model].
at::Tensor embed(const WeightReader& weights, std::span<const Document> documents) {
  std::vector<at::Tensor> rows;
  for (const Document& document : documents) rows.push_back(weights.embed(document.tokens));
  return rows.size() == 1 ? rows.front() : at::cat(rows);
}

// The pass of an edit, which is the same as the unedited one up to the edit's first layer.
struct EditBranch {
  size_t edit = 0;
  int64_t first_layer = 0;         // beyond the last one where the edit changes nothing
  std::vector<at::Tensor> hidden;  // per batch, [T, d_model]; undefined before the first layer
};

std::vector<EditBranch> make_branches(const ModelConfig& config, std::span<const Edit> edits,
                                      std::span<const Document> documents) {
  std::set<int64_t> lengths;
  for (const Document& document : documents) lengths.insert(size_of(document));
  std::vector<EditBranch> branches;
  for (size_t i = 0; i < edits.size(); ++i) {
    int64_t first = config.n_layers;
    for (const int64_t tokens : lengths) {
      first = std::min(first, first_edited_layer(config, edits[i], tokens).value_or(first));
    }
    branches.push_back({i, first, {}});
  }
  return branches;
}

// Runs groups of documents through the stages of a pass and of its edits' passes.
class ForwardPass {
 public:
  ForwardPass(const ModelConfig& config, const WeightReader& weights, Observers& observers,
              const ForwardOptions& options, const MemoryPlan& plan,
              std::vector<EditBranch> branches)
      : config_(config),
        weights_(weights),
        options_(options),
        plan_(plan),
        stream_(weights, plan),
        layers_(config, weights, observers),
        branches_(std::move(branches)) {}

  // `more` says whether more groups follow.
  void run(std::span<const Document> group, bool more);
  void say_times() const {
    log::debug("{:.3f} s waited for weights, {:.3f} s for rows of the table of embeddings",
               stream_.seconds_waited(), embedding_.count());
  }

 private:
  using Batch = std::span<const Document>;

  at::Tensor first_rows(const Batch& batch);
  void run_layer(int64_t layer, const LayerWeights& weights, size_t batch);
  void add_all_experts(int64_t layer, const LayerWeights& weights);
  void run_head(const LayerWeights& head);
  void report(int64_t stage, const Batch& batch) const {
    for (const Document& document : batch) {
      if (options_.progress) options_.progress(stage, size_of(document));
    }
  }

  const ModelConfig& config_;
  const WeightReader& weights_;
  const ForwardOptions& options_;
  const MemoryPlan plan_;
  LayerStream stream_;
  Layers layers_;
  std::vector<EditBranch> branches_;
  std::vector<Batch> batches_;      // of the group
  std::vector<at::Tensor> hidden_;  // per batch, [T, d_model]
  std::chrono::duration<double> embedding_{0};
};

at::Tensor ForwardPass::first_rows(const Batch& batch) {
  const auto start = std::chrono::steady_clock::now();
  at::Tensor rows = embed(weights_, batch);
  embedding_ += std::chrono::steady_clock::now() - start;
  return rows;
}

void ForwardPass::run_layer(int64_t layer, const LayerWeights& weights, size_t batch) {
  const Batch& documents = batches_[batch];
  const bool attends = config_.layers[static_cast<size_t>(layer)].self_attention;
  std::vector<DepartingEdit> parted;
  for (const EditBranch& branch : branches_) {
    if (branch.first_layer == layer) parted.push_back({&options_.edits[branch.edit], {}});
  }
  if (attends) {
    at::Tensor& rows = hidden_[batch];
    rows = layers_.run(layer, weights, documents, std::move(rows), parted);
  }
  report(layer, documents);
  size_t taken = 0;
  for (EditBranch& branch : branches_) {
    if (branch.first_layer > layer) continue;
    throw_if_interrupted();
    at::Tensor& rows = branch.hidden[batch];
    if (branch.first_layer == layer) {
      rows = std::move(parted[taken++].rows);
    } else if (attends) {
      rows = layers_.run_edited(layer, weights, documents, std::move(rows),
                                options_.edits[branch.edit]);
    }
    report(layer, documents);
  }
}

void ForwardPass::add_all_experts(int64_t layer, const LayerWeights& weights) {
  const auto expert = [&](int64_t i) {
    if (plan_.keep_experts) return weights.experts[static_cast<size_t>(i)];
    LayerWeights read = weights_.load_expert(layer, i);
    pack_projections(read);
    return read;
  };
  std::vector<at::Tensor> all = hidden_;  // share memory
  for (const EditBranch& branch : branches_) {
    if (branch.first_layer > layer) continue;
    all.insert(all.end(), branch.hidden.begin(), branch.hidden.end());
  }
  add_experts(config_, weights, expert, all);
}

void ForwardPass::run_head(const LayerWeights& head) {
  const int64_t stage = weights_.extent().last_stage();
  for (size_t i = 0; i < batches_.size(); ++i) {
    std::vector<EditedRows> edited;
    for (EditBranch& branch : branches_)
      edited.push_back({branch.edit, std::move(branch.hidden[i])});
    layers_.show_logits(head, batches_[i], std::move(hidden_[i]), edited);
    report(stage, batches_[i]);
    for (const EditedRows& branch : edited) {
      if (branch.rows.defined()) report(stage, batches_[i]);
    }
  }
}

void ForwardPass::run(std::span<const Document> group, bool more) {
  const Extent& extent = weights_.extent();
  batches_ = layers_.batches(group);
  hidden_.assign(batches_.size(), {});
  for (EditBranch& branch : branches_) branch.hidden.assign(batches_.size(), {});
  for (int64_t layer = 0; layer <= extent.last_layer; ++layer) {
    const auto weights = stream_.take(layer, more);
    for (size_t i = 0; i < batches_.size(); ++i) {
      throw_if_interrupted();
      if (layer == 0) hidden_[i] = first_rows(batches_[i]);
      run_layer(layer, *weights, i);
    }
    if (extent.of(layer) < Needed::layer) continue;
    if (config_.layers[static_cast<size_t>(layer)].mixture) add_all_experts(layer, *weights);
    for (size_t i = 0; i < batches_.size(); ++i) layers_.show(layer, batches_[i], hidden_[i]);
  }
  if (extent.has_head()) run_head(*stream_.take(extent.last_stage(), more));
}

}  // namespace

void run_forward(const ModelConfig& config, const WeightReader& weights,
                 std::span<const Document> documents, std::span<Observer* const> watching,
                 const ForwardOptions& options) {
  const c10::InferenceMode no_autograd;
  Observers observers(watching, config, weights.extent());
  const ExactFloat32 exact;
  exact.require_on(weights.device());
  if (!options.edits.empty() && !weights.extent().has_head()) {
    throw UsageError("edits need logits, but the pass has no head");
  }
  int64_t longest = 0;
  for (const Document& document : documents) longest = std::max(longest, size_of(document));
  MemoryNeeds needs =
      memory_needs(config, weights, longest,
                   observers.workspace(longest, weights.dtype(), weights.device()), options.edits);
  needs.reserved = options.reserved;
  MemoryPlan plan = plan_memory(needs, options.memory);
  // Where weights stay in memory, groups can be small: small groups hold less and can be saved more
  // often. A GPU is so much faster than a disk that a group has to be large to compute while
  // weights are read.
  const int64_t kept_group = weights.device().is_cuda() ? 64 : 8;
  const int64_t usual = plan.keep_weights ? kept_group : 0;
  const GroupLimits limits{plan.hidden_budget, options.group > 0 ? options.group : usual};
  const int64_t passes = 1 + static_cast<int64_t>(options.edits.size());
  const auto groups =
      group_documents(documents, passes * bytes_per_token(config, weights.element_size()), limits);
  // Weights that are read once need not stay. (On a CPU, memory that is given back would have to be
  // cleared again.)
  if (groups.size() == 1 && weights.device().is_cuda()) plan.keep_weights = false;
  log::debug("{} documents in {} groups, weights {}", documents.size(), groups.size(),
             plan.keep_weights ? "kept" : "streamed");

  ForwardPass pass(config, weights, observers, options, plan,
                   make_branches(config, options.edits, documents));
  int64_t done = 0;  // documents
  for (size_t g = 0; g < groups.size(); ++g) {
    pass.run(groups[g], g + 1 < groups.size());
    done += static_cast<int64_t>(groups[g].size());
    if (options.after_group) options.after_group(done);
  }
  pass.say_times();
}

}  // namespace ropewalk
