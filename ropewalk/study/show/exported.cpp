#include "ropewalk/study/show/exported.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

// The number of layers that a capture leaves out by default.
int64_t unmeasured_sliding_layers(const ExportSource& source,
                                  const std::map<int64_t, int64_t>& measured) {
  const CaptureInfo& info = source.moments.info;
  return std::count_if(info.config.sliding_windows.begin(), info.config.sliding_windows.end(),
                       [&](const auto& window) {
                         return window.second < info.context && !measured.contains(window.first);
                       });
}

}  // namespace

void require_all_heads(const ExportSource& source, const std::string& program) {
  const std::vector<int64_t>& skipped = source.moments.info.config.skipped_layers;
  if (!skipped.empty()) {
    throw InputError("{}: layers {} have no self-attention; {} cannot describe such a model",
                     source.name, list_layers(skipped), program);
  }
  const std::vector<StreamId>& found = source.moments.queries;
  std::map<int64_t, int64_t> measured;  // number of measured heads per layer
  StreamId next{0, 0};  // the first missing head, if the ones before it are in order
  for (const StreamId& id : found) {
    if (id.layer >= source.layers() || id.head >= source.q_heads()) {
      throw InputError(
          "{}: tensors 'query.layer' and 'query.head' contain layer {} head {}, but the model has "
          "{} layers and {} query heads",
          source.name, id.layer, id.head, source.layers(), source.q_heads());
    }
    ++measured[id.layer];
    if (id != next) continue;
    if (++next.head == source.q_heads()) next = {next.layer + 1, 0};
  }
  const auto count = static_cast<int64_t>(found.size());
  const int64_t all = source.layers() * source.q_heads();
  if (count == all) return;
  const int64_t sliding = unmeasured_sliding_layers(source, measured);
  const bool sampled = all - count > sliding * source.q_heads();
  throw InputError(
      "{}: has {} of the model's {} query heads, but {} needs all; the first missing one is head "
      "{} of layer {}; capture again {}{}{}",
      source.name, count, all, program, next.head, next.layer, sliding > 0 ? "with --sliding" : "",
      sliding > 0 && sampled ? " and " : "", sampled ? "without --heads" : "");
}

double relative_error(const at::Tensor& whole, const at::Tensor& replicates,
                      std::span<const double> sizes) {
  const at::Tensor columns = replicates.t().contiguous();  // [d, blocks]
  const at::Tensor estimate = whole.contiguous();
  const double* values = estimate.const_data_ptr<double>();
  double errors = 0;
  double squares = 0;
  for (int64_t j = 0; j < estimate.numel(); ++j) {
    const double* column = columns.const_data_ptr<double>() + j * columns.size(1);
    const double se = jackknife_se(values[j], {column, sizes.size()}, sizes);
    errors += se * se;
    squares += values[j] * values[j];
  }
  return squares > 0 ? std::sqrt(errors / squares) : std::numeric_limits<double>::quiet_NaN();
}

Json by_layer(std::span<const double> values, int64_t layers) {
  Json rows = Json::array();
  const size_t heads = values.size() / static_cast<size_t>(layers);
  for (; !values.empty(); values = values.subspan(heads)) {
    const auto some = values.first(heads);
    rows.push_back(std::vector<double>(some.begin(), some.end()));
  }
  return rows;
}

std::string list_layers(const std::vector<int64_t>& layers) {
  return printable_excerpt(fmt::format("{}", fmt::join(layers, ", ")), 200);
}

}  // namespace ropewalk
