#pragma once

#include <filesystem>
#include <functional>

#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

// The moments of a folder of sampled vectors in the published layout, as a capture of its own:
// every stream has counts of its own (CaptureMoments::sampled). Examples are dealt to blocks as
// analyze_vectors deals them. `info` says what they are; how many documents and tokens there are is
// filled in. `done` is called after each stream. Throws InputError naming the file.
CaptureMoments moments_of_vectors(const std::filesystem::path& folder, CaptureInfo info,
                                  const std::function<void()>& done);

}  // namespace ropewalk
