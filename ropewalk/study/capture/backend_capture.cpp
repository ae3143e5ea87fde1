#include "ropewalk/study/capture/backend_capture.h"

#include <algorithm>
#include <deque>
#include <future>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/units.h"
#include "ropewalk/base/version.h"
#include "ropewalk/checkpoint/config_overrides.h"
#include "ropewalk/model/config/precision.h"
#include "ropewalk/moments/files/merge.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/files/moments_state.h"
#include "ropewalk/moments/tensors/tensor_shape.h"
#include "ropewalk/study/capture/capture_state.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/source/backend_model.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kAhead = 2;  // documents that the companion has, so that it never waits

// A capture whose moments the companion has written into the folder under way.
class BackendCapture : public MeasuredCapture {
 public:
  BackendCapture(std::unique_ptr<AtomicFolder> folder, CaptureMoments moments,
                 std::optional<fs::path> state)
      : folder_(std::move(folder)), moments_(std::move(moments)), state_(std::move(state)) {}

  int64_t bytes() const override {
    int64_t bytes = 0;
    for (const AccumulatedFields& one : moments_.accumulated) {
      for (const auto* fields : {&one.total, &one.blocks}) {
        for (const at::Tensor& field : *fields) bytes += static_cast<int64_t>(field.nbytes());
      }
    }
    return bytes;
  }
  CaptureInfo write() override {
    const UninterruptedScope unhurried;
    write_moments(folder_->path() / kMomentsName, moments_);
    CaptureInfo written = describe_in(folder_->path(), moments_.info);
    folder_->commit();
    if (state_) remove_states(*state_, state_->parent_path());
    return written;
  }
  bool in_memory() const override { return true; }
  CaptureMoments moments() const override { return copy_of(moments_); }

 private:
  std::unique_ptr<AtomicFolder> folder_;
  CaptureMoments moments_;
  std::optional<fs::path> state_;
};

// One model in the companion, and what it has measured.
class BackendPass {
 public:
  BackendPass(const CaptureOptions& options, const OpenModel& model, const DocumentSet& documents)
      : options_(options),
        model_(model),
        documents_(documents.documents),
        info_(describe_capture(options, model, documents)),
        folder_(std::make_unique<AtomicFolder>(options.out)) {}
  // A pass that ends early takes its companion along; a finished one leaves it to the next.
  ~BackendPass() {
    if (!finished_) end_model_companion();
  }
  BackendPass(const BackendPass&) = delete;
  BackendPass& operator=(const BackendPass&) = delete;

  std::unique_ptr<MeasuredCapture> run();

 private:
  Json plan() const;
  void load();
  void measure(std::span<const Document> unread);
  void save_state(int64_t read);
  // The moments of documents begin … end - 1, which the companion has measured or saved.
  CaptureMoments read_moments_of(const fs::path& file, size_t begin, size_t end) const;
  fs::path write_part();
  CompanionMessage ask(CompanionMessage request) {
    return receive(model_companion().send("model", std::move(request)));
  }
  CompanionMessage receive(const Companion::Ticket& ticket) {
    try {
      return model_companion().receive(ticket);
    } catch (const CompanionFailure& failure) {
      throw_backend_error(fmt::format("'{}'", options_.label), failure);
    }
  }
  static Json request(const char* what) { return {{"do", what}, {"version", version()}}; }
  double seconds() const {
    return seconds_before_ + std::chrono::duration<double>(Clock::now() - start_).count();
  }

  const CaptureOptions& options_;
  const OpenModel& model_;
  std::span<const Document> documents_;
  CaptureInfo info_;
  std::unique_ptr<AtomicFolder> folder_;
  std::optional<CaptureMoments> before_;  // of documents that were read before a resume
  double seconds_before_ = 0;
  Clock::time_point start_ = Clock::now();
  bool finished_ = false;
};

