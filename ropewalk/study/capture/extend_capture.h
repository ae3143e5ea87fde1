#pragma once

#include <set>
#include <string>

#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/capture/capture_store.h"

namespace ropewalk {

// Reads those of `documents` that come after the first ones, which `stored` holds already, and puts
// a capture of them all in the place of options.label. Collective; `stored` is the first process's,
// and of no use to others any more.
void extend_capture(const CaptureOptions& options, const OpenModel& model,
                    const DocumentSet& documents, StoredCapture* stored, CaptureStore& store);

// Measures what `stored` lacks, on the same documents, and puts a capture that has it too in the
// place of options.label: what is there stays as it is. Collective, as above.
void complete_capture(const CaptureOptions& options, const OpenModel& model,
                      const DocumentSet& documents, const std::set<std::string>& missing,
                      StoredCapture* stored, CaptureStore& store);

}  // namespace ropewalk
