#include "ropewalk/study/forecast/setting_losses.h"

#include <fmt/format.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/study/ablation/captured_documents.h"
#include "ropewalk/study/ablation/edited_loss.h"

namespace ropewalk {

OpenModel model_under(const OpenModel& model, const RopeSpec& spec, const RopeLengths& lengths) {
  OpenModel varied = model;
  ModelConfig& config = varied.text.config;
  const std::set<int64_t> changed = varied_ropes(ModelDescription(describe_config(config)));
  for (const int64_t index : changed) {
    RopeSettings& own = config.ropes[static_cast<size_t>(index)];
    const std::optional<RopeSettings> rope = vary_rope(own, spec, lengths);
    if (rope) {
      own = *rope;
      continue;
    }
    for (LayerConfig& layer : config.layers) {
      if (layer.rope_index == index) layer.rope = false;
    }
  }
  return varied;
}

ForecastLosses measure_setting_losses(const OpenModel& model, const DocumentSet& documents,
                                      const std::vector<RopeSpec>& specs,
                                      const RopeLengths& lengths) {
  ForecastLosses losses;
  losses.records = make_records(documents.documents);
  losses.documents = loss_documents(documents);
  std::vector<OpenModel> models;  // a setting that is impossible is refused before any pass
  for (const RopeSpec& spec : specs) models.push_back(model_under(model, spec, lengths));
  for (size_t i = 0; i < specs.size(); ++i) {
    const WeightReader weights = models[i].weights();
    const std::string title = fmt::format("{} of {}: {}", i + 1, specs.size(), specs[i].text);
    try {
      losses.sums.push_back(
          measure_unedited({models[i], weights, documents.documents, title}, false).loss);
    } catch (const InputError& error) {
      throw InputError("--rope '{}': {}", specs[i].text, error.what());
    }
    const SettingLoss all = setting_loss(losses, i, {0, model.context - 1});
    log::info("{}: {:.4f} nats per token", specs[i].text, all.loss);
  }
  return losses;
}

}  // namespace ropewalk
