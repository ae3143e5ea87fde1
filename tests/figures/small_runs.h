#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/analysis/table/qk_reader.h"

namespace ropewalk {

// `count` checkpoints of two heads.
inline RunNumbers small_run(int count, bool variance = true) {
  std::string text = "checkpoint,phase,layer,q_head,rope,pc,explained_variance,r_q,r_k\n";
  for (int i = 0; i < count; ++i) {
    const std::string start = "c" + std::to_string(i) + (i < 2 ? ",P," : ",Q,");
    text += start + "0,0,1,0," + (variance ? "0.5" : "") + ",0.9,0.8\n";
    text += start + "5,1,0,0," + (variance ? "0.3" : "") + ",0.2,-0.1\n";
  }
  return run_numbers(parse_qk_table(text, "qk.csv"));
}

// One checkpoint: these numbers of PC0's r_q and r_k, one head per layer.
inline RunNumbers small_run_of_layers(const std::vector<std::pair<double, double>>& numbers) {
  std::string text = "checkpoint,layer,q_head,pc,r_q,r_k\n";
  for (size_t i = 0; i < numbers.size(); ++i) {
    text += fmt::format("c,{},0,0,{},{}\n", i, numbers[i].first, numbers[i].second);
  }
  return run_numbers(parse_qk_table(text, "qk.csv"));
}

inline const Json& layer_of(const Json& spec, const std::string& name) {
  for (const Json& one : spec["layer"]) {
    if (one.value("name", "") == name) return one;
  }
  throw std::runtime_error("no layer " + name);
}

// All lines of the text below a figure's title, as one.
inline std::string figure_subtitle(const Json& spec) {
  std::string text;
  for (const Json& line : spec["title"]["subtitle"]) {
    text += (text.empty() ? "" : " ") + line.get<std::string>();
  }
  return text;
}

}  // namespace ropewalk
