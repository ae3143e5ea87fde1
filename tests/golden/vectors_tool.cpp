// Test-only: writes and reads folders of vectors.
//   vectors_tool write DIR MEMORY < JSON lines {layer, head, kind, example_id, positions, buckets,
//   vectors, window} vectors_tool read DIR          prints each stream as a JSON line, or the error
//   it ends with
#include <iostream>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/moments/vectors/vectors_reader.h"
#include "ropewalk/moments/vectors/vectors_writer.h"

namespace {

using ropewalk::Json;
using ropewalk::StreamKind;

void write(const std::string& folder, int64_t memory) {
  std::string line;
  std::getline(std::cin, line);
  ropewalk::VectorsWriter writer(folder, std::stoll(line),
                                 memory);  // the first line is the head dimension
  while (std::getline(std::cin, line)) {
    const Json rows = ropewalk::parse_json(line, "rows");
    const auto positions = rows.at("positions").get<std::vector<int32_t>>();
    const auto buckets = rows.at("buckets").get<std::vector<int32_t>>();
    const auto vectors = rows.at("vectors").get<std::vector<float>>();
    std::optional<int32_t> window;
    if (!rows.at("window").is_null()) window = rows.at("window").get<int32_t>();
    writer.append({rows.at("layer").get<int32_t>(), rows.at("head").get<int32_t>(),
                   rows.at("kind") == "q" ? StreamKind::query : StreamKind::key},
                  {rows.at("example_id").get<int64_t>(), positions, buckets, vectors, window});
  }
  writer.finish();
}

void read(const std::string& folder) {
  const ropewalk::VectorsReader reader(folder);
  for (const auto& key : reader.streams()) {
    const auto rows = reader.read_all(key);
    std::cout << Json{{"stream", ropewalk::stream_name(key)},
                      {"head_dim", rows.head_dim},
                      {"bucket", rows.buckets},
                      {"example_id", rows.example_ids},
                      {"position", rows.positions},
                      {"vector", rows.vectors}}
                     .dump()
              << '\n';
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count == 4 && std::string(arguments[1]) == "write") {
      write(arguments[2], std::stoll(arguments[3]));
    } else if (count == 3) {
      read(arguments[2]);
    }
  } catch (const ropewalk::InputError& error) {
    std::cout << Json{{"input_error", error.what()}}.dump() << '\n';
  } catch (const ropewalk::SystemError& error) {
    std::cout << Json{{"system_error", error.what()}}.dump() << '\n';
  }
}
