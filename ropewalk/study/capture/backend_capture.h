#pragma once

#include <memory>

#include "ropewalk/study/capture/capture.h"

namespace ropewalk {

// What captures of a backend's model can keep of `keep`: rows of attention are not seen there, and
// numbers before RoPE where it is known how RoPE turned the vectors.
KeepOptions backend_keep(const KeepOptions& keep, const OpenModel& model);

// Throws UsageError naming the option where it needs our own pass: vectors or the loss. Does
// nothing without a backend.
void refuse_for_backend(const CaptureOptions& options);

// measure_capture() of a model that transformers runs. Queries and keys stay in the companion,
// which is sent token ids and writes the moments into the folder under way; they are checked and
// described here. With several processes each has a companion, and the first one joins their parts
// through files in the folder. Collective.
std::unique_ptr<MeasuredCapture> measure_with_backend(const CaptureOptions& options,
                                                      const OpenModel& model,
                                                      const DocumentSet& documents,
                                                      const PendingWrite& pending);

}  // namespace ropewalk
