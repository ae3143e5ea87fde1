#include "ropewalk/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {
namespace {

constexpr int64_t kLengthBytes = 8;                 // little-endian size of the header
constexpr int64_t kMaxHeader = int64_t{100} << 20;  // the limit of the format's own library

struct TypeInfo {
  std::string_view name;
  int64_t bits;
  StoredType type;
};

constexpr std::array<TypeInfo, 21> kTypes{
    {{"F32", 32, StoredType::f32},          {"F16", 16, StoredType::f16},
     {"BF16", 16, StoredType::bf16},        {"F64", 64, StoredType::other},
     {"I64", 64, StoredType::other},        {"I32", 32, StoredType::other},
     {"I16", 16, StoredType::other},        {"I8", 8, StoredType::other},
     {"U64", 64, StoredType::other},        {"U32", 32, StoredType::other},
     {"U16", 16, StoredType::other},        {"U8", 8, StoredType::other},
     {"BOOL", 8, StoredType::other},        {"C64", 64, StoredType::other},
     {"F8_E4M3", 8, StoredType::other},     {"F8_E5M2", 8, StoredType::other},
     {"F8_E8M0", 8, StoredType::other},     {"F8_E4M3FNUZ", 8, StoredType::other},
     {"F8_E5M2FNUZ", 8, StoredType::other}, {"F6_E2M3", 6, StoredType::other},
     {"F4", 4, StoredType::other}}};

int64_t as_size(const Json& value, const std::string& what) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX) {
    throw InputError("{}: found {}, expected a whole number that is not negative", what,
                     value.dump());
  }
  return value.get<int64_t>();
}

std::string_view read_header(const MappedFile& file) {
  const std::string name = file.path().string();
  if (file.size() < kLengthBytes) {
    throw InputError(
        "{}: is {} bytes long, too short for a safetensors file; was the download cut off?", name,
        file.size());
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  if (length > static_cast<uint64_t>(kMaxHeader)) {
    throw InputError(
        "{}: header claims {} bytes, more than the {} allowed; this is not a safetensors file",
        name, length, kMaxHeader);
  }
  const auto size = static_cast<int64_t>(length);
  if (size > file.size() - kLengthBytes) {
    throw InputError("{}: header claims {} bytes but only {} follow; was the download cut off?",
                     name, size, file.size() - kLengthBytes);
  }
  return file.text().substr(kLengthBytes, static_cast<size_t>(size));
}

StoredTensor read_tensor(const Json& entry, const std::string& what, int64_t data_start,
                         int64_t data_size) {
  if (!entry.is_object())
    throw InputError("{}: found {}, expected an object", what, entry.type_name());
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!entry.contains(key)) throw InputError("{}: key '{}' is missing", what, key);
  }
  if (!entry["dtype"].is_string()) throw InputError("{}: dtype is not a string", what);
  StoredTensor tensor;
  tensor.type_name = entry["dtype"].get<std::string>();
  const auto info = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const TypeInfo& t) { return t.name == tensor.type_name; });
  if (info == kTypes.end()) {
    throw InputError("{}: unknown dtype '{}'; ropewalk reads F32, F16 and BF16", what,
                     tensor.type_name);
  }
  tensor.type = info->type;

  if (!entry["shape"].is_array()) throw InputError("{}: shape is not a list", what);
  int64_t elements = 1;
  for (const Json& dimension : entry["shape"]) {
    const int64_t size = as_size(dimension, what + ": shape");
    tensor.shape.push_back(size);
    if (__builtin_mul_overflow(elements, size, &elements)) {
      throw InputError("{}: shape {} has more elements than 64 bits can count", what,
                       format_shape(tensor.shape));
    }
  }
  int64_t bits = 0;
  if (__builtin_mul_overflow(elements, info->bits, &bits)) {
    throw InputError("{}: shape {} has more bits than 64 bits can count", what,
                     format_shape(tensor.shape));
  }

  const Json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) {
    throw InputError("{}: data_offsets is not a list of two numbers", what);
  }
  const int64_t begin = as_size(offsets[0], what + ": data_offsets");
  const int64_t end = as_size(offsets[1], what + ": data_offsets");
  if (begin > end || end > data_size) {
    throw InputError(
        "{}: data_offsets [{}, {}] do not lie within the {} bytes of data; was the download cut "
        "off?",
        what, begin, end, data_size);
  }
  tensor.bytes = end - begin;
  if (tensor.bytes != (bits + 7) / 8) {
    throw InputError("{}: holds {} bytes, expected {} for dtype {} and shape {}", what,
                     tensor.bytes, (bits + 7) / 8, tensor.type_name, format_shape(tensor.shape));
  }
  tensor.offset = data_start + begin;
  return tensor;
}

// The format requires tensors back to back from the first byte to the last.
void check_layout(const std::map<std::string, StoredTensor>& tensors, const std::string& name,
                  int64_t data_start, int64_t data_size) {
  std::vector<std::pair<const std::string*, const StoredTensor*>> order;
  for (const auto& [tensor_name, tensor] : tensors) order.emplace_back(&tensor_name, &tensor);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->offset, a.second->bytes) <
           std::pair(b.second->offset, b.second->bytes);
  });
  int64_t expected = data_start;
  for (const auto& [tensor_name, tensor] : order) {
    if (tensor->offset != expected) {
      throw InputError(
          "{}: tensor '{}' {}: it starts at byte {}, expected {}", name, *tensor_name,
          tensor->offset < expected ? "overlaps the one before it" : "leaves a gap before it",
          tensor->offset - data_start, expected - data_start);
    }
    expected += tensor->bytes;
  }
  if (expected != data_start + data_size) {
    throw InputError("{}: has {} bytes of data, expected {} from its header", name, data_size,
                     expected - data_start);
  }
}

WeightsHeader read_whole(const MappedFile& file) {
  const std::string name = file.path().string();
  const std::string_view text = read_header(file);
  const Json json = parse_json(text, name + ": header");
  if (!json.is_object()) throw InputError("{}: header is not a JSON object", name);
  const int64_t data_start = kLengthBytes + static_cast<int64_t>(text.size());
  const int64_t data_size = file.size() - data_start;
  WeightsHeader header;
  for (const auto& [key, entry] : json.items()) {
    if (key == "__metadata__") {
      if (!entry.is_object()) throw InputError("{}: __metadata__ is not an object", name);
      for (const auto& [meta_key, value] : entry.items()) {
        if (!value.is_string())
          throw InputError("{}: __metadata__ '{}' is not a string", name, meta_key);
        header.metadata[meta_key] = value.get<std::string>();
      }
      continue;
    }
    header.tensors[key] =
        read_tensor(entry, fmt::format("{}: tensor '{}'", name, key), data_start, data_size);
  }
  check_layout(header.tensors, name, data_start, data_size);
  return header;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, KnownHeaders* known)
    : WeightsFile(path, known, read_whole) {}

}  // namespace ropewalk
