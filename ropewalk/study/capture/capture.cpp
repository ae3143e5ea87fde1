#include "ropewalk/study/capture/capture.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <future>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/processes/free_memory.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/units.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/base/version.h"
#include "ropewalk/checkpoint/tokenizer_files.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/model/config/precision.h"
#include "ropewalk/model/device.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/model/memory_plan.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/files/moments_state.h"
#include "ropewalk/moments/vectors/vectors_collector.h"
#include "ropewalk/study/capture/agreement.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/capture_state.h"
#include "ropewalk/study/capture/inspect.h"
#include "ropewalk/study/capture/process_documents.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

std::optional<fs::path> find_tokenizer(const CaptureOptions& options) {
  if (options.tokenizer) return locate_tokenizer(*options.tokenizer);
  if (holds_tokenizer(options.model.model)) return options.model.model;
  return std::nullopt;  // a corpus of tokens needs none; read_documents says so where it does
}

int64_t count_tokens(std::span<const Document> documents) {
  int64_t tokens = 0;
  for (const Document& document : documents) tokens += static_cast<int64_t>(document.tokens.size());
  return tokens;
}

DocumentSet choose_documents(const CaptureOptions& options, const OpenModel& model) {
  DocumentOptions wanted;
  wanted.context = model.context;
  wanted.min_tokens = options.min_tokens;
  wanted.documents = options.documents;
  wanted.vocabulary_size = static_cast<int32_t>(model.known_words());
  wanted.chunk = options.chunk;
  wanted.blocks = options.blocks;
  std::optional<Dataset> dataset;
  DocumentSet set = read_placed_documents(options.corpus, find_tokenizer(options), wanted, dataset);
  if (options.shard.count > 1) {
    set.whole = documents_digest(make_records(set.documents));
    set = part_of_documents(set, options.shard.index, options.shard.count);
    if (set.documents.empty()) {
      throw InputError("{}: no document is left for shard {}/{}",
                       dataset ? dataset->title() : options.corpus.path.string(),
                       options.shard.index, options.shard.count);
    }
  }
  log::info("{}, {} tokens; {}",
            format_number_of(static_cast<int64_t>(set.documents.size()), "document"),
            set.total_tokens, set.describe_skipped());
  return set;
}

void refuse_vectors_of_many(const CaptureOptions& options) {
  const Communicator& processes = options.model.processes;
  if (!options.vectors || processes.alone()) return;
  throw UsageError("vectors are written by one process, and these are {}; start one, without {}",
                   processes.count(), "mpirun or srun");
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Whether moments of another capture may stay in memory while this one is measured, without
// anything being read more often for it.
bool fits_beside(const OpenModel& model, const WeightReader& weights, const DocumentSet& documents,
                 int64_t held, int64_t other) {
  // A GPU's budget is its own memory; moments that are being written are in the machine's.
  if (!model.device.is_cpu()) return held + other <= free_memory() / 2;
  if (held + other > model.memory / 4) return false;
  size_t longest = 0;
  for (const Document& document : documents.documents) {
    longest = std::max(longest, document.tokens.size());
  }
  MemoryNeeds needs = memory_needs(model.text.config, weights, static_cast<int64_t>(longest),
                                   /*collecting=*/0);
  try {
    needs.reserved = held;
    const MemoryPlan alone = plan_memory(needs, model.memory);
    needs.reserved += other;
    const MemoryPlan both = plan_memory(needs, model.memory);
    return both.keep_weights == alone.keep_weights && both.layers_ahead == alone.layers_ahead;
  } catch (const UsageError&) {
    return false;
  }
}

// Moments in memory, and the folder that they go to.
class Gathered : public MeasuredCapture {
 public:
  Gathered(const CaptureOptions& options, int64_t held, bool spooled)
      : state_(options.state), held_(held), in_memory_(!spooled) {
    if (options.model.processes.first() || spooled) folder.emplace(options.out);
  }

  int64_t bytes() const override { return held_; }
  CaptureInfo write() override;
  bool in_memory() const override { return in_memory_; }
  CaptureMoments moments() const override { return as_stored(*collector, info, records, values); }

  std::optional<AtomicFolder> folder;
  std::optional<MomentsCollector> collector;
  CaptureInfo info;
  std::vector<DocumentRecord> records;
  std::vector<DocumentValues> values;

 private:
  std::optional<fs::path> state_;
  int64_t held_;
  bool in_memory_;
};

CaptureInfo Gathered::write() {
  const Unhurried unhurried;
  write_moments(folder->path() / kMomentsName, *collector, info, records, values);
  CaptureInfo written = describe_in(folder->path(), info);
  folder->commit();
  if (state_) remove_states(*state_, state_->parent_path());
  return written;
}

}  // namespace

