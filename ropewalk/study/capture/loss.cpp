#include "ropewalk/study/capture/loss.h"

#include <chrono>
#include <cmath>
#include <future>

#include "ropewalk/analysis/table/loss_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/units.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/agreement.h"
#include "ropewalk/study/capture/process_documents.h"
#include "ropewalk/study/capture/written_capture.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

void require_predictions(const CaptureOptions& options, const OpenModel& model) {
  if (model.context >= 2) return;
  throw UsageError("{}: a context of {} has no token that predicts another; expected at least 2",
                   options.model.from_file ? "context" : "--context", model.context);
}

void require_predictions(const DocumentSet& documents) {
  for (const Document& document : documents.documents) {
    if (document.tokens.size() > 1) return;
  }
  throw InputError("no document has a second token to predict; give longer ones");
}

CaptureInfo describe_loss(const CaptureOptions& options, const OpenModel& model,
                          const DocumentSet& documents) {
  CaptureInfo info = describe_capture(options, model, documents);
  info.point.clear();
  info.heads.clear();
  info.heads_seed = 0;
  info.kept = {{kLossName, {kLossNumerics}}};
  return info;
}

BlockCounts counts_of(std::span<const Document> documents, int64_t blocks) {
  BlockCounts counts(blocks);
  for (const Document& document : documents) {
    counts.add_document(document.block(blocks), static_cast<int64_t>(document.tokens.size()));
  }
  return counts;
}

// Runs some documents through the model.
void run_documents(const CaptureOptions& options, const OpenModel& model,
                   const WeightReader& weights, const DocumentSet& documents, LossCollector& loss) {
  if (documents.documents.empty()) return;
  const int64_t stages = model.extent().last_stage() + 1;
  Progress progress(options.title, "token-layers", documents.total_tokens * stages);
  ForwardOptions forward;
  forward.memory = model.memory;
  forward.progress = [&](int64_t stage, int64_t tokens) {
    progress.note(model.stage_name(stage));
    progress.advance(tokens);
  };
  Observer* const observers[] = {&loss};
  try {
    run_forward(model.text.config, weights, documents.documents, observers, forward);
  } catch (const InputError& error) {
    throw InputError("'{}': {}", options.label, error.what());
  }
  progress.finish();
}

void say(const CheckpointLoss& loss) {
  const LossRow& all = loss.rows.front();
  log::info("{}: {:.4f}{} nats per token, {}, {} predicted tokens", loss.label, all.loss,
            std::isnan(all.se) ? "" : fmt::format(" ± {:.4f}", all.se),
            format_number_of(all.documents, "document"), all.tokens);
}

}  // namespace

void write_loss_tables(const fs::path& folder, const CaptureMoments& capture) {
  write_files_atomically({{folder / kLossTable, format_loss_table({checkpoint_loss(capture)})},
                          {folder / kLossDocuments, format_loss_documents(capture)}});
}

void measure_loss(const CaptureOptions& given) {
  CaptureOptions options = given;
  options.title = "loss";
  options.model.head = true;
  options.model.sliding = true;  // `weights` is that of a capture of every head
  options.model.heads.reset();
  const Communicator& processes = options.model.processes;
  OpenModel model;
  DocumentSet documents;
  open_and_read(options, model, documents,
                [&](const OpenModel& opened) { require_predictions(options, opened); });
  if (options.shard.count == 1) require_predictions(documents);
  const WeightReader weights = model.weights();
  const auto start = std::chrono::steady_clock::now();
  CaptureMoments capture;
  capture.info = describe_loss(options, model, documents);
  require_agreement(capture.info.to_json(), processes);
  std::optional<AtomicFolder> folder;
  if (processes.first()) folder.emplace(options.out);

  const DocumentSet mine = processes.alone()
                               ? documents
                               : part_of_documents(documents, processes.rank(), processes.count());
  LossCollector loss(model.context);
  // Of the table of embeddings rows alone are computed with, but all of it is hashed.
  std::future<void> embedding =
      std::async(std::launch::async, [&weights] { weights.hash_embedding(); });
  run_documents(options, model, weights, mine, loss);
  embedding.get();
  capture.info.weights = weights.digest(model.measured());
  capture.info.head_weights = weights.digest_beyond(model.measured());
  require_same_weights(capture.info.weights + capture.info.head_weights, processes);

  capture.document_values = {loss.values(mine.documents)};
  if (documents.texts > 0) capture.document_values.push_back(cluster_values(mine.documents));
  gather_values(capture.document_values, indexes_of(mine.documents),
                indexes_of(documents.documents), processes);
  if (!processes.first()) return;
  capture.documents = make_records(documents.documents);
  capture.counts = counts_of(documents.documents, options.blocks);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  capture.info.seconds = seconds.count();
  const Unhurried unhurried;
  write_moments(folder->path() / kMomentsName, capture);
  describe_in(folder->path(), capture.info);
  write_loss_tables(folder->path(), capture);
  folder->commit();
  say(checkpoint_loss(capture));
}

}  // namespace ropewalk
