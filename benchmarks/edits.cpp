// Times what edits cost, in seconds of processor time: SETS sets of a tenth of the heads, of which
// all but the first are random ones matched to it by layer, times three edits. Prints JSON: seconds
// of one unedited pass before and after, of all edits, and how many passes they were planned as.
// Usage: edits MODEL TOKENS DOCUMENTS SETS FIRST_LAYER (heads are taken from there on)
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <random>

#include "ropewalk/base/files/json.h"
#include "ropewalk/study/ablation/edited_loss.h"

namespace {

using namespace ropewalk;

std::vector<Document> random_documents(int64_t count, int64_t tokens, int64_t vocabulary) {
  std::mt19937 random(1);
  std::vector<Document> documents(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    Document& document = documents[static_cast<size_t>(i)];
    document.index = i;
    for (int64_t t = 0; t < tokens; ++t) {
      document.tokens.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(vocabulary)));
    }
  }
  return documents;
}

// As many heads of each layer as `like` has, others than those.
HeadSet control(const HeadSet& like, const ModelConfig& config, std::mt19937& random) {
  HeadSet set;
  for (const auto& [layer, heads] : like) {
    std::vector<int64_t> others;
    for (int64_t head = 0; head < config.n_q_heads; ++head) {
      if (std::find(heads.begin(), heads.end(), head) == heads.end()) others.push_back(head);
    }
    std::shuffle(others.begin(), others.end(), random);
    others.resize(std::min(others.size(), heads.size()));
    std::sort(others.begin(), others.end());
    set[layer] = others;
  }
  return set;
}

std::vector<HeadSet> sets_of_heads(const ModelConfig& config, int64_t first_layer, int64_t count) {
  std::mt19937 random(2);
  std::vector<LayerHead> all;
  for (int64_t layer = first_layer; layer < config.n_layers; ++layer) {
    for (int64_t head = 0; head < config.n_q_heads; ++head) all.push_back({layer, head});
  }
  std::shuffle(all.begin(), all.end(), random);
  all.resize(static_cast<size_t>(config.n_layers * config.n_q_heads / 10));
  std::sort(all.begin(), all.end());
  HeadSet chosen;
  for (const LayerHead& one : all) chosen[one.layer].push_back(one.head);
  std::vector<HeadSet> sets{chosen};
  while (static_cast<int64_t>(sets.size()) < count) sets.push_back(control(chosen, config, random));
  return sets;
}

Edit distance(const HeadSet& heads, int64_t tokens) {
  DistanceBias bias;
  for (const auto& [layer, chosen] : heads) {
    for (const int64_t head : chosen) {
      bias.logits[{layer, head}] = at::cos(0.01 * at::arange(tokens, at::kDouble));
    }
  }
  return {"distance", heads, ScoreEdit(bias)};
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Work>
double timed(const Work& work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  ModelOptions options;
  options.model = argv[1];
  options.context = std::atol(argv[2]);
  options.dtype = "float32";
  options.device = "cpu";
  options.head = true;
  const OpenModel model = open_model(options);
  const ModelConfig& config = model.text.config;
  const WeightReader weights = model.weights();
  const auto documents =
      random_documents(std::atol(argv[3]), model.context, config.vocabulary_size);
  const LossPass pass{model, weights, documents};
  const LossPass warm_up{model, weights, std::span(documents).first(1)};
  measure_unedited(warm_up, false);
  std::shared_ptr<const HeadOutputs> outputs;
  const double before = timed([&] { measure_unedited(pass, false); });
  const double with_outputs = timed([&] { outputs = measure_unedited(pass, true).outputs; });
  std::vector<Edit> edits;
  for (const HeadSet& heads : sets_of_heads(config, std::atol(argv[5]), std::atol(argv[4]))) {
    edits.push_back(distance(heads, model.context));
    edits.push_back({"window", heads, ScoreEdit(Window{64})});
    edits.push_back({"head", heads, OutputEdit{outputs}});
  }
  const double all = timed([&] { measure_edits(pass, edits, [](size_t, const EditedLoss&) {}); });
  const double after = timed([&] { measure_unedited(pass, false); });
  fmt::print("{}\n", Json{{"before", before},
                          {"with_outputs", with_outputs},
                          {"after", after},
                          {"edits", edits.size()},
                          {"all", all},
                          {"planned_passes", plan_edits(pass, edits).passes}}
                         .dump());
}
