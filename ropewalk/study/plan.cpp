#include "ropewalk/study/plan.h"

#include <algorithm>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/model/device.h"
#include "ropewalk/study/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Where a checkpoint that has weights of its own is. On the Hub, only its config is fetched.
struct Place {
  fs::path folder;
  std::optional<HubCheckpoint> hub;
};

Place checkpoint_place(const Experiment& experiment, const CheckpointEntry& entry) {
  if (entry.path) {
    const fs::path folder = experiment.resolve(*entry.path);
    if (is_folder(folder)) return {folder, {}};
    throw InputError("{}: '{}': path {} is not a folder; paths are relative to the experiment file",
                     experiment.at(entry.line), entry.label, folder.string());
  }
  if (!experiment.model) {
    throw InputError(
        "{}: '{}' names a revision, but the file has no model; write model: org/name or a folder",
        experiment.at(entry.line), entry.label);
  }
  const fs::path model = experiment.resolve(*experiment.model);
  if (is_folder(model)) {
    const fs::path folder = model / *entry.revision;
    if (is_folder(folder)) return {folder, {}};
    throw InputError("{}: '{}': the model has no folder {}", experiment.at(entry.line), entry.label,
                     folder.string());
  }
  if (!is_hub_id(*experiment.model)) {
    throw InputError("{}: model '{}' is neither a folder nor a Hub model (org/name)",
                     experiment.at(experiment.model_line), *experiment.model);
  }
  try {
    const HubCheckpoint found = find_checkpoint(shared_hub(), *experiment.model, *entry.revision);
    return {found.folder, found};
  } catch (const InputError& error) {
    throw InputError("{}: '{}': model '{}' is not a folder, and {}", experiment.at(entry.line),
                     entry.label, *experiment.model, error.what());
  }
}

// Whose config a random checkpoint takes: the nearest one in its phase that has weights, the next
// before the previous.
Place config_place(const Experiment& experiment, const Phase& phase, size_t place) {
  const auto usable = [&](size_t i) { return !phase.checkpoints[i].random; };
  for (size_t i = place + 1; i < phase.checkpoints.size(); ++i) {
    if (usable(i)) return checkpoint_place(experiment, phase.checkpoints[i]);
  }
  for (size_t i = place; i-- > 0;) {
    if (usable(i)) return checkpoint_place(experiment, phase.checkpoints[i]);
  }
  if (experiment.model && is_folder(experiment.resolve(*experiment.model))) {
    return {experiment.resolve(*experiment.model), {}};
  }
  const CheckpointEntry& entry = phase.checkpoints[place];
  throw InputError(
      "{}: '{}' has random weights, and its phase no other checkpoint whose config it could take; "
      "move it into one that has",
      experiment.at(entry.line), entry.label);
}

void check_device(const Experiment& experiment, const Communicator& processes) {
  try {
    parse_device(experiment.device, processes);
  } catch (const SystemError& error) {
    throw SystemError("{}: {}", experiment.at(experiment.device_line), error.what());
  } catch (const UsageError& error) {
    throw InputError("{}: {}", experiment.at(experiment.device_line), error.what());
  }
}

// What its config tells, and its weights where they are here. What cannot be done with them is said
// with the checkpoint's line.
OpenModel open_planned(const Experiment& experiment, const PlannedCheckpoint& planned) {
  const ModelOptions& options = planned.capture.model;
  try {
    return options.hub ? open_without_weights(options) : open_model(options);
  } catch (const UsageError& error) {
    throw InputError("{}: '{}': {}", experiment.at(planned.line), planned.capture.label,
                     error.what());
  }
}

void check_context(const Experiment& experiment, const Phase& phase, const OpenModel& model,
                   const std::string& label) {
  const int64_t most = model.text.config.max_positions;
  if (!phase.context || *phase.context <= most) return;
  throw InputError(
      "{}: context {} is beyond the max_position_embeddings {} of '{}'; write context: {}, or "
      "config: {{max_position_embeddings: {}}}",
      experiment.at(phase.context_line), *phase.context, most, label, most, *phase.context);
}

void check_alike(const Experiment& experiment, const PlannedCheckpoint& planned,
                 const ModelConfig& config, const std::string& first_label,
                 const ModelConfig& first) {
  const auto check = [&](const char* what, const auto& mine, const auto& theirs) {
    if (mine == theirs) return;
    throw InputError("{}: '{}' is another model than '{}': its {} is {}, not {}",
                     experiment.at(planned.line), planned.capture.label, first_label, what, mine,
                     theirs);
  };
  check("architecture", config.architecture, first.architecture);
  check("number of layers", config.n_layers, first.n_layers);
  check("number of query heads", config.n_q_heads, first.n_q_heads);
  check("number of key heads", config.n_kv_heads, first.n_kv_heads);
  check("head dimension", config.d_head, first.d_head);
  check("vocabulary", config.vocabulary_size, first.vocabulary_size);
}

CaptureOptions capture_options(const Experiment& experiment, const Phase& phase,
                               const CheckpointEntry& entry, const fs::path& out) {
  CaptureOptions options;
  options.model.context = phase.context;
  options.model.heads = experiment.head_count;
  options.model.seed = experiment.head_seed;
  options.model.sliding = experiment.sliding;
  options.model.device = experiment.device;
  options.model.dtype = experiment.dtype;
  options.model.memory = experiment.memory;
  options.model.config = phase.config;
  options.model.random = entry.random;
  options.model.from_file = true;
  options.label = entry.label;
  options.blocks = experiment.blocks;
  options.vectors = experiment.vectors;
  options.title = entry.label;
  options.out = out / "checkpoints" / entry.label;
  options.state = out / "checkpoints" / ("." + entry.label + ".state");
  return options;
}

