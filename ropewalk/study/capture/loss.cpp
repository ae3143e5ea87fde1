#include "ropewalk/study/capture/loss.h"

#include <cmath>

#include "ropewalk/analysis/table/loss_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/agreement.h"
#include "ropewalk/study/capture/document_measurement.h"
#include "ropewalk/study/capture/written_capture.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

void require_predictions(const CaptureOptions& options, const OpenModel& model) {
  if (model.context >= 2) return;
  throw UsageError(
      "{}: found a context of {}, in which no token predicts another; expected at least 2",
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
  info.accumulators = {{kLossName, {kLossNumerics}}};
  return info;
}

void say(const CheckpointLoss& loss) {
  const LossRow& all = loss.rows.front();
  log::info("{}: {:.4f}{} nats per token, {}, {} predicted tokens", loss.label, all.loss,
            format_error(all.se, 4), format_number_of(all.documents, "document"), all.tokens);
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
  options.model.sliding = true;  // `weights` must be as in a capture of every head
  options.model.heads.reset();
  const Communicator& processes = options.model.processes;
  OpenModel model;
  DocumentSet documents;
  open_and_read(options, model, documents,
                [&](const OpenModel& opened) { require_predictions(options, opened); });
  if (options.shard.count == 1) require_predictions(documents);
  const WeightReader weights = model.weights();
  CaptureMoments capture;
  capture.info = describe_loss(options, model, documents);
  require_agreement(capture.info.to_json(), processes);
  std::optional<AtomicFolder> folder;
  if (processes.first()) folder.emplace(options.out);

  LossCollector loss(model.context);
  DocumentMeasurement measurement({.model = model,
                                   .weights = weights,
                                   .documents = documents.documents,
                                   .title = options.title,
                                   .label = options.label,
                                   .processes = processes,
                                   .pieces = documents.texts > 0});
  measurement.collect(loss);
  measurement.run();
  capture.document_values = measurement.join(capture.info);
  if (!processes.first()) return;
  capture.documents = make_records(documents.documents);
  capture.counts = count_blocks(documents.documents, options.blocks);
  const UninterruptedScope unhurried;
  write_moments(folder->path() / kMomentsName, capture);
  describe_in(folder->path(), capture.info);
  write_loss_tables(folder->path(), capture);
  folder->commit();
  say(checkpoint_loss(capture));
}

}  // namespace ropewalk
