#pragma once

#include "ropewalk/study/capture.h"
#include "ropewalk/study/capture_store.h"

namespace ropewalk {

// Reads those of `documents` that come after the first ones, which `stored` holds already, and puts
// a capture of them all in the place of options.label. Collective; `stored` is the first process's,
// and of no use to others any more.
void extend_capture(const CaptureOptions& options, const OpenModel& model,
                    const DocumentSet& documents, StoredCapture* stored, CaptureStore& store);

}  // namespace ropewalk