std::optional<fs::path> find_tokenizer(const Experiment& experiment, const StudyPlan& plan) {
  if (experiment.tokenizer) {
    const fs::path path = experiment.resolve(*experiment.tokenizer);
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path;
    if (is_hub_id(*experiment.tokenizer)) {
      try {
        return locate_tokenizer(*experiment.tokenizer);
      } catch (const InputError& error) {
        throw InputError("{}: tokenizer '{}' is not there (looked for {}), and {}",
                         experiment.at(experiment.tokenizer_line), *experiment.tokenizer,
                         path.string(), error.what());
      }
    }
    throw InputError(
        "{}: tokenizer '{}' is not there (looked for {}); write a folder, the path of a "
        "tokenizer.json or a Hub model (org/name)",
        experiment.at(experiment.tokenizer_line), *experiment.tokenizer, path.string());
  }
  bool asked = false;  // one revision speaks for all of the Hub's
  for (const PlannedCheckpoint& planned : plan.checkpoints) {
    const ModelOptions& model = planned.capture.model;
    if (model.hub && !std::exchange(asked, true)) fetch_tokenizer(shared_hub(), *model.hub);
    std::error_code ignored;
    if (fs::exists(model.model / "tokenizer.json", ignored)) {
      return planned.capture.model.model;
    }
  }
  return std::nullopt;
}

fs::path find_corpus(const Experiment& experiment) {
  const Experiment::Corpus& corpus = experiment.corpus;
  if (is_hub_corpus(corpus.path)) {
    try {
      return locate_corpus(corpus.path);
    } catch (const InputError& error) {
      throw InputError("{}: corpus: {}", experiment.at(corpus.line), error.what());
    }
  }
  const fs::path path = experiment.resolve(corpus.path);
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;
  throw InputError("{}: corpus: there is no {}; paths are relative to the experiment file",
                   experiment.at(corpus.line), path.string());
}

}  // namespace

std::string CheckpointFailure::text() const {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

StudyPlan plan_study(const Experiment& experiment, const fs::path& out, bool keep_going,
                     const Communicator& processes) {
  check_device(experiment, processes);
  StudyPlan plan;
  std::string first_label;
  ModelConfig first;
  const auto add = [&](const Phase& phase, size_t i) {
    const CheckpointEntry& entry = phase.checkpoints[i];
    PlannedCheckpoint planned;
    planned.phase = phase.name;
    planned.order = static_cast<int64_t>(plan.checkpoints.size());
    planned.line = entry.line;
    planned.capture = capture_options(experiment, phase, entry, out);
    planned.capture.model.processes = processes;
    const Place place =
        entry.random ? config_place(experiment, phase, i) : checkpoint_place(experiment, entry);
    planned.capture.model.model = place.folder;
    planned.capture.model.hub = place.hub;
    const OpenModel model = open_planned(experiment, planned);
    check_context(experiment, phase, model, entry.label);
    if (plan.checkpoints.empty()) {
      first = model.text.config;
      first_label = entry.label;
      plan.vocabulary = model.text.config.embedding_rows;
    }
    check_alike(experiment, planned, model.text.config, first_label, first);
    if (model.checkpoint) model.weights();  // every tensor is there and has its shape
    plan.longest_context = std::max(plan.longest_context, model.context);
    plan.vocabulary = std::min(plan.vocabulary, model.text.config.embedding_rows);
    plan.checkpoints.push_back(std::move(planned));
  };
  for (const Phase& phase : experiment.phases) {
    for (size_t i = 0; i < phase.checkpoints.size(); ++i) {
      try {
        add(phase, i);
      } catch (const std::runtime_error&) {
        if (!keep_going) throw;
        plan.failures.push_back({phase.checkpoints[i].label, std::current_exception()});
      }
    }
  }
  if (plan.checkpoints.empty()) {
    throw InputError("{}: no checkpoint can be measured; '{}': {}", experiment.file.string(),
                     plan.failures.front().label, plan.failures.front().text());
  }
  return plan;
}

DocumentSet study_documents(const Experiment& experiment, const StudyPlan& plan) {
  const fs::path path = find_corpus(experiment);
  DocumentOptions wanted;
  wanted.context = plan.longest_context;
  wanted.min_tokens = experiment.corpus.min_tokens;
  wanted.documents = experiment.corpus.documents;
  wanted.vocabulary_size = static_cast<int32_t>(plan.vocabulary);
  wanted.chunk = experiment.corpus.chunk;
  wanted.blocks = experiment.blocks;
  return read_documents(path, {experiment.corpus.field, experiment.corpus.id},
                        find_tokenizer(experiment, plan), wanted);
}

DocumentSet cut_documents(const DocumentSet& documents, int64_t context, int64_t count) {
  DocumentSet cut = documents;
  if (count >= 0 && count < static_cast<int64_t>(cut.documents.size())) {
    cut.documents.resize(static_cast<size_t>(count));
  }
  cut.total_tokens = 0;
  for (Document& document : cut.documents) {
    const auto size = std::min<size_t>(document.tokens.size(), static_cast<size_t>(context));
    if (size < document.tokens.size()) {
      document.tokens.resize(size);
      document.set_digests();
    }
    cut.total_tokens += static_cast<int64_t>(size);
  }
  return cut;
}

}  // namespace ropewalk
