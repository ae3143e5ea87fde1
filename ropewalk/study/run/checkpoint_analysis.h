#pragma once

#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>

#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/study/run/manifest.h"

namespace ropewalk {

class Analyses;

// A capture whose bytes are not those that were written.
class DamagedCapture : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A whole capture that cannot be analysed.
class AnalysisFailure : public InputError {
 public:
  AnalysisFailure(std::string label, const InputError& why, const std::filesystem::path& folder)
      : InputError("'{}' cannot be analysed: {}; {} is left as it is", label, why.what(),
                   folder.string()),
        label_(std::move(label)) {}
  const std::string& label() const { return label_; }

 private:
  std::string label_;
};

// The rows of a checkpoint that was measured, with its names, order and time in the study. A
// capture whose bytes are wrong is discarded, its label joins `again`, and DamagedCapture is
// thrown; where the label was in `again` already, InputError. Throws AnalysisFailure where a
// complete capture cannot be analysed, and SystemError where a damaged one cannot be removed.
CheckpointTable analyze_checkpoint(const Study& study, const MeasuredCheckpoint& measured,
                                   Analyses& analyses, std::set<std::string>& again);

}  // namespace ropewalk
