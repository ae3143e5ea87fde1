#include "ropewalk/figures/parts/depth_columns.h"

#include <fmt/format.h>

#include <algorithm>

namespace ropewalk {
namespace {

bool same_layers(const RunNumbers& run) {
  const int64_t last = run.checkpoints.front().last_layer;
  const auto same = [&](const CheckpointNumbers& numbers) { return numbers.last_layer == last; };
  return std::all_of(run.checkpoints.begin(), run.checkpoints.end(), same) &&
         std::all_of(run.baselines.begin(), run.baselines.end(), same);
}

// The layers in a tenth of the depth; for 36 layers 0–3, 4–7, …
std::string layers_of_bin(int bin, int64_t last_layer) {
  int64_t first = -1, last = -1;
  for (int64_t layer = 0; layer <= last_layer; ++layer) {
    if (depth_bin(layer, last_layer) != bin) continue;
    if (first < 0) first = layer;
    last = layer;
  }
  if (first < 0) return "–";
  return first == last ? fmt::format("{}", first) : fmt::format("{}–{}", first, last);
}

}  // namespace

std::vector<DepthColumn> depth_columns(const RunNumbers& run) {
  std::vector<DepthColumn> columns;
  const int64_t last = run.checkpoints.front().last_layer;
  if (same_layers(run) && last + 1 < kDepthBins) {
    // Each layer is in a tenth of its own.
    for (int64_t layer = 0; layer <= last; ++layer) {
      columns.push_back({depth_bin(layer, last), layer});
    }
    return columns;
  }
  for (int bin = 0; bin < kDepthBins; ++bin) columns.push_back({bin, std::nullopt});
  return columns;
}

Json column_labels(const RunNumbers& run, const std::vector<DepthColumn>& columns) {
  const CheckpointNumbers& first = run.checkpoints.front();
  const bool same_heads = std::all_of(
      run.checkpoints.begin(), run.checkpoints.end(),
      [&](const CheckpointNumbers& numbers) { return numbers.depth_heads == first.depth_heads; });
  Json labels = Json::array();
  for (const DepthColumn& column : columns) {
    Json lines = Json::array();
    if (!column.layer) {
      lines.push_back(fmt::format("{:.1f}–{:.1f}", column.bin / 10.0, (column.bin + 1) / 10.0));
    }
    if (same_layers(run)) lines.push_back("L " + layers_of_bin(column.bin, first.last_layer));
    if (same_heads) {
      lines.push_back(fmt::format("n = {}", first.depth_heads[static_cast<size_t>(column.bin)]));
    }
    labels.push_back(lines);
  }
  return labels;
}

}  // namespace ropewalk
