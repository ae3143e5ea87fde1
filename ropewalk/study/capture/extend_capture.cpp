#include "ropewalk/study/capture/extend_capture.h"

#include <fmt/ranges.h>

#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/base/log.h"
#include "ropewalk/moments/files/merge.h"
#include "ropewalk/study/capture/written_capture.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// Documents begin … end - 1 of a set.
DocumentSet some_documents(const DocumentSet& documents, int64_t begin, int64_t end) {
  DocumentSet some = documents;
  some.documents.erase(some.documents.begin() + end, some.documents.end());
  some.documents.erase(some.documents.begin(), some.documents.begin() + begin);
  some.total_tokens = 0;
  for (const Document& document : some.documents) {
    some.total_tokens += static_cast<int64_t>(document.tokens.size());
  }
  return some;
}

// The seconds that measuring took; a moments file does not state them.
double seconds_of(const fs::path& capture) {
  const fs::path description = capture / kCaptureName;
  return CaptureInfo::from_json(read_json_file(description), description.string()).seconds;
}

// Vectors do not change: the files are linked into the other folder.
void link_files(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::create_hard_links, error);
  if (!error) return;
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);  // a file system without hard links
}

// The options restricted to these names.
KeepOptions only(const KeepOptions& keep, const std::set<std::string>& names) {
  KeepOptions named = keep_nothing();
  for (const KeepOption& option : kKeepOptions) {
    if (names.contains(option.key)) option.visit(named, [](auto& member) { member = {1}; });
  }
  return keep_both(keep, named);
}

}  // namespace

void complete_capture(const CaptureOptions& options, const OpenModel& model,
                      const DocumentSet& documents, const std::set<std::string>& missing,
                      StoredCapture* stored, CaptureStore& store) {
  const bool first = options.model.processes.first();
  if (first) {
    log::info("{}: {} measured in addition to what exists", options.label,
              fmt::join(missing, ", "));
  }
  CaptureOptions addition = options;
  addition.keep = only(options.keep, missing);
  addition.vectors.reset();
  addition.out = temporary_path(options.out.string() + ".beside");
  OpenModel as_needed = model;
  as_needed.head = addition.keep.loss;
  as_needed.scores = addition.keep.rows.number > 0;
  const int64_t there = options.model.processes.from_first(first ? stored->info.documents : 0);
  capture_documents(addition, as_needed, some_documents(documents, 0, there));
  if (!first) return;
  CaptureMoments part = read_moments(addition.out / kMomentsName);
  CaptureMoments whole = read_moments(stored->folder / kMomentsName);
  part.info.seconds = seconds_of(addition.out);
  whole.info = stored->info;
  whole.info.moments.clear();  // only capture.json has these
  whole.info.vector_files.reset();
  whole.info.names() = part.info.names();
  whole.info.config = part.info.config;
  add_kept(whole, std::move(part), missing);
  AtomicFolder folder(options.out);
  write_moments(folder.path() / kMomentsName, whole);
  if (whole.info.vectors) link_files(stored->folder / kVectorsName, folder.path() / kVectorsName);
  describe_in(folder.path(), whole.info);
  stored->in_use = false;
  store.clear(options.label);
  folder.commit();
  std::error_code ignored;
  fs::remove_all(addition.out, ignored);
}

void extend_capture(const CaptureOptions& options, const OpenModel& model,
                    const DocumentSet& documents, StoredCapture* stored, CaptureStore& store) {
  const Communicator& processes = options.model.processes;
  const bool first = processes.first();
  const int64_t there = processes.from_first(first ? stored->info.documents : 0);
  if (first) {
    log::info("{}: {} of {} documents exist already", options.label, there,
              documents.documents.size());
  }
  // The rest is first captured separately, under a temporary name.
  CaptureOptions rest = options;
  rest.out = temporary_path(options.out.string() + ".more");
  capture_documents(
      rest, model,
      some_documents(documents, there, static_cast<int64_t>(documents.documents.size())));
  if (!first) return;
  CaptureMoments more = read_moments(rest.out / kMomentsName);
  more.info.seconds = seconds_of(rest.out);
  CaptureMoments whole = read_moments(stored->folder / kMomentsName);
  const double seconds = stored->info.seconds;
  whole.info = more.info;  // equal except for names, where the new ones apply
  whole.info.seconds = seconds;
  join_capture(whole, std::move(more));
  AtomicFolder folder(options.out);
  write_moments(folder.path() / kMomentsName, whole);
  describe_in(folder.path(), whole.info);
  stored->in_use = false;
  store.clear(options.label);
  folder.commit();
  std::error_code ignored;
  fs::remove_all(rest.out, ignored);
}

}  // namespace ropewalk
