#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "ropewalk/kernels/rows/query_rows.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {

// Rows of random queries and keys, in a layer of some kind.
struct MadeRows {
  const char* name;
  int64_t tokens = 150;
  std::vector<int64_t> kv{0, 0, 1, 1};
  std::optional<int64_t> window = {};
  std::optional<double> cap = {};
  bool slopes = false, sinks = false, turns = true, interleaved = false;
  int64_t pairs = 4;  // of 5
  bool every = true;  // rows
  int64_t d = 10;
};

// One of each kind of layer.
inline std::vector<MadeRows> kinds_of_layers() {
  return {
      {.name = "rope"},
      {.name = "few heads", .kv = {0, 1, 1}, .interleaved = true, .pairs = 5},
      {.name = "second KV head alone", .kv = {1, 1}, .every = false},
      {.name = "window", .window = 40, .pairs = 3},
      {.name = "short window", .window = 3, .every = false},
      {.name = "cap", .cap = 1.5, .sinks = true},
      {.name = "alibi", .slopes = true, .turns = false},
      {.name = "both", .tokens = 300, .slopes = true, .every = false},
      {.name = "far", .tokens = 700, .kv = {0, 1}, .every = false},
      {.name = "none", .sinks = true, .turns = false, .every = false},
      {.name = "short", .tokens = 5},
  };
}

inline std::vector<double> rope_angles(int64_t pairs) {
  std::vector<double> found;
  for (int64_t f = 0; f < pairs; ++f) found.push_back(std::pow(50.0, -static_cast<double>(f) / 4));
  return found;
}

inline QueryRows make_rows(const MadeRows& of) {
  QueryRows rows;
  for (int64_t t = kFirstLateKey; t < of.tokens; t += of.every ? 1 : 37) rows.t.push_back(t);
  const auto heads = static_cast<int64_t>(of.kv.size());
  const at::Tensor q = random_tensor({heads, of.tokens, of.d}, 1) * 2;
  rows.q = q.index_select(1, at::tensor(rows.t, at::kLong));
  rows.k = random_tensor({2, of.tokens, of.d}, 2);
  rows.kv = of.kv;
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < of.tokens; ++i) tokens.push_back(static_cast<int32_t>(i * i % 17));
  rows.tokens = at::tensor(tokens, at::kInt);
  rows.scores = {.scale = 0.4, .window = of.window, .cap = of.cap};
  if (of.slopes) rows.scores.slopes = alibi_slopes(heads);
  if (of.sinks) rows.scores.sinks = random_tensor({heads}, 3);
  if (of.turns) {
    const at::Tensor turns = at::arange(of.tokens, at::kDouble).unsqueeze(1) *
                             at::tensor(rope_angles(of.pairs), at::kDouble);
    rows.cos = (turns.cos() * 1.25).to(at::kFloat);  // as YaRN's attention factor
    rows.sin = (turns.sin() * 1.25).to(at::kFloat);
  }
  rows.interleaved = of.interleaved;
  rows.seed = 77;
  return rows;
}

}  // namespace ropewalk
