#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ropewalk {

using Json = nlohmann::json;

// Parses strictly: UTF-8, no duplicate keys, no text after the value, at most `max_depth` levels.
// `source` names the file in the InputError.
Json parse_json(std::string_view text, const std::string& source, int max_depth = 64);

// Reads and parses a JSON file of at most 256 MiB.
Json read_json_file(const std::filesystem::path& path);

// Reads a file's JSON; returns null where the file is missing or broken, so that the caller writes
// it again.
Json read_json_or_null(const std::filesystem::path& path);

// The number, or null where it is none (NaN).
Json number_or_null(double value);

}  // namespace ropewalk
