#include "ropewalk/study/capture/measured_probes.h"

#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/moments/collectors/probe_collector.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/agreement.h"
#include "ropewalk/study/capture/document_measurement.h"
#include "ropewalk/study/capture/written_capture.h"

namespace ropewalk {

CaptureInfo describe_probes(const CaptureOptions& options, const OpenModel& model,
                            const ProbeSet& probes) {
  CaptureInfo info = describe_capture(options, model, probes.documents);
  info.point.clear();
  info.heads.clear();
  info.heads_seed = 0;
  info.accumulators = {{kProbesName, {kProbesNumerics}}};
  return info;
}

void measure_probes(const CaptureOptions& options, const OpenModel& model, const ProbeSet& probes) {
  const Communicator& processes = options.model.processes;
  const WeightReader weights = model.weights();
  CaptureMoments capture;
  capture.info = describe_probes(options, model, probes);
  require_agreement(capture.info.to_json(), processes);
  std::optional<AtomicFolder> folder;
  if (processes.first()) folder.emplace(options.out);

  ProbeCollector collector(model.text.config, probes.pieces);
  DocumentMeasurement measurement({.model = model,
                                   .weights = weights,
                                   .documents = probes.documents.documents,
                                   .title = options.title + ": probes",
                                   .label = options.label,
                                   .processes = processes});
  measurement.collect(collector);
  measurement.run();
  capture.document_values = measurement.join(capture.info);
  if (!processes.first()) return;
  capture.documents = make_records(probes.documents.documents);
  capture.counts = count_blocks(probes.documents.documents, options.blocks);
  const UninterruptedScope unhurried;
  write_moments(folder->path() / kMomentsName, capture);
  describe_in(folder->path(), capture.info);
  folder->commit();
}

}  // namespace ropewalk
