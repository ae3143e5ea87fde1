#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ropewalk/analysis/ablation/edit_effect.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/model/edit.h"

namespace ropewalk {

// What edits of sets of heads cost, one file for each of them in a folder, so that who is
// interrupted goes on after the last one. A file is of one identity: the same capture, model and
// documents. Those of another are not found, and are replaced.
class FinishedEdits {
 public:
  FinishedEdits(std::filesystem::path folder, const Json& identity, int64_t documents,
                int64_t bins);

  // Nothing: it is not there, or cannot be read.
  std::optional<EditSums> find(const std::string& edit, const HeadSet& heads) const;
  // Throws InputError where sums are not finite: then nothing is written.
  void add(const std::string& edit, const HeadSet& heads, const EditSums& sums) const;

 private:
  std::filesystem::path path_of(const std::string& edit, const HeadSet& heads) const;

  std::filesystem::path folder_;
  std::string identity_;
  int64_t documents_;
  int64_t bins_;
};

// The edit that changes nothing, of no heads: the unedited pass.
inline constexpr const char* kUnedited = "unedited";

}  // namespace ropewalk