Json BackendPass::plan() const {
  const ModelConfig& config = model_.text.config;
  TensorShape::Planned planned;
  planned.context = model_.context;
  planned.documents = documents_.empty() ? 0 : documents_.back().index + 1;
  planned.heads = model_.heads;
  Json measured = Json::array(), scales = Json::object();
  std::set<int64_t> layers;
  for (const QueryHead& head : model_.heads) layers.insert(head.layer);
  for (const int64_t layer : layers) {
    const LayerConfig& settings = config.layers[static_cast<size_t>(layer)];
    measured.push_back(layer);
    scales[std::to_string(layer)] = settings.attention_scale.value_or(config.attention_scale);
    if (settings.window) planned.windows[layer] = *settings.window;
  }
  for (const Document& document : documents_) {
    if (document.cluster) planned.clusters[document.index] = *document.cluster;
  }
  return {{"layers", config.n_layers},
          {"q_heads", config.n_q_heads},
          {"kv_heads", config.n_kv_heads},
          {"d_head", config.d_head},
          {"blocks", options_.blocks},
          {"scale", config.attention_scale},
          {"config", model_.backend->rope_config},
          {"measured", measured},
          {"scales", scales},
          {"planned", planned_json(planned, backend_keep(options_.keep, model_))}};
}

void BackendPass::load() {
  const ModelOptions& model = options_.model;
  if (model.trust_remote_code) {
    log::warning(
        "trust_remote_code: true: Python code in {} runs on this machine, with all your rights",
        model.model.string());
  }
  const JsonReader config =
      override_config(*model.headers->json(model.model / "config.json"), model.config);
  Json words = backend_request(model, config, "load");
  words["dtype"] = dtype_name(model_.dtype);
  words["device"] = model_.device.str();
  words["memory"] = model_.memory;
  words["needed"] = model_.backend->elements * static_cast<int64_t>(c10::elementSize(model_.dtype));
  words["offload"] = (folder_->path() / "offload").string();
  words["random"] = model.random ? Json(*model.random) : Json();
  words["threads"] = at::get_num_threads();
  words["plan"] = plan();
  ask({std::move(words), {}});
}

fs::path BackendPass::write_part() {
  const fs::path folder = folder_->path() / "part";
  fs::remove_all(folder);
  Json words = request("save");
  words["folder"] = folder.string();
  ask({std::move(words), {}});
  return folder / kMomentsName;
}

CaptureMoments BackendPass::read_moments_of(const fs::path& file, size_t begin, size_t end) const {
  CaptureMoments moments = read_moments(file);
  const std::vector<DocumentRecord> records = make_records(documents_.subspan(begin, end - begin));
  const bool same =
      std::equal(moments.documents.begin(), moments.documents.end(), records.begin(), records.end(),
                 [](const auto& a, const auto& b) { return a.index == b.index; });
  int64_t tokens = 0;
  for (const DocumentRecord& record : records) tokens += record.tokens;
  if (!same || moments.counts.total_tokens() != tokens || moments.info.heads.size() > 0 ||
      keep_json(moments.info.accumulators) != keep_json(info_.accumulators)) {
    throw SystemError("{}: backend transformers measured other documents or other numbers",
                      options_.label);
  }
  moments.info = info_;
  moments.info.documents = static_cast<int64_t>(records.size());
  moments.info.tokens = tokens;
  moments.info.corpus = documents_digest(records);
  moments.documents = records;
  return moments;
}

void BackendPass::save_state(int64_t read) {
  const fs::path file = write_part();
  const auto count = static_cast<size_t>(read);
  const size_t there = before_ ? before_->documents.size() : 0;
  fs::path whole = file;
  if (before_) {
    CaptureMoments all = copy_of(*before_);
    join_capture(all, read_moments_of(file, there, count));
    whole = folder_->path() / "whole.safetensors";
    write_moments(whole, all);
  }
  save_part(*options_.state, whole, {info_.identity(), read, seconds()}, documents_.first(count));
}

