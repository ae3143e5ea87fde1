// What logits take of a GPU: runs DOCUMENTS random documents through a checkpoint, to its loss or
// through its layers alone, and prints JSON: the most bytes that the GPU held at once, and those of
// the head's weights. (Of a CPU: nothing.)
// Usage: logits MODEL TOKENS DOCUMENTS DEVICE DTYPE loss|layers
#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <string_view>

#include "ropewalk/base/files/json.h"
#include "ropewalk/model/device.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/study/source/open_model.h"

int main(int argc, char** argv) {
  using namespace ropewalk;
  if (argc != 7) return 2;
  const bool loss = std::string_view(argv[6]) == "loss";
  ModelOptions options;
  options.model = argv[1];
  options.context = std::atol(argv[2]);
  options.device = argv[4];
  options.dtype = argv[5];
  options.head = true;
  const OpenModel model = open_model(options);
  const ModelConfig& config = model.text.config;
  const Extent extent = loss ? model.extent() : Extent{config.n_layers - 1, Needed::layer};
  const WeightReader weights(*model.checkpoint, *model.text.architecture, config, extent,
                             model.dtype, model.device);
  std::mt19937 random(1);
  std::vector<Document> documents(static_cast<size_t>(std::atol(argv[3])));
  for (size_t i = 0; i < documents.size(); ++i) {
    documents[i].index = static_cast<int64_t>(i);
    for (int64_t t = 0; t < model.context; ++t) {
      const auto words = static_cast<uint32_t>(config.vocabulary_size);
      documents[i].tokens.push_back(static_cast<int32_t>(random() % words));
    }
  }
  LossCollector collector(model.context);
  std::vector<Observer*> observers;
  if (loss) observers.push_back(&collector);
  ForwardOptions forward;
  forward.memory = model.memory;
  run_forward(config, weights, documents, observers, forward);
  Json result{{"head_bytes", loss ? weights.layer_bytes(extent.last_stage()) : 0},
              {"peak_gpu_bytes", nullptr}};
  if (model.device.is_cuda()) result["peak_gpu_bytes"] = peak_memory(model.device);
  fmt::print("{}\n", result.dump());
}
