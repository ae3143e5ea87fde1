#include "ropewalk/moments/stream_key.h"

#include <fmt/format.h>

#include <charconv>

namespace ropewalk {
namespace {

// Takes `letter` and the digits after it off the front of `text`.
std::optional<int32_t> take_number(std::string_view& text, char letter) {
  if (text.size() < 2 || text[0] != letter || text[1] < '0' || text[1] > '9') return std::nullopt;
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string stream_name(const StreamKey& key) {
  return fmt::format("l{:02}h{:02}{}", key.layer, key.head, static_cast<char>(key.kind));
}

std::filesystem::path stream_file(const std::filesystem::path& capture, const StreamKey& key) {
  return capture / kVectorsName / stream_name(key) / kVectorsFile;
}

std::optional<StreamKey> parse_stream_name(std::string_view name) {
  const auto layer = take_number(name, 'l');
  if (!layer) return std::nullopt;
  const auto head = take_number(name, 'h');
  if (!head || (name != "q" && name != "k")) return std::nullopt;
  return StreamKey{*layer, *head, name == "q" ? StreamKind::query : StreamKind::key};
}

}  // namespace ropewalk
