#include "ropewalk/study/ablation/finished_edits.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/ablation/head_units.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/log.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr size_t kDigest = 16;  // letters of a file's name

Json rows_of(const at::Tensor& sums) {
  Json rows = Json::array();
  if (!sums.defined()) return rows;
  const at::Tensor own = sums.contiguous();
  const double* data = own.const_data_ptr<double>();
  for (int64_t i = 0; i < own.size(0); ++i, data += own.size(1)) {
    rows.push_back(std::vector<double>(data, data + own.size(1)));
  }
  return rows;
}

// Throws InputError where the file does not hold what add() writes.
at::Tensor tensor_of(const Json& file, const char* key, int64_t documents, int64_t bins) {
  const Json rows = file.value(key, Json());
  std::vector<double> numbers;
  bool fits = rows.is_array() && static_cast<int64_t>(rows.size()) == documents;
  for (const Json& row : fits ? rows : Json::array()) {
    fits = fits && row.is_array() && static_cast<int64_t>(row.size()) == bins;
    for (const Json& number : fits ? row : Json::array()) {
      fits = fits && number.is_number();
      if (fits) numbers.push_back(number.get<double>());
    }
  }
  if (!fits) throw InputError("key '{}': expected {} rows of {} numbers", key, documents, bins);
  return at::tensor(numbers, at::kDouble).reshape({documents, bins});
}

}  // namespace

FinishedEdits::FinishedEdits(fs::path folder, const Json& identity, int64_t documents, int64_t bins)
    : folder_(std::move(folder)),
      identity_(sha256_hex(identity.dump())),
      documents_(documents),
      bins_(bins) {}

fs::path FinishedEdits::path_of(const EditKey& key) const {
  std::string name = key.edit;
  std::replace(name.begin(), name.end(), ':', '-');
  return folder_ / (name + "-" + sha256_hex(list_heads(key.heads)).substr(0, kDigest) + ".json");
}

std::optional<EditSums> FinishedEdits::find(const EditKey& key) const {
  const fs::path path = path_of(key);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  try {
    const Json file = read_json_file(path);
    if (!file.is_object() || file.value("identity", Json()) != identity_) return std::nullopt;
    if (file.value("numbers", Json()) != key.numbers) return std::nullopt;
    if (file.value("edit", Json()) != key.edit ||
        file.value("heads", Json()) != list_heads(key.heads)) {
      throw InputError("belongs to another edit than its name says");
    }
    EditSums sums{tensor_of(file, "loss", documents_, bins_), {}};
    if (!key.numbers.empty()) sums.kl = tensor_of(file, "kl", documents_, bins_);
    return sums;
  } catch (const InputError& damaged) {
    log::warning("{}: is damaged; its edit is measured again: {}", path.string(), damaged.what());
  }
  return std::nullopt;
}

void FinishedEdits::add(const EditKey& key, const EditSums& sums) const {
  for (const at::Tensor& one : {sums.loss, sums.kl}) {
    if (!one.defined() || one.isfinite().all().item<bool>()) continue;
    throw InputError("the loss under the edit '{}' of heads {} is not finite", key.edit,
                     list_heads(key.heads));
  }
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw SystemError("{}: cannot create folder: {}", folder_.string(), error.message());
  Json file{{"identity", identity_},
            {"edit", key.edit},
            {"heads", list_heads(key.heads)},
            {"numbers", key.numbers},
            {"loss", rows_of(sums.loss)}};
  if (sums.kl.defined()) file["kl"] = rows_of(sums.kl);
  write_file_atomically(path_of(key), file.dump() + "\n");
}

}  // namespace ropewalk
