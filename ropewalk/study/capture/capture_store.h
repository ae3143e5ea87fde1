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
  bool in_use = false;  // belongs to a checkpoint of the study
};

// The captures of a results folder, OUT/checkpoints/LABEL, or those in another folder of it.
// Captures that were replaced and took more than a minute to measure are in
// OUT/replaced/DATE/LABEL, and are not read again. A capture is identified by what was measured;
// its label is only its name. Only captures are ever moved or removed.
class CaptureStore {
 public:
  explicit CaptureStore(std::filesystem::path out, std::string folder = "checkpoints");

  std::filesystem::path folder_of(const std::string& label) const;
  // The capture in a label's folder, or null.
  StoredCapture* at(const std::string& label) { return find(folder_of(label)); }
  std::list<StoredCapture>& captures() { return captures_; }
  // Whether a label's folder holds a capture that cannot be read.
  bool damaged(const std::string& label) const { return damaged_.contains(folder_of(label)); }

  // Moves a capture into its label's folder, and updates its capture.json with the names in `info`
  // and its wording of the same config.
  void adopt(StoredCapture& capture, const CaptureInfo& info);
  // Makes room in a label's folder for another capture. The old one is moved to OUT/replaced, with
  // a line in the log, where measuring it took longer than a minute or an unknown time; else it is
  // removed.
  void clear(const std::string& label);
  // Adds the capture that was just written to a label's folder.
  const StoredCapture& add(const std::string& label);
  // Captures, and states of interrupted ones, that belong to no checkpoint and are not in the
  // folder of one of these labels, including replaced ones; and the function that removes them.
  std::vector<std::filesystem::path> unused(const std::vector<std::string>& labels) const;
  void prune(const std::vector<std::string>& labels);

 private:
  void read();
  StoredCapture* find(const std::filesystem::path& folder);
  void forget(const std::filesystem::path& folder);

  std::filesystem::path out_;
  std::string inside_;                 // its folder in the results folder
  std::list<StoredCapture> captures_;  // a list, so that references stay valid
  std::set<std::filesystem::path> damaged_;
};

// Removes a capture from its folder: it is moved to OUT/replaced/DATE/LABEL, with a line in the
// log, where measuring it took longer than a minute or an unknown time; else it is deleted. Throws
// like remove_capture().
void discard_capture(const std::filesystem::path& out, const std::filesystem::path& folder);

// Whether a capture's moments and vectors are as they were written. Where they are not, a warning
// says that the capture is not used.
bool is_complete(const StoredCapture& capture);

}  // namespace ropewalk
