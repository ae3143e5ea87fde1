#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ropewalk {

// The letter is part of file names and of the token sampler's seed.
enum class StreamKind : char { query = 'q', key = 'k' };

// One stream of vectors in a layer: a query head's queries or a KV head's keys. All numbers count
// from 0.
struct StreamKey {
  int32_t layer = 0;
  int32_t head = 0;  // the KV head where kind is key
  StreamKind kind = StreamKind::query;
  auto operator<=>(const StreamKey&) const = default;
};

// "l03h11q": at least two digits each.
std::string stream_name(const StreamKey& key);

// The vectors of a capture folder: vectors/l03h11q/data.parquet.
inline constexpr const char* kVectorsName = "vectors";
inline constexpr const char* kVectorsFile = "data.parquet";
std::filesystem::path stream_file(const std::filesystem::path& capture, const StreamKey& key);

// The key that a name such as "l03h11q" or "l100h7k" stands for; nothing for any other text.
std::optional<StreamKey> parse_stream_name(std::string_view name);

}  // namespace ropewalk
