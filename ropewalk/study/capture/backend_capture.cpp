#include "ropewalk/study/capture/backend_capture.h"

#include <algorithm>
#include <deque>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/units.h"
#include "ropewalk/moments/files/merge.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/files/moments_state.h"
#include "ropewalk/study/capture/agreement.h"
#include "ropewalk/study/capture/backend_session.h"
#include "ropewalk/study/capture/capture_state.h"
#include "ropewalk/study/capture/process_documents.h"
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

// One process's part of a capture.
class BackendPass {
 public:
  // `folder`: for files under way. `info`: of the whole capture, with the weights' digest.
  BackendPass(const CaptureOptions& options, const OpenModel& model,
              std::span<const Document> documents, CaptureInfo info, fs::path folder)
      : options_(options),
        model_(model),
        documents_(documents),
        info_(std::move(info)),
        folder_(std::move(folder)),
        state_(state_path(options)) {
    fs::create_directories(folder_);
  }

  // The moments of all documents, of which there must be some.
  CaptureMoments run();

 private:
  size_t resume();
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
  const std::span<const Document> documents_;
  const CaptureInfo info_;
  const fs::path folder_;
  const std::optional<fs::path> state_;
  std::optional<BackendSession> session_;
  std::optional<CaptureMoments> before_;  // of documents that were read before a resume
  double seconds_before_ = 0;
  Clock::time_point start_ = Clock::now();
};

fs::path BackendPass::write_part() {
  const fs::path folder = folder_ / "part";
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
    whole = folder_ / "whole.safetensors";
    write_moments(whole, all);
  }
  save_part(*state_, whole, {info_.identity(), read, seconds()}, documents_.first(count));
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
    if (!state_ || last || !pacing.due()) continue;
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
  if (!state_) return 0;
  const fs::path saved = folder_ / "saved.safetensors";
  const std::optional<StateInfo> known = read_state_info(*state_);
  const auto there =
      static_cast<size_t>(restore_part(*state_, info_.identity(), documents_, saved));
  if (there == 0) return 0;
  before_ = read_moments_of(saved, 0, there);
  seconds_before_ = known->seconds;
  log::info("{}: resuming after {} documents", options_.label, there);
  return there;
}

CaptureMoments BackendPass::run() {
  const size_t there = resume();
  if (there < documents_.size()) {
    session_.emplace(options_, model_, documents_, folder_ / "offload");
    measure(documents_.subspan(there));
    CaptureMoments moments = read_moments_of(write_part(), there, documents_.size());
    session_->finish();
    if (before_) {
      join_capture(*before_, std::move(moments));
    } else {
      before_ = std::move(moments);
    }
  }
  before_->info.seconds = seconds();
  return std::move(*before_);
}

// Joins the parts of all processes in the first one, through files in its folder. Collective.
void join_parts(std::optional<CaptureMoments>& own, const fs::path& folder,
                const Communicator& processes) {
  const auto file = [&](int rank) { return folder / fmt::format("of-{}.safetensors", rank); };
  if (!processes.first()) {
    if (own) write_moments(file(processes.rank()), *own);
    processes.send(0, std::vector<double>{own ? 1.0 : 0.0, own ? own->info.seconds : 0.0});
    return;
  }
  for (int rank = 1; rank < processes.count(); ++rank) {
    std::vector<double> said(2);
    processes.receive(rank, said);
    if (said[0] == 0) continue;
    const double longest = std::max(own->info.seconds, said[1]);
    join_capture(*own, read_moments(file(rank)));
    own->info.seconds = longest;
  }
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
}

std::unique_ptr<MeasuredCapture> measure_with_backend(const CaptureOptions& options,
                                                      const OpenModel& model,
                                                      const DocumentSet& documents,
                                                      const PendingWrite& pending) {
  refuse_for_backend(options);
  if (pending.wait) pending.wait();  // the model takes what memory there is
  const Communicator& processes = options.model.processes;
  CaptureInfo info = describe_capture(options, model, documents);
  require_agreement(info.to_json(), processes);
  info.weights = model.weights_digest();
  require_same_weights(info.weights, processes);
  std::unique_ptr<AtomicFolder> folder;
  if (processes.first()) folder = std::make_unique<AtomicFolder>(options.out);
  const fs::path work =
      fs::path(processes.from_first(folder ? fs::absolute(folder->path()).string() : "")) / "work";
  const DocumentSet own = processes.alone()
                              ? documents
                              : part_of_documents(documents, processes.rank(), processes.count());
  std::optional<CaptureMoments> moments;
  if (!own.documents.empty()) {
    const fs::path mine = work / std::to_string(processes.rank());
    moments = BackendPass(options, model, own.documents, info, mine).run();
  }
  join_parts(moments, work, processes);
  if (!processes.first()) return nullptr;
  fs::remove_all(work);
  log::info("{}: {}, {}, {} tokens", options.label,
            format_number_of(static_cast<int64_t>(info.heads.size()), "head"),
            format_number_of(moments->info.documents, "document"), moments->info.tokens);
  return std::make_unique<BackendCapture>(std::move(folder), *std::move(moments), options.state);
}

}  // namespace ropewalk
