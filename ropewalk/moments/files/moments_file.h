#pragma once

#include <filesystem>

#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

inline constexpr const char* kMomentsName = "moments.safetensors";

// One layer of what a collector gathered (`gathered`: of all processes together), without
// documents; blocks are views of it.
CaptureMoments layer_moments(const MomentsCollector& collector, int64_t layer,
                             const MomentsCollector::Layer& gathered, CaptureInfo info);

// Atomic. Totals are the float64 blocks joined in order. What a collector holds is written layer by
// layer. Throws InputError naming layer and head where sums are too large for the file's types.
void write_moments(const std::filesystem::path& path, const MomentsCollector& collector,
                   const CaptureInfo& info, const std::vector<DocumentRecord>& documents,
                   const std::vector<DocumentValues>& values = {});
void write_moments(const std::filesystem::path& path, const CaptureMoments& moments);
// Moments as they come back from such a file: blocks rounded, and nothing of documents that were
// not read. Throws as writing it does.
CaptureMoments rounded_to_file(CaptureMoments moments);
CaptureMoments rounded_to_file(const MomentsCollector& collector, const CaptureInfo& info,
                               const std::vector<DocumentRecord>& documents,
                               const std::vector<DocumentValues>& values = {});

// Checks everything it reads; throws InputError naming the file and the tensor or key. What an
// accumulator did not exist for yet is not there. Without its blocks a file still has its numbers,
// but not how sure they are: for who asks for blocks if they are there, that is no error.
enum class Blocks { needed, if_there };
// Moments of sampled vectors (CaptureMoments::sampled) cannot be joined and are an error for who
// needs those of all tokens.
enum class Tokens { all, sampled_too };
CaptureMoments read_moments(const std::filesystem::path& path, Blocks blocks = Blocks::needed,
                            Tokens tokens = Tokens::all);
// All of it but what accumulators kept.
CaptureMoments read_moments_head(const std::filesystem::path& path);

}  // namespace ropewalk
