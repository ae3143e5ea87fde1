#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ropewalk {

template <typename T>
std::string little_endian(T number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// A zip archive written byte by byte, so that any byte can be wrong.
struct RawZip {
  struct Entry {
    std::string name;
    std::string data;
    uint16_t method = 0;
    uint16_t flags = 0;
    std::string local_name = {};  // empty: the name
    int64_t shift = 0;            // distance from where the list says that the entry begins
  };
  std::vector<Entry> entries;
  bool wide = false;  // 64-bit sizes
  int64_t more = 0;   // entries that the end claims in addition to the existing ones
  std::string comment;

  std::string bytes() const {
    std::string file;
    std::string list;
    for (const Entry& entry : entries) {
      const std::string& local = entry.local_name.empty() ? entry.name : entry.local_name;
      const auto size = static_cast<uint64_t>(entry.data.size());
      const uint64_t begin = file.size() + static_cast<uint64_t>(entry.shift);
      file += "PK\x03\x04" + little_endian<uint16_t>(45) + little_endian(entry.flags) +
              little_endian(entry.method) + std::string(8, '\0') + sizes32(size) +
              little_endian(static_cast<uint16_t>(local.size())) + little_endian<uint16_t>(0) +
              local + entry.data;
      const std::string extra = wide ? little_endian<uint16_t>(1) + little_endian<uint16_t>(24) +
                                           little_endian(size) + little_endian(size) +
                                           little_endian(begin)
                                     : "";
      list += "PK\x01\x02" + little_endian<uint32_t>(0) + little_endian(entry.flags) +
              little_endian(entry.method) + std::string(8, '\0') + sizes32(wide ? kWide : size) +
              little_endian(static_cast<uint16_t>(entry.name.size())) +
              little_endian(static_cast<uint16_t>(extra.size())) + std::string(10, '\0') +
              little_endian(static_cast<uint32_t>(wide ? kWide : begin)) + entry.name + extra;
    }
    const uint64_t start = file.size();
    const uint64_t count = entries.size() + static_cast<uint64_t>(more);
    const uint64_t list_size = list.size();
    file += list;
    if (wide) {
      const uint64_t end64 = file.size();
      file += "PK\x06\x06" + little_endian<uint64_t>(44) + std::string(12, '\0') +
              little_endian(count) + little_endian(count) + little_endian(list_size) +
              little_endian(start);
      file += "PK\x06\x07" + little_endian<uint32_t>(0) + little_endian(end64) +
              little_endian<uint32_t>(1);
    }
    const auto short_count = static_cast<uint16_t>(wide ? 0xffff : count);
    file += "PK\x05\x06" + little_endian<uint32_t>(0) + little_endian(short_count) +
            little_endian(short_count) + sizes32(wide ? kWide : list_size).substr(0, 4) +
            little_endian(static_cast<uint32_t>(wide ? kWide : start)) +
            little_endian(static_cast<uint16_t>(comment.size())) + comment;
    return file;
  }

 private:
  static constexpr uint64_t kWide = 0xffffffff;
  static std::string sizes32(uint64_t size) {
    return little_endian(static_cast<uint32_t>(size)) + little_endian(static_cast<uint32_t>(size));
  }
};

// Instructions of a pickle.
namespace pickle {

inline std::string text(const std::string& text) {
  return "X" + little_endian(static_cast<uint32_t>(text.size())) + text;
}
inline std::string number(int64_t number) { return "\x8a\x08" + little_endian(number); }
inline std::string tuple(const std::vector<std::string>& items) {
  std::string all = "(";
  for (const std::string& item : items) all += item;
  return all + "t";
}
inline std::string numbers(const std::vector<int64_t>& values) {
  std::vector<std::string> items;
  for (const int64_t value : values) items.push_back(number(value));
  return tuple(items);
}
inline std::string name(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string storage(const std::string& type, const std::string& file, int64_t elements) {
  return tuple({text("storage"), name("torch", type), text(file), text("cpu"), number(elements)}) +
         "Q";
}
inline std::string tensor(const std::string& storage, int64_t offset,
                          const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  return name("torch._utils", "_rebuild_tensor_v2") +
         tuple({storage, number(offset), numbers(shape), numbers(strides), "\x89",
                name("collections", "OrderedDict") + ")R"}) +
         "R";
}
// A dictionary of keys and values in turn.
inline std::string whole(const std::vector<std::string>& items) {
  std::string all = "\x80\x02}(";
  for (const std::string& item : items) all += item;
  return all + "u.";
}

}  // namespace pickle
}  // namespace ropewalk
