#pragma once

#include <set>
#include <string>

#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/capture/capture_store.h"

namespace ropewalk {

// Reads the documents that come after those in `stored`, which holds the first ones, and replaces
// the capture of options.label by one of all documents. Collective; only the first process uses
// `stored`, which is no longer valid afterwards.
void extend_capture(const CaptureOptions& options, const OpenModel& model,
                    const DocumentSet& documents, StoredCapture* stored, CaptureStore& store);

// Measures what `stored` lacks, on the same documents, and replaces the capture of options.label by
// one that also has this; what exists does not change. Collective, as above.
void complete_capture(const CaptureOptions& options, const OpenModel& model,
                      const DocumentSet& documents, const std::set<std::string>& missing,
                      StoredCapture* stored, CaptureStore& store);

}  // namespace ropewalk
