#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

// What one accumulator kept for the streams of one kind, by the names of its fields. Views of a
// capture.
class KeptFields {
 public:
  // Returns nothing where the capture does not have the accumulator.
  static std::optional<KeptFields> find(const CaptureMoments& moments,
                                        const Accumulator& accumulator, StreamKind kind);

  // False: the file only has numbers of all documents together.
  bool has_blocks() const { return !kept_->blocks.empty(); }
  const at::Tensor& total(const std::string& field) const;   // [streams, width]
  const at::Tensor& blocks(const std::string& field) const;  // [streams, blocks, width]

 private:
  KeptFields(const AccumulatedFields& kept, std::vector<KeptField> fields, StreamKind kind)
      : kept_(&kept), fields_(std::move(fields)), kind_(kind) {}
  size_t index_of(const std::string& field) const;

  const AccumulatedFields* kept_;
  std::vector<KeptField> fields_;
  StreamKind kind_;
};

}  // namespace ropewalk
