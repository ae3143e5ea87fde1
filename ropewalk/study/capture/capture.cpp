#include "ropewalk/study/capture/capture.h"

#include <charconv>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/base/version.h"
#include "ropewalk/checkpoint/tokenizer_files.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/model/config/precision.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/vectors/vectors_collector.h"
#include "ropewalk/study/capture/agreement.h"
#include "ropewalk/study/capture/backend_capture.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/capture_state.h"
#include "ropewalk/study/capture/capture_store.h"
#include "ropewalk/study/capture/document_measurement.h"
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
  // a corpus of token ids needs no tokenizer; for other corpora, read_documents reports it
  return std::nullopt;
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
  DocumentSet set = read_source_documents(options.corpus, find_tokenizer(options), wanted, dataset);
  if (options.shard.count > 1) {
    set.full_corpus_digest = documents_digest(make_records(set.documents));
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

void refuse_vectors_with_processes(const CaptureOptions& options) {
  const Communicator& processes = options.model.processes;
  if (!options.vectors || processes.alone()) return;
  throw UsageError(
      "vectors are written by one process, but these are {}; start only one, without {}",
      processes.count(), "mpirun or srun");
}

// The moments in memory, and the folder to which they are written.
class MomentsCapture : public MeasuredCapture {
 public:
  MomentsCapture(const CaptureOptions& options, int64_t held, bool spooled)
      : state_(options.state), held_(held), in_memory_(!spooled) {
    if (options.model.processes.first() || spooled) folder.emplace(options.out);
  }

  int64_t bytes() const override { return held_; }
  CaptureInfo write() override;
  bool in_memory() const override { return in_memory_; }
  CaptureMoments moments() const override {
    return rounded_to_file(*collector, info, records, values);
  }

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

CaptureInfo MomentsCapture::write() {
  const UninterruptedScope unhurried;
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
    check(model);  // refuses invalid options before the corpus is read
    if (processes.first()) documents = choose_documents(options, model);
  });
  broadcast_documents(documents, processes);
}

void capture(const CaptureOptions& given) {
  CaptureOptions options = given;
  options.model.head = options.keep.loss;
  options.model.scores = options.keep.rows.number > 0;
  refuse_for_backend(options);
  refuse_vectors_with_processes(options);
  OpenModel model;
  DocumentSet documents;
  open_and_read(options, model, documents,
                [&](const OpenModel& opened) { make_sampler(options, opened); });
  capture_documents(options, model, documents);
}

void capture_documents(const CaptureOptions& options, const OpenModel& model,
                       const DocumentSet& documents) {
  if (const auto measured = measure_capture(options, model, documents)) measured->write();
}

std::unique_ptr<MeasuredCapture> measure_capture(const CaptureOptions& options,
                                                 const OpenModel& model,
                                                 const DocumentSet& documents,
                                                 const PendingWrite& pending) {
  if (model.backend) return measure_with_backend(options, model, documents, pending);
  refuse_vectors_with_processes(options);
  const Communicator& processes = options.model.processes;
  const ModelConfig& config = model.text.config;
  const WeightReader weights = model.weights();
  const TokenSampler sampler = make_sampler(options, model);
  CaptureInfo info = describe_capture(options, model, documents);
  DocumentMeasurement measurement({.model = model,
                                   .weights = weights,
                                   .documents = documents.documents,
                                   .title = options.title,
                                   .label = options.label,
                                   .processes = processes,
                                   .pieces = documents.texts > 0,
                                   .pending = pending});

  CollectorOptions collected = collector_options(options, model, documents.documents);
  const MomentsBytes bytes = moments_bytes(config, model.heads, collected);
  const int64_t held = bytes.held(model.memory);
  const bool spooled = held < bytes.all;
  measurement.reserve(held);
  auto gathered = std::make_unique<MomentsCapture>(options, held, spooled);
  // and waits until the first process has made its folder
  require_agreement(info.to_json(), processes);
  if (spooled) collected.scratch = gathered->folder->path();
  measurement.collect(gathered->collector.emplace(config, model.heads, collected));
  std::optional<VectorsWriter> writer;
  std::optional<VectorsCollector> vectors;
  if (options.vectors) {
    writer.emplace(gathered->folder->path(), config.d_head, kVectorsBuffer);
    vectors.emplace(config, model.heads, model.context, sampler, *writer);
    measurement.collect(*vectors);
  }
  std::optional<LossCollector> loss;
  if (model.head) measurement.collect(loss.emplace(model.context));
  if (const std::optional<fs::path> state = state_path(options)) {
    measurement.resume(*state, [&] {
      info.weights = weights.digest(model.measured());
      return info.identity();
    });
  }
  measurement.run();
  gathered->values = measurement.join(info);
  if (!processes.first()) return nullptr;

  gathered->records = make_records(documents.documents);
  if (writer) writer->finish();
  // Logged now and not after writing, because the lines of the next checkpoint begin before that.
  log::info("{}: {}, {}, {} tokens", options.label,
            format_number_of(static_cast<int64_t>(info.heads.size()), "head"),
            format_number_of(info.documents, "document"), info.tokens);
  gathered->info = std::move(info);
  return gathered;
}

}  // namespace ropewalk
