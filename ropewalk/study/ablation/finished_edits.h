#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ropewalk/analysis/ablation/edit_effect.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/model/edit.h"

namespace ropewalk {

// An edit of a set of heads.
struct EditKey {
  std::string edit;  // the edit's name
  HeadSet heads;
  std::string numbers = {};  // edit_digest(); empty for the pass without an edit
};

// The losses of edits, in a folder with one file per edit, so that an interrupted ablation resumes
// after the last one. A file belongs to one identity (model and documents) and to an edit with the
// same numbers; other files are not found, and are replaced.
class FinishedEdits {
 public:
  FinishedEdits(std::filesystem::path folder, const Json& identity, int64_t documents,
                int64_t bins);

  // Empty where the file is missing or cannot be read.
  std::optional<EditSums> find(const EditKey& key) const;
  // Throws InputError where sums are not finite, and then writes nothing.
  void add(const EditKey& key, const EditSums& sums) const;

 private:
  std::filesystem::path path_of(const EditKey& key) const;

  std::filesystem::path folder_;
  std::string identity_;
  int64_t documents_;
  int64_t bins_;
};

// The key of the pass without an edit.
inline const EditKey kUnedited{"unedited", {}};

}  // namespace ropewalk
