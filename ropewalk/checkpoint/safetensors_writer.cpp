#include "ropewalk/checkpoint/safetensors_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "ropewalk/base/files/json.h"

namespace ropewalk {
namespace {

// The number of bits in "F64", "BF16" or "I8".
int bits(const TensorToWrite& tensor) {
  const size_t digit = tensor.type_name.find_first_of("0123456789");
  return digit == std::string::npos ? 8 : std::stoi(tensor.type_name.substr(digit));
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::vector<TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata) {
  constexpr size_t kAlignment = 8;
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const auto& a, const auto& b) { return bits(a) > bits(b); });
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.type_name},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes}}};
    offset += tensor.bytes;
  }
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  const uint64_t size = text.size();
  std::string start(sizeof size, '\0');
  std::memcpy(start.data(), &size, sizeof size);
  write_file_atomically(path, [&](const ByteSink& write) {
    write(start);
    write(text);
    for (const TensorToWrite& tensor : tensors) {
      int64_t handed_over = 0;
      tensor.produce([&](std::string_view piece) {
        handed_over += static_cast<int64_t>(piece.size());
        write(piece);
      });
      if (handed_over != tensor.bytes) {
        throw std::logic_error(fmt::format("{}: tensor '{}': {} bytes were written, expected {}",
                                           path.string(), tensor.name, handed_over, tensor.bytes));
      }
    }
  });
}

}  // namespace ropewalk
