#pragma once

#include <filesystem>
#include <optional>

#include "ropewalk/moments/capture_info.h"

// A capture's files as they were written: described with their hashes, and held against these.
namespace ropewalk {

struct CaptureMoments;
enum class Blocks;  // moments_file.h
enum class Tokens;

// Describes a capture whose moments and vectors are written: capture.json beside them, with their
// hashes. Returns what it says.
CaptureInfo describe_in(const std::filesystem::path& folder, CaptureInfo info);

// What a capture is called now; nothing where its capture.json is missing or damaged. The moments
// file beside it holds the names that it was measured under. Throws InputError where its moments
// are not those that were written.
std::optional<CaptureNames> current_names(const std::filesystem::path& folder);

// Throws InputError where the moments of a capture are not those that were written.
void require_complete_moments(const std::filesystem::path& folder, const CaptureInfo& info);
// The same of its vectors too, where it has any; and what is quick to see of these: that they have
// as many bytes.
void require_complete(const std::filesystem::path& folder, const CaptureInfo& info);
void require_vectors(const std::filesystem::path& folder, const CaptureInfo& info);

// The moments of a capture folder by its current names, or of a moments file as they are;
// `blocks` and `tokens` as read_moments takes them.
CaptureMoments read_capture(const std::filesystem::path& capture, Blocks blocks, Tokens tokens);

}  // namespace ropewalk
