#pragma once

#include "ropewalk/figures/figure.h"

namespace ropewalk {

struct SeriesStatistic;

// Energy by wavelength over training: a heat map each of queries and keys.
Json bands_figure(const RunNumbers& run, const FigureOptions& options);
bool has_bands(const RunNumbers& run);

// Predicted and actual logits against distance, mean over heads, at a few checkpoints.
Json distance_figure(const RunNumbers& run, const FigureOptions& options);
bool has_distances(const RunNumbers& run);

// The same of the heads that are asked for, one panel each, with all chosen checkpoints in it. The
// table must have curves of each (has_distances).
Json head_distance_figure(const RunTable& table, const RunNumbers& run,
                          const FigureOptions& options);
bool has_distances(const RunTable& table, const QueryHead& head);

// Whether a checkpoint has rows of the head.
bool has_head(const RunTable& table, const QueryHead& head);

// Curves that have a figure of their own (analysis/statistics/series.h), drawn over training, mean
// over heads, and below by position, at a few checkpoints.
std::vector<const SeriesStatistic*> position_figures();
Json position_figure(const SeriesStatistic& curve, const RunNumbers& run,
                     const FigureOptions& options);
bool has_numbers(const RunNumbers& run, const SeriesStatistic& curve);

// The loss over training, and below how positional queries and keys are.
Json loss_figure(const RunNumbers& run, const FigureOptions& options);
bool has_losses(const RunNumbers& run);

// The mean of a series over the most heads that share points; null: the checkpoint has none.
const SeriesNumbers* series_mean(const CheckpointNumbers& numbers, std::string_view key);

}  // namespace ropewalk
