#pragma once

#include <filesystem>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/moments/capture_info.h"

namespace ropewalk {

// A finished capture in a results folder.
struct StoredCapture {
  std::filesystem::path folder;
  CaptureInfo info;
  bool in_use = false;  // stands for a checkpoint of the study
};

// The captures of a results folder, OUT/checkpoints/LABEL. Those that others took the place of, and
// that took more than a minute to measure, are in OUT/replaced/DATE/LABEL, and are not read again.
// A capture belongs to what was measured; its label is only its name. Nothing but captures is ever
// moved or removed.
class CaptureStore {
 public:
  explicit CaptureStore(std::filesystem::path out);

  std::filesystem::path folder_of(const std::string& label) const;
  // The capture in a label's folder, or null.
  StoredCapture* at(const std::string& label) { return find(folder_of(label)); }
  std::list<StoredCapture>& captures() { return captures_; }
  // Whether a label's folder holds a capture that cannot be read.
  bool damaged(const std::string& label) const { return damaged_.contains(folder_of(label)); }

  // Moves a capture into its label's folder, and gives its capture.json the names of `info` and its
  // words for the same config.
  void adopt(StoredCapture& capture, const CaptureInfo& info);
  // Clears a label's folder for another capture: what is there goes to OUT/replaced, with a line
  // that names it, where measuring it took longer than a minute, or nobody can tell; else it is
  // removed.
  void clear(const std::string& label);
  // Adds what was just written to a label's folder.
  const StoredCapture& add(const std::string& label);
  // Captures, and states of interrupted ones, that stand for no checkpoint and are in the folder of
  // none of these labels, also those that were replaced; and their removal.
  std::vector<std::filesystem::path> unused(const std::vector<std::string>& labels) const;
  void prune(const std::vector<std::string>& labels);

 private:
  void read();
  StoredCapture* find(const std::filesystem::path& folder);
  void forget(const std::filesystem::path& folder);

  std::filesystem::path out_;
  std::list<StoredCapture> captures_;  // references stay valid
  std::set<std::filesystem::path> damaged_;
};

// Takes a capture out of its folder: to OUT/replaced/DATE/LABEL where measuring it took longer than
// a minute, or nobody can tell, and says so; else it is removed. Throws as remove_capture does.
void discard_capture(const std::filesystem::path& out, const std::filesystem::path& folder);

// Whether a capture's moments and vectors are those that were written; where they are not, a
// warning says that the capture is not used.
bool is_complete(const StoredCapture& capture);

}  // namespace ropewalk
