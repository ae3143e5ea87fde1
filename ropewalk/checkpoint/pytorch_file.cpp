#include "ropewalk/checkpoint/pytorch_file.h"

#include <algorithm>
#include <array>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/checkpoint/tensor_pickle.h"
#include "ropewalk/checkpoint/zip_archive.h"

namespace ropewalk {
namespace {

struct StorageType {
  std::string_view name;
  std::string_view spelled;  // spelled as in safetensors
  int64_t bytes;
  StoredType type;
};
constexpr std::array<StorageType, 10> kTypes{{{"FloatStorage", "F32", 4, StoredType::f32},
                                              {"HalfStorage", "F16", 2, StoredType::f16},
                                              {"BFloat16Storage", "BF16", 2, StoredType::bf16},
                                              {"DoubleStorage", "F64", 8, StoredType::other},
                                              {"LongStorage", "I64", 8, StoredType::other},
                                              {"IntStorage", "I32", 4, StoredType::other},
                                              {"ShortStorage", "I16", 2, StoredType::other},
                                              {"CharStorage", "I8", 1, StoredType::other},
                                              {"ByteStorage", "U8", 1, StoredType::other},
                                              {"BoolStorage", "BOOL", 1, StoredType::other}}};

const StorageType& find_type(const PickledTensor& tensor, const std::string& what) {
  for (const StorageType& type : kTypes) {
    if (type.name == tensor.type) return type;
  }
  throw InputError("{}: unknown type '{}'; ropewalk reads float32, float16 and bfloat16", what,
                   printable_excerpt(tensor.type, 60));
}

// The number of elements from the first to the last, both included.
int64_t extent(const PickledTensor& tensor, const std::string& what) {
  int64_t elements = 1;
  int64_t last = 0;
  bool countable = tensor.shape.size() == tensor.strides.size();
  for (size_t i = 0; countable && i < tensor.shape.size(); ++i) {
    int64_t step = 0;
    countable = !__builtin_mul_overflow(elements, tensor.shape[i], &elements) &&
                !__builtin_mul_overflow(std::max<int64_t>(tensor.shape[i] - 1, 0),
                                        tensor.strides[i], &step) &&
                !__builtin_add_overflow(last, step, &last);
  }
  if (!countable) {
    throw InputError("{}: shape {} and strides {} do not go together", what,
                     format_shape(tensor.shape), format_shape(tensor.strides));
  }
  // A view may show numbers twice. No model's weights do, and a small file could ask for any amount
  // of memory in this way.
  if (elements > tensor.storage_elements) {
    throw InputError("{}: shape {} takes {} numbers, but its storage has {}", what,
                     format_shape(tensor.shape), elements, tensor.storage_elements);
  }
  if (elements == 0) return 0;
  if (last >= tensor.storage_elements - tensor.offset) {
    throw InputError("{}: reads element {} of its storage, which has {}", what,
                     static_cast<double>(tensor.offset) + static_cast<double>(last),
                     tensor.storage_elements);
  }
  return last + 1;
}

// The strides of a tensor that has numbers; empty where rows lie side by side.
std::vector<int64_t> odd_strides(const PickledTensor& tensor) {
  int64_t dense = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != dense) return tensor.strides;
    dense *= tensor.shape[i];
  }
  return {};
}

std::optional<Checksum> sum_of(const ZipEntry& entry) {
  if (entry.crc32 == 0) return std::nullopt;
  return Checksum{entry.offset, entry.size, entry.crc32};
}

StoredTensor locate(const PickledTensor& tensor, const std::map<std::string, ZipEntry>& storages,
                    const std::string& what) {
  const StorageType& type = find_type(tensor, what);
  const auto storage = storages.find(tensor.storage);
  if (storage == storages.end()) {
    throw InputError("{}: its storage '{}' is not in the archive", what,
                     printable_excerpt(tensor.storage, 60));
  }
  if (storage->second.size / type.bytes != tensor.storage_elements ||
      storage->second.size % type.bytes != 0) {
    throw InputError("{}: its storage has {} bytes, expected {} numbers of {}", what,
                     storage->second.size, tensor.storage_elements, type.bytes);
  }
  StoredTensor stored;
  stored.type = type.type;
  stored.type_name = type.spelled;
  stored.shape = tensor.shape;
  stored.bytes = extent(tensor, what) * type.bytes;
  if (stored.bytes > 0) stored.strides = odd_strides(tensor);
  if (stored.bytes > 0) stored.sum = sum_of(storage->second);
  stored.offset = storage->second.offset + (stored.bytes > 0 ? tensor.offset * type.bytes : 0);
  return stored;
}

WeightsHeader read_whole(const MappedFile& file) {
  const std::string name = file.path().string();
  if (!looks_like_zip(file)) {
    throw InputError(
        "{}: is not a zip archive; if torch before version 1.6 wrote it, load it where you trust "
        "it "
        "and save it again, best as safetensors",
        name);
  }
  constexpr std::string_view kPickle = "/data.pkl";
  const std::vector<ZipEntry> entries = read_zip(file);
  const ZipEntry* pickle = nullptr;
  for (const ZipEntry& entry : entries) {
    if (!entry.name.ends_with(kPickle)) continue;
    if (pickle != nullptr) throw InputError("{}: holds two pickles; expected one data.pkl", name);
    pickle = &entry;
  }
  if (pickle == nullptr) {
    throw InputError("{}: holds no data.pkl; was it written by torch.save?", name);
  }
  // All files lie in one folder of the archive, which may have any name.
  const std::string folder = pickle->name.substr(0, pickle->name.size() - kPickle.size()) + "/";
  const auto content = [&](const ZipEntry& entry) {
    if (const auto sum = sum_of(entry)) require_sum(file, *sum, printable(entry.name), run_chunks);
    return file.text().substr(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.size));
  };
  std::map<std::string, ZipEntry> storages;
  for (const ZipEntry& entry : entries) {
    if (entry.name.starts_with(folder + "data/")) {
      storages[entry.name.substr(folder.size() + 5)] = entry;
    }
    if (entry.name == folder + "byteorder" && content(entry) != "little") {
      throw InputError("{}: was written on a big-endian machine; save it again on another", name);
    }
  }
  WeightsHeader header;
  for (const PickledTensor& tensor : read_tensor_pickle(content(*pickle), name + ": data.pkl")) {
    const std::string what = fmt::format("{}: tensor '{}'", name, printable(tensor.name));
    header.tensors[tensor.name] = locate(tensor, storages, what);
  }
  return header;
}

}  // namespace

PytorchFile::PytorchFile(const std::filesystem::path& path, KnownHeaders* known)
    : WeightsFile(path, known, read_whole) {}

}  // namespace ropewalk