void BackendPass::measure(std::span<const Document> unread) {
  int64_t total = 0;
  for (const Document& document : unread) total += static_cast<int64_t>(document.tokens.size());
  Progress progress(options_.title, "tokens", std::max<int64_t>(total, 1));
  SavePacing pacing;
  std::deque<Companion::Ticket> under_way;
  size_t sent = 0;
  for (size_t done = 0; done < unread.size(); ++done) {
    for (; sent < std::min(done + kAhead, unread.size()); ++sent) {
      const Document& document = unread[sent];
      CompanionMessage message{request("document"), {}};
      message.words["index"] = document.index;
      message.arrays["ids"].assign(reinterpret_cast<const char*>(document.tokens.data()),
                                   document.tokens.size() * sizeof(int32_t));
      under_way.push_back(model_companion().send("model", std::move(message)));
    }
    progress.note(fmt::format("document {}/{}", done + 1, unread.size()));
    receive(under_way.front());
    under_way.pop_front();
    progress.advance(static_cast<int64_t>(unread[done].tokens.size()));
    const bool last = done + 1 == unread.size();
    if (!options_.state || last || !pacing.due()) continue;
    // What was sent ahead is measured first, so that the state holds the first documents.
    for (; !under_way.empty(); under_way.pop_front()) {
      receive(under_way.front());
      progress.advance(static_cast<int64_t>(unread[++done].tokens.size()));
    }
    if (done + 1 == unread.size()) continue;
    const auto before = static_cast<int64_t>(documents_.size() - unread.size());
    pacing.time([&] { save_state(before + static_cast<int64_t>(done) + 1); });
  }
  progress.finish();
}

std::unique_ptr<MeasuredCapture> BackendPass::run() {
  std::future<std::string> digest =
      std::async(std::launch::async, [this] { return model_.weights_digest(); });
  load();
  info_.weights = digest.get();
  size_t there = 0;
  if (options_.state) {
    const fs::path saved = folder_->path() / "saved.safetensors";
    const std::optional<StateInfo> known = read_state_info(*options_.state);
    there = static_cast<size_t>(restore_part(*options_.state, info_.identity(), documents_, saved));
    if (there > 0) {
      before_ = read_moments_of(saved, 0, there);
      seconds_before_ = known->seconds;
      log::info("{}: resuming after {} documents", options_.label, there);
      fs::remove(saved);
    }
  }
  measure(documents_.subspan(there));
  CaptureMoments moments = read_moments_of(write_part(), there, documents_.size());
  ask({request("drop"), {}});
  for (const char* name : {"part", "offload", "whole.safetensors"}) {
    fs::remove_all(folder_->path() / name);
  }
  if (before_) {
    join_capture(*before_, std::move(moments));
    moments = std::move(*before_);
  }
  moments.info.seconds = seconds();
  log::info("{}: {}, {}, {} tokens", options_.label,
            format_number_of(static_cast<int64_t>(info_.heads.size()), "head"),
            format_number_of(moments.info.documents, "document"), moments.info.tokens);
  finished_ = true;
  return std::make_unique<BackendCapture>(std::move(folder_), std::move(moments), options_.state);
}

}  // namespace

KeepOptions backend_keep(const KeepOptions& keep, const OpenModel& model) {
  KeepOptions kept = keep;
  kept.rows = {};
  kept.loss = false;
  kept.pre_rope = keep.pre_rope && !model.backend->rope_config.empty();
  return kept;
}

void refuse_for_backend(const CaptureOptions& options) {
  if (options.model.backend != kTransformers) return;
  const auto refuse = [](const char* what, const char* instead) {
    throw UsageError("backend transformers {}; {}", what, instead);
  };
  if (options.vectors) {
    refuse("writes no vectors", "leave them out, or take backend ropewalk for a family of ours");
  }
  if (options.keep.loss) {
    refuse("measures no loss", "leave it out, or take backend ropewalk for a family of ours");
  }
  if (!options.model.processes.alone()) {
    refuse("runs in one process",
           "start one without mpirun or srun, or one per shard (capture --shard, then merge)");
  }
}

std::unique_ptr<MeasuredCapture> measure_with_backend(const CaptureOptions& options,
                                                      const OpenModel& model,
                                                      const DocumentSet& documents,
                                                      const PendingWrite& pending) {
  refuse_for_backend(options);
  if (pending.wait) pending.wait();  // the model takes what memory there is
  return BackendPass(options, model, documents).run();
}

}  // namespace ropewalk
