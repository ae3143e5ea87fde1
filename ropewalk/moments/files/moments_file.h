#pragma once

#include <filesystem>

#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

inline constexpr const char* kMomentsName = "moments.safetensors";

// One layer of a collector (`gathered`: joined over all processes), without documents; its blocks
// are views of it.
CaptureMoments layer_moments(const MomentsCollector& collector, int64_t layer,
                             const MomentsCollector::Layer& gathered, CaptureInfo info);

// Writes a moments file atomically. The totals over all tokens are computed by joining the float64
// blocks in their order. Of a collector, one layer at a time is joined and written. Throws
// InputError with the layer and the head where a sum is too large for the file's number type.
void write_moments(const std::filesystem::path& path, const MomentsCollector& collector,
                   const CaptureInfo& info, const std::vector<DocumentRecord>& documents,
                   const std::vector<DocumentValues>& values = {});
void write_moments(const std::filesystem::path& path, const CaptureMoments& moments);
// Returns the moments as a reader of such a file gets them: with rounded blocks, and without room
// for documents that were not read. Throws where write_moments() does.
CaptureMoments rounded_to_file(CaptureMoments moments);
CaptureMoments rounded_to_file(const MomentsCollector& collector, const CaptureInfo& info,
                               const std::vector<DocumentRecord>& documents,
                               const std::vector<DocumentValues>& values = {});

// Readers check everything and throw InputError naming the file and the tensor or key. Accumulators
// that did not exist when the file was written are missing. A file without blocks still has its
// totals, but no standard errors; for a reader that asks for blocks only if they are there, this is
// no error.
enum class Blocks { needed, if_there };
// Moments of sampled vectors (CaptureMoments::sampled) cannot be joined, and are an error for a
// reader that needs all tokens.
enum class Tokens { all, sampled_too };
CaptureMoments read_moments(const std::filesystem::path& path, Blocks blocks = Blocks::needed,
                            Tokens tokens = Tokens::all);
// Reads everything except what accumulators kept.
CaptureMoments read_moments_head(const std::filesystem::path& path);

}  // namespace ropewalk
