// Llama 3.2 Vision, text part: Llama whose cross-attention layers do nothing for text without
// images.
#include "ropewalk/base/error.h"
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::mllama_family {

ModelConfig configure(const JsonReader& config) {
  constexpr int64_t kImageTokens = 8;  // extra rows of the embedding table
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  ModelConfig model = read_common(config, defaults);
  model.embedding_rows = model.vocabulary_size + kImageTokens;
  model.ropes = {read_rope(config, rope_traits(model))};
  std::vector<int64_t> cross{3, 8, 13, 18, 23, 28, 33, 38};
  if (config.has("cross_attention_layers")) cross = config.integers("cross_attention_layers");
  for (const int64_t layer : cross) {
    if (layer < 0 || layer >= model.n_layers) {
      if (!config.has("cross_attention_layers")) continue;
      throw InputError("{}: key 'cross_attention_layers' names layer {} of {}", config.source(),
                       layer, model.n_layers);
    }
    model.layers[static_cast<size_t>(layer)].self_attention = false;
  }
  return model;
}

}  // namespace ropewalk::mllama_family

ROPEWALK_FAMILY(mllama, {"mllama_text_model", configure, pre_norm_tensors})
