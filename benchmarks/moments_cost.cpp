// Times the forward pass of a checkpoint with and without accumulating moments, interleaved. Prints
// JSON; benchmarks/moments_cost.py runs it. Usage: moments_cost MODEL TOKENS REPEATS
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "ropewalk/base/json.h"
#include "ropewalk/base/log.h"
#include "ropewalk/model/device.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/moments/moments_collector.h"
#include "ropewalk/study/open_model.h"

namespace {

// Takes every layer and does nothing with it.
class Nothing : public ropewalk::Collector {
 public:
  bool wants(int64_t) const override { return true; }
  void collect(const ropewalk::QueryKey&) override {}
};

}  // namespace

int main(int argc, char** argv) {
  using namespace ropewalk;
  if (argc != 4) return 2;
  ModelOptions options;
  options.model = argv[1];
  options.context = std::atol(argv[2]);
  options.dtype = "float32";
  options.device = "cpu";
  use_exact_float32();
  const OpenModel model = open_model(options);
  const ModelConfig& config = model.text.config;
  const WeightReader weights(*model.checkpoint, *model.text.architecture, config, model.last_layer,
                             model.dtype, model.device);
  std::mt19937 random(1);
  Document document;
  for (int64_t i = 0; i < model.context; ++i) {
    document.tokens.push_back(
        static_cast<int32_t>(random() % static_cast<uint32_t>(config.vocabulary_size)));
  }
  ForwardOptions forward;
  forward.memory = model.memory;
  const auto seconds = [&](Collector& collector) {
    const auto start = std::chrono::steady_clock::now();
    run_forward(config, weights, model.last_layer, std::span(&document, 1), collector, forward);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Json without = Json::array();
  Json with = Json::array();
  for (int i = 0; i <= std::atoi(argv[3]); ++i) {
    Nothing nothing;
    MomentsCollector moments(config, model.heads, 16);
    // In turn, so that neither always follows the other.
    double full = i % 2 == 0 ? seconds(moments) : 0;
    const double plain = seconds(nothing);
    if (i % 2 == 1) full = seconds(moments);
    if (i == 0) continue;  // warm-up
    without.push_back(plain);
    with.push_back(full);
  }
  fmt::print("{}\n",
             Json{{"without", without}, {"with", with}, {"threads", at::get_num_threads()}}.dump());
}
