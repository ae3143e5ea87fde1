#pragma once

#include "ropewalk/figures/figure.h"

namespace ropewalk {

struct SeriesStatistic;

// Energy by wavelength over training: one heat map for queries and one for keys.
Json bands_figure(const RunNumbers& run, const FigureOptions& options);
bool has_bands(const RunNumbers& run);

// Predicted and actual logits against distance, mean over heads, at a few checkpoints.
Json distance_figure(const RunNumbers& run, const FigureOptions& options);
bool has_distances(const RunNumbers& run);

// Logits against distance for the requested heads: one panel per head, which shows all chosen
// checkpoints. The table must have curves of each head (has_distances).
Json head_distance_figure(const RunTable& table, const RunNumbers& run,
                          const FigureOptions& options);
bool has_distances(const RunTable& table, const QueryHead& head);

// Whether a checkpoint has rows of the head.
bool has_head(const RunTable& table, const QueryHead& head);

// Curves that have a figure of their own (analysis/statistics/series.h): the mean over heads over
// training, and below it by position, at a few checkpoints.
std::vector<const SeriesStatistic*> position_figures();
Json position_figure(const SeriesStatistic& curve, const RunNumbers& run,
                     const FigureOptions& options);
bool has_numbers(const RunNumbers& run, const SeriesStatistic& curve);

// The loss over training, and below it how much queries and keys depend on position.
Json loss_figure(const RunNumbers& run, const FigureOptions& options);
bool has_losses(const RunNumbers& run);

inline constexpr const char* kRolesFigure = "roles";

// Shares of heads with each role over training (analysis/table/roles.h).
Json roles_figure(const RunNumbers& run, const FigureOptions& options);
bool has_roles(const RunNumbers& run);

// The mean of a series over the largest group of heads with the same points; null: the checkpoint
// has none.
const SeriesNumbers* series_mean(const CheckpointNumbers& numbers, std::string_view key);

}  // namespace ropewalk
