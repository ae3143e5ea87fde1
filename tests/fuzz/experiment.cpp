#include "ropewalk/study/experiment/experiment.h"

#include "tests/fuzz/target.h"

void ropewalk::fuzz::read(const Input& input) {
  const Experiment experiment = read_experiment(input.path);
  require(!experiment.phases.empty(), "there is a phase");
  for (const Phase& phase : experiment.phases) {
    require(phase.config.dump().size() <= 64 * input.bytes.size(), "settings stay their size");
  }
}
