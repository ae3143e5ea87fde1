#include "ropewalk/study/extend_capture.h"

#include "ropewalk/base/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/moments/merge.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

DocumentSet without_first(const DocumentSet& documents, int64_t count) {
  DocumentSet rest = documents;
  rest.documents.erase(rest.documents.begin(), rest.documents.begin() + count);
  rest.total_tokens = 0;
  for (const Document& document : rest.documents)
    rest.total_tokens += static_cast<int64_t>(document.tokens.size());
  return rest;
}

}  // namespace

void extend_capture(const CaptureOptions& options, const OpenModel& model,
                    const DocumentSet& documents, StoredCapture* stored, CaptureStore& store) {
  const Communicator& processes = options.model.processes;
  const bool first = processes.first();
  const int64_t there = processes.from_first(first ? stored->info.documents : 0);
  if (first) {
    log::info("{}: {} of {} documents are there already", options.label, there,
              documents.documents.size());
  }
  // The rest is a capture of its own for a while, under a temporary name.
  CaptureOptions rest = options;
  rest.out = temporary_path(options.out.string() + ".more");
  capture_documents(rest, model, without_first(documents, there));
  if (!first) return;
  CaptureMoments more = read_moments(rest.out / kMomentsName);
  CaptureMoments whole = read_moments(stored->folder / kMomentsName);
  const double seconds = stored->info.seconds;
  whole.info = more.info;  // the same but for names, which are the new ones now
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