Shard parse_shard(const std::string& text) {
  Shard shard;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard.index);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '/') {
    const auto second = std::from_chars(first.ptr + 1, end, shard.count);
    const bool whole = second.ec == std::errc() && second.ptr == end;
    if (whole && shard.count >= 1 && shard.index >= 0 && shard.index < shard.count) return shard;
  }
  throw UsageError("--shard '{}' is not i/n with i from 0 to n - 1, for example 0/4", text);
}

void open_and_read(const CaptureOptions& options, OpenModel& model, DocumentSet& documents,
                   const std::function<void(const OpenModel& model)>& check) {
  if (invalid_utf8_offset(options.label)) {
    throw UsageError("the label '{}' is not UTF-8; give another with --label",
                     printable(options.label));
  }
  if (options.label.size() > kLongestTitle) {
    throw UsageError("the label has {} bytes, expected at most {}; give another with --label",
                     options.label.size(), kLongestTitle);
  }
  const Communicator& processes = options.model.processes;
  processes.first_before_others([&] {
    if (processes.first()) refuse_used_folder(options.out);
    model = open_model(options.model);
    log::info("{}: running in {}", options.label, model.arithmetic());
    check(model);  // refuses wrong options before the corpus is read
    if (processes.first()) documents = choose_documents(options, model);
  });
  broadcast_documents(documents, processes);
}

void capture(const CaptureOptions& given) {
  CaptureOptions options = given;
  options.model.head = options.keep.loss;
  refuse_vectors_of_many(options);
  OpenModel model;
  DocumentSet documents;
  open_and_read(options, model, documents,
                [&](const OpenModel& opened) { make_sampler(options, opened); });
  capture_documents(options, model, documents);
}

void capture_documents(const CaptureOptions& options, const OpenModel& model,
                       const DocumentSet& documents) {
  if (const auto measured = measure_documents(options, model, documents)) measured->write();
}

