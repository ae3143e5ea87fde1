// Times the forward pass of a checkpoint, seconds per document: GROUPS times four groups of SIZE
// documents, one without anything, one with their moments, one with all that a capture keeps, and
// one with that but rows of attention.
// Prints JSON.
// Usage: forward MODEL TOKENS GROUPS SIZE DEVICE DTYPE [MEMORY]
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "ropewalk/base/files/json.h"
#include "ropewalk/base/units.h"
#include "ropewalk/kernels/gpu/gpu.h"
#include "ropewalk/model/device.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/study/source/open_model.h"

namespace {

using namespace ropewalk;

constexpr int64_t kKinds = 4;

// Takes every layer; of one group of documents nothing, of the next moments, of the next all, of
// the next all but rows.
class AlternatingCollector : public Observer {
 public:
  AlternatingCollector(MomentsCollector& moments, MomentsCollector& all, MomentsCollector& rest,
                       int64_t group)
      : moments_(moments), all_(all), rest_(rest), group_(group) {}
  std::vector<Tap> taps(int64_t layer) const override { return all_.taps(layer); }
  void on_vectors(const TappedVectors& taken) override {
    const int64_t kind = taken.document->index / group_ % kKinds;
    if (kind == 1 && taken.point == std::string_view(kPostRope)) moments_.on_vectors(taken);
    if (kind == 2) all_.on_vectors(taken);
    if (kind == 3) rest_.on_vectors(taken);
  }
  int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const override {
    return all_.workspace(tokens, dtype, device);
  }

 private:
  MomentsCollector& moments_;
  MomentsCollector& all_;
  MomentsCollector& rest_;
  int64_t group_;
};

Document random_document(int64_t index, int64_t tokens, int64_t vocabulary, std::mt19937& random) {
  Document document;
  document.index = index;
  for (int64_t i = 0; i < tokens; ++i) {
    document.tokens.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(vocabulary)));
  }
  return document;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7 && argc != 8) return 2;
  ModelOptions options;
  options.model = argv[1];
  options.context = std::atol(argv[2]);
  options.device = argv[5];
  options.dtype = argv[6];
  if (argc == 8) options.memory = parse_bytes(argv[7], "MEMORY");
  const OpenModel model = open_model(options);
  const ModelConfig& config = model.text.config;
  const WeightReader weights = model.weights();
  // Groups to warm up with: the first also reads the weights.
  const int64_t size = std::atol(argv[4]);
  const int64_t warm_up = kKinds * size;
  const int64_t count = warm_up + kKinds * std::atol(argv[3]) * size;
  std::mt19937 random(1);
  std::vector<Document> documents;
  for (int64_t i = 0; i < count; ++i) {
    documents.push_back(random_document(i, model.context, config.vocabulary_size, random));
  }
  MomentsCollector moments(config, model.heads, {});
  MomentsCollector all(config, model.heads, {.keep = {.rows = {32}}, .context = model.context});
  MomentsCollector rest(config, model.heads, {.keep = {.rows = {}}, .context = model.context});
  AlternatingCollector collector(moments, all, rest, size);
  ForwardOptions forward;
  forward.memory = model.memory;
  forward.group = size;
  using Clock = std::chrono::steady_clock;
  auto last = Clock::now();
  Json seconds[kKinds] = {Json::array(), Json::array(), Json::array(), Json::array()};
  forward.after_group = [&](int64_t done) {
    if (model.device.is_cuda()) torch_stream(model.device).synchronize();
    const auto now = Clock::now();
    if (done > warm_up) {
      seconds[(done - 1) / size % kKinds].push_back(
          std::chrono::duration<double>(now - last).count() / static_cast<double>(size));
    }
    last = Clock::now();
  };
  Observer* const observers[] = {&collector};
  run_forward(config, weights, documents, observers, forward);
  Json result{{"without", seconds[0]},
              {"with", seconds[1]},
              {"with_all", seconds[2]},
              {"with_all_but_rows", seconds[3]},
              {"threads", at::get_num_threads()}};
  if (model.device.is_cuda()) {
    result["peak_gpu_bytes"] = peak_memory(model.device);
  }
  fmt::print("{}\n", result.dump());
}
