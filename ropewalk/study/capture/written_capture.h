#pragma once

#include <filesystem>
#include <optional>

#include "ropewalk/moments/capture_info.h"

// Checks whether a capture's files are as they were written, by their hashes.
namespace ropewalk {

struct CaptureMoments;
enum class Blocks;  // moments_file.h
enum class Tokens;

// Writes capture.json next to the moments and vectors of a capture, with their hashes. Returns its
// contents.
CaptureInfo describe_in(const std::filesystem::path& folder, CaptureInfo info);

// The current names of a capture; empty where its capture.json is missing or damaged. The moments
// file holds the names under which it was measured. Throws InputError where its moments are not
// those that were written.
std::optional<CaptureNames> current_names(const std::filesystem::path& folder);

// Throws InputError where the moments of a capture are not those that were written.
void require_complete_moments(const std::filesystem::path& folder, const CaptureInfo& info);
// Also checks the capture's vectors, where it has any; of these only what is fast to check, their
// size.
void require_complete(const std::filesystem::path& folder, const CaptureInfo& info);
void require_vectors(const std::filesystem::path& folder, const CaptureInfo& info);

// The moments of a capture folder with its current names, or of a moments file; `blocks` and
// `tokens` as for read_moments.
CaptureMoments read_capture(const std::filesystem::path& capture, Blocks blocks, Tokens tokens);

}  // namespace ropewalk