std::unique_ptr<MeasuredCapture> measure_documents(const CaptureOptions& options,
                                                   const OpenModel& model,
                                                   const DocumentSet& documents,
                                                   const Beside& beside) {
  refuse_vectors_of_many(options);
  const Communicator& processes = options.model.processes;
  const int64_t parts = processes.count();
  const ModelConfig& config = model.text.config;
  const WeightReader weights = model.weights();
  const TokenSampler sampler = make_sampler(options, model);
  CaptureInfo info = describe_capture(options, model, documents);

  CollectorOptions collected = collector_options(options, model, documents.documents);
  const MomentsBytes bytes = moments_bytes(config, model.heads, collected);
  const int64_t held = bytes.held(model.memory);
  const bool spooled = held < bytes.all;
  const bool waits =
      beside.bytes > 0 && !fits_beside(model, weights, documents, held, beside.bytes);
  if (waits) beside.wait();
  auto gathered = std::make_unique<Gathered>(options, held, spooled);
  require_agreement(info.to_json(), processes);  // and the first process's folder is there
  std::vector<Observer*> observers;
  if (spooled) collected.scratch = gathered->folder->path();
  MomentsCollector& moments = gathered->collector.emplace(config, model.heads, collected);
  observers.push_back(&moments);
  std::optional<VectorsWriter> writer;
  std::optional<VectorsCollector> vectors;
  if (options.vectors) {
    writer.emplace(gathered->folder->path(), config.d_head, kVectorsBuffer);
    vectors.emplace(config, model.heads, model.context, sampler, *writer);
    observers.push_back(&*vectors);
  }

  std::optional<LossCollector> loss;
  if (model.head) observers.push_back(&loss.emplace(model.context));
  const auto values_of = [&](std::span<const Document> read) {
    std::vector<DocumentValues> values;
    if (loss) values.push_back(loss->values(read));
    if (loss && documents.texts > 0) values.push_back(cluster_values(read));
    return values;
  };

  // This process's part.
  DocumentSet part;
  if (parts > 1) part = part_of_documents(documents, processes.rank(), parts);
  const DocumentSet& mine = parts > 1 ? part : documents;
  const auto to_read = static_cast<int64_t>(mine.documents.size());
  const Stopwatch measuring;
  const std::optional<fs::path> state = own_state(options);
  const auto identity = [&] {
    info.weights = weights.digest(model.measured());
    return info.identity();
  };
  const std::optional<StateInfo> saved = state ? read_state_info(*state) : std::nullopt;
  std::vector<DocumentValues> restored;
  const int64_t before =
      saved ? restore_state(*state, moments, identity(), mine.documents, &restored) : 0;
  if (loss && before > 0) {
    loss->restore(std::span(mine.documents).first(static_cast<size_t>(before)), restored);
  }
  if (before > 0) info.seconds = saved->seconds;
  // Of the table of embeddings rows alone are computed with, but all of it is hashed.
  std::future<void> embedding =
      std::async(std::launch::async, [&weights] { weights.hash_embedding(); });
  std::future<void> memory;
  if (model.device.is_cuda()) {
    memory = std::async(std::launch::async, [&moments] { moments.take_memory(); });
  }
  const std::span<const Document> unread =
      std::span(mine.documents).subspan(static_cast<size_t>(before));
  if (before > 0) log::info("{}: going on after {} documents", options.label, before);

  const int64_t stages = model.extent().last_stage() + 1;
  Progress progress(options.title, "token-layers", count_tokens(unread) * stages);
  ForwardOptions forward;
  forward.memory = model.memory;
  forward.reserved = held;
  if (model.device.is_cpu() && !waits) forward.reserved += beside.bytes;
  forward.progress = [&](int64_t stage, int64_t tokens) {
    progress.note(model.stage_name(stage));
    progress.advance(tokens);
  };
  SavePacing pacing;
  forward.after_group = [&](int64_t group_end) {
    const int64_t done = before + group_end;
    if (!state || done == to_read || !pacing.due()) return;
    pacing.time([&] {
      moments.fetch();
      const auto read = std::span(mine.documents).first(static_cast<size_t>(done));
      save_state(*state, moments, {identity(), done, info.seconds + measuring.seconds()}, read,
                 values_of(read));
    });
  };
  try {
    if (!unread.empty()) run_forward(config, weights, unread, observers, forward);
    const Stopwatch fetching;
    moments.fetch_all();
    gathered->values = values_of(mine.documents);
    log::debug("moments fetched in {:.4f} s", fetching.seconds());
  } catch (const InputError& error) {
    throw InputError("'{}': {}", options.label, error.what());
  }
  progress.finish();
  embedding.get();
  info.weights = weights.digest(model.measured());
  if (model.head) info.head_weights = weights.digest_beyond(model.measured());
  require_same_weights(info.weights + info.head_weights, processes);
  if (model.device.is_cuda()) {
    log::debug("GPU memory: {} bytes at most", peak_memory(model.device));
  }
  const Stopwatch joining;
  moments.join_in_first(processes);
  log::debug("moments of {} processes, {} bytes each, joined in {:.4f} s", parts, bytes.all,
             joining.seconds());
  gather_values(gathered->values, indexes_of(mine.documents), indexes_of(documents.documents),
                processes);
  if (!processes.first()) return nullptr;

  gathered->records = make_records(documents.documents);
  info.seconds += measuring.seconds();
  if (writer) writer->finish();
  // Now and not once it is written, when the next checkpoint's lines have begun.
  log::info("{}: {}, {}, {} tokens", options.label,
            format_number_of(static_cast<int64_t>(info.heads.size()), "head"),
            format_number_of(info.documents, "document"), info.tokens);
  gathered->info = std::move(info);
  return gathered;
}

}  // namespace ropewalk
