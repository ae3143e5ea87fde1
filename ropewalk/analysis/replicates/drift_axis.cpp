#include "ropewalk/analysis/replicates/drift_axis.h"

#include <cmath>
#include <span>
#include <vector>

#include "ropewalk/analysis/math/jackknife.h"

namespace ropewalk {
namespace {

constexpr double kNoise = 2;  // standard errors

std::vector<double> numbers(const at::Tensor& row) {
  const at::Tensor own = row.contiguous();
  const double* data = own.const_data_ptr<double>();
  return {data, data + own.numel()};
}

}  // namespace

at::Tensor common_drift(const HeadReplicates& head) {
  return head.share_q().unsqueeze(1) * head.queries.drift() +
         head.share_k().unsqueeze(1) * head.keys.drift();
}

at::Tensor drift_axis(const HeadReplicates& head) {
  const at::Tensor drift = common_drift(head);
  const at::Tensor length = drift.norm(2, 1, true);
  return at::where(length > 0, drift / length, kUndefined);
}

bool no_drift(const HeadReplicates& head) {
  const at::Tensor drift = common_drift(head);
  const double length = drift[0].norm().item<double>();
  if (!(length > 0)) return true;
  if (head.blocks() < 2) return false;
  const at::Tensor tokens = head.queries.tokens + head.keys.tokens;
  const std::vector<double> sizes = numbers(tokens[0] - tokens.slice(0, 1));
  double noise = 0;
  const at::Tensor by_dimension = drift.t().contiguous();  // [d, cases]
  const double* row = by_dimension.const_data_ptr<double>();
  const auto cases = static_cast<size_t>(drift.size(0));
  for (int64_t i = 0; i < drift.size(1); ++i, row += cases) {
    noise += std::pow(jackknife_se(row[0], std::span(row + 1, cases - 1), sizes), 2);
  }
  return length < kNoise * std::sqrt(noise);
}

}  // namespace ropewalk
