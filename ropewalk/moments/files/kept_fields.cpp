#include "ropewalk/moments/files/kept_fields.h"

#include <algorithm>
#include <stdexcept>

namespace ropewalk {

std::optional<KeptFields> KeptFields::find(const CaptureMoments& moments,
                                           const Accumulator& accumulator, StreamKind kind) {
  const auto kept = std::find_if(
      moments.accumulated.begin(), moments.accumulated.end(),
      [&](const AccumulatedFields& candidate) { return candidate.accumulator == &accumulator; });
  if (kept == moments.accumulated.end()) return std::nullopt;
  const CaptureShape shape = shape_of(moments.info, moments.documents, moments.streams(kind).d());
  return KeptFields(*kept, accumulator.fields(shape), kind);
}

size_t KeptFields::index_of(const std::string& field) const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].kind == kind_ && fields_[i].name == field) return i;
  }
  throw std::logic_error("no field '" + field + "' is kept");
}

const at::Tensor& KeptFields::total(const std::string& field) const {
  return kept_->total[index_of(field)];
}

const at::Tensor& KeptFields::blocks(const std::string& field) const {
  return kept_->blocks[index_of(field)];
}

}  // namespace ropewalk
