#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "ropewalk/analysis/head_table.h"

namespace ropewalk::simulation {

// A population of documents whose r_q, r_k and explained variance are known exactly. A head's
// vectors are slope · t · u + offset · w + noise, with t the position scaled to mean 0; slope and
// offset differ from document to document (slope with mean `slope` and standard deviation
// `slope_sd`), noise from token to token. u and w are the first two axes.
struct HeadLaw {
  double q_slope = 1;
  double k_slope = 1;
};

struct Population {
  std::vector<HeadLaw> heads;
  double slope_sd = 0.25;
  double offset_sd = 0.3;
  double noise = 1;          // standard deviation along each of `dimensions` axes
  double correlation = 0.5;  // of a document's effects between heads
  int64_t tokens = 32;       // a document
  int64_t dimensions = 4;
};

// Heads with slopes spread from weak to strong, so that all classes and thresholds occur.
Population spread_population(int heads, double strength);

// What an infinite sample would give.
struct Truth {
  std::vector<double> r_q;  // by head
  std::vector<double> r_k;
};
Truth truth(const Population& population);

// A study of both populations on the same documents: their effects are shared, their tokens' noise
// is not.
std::pair<CheckpointAnalysis, CheckpointAnalysis> simulate(const Population& first,
                                                           const Population& second,
                                                           int64_t documents,
                                                           std::mt19937_64& random);

// How often 95 % intervals contained the truth.
struct Coverage {
  double head_r_q = 0;
  double head_r_k = 0;
  double mean_r_q = 0;
  double mean_r_k = 0;
  double class_fraction = 0;     // position-dominated
  double paired_difference = 0;  // of mean r_q
  double paired_head = 0;        // of one head's r_q
};
Coverage measure_coverage(const Population& first, const Population& second, int64_t documents,
                          int studies, uint64_t seed);

}  // namespace ropewalk::simulation
