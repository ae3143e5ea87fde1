#pragma once

#include "ropewalk/model/config/config.h"

namespace ropewalk {

// Four query and two KV heads per layer.
inline ModelConfig small_config(int64_t layers, int64_t d_head) {
  ModelConfig config;
  config.n_layers = layers;
  config.n_q_heads = 4;
  config.n_kv_heads = 2;
  config.d_head = d_head;
  config.layers.resize(static_cast<size_t>(layers));
  return config;
}

}  // namespace ropewalk
