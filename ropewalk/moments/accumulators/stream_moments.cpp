#include "ropewalk/moments/accumulators/stream_moments.h"

#include "ropewalk/base/error.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

// Throws where a document's moments are not finite, naming the value.
void require_finite(const Moments& document, const at::Tensor& vectors,
                    const std::vector<int64_t>& heads, const char* what,
                    const TappedVectors& taken) {
  const at::Tensor finite = document.products.isfinite().all(-1).logical_and(
      document.position.isfinite().all(-1));  // [streams]
  if (finite.all().item<bool>()) return;
  const int64_t bad = finite.logical_not().nonzero()[0].item<int64_t>();
  const at::Tensor values = vectors.select(0, bad).to(at::kFloat);
  const bool overflow = values.isfinite().all().item<bool>();
  throw InputError(
      "{} in layer {}, head {}, document {} {}", what, taken.layer, heads[static_cast<size_t>(bad)],
      taken.document->index,
      overflow
          ? fmt::format("reach {:.3g}, whose squares overflow float32",
                        values.abs().max().item<float>())
          : std::string("are not all finite: the checkpoint is damaged or overflows this dtype"));
}

}  // namespace

at::Tensor chosen_heads(const at::Tensor& vectors, const std::vector<int64_t>& heads) {
  const bool all = static_cast<int64_t>(heads.size()) == vectors.size(0);
  return all ? vectors : vectors.index_select(0, at::tensor(heads, at::kLong));
}

Moments stream_moments(const at::Tensor& vectors, const std::vector<int64_t>& heads,
                       const char* what, const TappedVectors& taken, const Positions& positions) {
  Moments document = document_moments(vectors, positions);
  require_finite(document, vectors, heads, what, taken);
  return document;
}

}  // namespace ropewalk
