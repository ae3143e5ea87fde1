#include "ropewalk/analysis/replicates/probes.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/checkpoint/safetensors.h"
#include "ropewalk/moments/collectors/probe_collector.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {
namespace {

at::Tensor values_of(const CaptureMoments& probes, const char* name, int64_t dimensions,
                     const std::string& source) {
  const auto found =
      std::find_if(probes.document_values.begin(), probes.document_values.end(),
                   [&](const DocumentValues& values) { return values.name == name; });
  if (found == probes.document_values.end() || found->values.dim() != dimensions) {
    throw InputError("{}: tensor 'document.{}' is missing or has not {} dimensions", source, name,
                     dimensions);
  }
  return found->values;
}

void require_shares(const at::Tensor& values, const char* name, const std::string& source) {
  constexpr double kMost = 1.001;  // they are sums of float32
  const at::Tensor fine = values.isnan().logical_or(values.ge(0).logical_and(values.le(kMost)));
  if (fine.all().item<bool>()) return;
  throw InputError("{}: tensor 'document.{}' holds numbers outside 0 to 1", source, name);
}

}  // namespace

ProbeSource::ProbeSource(const CaptureMoments& probes, int64_t blocks, const std::string& source)
    : blocks_(blocks),
      behind_(values_of(probes, kBehindName, 3, source)),
      before_(values_of(probes, kBeforeName, 3, source)) {
  const at::Tensor pieces = values_of(probes, kPieceName, 2, source);
  if (pieces.size(1) != 4 || before_.sizes() != behind_.sizes()) {
    throw InputError(
        "{}: tensors 'document.{}' and 'document.{}' have shapes {} and {}, expected "
        "equal ones, and 4 numbers in 'document.{}'",
        source, kBehindName, kBeforeName, format_shape(behind_.sizes().vec()),
        format_shape(before_.sizes().vec()), kPieceName);
  }
  require_shares(behind_, kBehindName, source);
  require_shares(before_, kBeforeName, source);
  for (int64_t i = 0; i < pieces.size(0); ++i) {
    const auto number = [&](int64_t j) {
      return static_cast<int64_t>(pieces[i][j].item<double>());
    };
    const CopiedPiece piece{number(0), number(1), number(2), number(3)};
    auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                             [&](const Kind& one) { return one.piece == piece; });
    if (kind == kinds_.end()) kind = kinds_.insert(kind, {piece, {}});
    kind->documents.push_back(i);
  }
}

at::Tensor ProbeSource::replicates(const at::Tensor& values, const Kind& kind, int64_t layer,
                                   int64_t q_head) const {
  const at::Tensor of_head =
      values.select(1, layer).select(1, q_head).index_select(0, at::tensor(kind.documents));
  const int64_t count = of_head.size(0);
  const at::Tensor sums = at::zeros({blocks_ + 1}, at::kDouble);
  const at::Tensor counts = at::zeros({blocks_ + 1}, at::kDouble);
  sums[0] = of_head.sum();
  counts[0] = count;
  for (int64_t block = 0; block < blocks_; ++block) {
    const at::Tensor own = of_head.slice(0, std::min(block, count), count, blocks_);
    sums[block + 1] = sums[0] - own.sum();
    counts[block + 1] = count - own.size(0);
  }
  return at::where(counts > 0, sums / counts, kUndefined);
}

std::shared_ptr<const ProbeReplicates> ProbeSource::of(int64_t layer, int64_t q_head) const {
  const at::Tensor none = at::full({blocks_ + 1}, kUndefined, at::kDouble);
  auto made = std::make_shared<ProbeReplicates>(ProbeReplicates{none, none, none, {}, {}});
  if (layer >= behind_.size(1) || q_head >= behind_.size(2)) return made;
  std::vector<at::Tensor> far;
  for (const Kind& kind : kinds_) {
    const at::Tensor behind = replicates(behind_, kind, layer, q_head);
    if (kind.piece.copies > 2) {
      made->prefix = behind;
    } else if (kind.piece.period == kind.piece.length) {
      made->induction = behind;
      made->previous = replicates(before_, kind, layer, q_head);
    } else {
      made->apart.push_back(static_cast<double>(kind.piece.period));
      far.push_back(behind);
    }
  }
  if (!far.empty()) made->far = at::stack(far, 1);
  return made;
}

std::shared_ptr<const ProbeReplicates> probe_replicates(const HeadReplicates& head) {
  return head.queries.input.part<ProbeReplicates>(kProbesName);
}

}  // namespace ropewalk
