// How often 95 % intervals contain the truth, over simulated studies. Prints JSON;
// benchmarks/coverage.py runs it and records machine and versions.
#include <fmt/format.h>

#include <cstdlib>

#include "ropewalk/base/files/json.h"
#include "tests/analysis/run/simulation.h"

int main(int argc, char** argv) {
  using namespace ropewalk;
  using namespace ropewalk::simulation;
  const int studies = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int heads = argc > 2 ? std::atoi(argv[2]) : 24;
  Json rows = Json::array();
  const auto measure = [&](const char* name, Population first, Population second,
                           double correlation) {
    first.correlation = second.correlation = correlation;
    for (const int64_t documents : {8, 16, 40}) {
      Json row = {{"population", name},
                  {"documents", documents},
                  {"correlation_between_heads", correlation}};
      for (const auto& [key, value] : measure_coverage(first, second, documents, studies, 1)) {
        row[key] = value;
      }
      rows.push_back(std::move(row));
    }
  };
  const Population first = spread_population(heads, 1.0);
  const Population second = spread_population(heads, 1.1);
  measure("main", first, second, 0.0);
  measure("main", first, second, 0.5);
  // Documents that differ far more than their tokens' noise would suggest: where the method's
  // limits show.
  Population hard_first = first;
  Population hard_second = second;
  hard_first.slope_sd = hard_second.slope_sd = 0.6;
  measure("hard", hard_first, hard_second, 0.5);
  fmt::print("{}\n", Json{{"studies", studies}, {"heads", heads}, {"coverage", rows}}.dump(2));
}
