#include "ropewalk/study/show/result_files.h"

#include <fstream>
#include <string>

#include "ropewalk/base/files/json.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

std::string beginning(const fs::path& path) {
  constexpr size_t kBytes = 4096;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";  // reading a pipe would wait for a writer
  std::string text(kBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), kBytes);
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

// The beginning of a figure's specification, and of our page.
constexpr const char* kVegaLite = "vega-lite";
constexpr const char* kPage = "<title>Ropewalk report</title>";

}  // namespace

bool path_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

bool looks_like_a_result(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string extension = path.extension().string();
  if (extension == ".csv") {
    const std::string first = beginning(path);
    return first.starts_with("model,checkpoint,phase,order,") ||
           first.starts_with("model,from,to,kind,layer");
  }
  if (name.ends_with(".vl.json")) {
    const Json spec = read_json_or_null(path);
    return spec.is_object() && spec.contains("$schema") &&
           spec["$schema"].dump().find(kVegaLite) != std::string::npos;
  }
  if (extension == ".json") {
    const Json json = read_json_or_null(path);
    return json.is_object() && json.contains("checkpoints");
  }
  if (extension == ".jsonl") return beginning(path).starts_with(R"({"begin":)");
  if (extension == ".html") return beginning(path).find(kPage) != std::string::npos;
  // A picture is recognised by its specification.
  fs::path specification = path;
  specification.replace_extension(".vl.json");
  return path_exists(specification) && looks_like_a_result(specification);
}

}  // namespace ropewalk
