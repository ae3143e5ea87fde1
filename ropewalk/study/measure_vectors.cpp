#include "ropewalk/study/measure_vectors.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "ropewalk/analysis/vectors_moments.h"
#include "ropewalk/base/atomic_file.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/interrupt.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/units.h"
#include "ropewalk/moments/moments_file.h"
#include "ropewalk/study/capture_store.h"
#include "ropewalk/study/locate.h"
#include "ropewalk/study/plan_vectors.h"

namespace ropewalk {
namespace {

// The capture of these vectors that is there, or null; that in the label's own folder first.
StoredCapture* find_capture(CaptureStore& store, const PlannedVectors& vectors) {
  const Json wanted = vectors.info.identity();
  const auto same = [&](const StoredCapture& capture) {
    Json identity = capture.info.identity();
    identity["blocks"] = wanted.at("blocks");  // decided by the documents
    return !capture.in_use && identity == wanted;
  };
  if (StoredCapture* own = store.at(vectors.info.label); own != nullptr && same(*own)) return own;
  for (StoredCapture& capture : store.captures()) {
    if (same(capture)) return &capture;
  }
  return nullptr;
}

void capture_vectors(const PlannedCheckpoint& planned) {
  const PlannedVectors& vectors = *planned.vectors;
  const auto start = std::chrono::steady_clock::now();
  Progress progress(planned.capture.label, "streams",
                    static_cast<int64_t>(vectors.source.streams.size()));
  CaptureMoments moments =
      moments_of_vectors(vectors.source.folder, vectors.info, [&] { progress.advance(1); });
  progress.finish();
  moments.info.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  AtomicFolder folder(planned.capture.out);
  write_moments(folder.path() / kMomentsName, moments);
  describe_in(folder.path(), moments.info);
  folder.commit();
  log::info("{}: {} heads, {} documents, {} tokens", planned.capture.label,
            moments.info.heads.size(), moments.info.documents, moments.info.tokens);
}

// Vectors that are fetched in the background; what has not arrived is left to an ordinary fetch.
std::jthread fetch_meanwhile(const PlannedCheckpoint& planned) {
  return std::jthread([source = planned.vectors->source](std::stop_token stop) {
    try {
      fetch_vectors(shared_hub(), source, {source.title, false, std::move(stop)});
    } catch (const std::exception& error) {
      log::debug("in the background: {}", error.what());
    }
  });
}

}  // namespace

Measured measure_vectors(const Study& study) {
  CaptureStore store(study.out);
  Measured result;
  result.failures = study.plan.failures;
  result.analyses = std::make_shared<Analyses>(study);
  const auto& all = study.plan.checkpoints;
  std::vector<StoredCapture*> there;
  for (const PlannedCheckpoint& planned : all) {
    there.push_back(find_capture(store, *planned.vectors));
    if (there.back() != nullptr) there.back()->in_use = true;
  }
  bool stopped = false;
  const auto finish = [&](const PlannedCheckpoint& planned, const StoredCapture& capture) {
    result.checkpoints.push_back({&planned, capture.folder, capture.info});
  };
  for (size_t i = 0; i < all.size(); ++i) {
    throw_if_interrupted();
    const PlannedCheckpoint& planned = all[i];
    const std::string& label = planned.capture.label;
    if (there[i] != nullptr && is_whole(*there[i])) {
      log::info("{} of {}, {}: measured already", i + 1, all.size(), label);
      store.adopt(*there[i], planned.vectors->info);
      finish(planned, *there[i]);
      continue;
    }
    if (there[i] != nullptr) there[i]->in_use = false;  // it is damaged
    if (stopped || !study.wanted(planned)) continue;
    try {
      fetch_vectors(shared_hub(), planned.vectors->source, {label + ": download", true, {}});
      std::jthread meanwhile;
      const bool more = i + 1 < all.size() && there[i + 1] == nullptr && study.wanted(all[i + 1]);
      if (more) meanwhile = fetch_meanwhile(all[i + 1]);
      store.clear(label);
      {
        const Timeline::Span span(*study.timeline, "measure", label);
        capture_vectors(planned);
      }
      finish(planned, store.add(label));
      result.analyses->start(result.checkpoints.back());
      if (study.options.evict) {
        const int64_t freed = evict_vectors(shared_hub(), planned.vectors->source);
        if (freed > 0) log::info("{}: {} removed from the cache", label, format_bytes(freed));
      }
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      result.failures.push_back({label, std::current_exception()});
      if (study.options.keep_going) log::error("{}", error.what());
      stopped = !study.options.keep_going;
    }
  }
  if (study.options.prune) store.prune(study.labels());
  return result;
}

std::string describe_vectors_run(const Study& study) {
  CaptureStore store(study.out);
  std::string text = fmt::format(
      "{}: {}, captured vectors, into {}\n\n{:<16}  {:<12}  {:>6}  {:>10}  {}\n",
      study.experiment.name,
      format_number_of(static_cast<int64_t>(study.plan.checkpoints.size()), "checkpoint"),
      study.out.string(), "checkpoint", "phase", "heads", "vectors", "to do");
  int64_t total = 0;
  for (const PlannedCheckpoint& planned : study.plan.checkpoints) {
    const PlannedVectors& vectors = *planned.vectors;
    StoredCapture* there = find_capture(store, vectors);
    const int64_t missing = missing_bytes(shared_hub(), vectors.source);
    std::string to_do = "measured already";
    if (there != nullptr) {
      there->in_use = true;
    } else if (!study.wanted(planned)) {
      to_do = "not asked for";
    } else {
      total += missing;
      to_do = missing > 0 ? fmt::format("download {}, analyse", format_bytes(missing)) : "analyse";
    }
    text += fmt::format("{:<16}  {:<12}  {:>6}  {:>10}  {}\n", planned.capture.label, planned.phase,
                        vectors.info.heads.size(), format_bytes(vectors.source.bytes()), to_do);
  }
  for (const CheckpointFailure& failure : study.plan.failures) {
    text += fmt::format("{:<16}  cannot be measured: {}\n", failure.label, failure.text());
  }
  return text + fmt::format("\n{} to download; no GPU is needed\n", format_bytes(total));
}

}  // namespace ropewalk
