#include "ropewalk/companion/companion_frame.h"

#include <utility>
#include <vector>

namespace ropewalk {
namespace {

constexpr size_t kLongestLine = size_t{64} << 20;
constexpr int64_t kLargestArray = int64_t{16} << 30;

int64_t bytes_of(const Json& array) {
  const auto& type = array.at("type").get_ref<const std::string&>();
  int64_t bytes = type == "u1" ? 1 : type == "i4" ? 4 : type == "i8" ? 8 : 0;
  for (const Json& size : array.at("shape")) {
    if (__builtin_mul_overflow(bytes, size.get<int64_t>(), &bytes)) return -1;
  }
  return bytes == 0 && type != "u1" && type != "i4" && type != "i8" ? -1 : bytes;
}

}  // namespace

std::optional<CompanionFrame> first_frame(std::string& unread) {
  const size_t line = unread.find('\n');
  if (line == std::string::npos) {
    if (unread.size() > kLongestLine) throw SystemError("a line that does not end");
    return std::nullopt;
  }
  CompanionFrame frame;
  frame.message.words = parse_json(std::string_view(unread).substr(0, line), "answer");
  std::vector<std::pair<std::string, size_t>> sizes;
  frame.bytes = line + 1;
  for (const Json& array : frame.message.words.at("arrays")) {
    const int64_t bytes = bytes_of(array);
    if (bytes < 0 || bytes > kLargestArray) throw SystemError("an array of an impossible size");
    sizes.emplace_back(array.at("name").get<std::string>(), bytes);
    frame.bytes += static_cast<size_t>(bytes);
  }
  if (unread.size() < frame.bytes) {
    unread.reserve(frame.bytes);
    return std::nullopt;
  }
  size_t begin = line + 1;
  for (const auto& [name, size] : sizes) {
    frame.message.arrays[name] = unread.substr(begin, size);
    begin += size;
  }
  return frame;
}

}  // namespace ropewalk
