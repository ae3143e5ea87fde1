#include "ropewalk/checkpoint/weights_file.h"

#include <fmt/ranges.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/checkpoint/known_headers.h"

namespace ropewalk {

std::string format_shape(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

WeightsFile::WeightsFile(const std::filesystem::path& path, KnownHeaders* known,
                         WeightsHeader (*read)(const MappedFile& file))
    : file_(path) {
  const auto now = [&] { return read(file_); };
  header_ =
      known != nullptr ? known->weights(file_, now) : std::make_shared<const WeightsHeader>(now());
}

void require_sum(const MappedFile& file, const Checksum& sum, const std::string& what,
                 const ChunkRunner& run) {
  const Stretch bytes(file.data() + sum.offset, static_cast<size_t>(sum.bytes));
  const uint32_t found = crc32_of(bytes, run);
  if (found == sum.crc32) return;
  throw InputError(
      "{}: {} is damaged: its bytes have the CRC-32 {:08x}, expected {:08x}; download the file "
      "again",
      file.path().string(), what, found, sum.crc32);
}

void WeightsFile::require_intact(const std::string& tensor, const ChunkRunner& run) const {
  const std::optional<Checksum>& sum = tensors().at(tensor).sum;
  if (!sum) return;
  {
    const std::lock_guard lock(mutex_);
    if (intact_.contains(sum->offset)) return;
  }
  require_sum(file_, *sum, fmt::format("tensor '{}'", printable(tensor)), run);
  const std::lock_guard lock(mutex_);
  intact_.insert(sum->offset);
}

}  // namespace ropewalk
