#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ropewalk/analysis/ablation/edit_effect.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/model/edit.h"

namespace ropewalk {

// What was done to which heads.
struct EditKey {
  std::string edit;  // its name
  HeadSet heads;
  std::string numbers = {};  // edit_digest(); empty: the pass without an edit
};

// What edits of sets of heads cost, one file for each of them in a folder, so that who is
// interrupted goes on after the last one. A file is of one identity, of the same model and
// documents, and of an edit of the same numbers. Those of another are not found, and are replaced.
class FinishedEdits {
 public:
  FinishedEdits(std::filesystem::path folder, const Json& identity, int64_t documents,
                int64_t bins);

  // Nothing: it is not there, or cannot be read.
  std::optional<EditSums> find(const EditKey& key) const;
  // Throws InputError where sums are not finite: then nothing is written.
  void add(const EditKey& key, const EditSums& sums) const;

 private:
  std::filesystem::path path_of(const EditKey& key) const;

  std::filesystem::path folder_;
  std::string identity_;
  int64_t documents_;
  int64_t bins_;
};

// Of the pass without an edit.
inline const EditKey kUnedited{"unedited", {}};

}  // namespace ropewalk
