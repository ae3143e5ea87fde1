#pragma once

#include <filesystem>
#include <functional>

#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

// The moments of a folder of sampled vectors in the published layout, as a capture of their own, in
// which every stream has its own counts (CaptureMoments::sampled). Examples are dealt to blocks as
// in analyze_vectors. `info` describes the vectors; the numbers of documents and tokens are filled
// in here. `done` is called after each stream. Throws InputError naming the file.
CaptureMoments moments_of_vectors(const std::filesystem::path& folder, CaptureInfo info,
                                  const std::function<void()>& done);

}  // namespace ropewalk
