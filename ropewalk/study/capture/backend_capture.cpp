#include "ropewalk/study/capture/backend_capture.h"

#include <algorithm>
#include <deque>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/units.h"
#include "ropewalk/moments/files/merge.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/files/moments_state.h"
#include "ropewalk/study/capture/backend_session.h"
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
  BackendPass(const BackendPass&) = delete;
  BackendPass& operator=(const BackendPass&) = delete;

  std::unique_ptr<MeasuredCapture> run();

 private:
  size_t resume();
  CaptureMoments measure_all();
  void measure(std::span<const Document> unread);
  void save_state(int64_t read);
  // The moments of documents begin … end - 1, which the companion has measured or saved.
  CaptureMoments read_moments_of(const fs::path& file, size_t begin, size_t end) const;
  fs::path write_part();
  double seconds() const {
    return seconds_before_ + std::chrono::duration<double>(Clock::now() - start_).count();
  }

  const CaptureOptions& options_;
  const OpenModel& model_;
  std::span<const Document> documents_;
  CaptureInfo info_;
  std::unique_ptr<AtomicFolder> folder_;
  std::optional<BackendSession> session_;
  std::optional<CaptureMoments> before_;  // of documents that were read before a resume
  double seconds_before_ = 0;
  Clock::time_point start_ = Clock::now();
};

fs::path BackendPass::write_part() {
  const fs::path folder = folder_->path() / "part";
  fs::remove_all(folder);
  session_->save(folder);
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
      under_way.push_back(session_->send(unread[sent]));
    }
    progress.note(fmt::format("document {}/{}", done + 1, unread.size()));
    session_->receive(under_way.front());
    under_way.pop_front();
    progress.advance(static_cast<int64_t>(unread[done].tokens.size()));
    const bool last = done + 1 == unread.size();
    if (!options_.state || last || !pacing.due()) continue;
    // What was sent ahead is measured first, so that the state holds the first documents.
    for (; !under_way.empty(); under_way.pop_front()) {
      session_->receive(under_way.front());
      progress.advance(static_cast<int64_t>(unread[++done].tokens.size()));
    }
    if (done + 1 == unread.size()) continue;
    const auto before = static_cast<int64_t>(documents_.size() - unread.size());
    pacing.time([&] { save_state(before + static_cast<int64_t>(done) + 1); });
  }
  progress.finish();
}

// Returns the number of documents that an interrupted capture has read.
size_t BackendPass::resume() {
  if (!options_.state) return 0;
  const fs::path saved = folder_->path() / "saved.safetensors";
  const std::optional<StateInfo> known = read_state_info(*options_.state);
  const auto there =
      static_cast<size_t>(restore_part(*options_.state, info_.identity(), documents_, saved));
  if (there == 0) return 0;
  before_ = read_moments_of(saved, 0, there);
  seconds_before_ = known->seconds;
  log::info("{}: resuming after {} documents", options_.label, there);
  fs::remove(saved);
  return there;
}

CaptureMoments BackendPass::measure_all() {
  info_.weights = model_.weights_digest();
  const size_t there = resume();
  if (there == documents_.size()) return std::move(*before_);
  session_.emplace(options_, model_, documents_, folder_->path() / "offload");
  measure(documents_.subspan(there));
  CaptureMoments moments = read_moments_of(write_part(), there, documents_.size());
  session_->finish();
  for (const char* name : {"part", "offload", "whole.safetensors"}) {
    fs::remove_all(folder_->path() / name);
  }
  if (!before_) return moments;
  join_capture(*before_, std::move(moments));
  return std::move(*before_);
}

std::unique_ptr<MeasuredCapture> BackendPass::run() {
  CaptureMoments moments = measure_all();
  moments.info.seconds = seconds();
  log::info("{}: {}, {}, {} tokens", options_.label,
            format_number_of(static_cast<int64_t>(info_.heads.size()), "head"),
            format_number_of(moments.info.documents, "document"), moments.info.tokens);
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
