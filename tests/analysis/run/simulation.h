#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk::simulation {

// A population of documents whose true numbers are known exactly. A head's vectors are (mean +
// slope · t) · u + offset · w + noise, with t the position scaled to mean 0 and variance 1; mean,
// slope and offset differ between documents (with standard deviations `offset_sd`, `slope_sd` and
// `offset_sd`), noise differs between tokens. u and w are the first two axes.
struct HeadLaw {
  double q_slope = 1;
  double k_slope = 1;
  double q_mean = 1;
  double k_mean = -0.5;
};

struct Population {
  std::vector<HeadLaw> heads;
  double slope_sd = 0.25;
  double offset_sd = 0.3;
  double noise = 1;          // standard deviation along each of `dimensions` axes
  double correlation = 0.5;  // correlation between heads of a document's effects
  int64_t tokens = 32;       // per document
  int64_t dimensions = 4;
};

// Heads with slopes spread from weak to strong, so that all classes and thresholds occur.
Population spread_population(int heads, double strength);

// The numbers of an infinite sample, by statistic and head.
using Truth = std::map<std::string, std::vector<double>>;
Truth truth(const Population& population);

// Studies of both populations on the same documents: they share the effects of documents, but not
// the noise of tokens.
std::pair<CheckpointTable, CheckpointTable> simulate(const Population& first,
                                                     const Population& second, int64_t documents,
                                                     std::mt19937_64& random);

// How often 95 % intervals contained the truth: `head_X` and `mean_X` for statistic X, the share of
// position-dominated heads (`class_fraction`), and the change of mean r_q and of one head's r_q
// (`paired_difference`, `paired_head`).
using Coverage = std::map<std::string, double>;
Coverage measure_coverage(const Population& first, const Population& second, int64_t documents,
                          int studies, uint64_t seed);

}  // namespace ropewalk::simulation
