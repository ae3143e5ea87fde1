#include "ropewalk/study/capture/stage.h"

#include <algorithm>

#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/log.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// Empty where the file does not exist.
std::string digest_of(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) ? sha256_file(path) : std::string();
}

bool up_to_date(const fs::path& folder, const Json& record, const std::string& inputs) {
  if (!record.is_object() || record.value("inputs", Json()) != inputs) return false;
  const Json files = recorded_files(record);
  return !files.empty() &&
         std::all_of(files.items().begin(), files.items().end(), [&](const auto& file) {
           return file.value() == Json(digest_of(folder / file.key()));
         });
}

}  // namespace

Json recorded_files(const Json& record) {
  if (!record.is_object()) return Json::object();
  const Json files = record.value("files", Json::object());
  return files.is_object() ? files : Json::object();
}

std::vector<fs::path> files_of(const Json& record) {
  std::vector<fs::path> files;
  const Json recorded = recorded_files(record);
  for (const auto& [name, digest] : recorded.items()) files.emplace_back(name);
  return files;
}

void remove_made(const fs::path& folder, const Json& record, const Json& kept) {
  const Json made = recorded_files(record);
  for (const auto& [name, digest] : made.items()) {
    const fs::path path = folder / name;
    const bool inside = fs::path(name).is_relative() && name.find("..") == std::string::npos;
    if (kept.contains(name) || !inside || digest != Json(digest_of(path))) continue;
    std::error_code ignored;
    fs::remove(path, ignored);
  }
}

Json run_stage(const fs::path& folder, const Stage& stage, const Json& former) {
  const std::string inputs = sha256_hex(stage.inputs.dump());
  if (up_to_date(folder, former, inputs)) {
    log::info("{}: up to date", stage.name);
    return former;
  }
  Json files = Json::object();
  for (const fs::path& file : stage.make()) files[file.string()] = digest_of(folder / file);
  remove_made(folder, former, files);
  return {{"inputs", inputs}, {"files", files}};
}

}  // namespace ropewalk
