// Only for tests: answers settings, given as JSON lines on standard input, with one JSON line each.
// test_sampling.py compares the answers with Python's and torch's.
#include <iostream>
#include <string>

#include "ropewalk/base/files/json.h"
#include "ropewalk/moments/head_sampling.h"
#include "ropewalk/moments/python_random.h"
#include "ropewalk/moments/vectors/token_sampler.h"

namespace {

using ropewalk::Json;

Json sample_range(const Json& setting) {
  return ropewalk::PythonRandom(setting.at("seed").get<int64_t>())
      .sample(setting.at("n").get<int64_t>(), setting.at("k").get<int64_t>());
}

Json random_bits(const Json& setting) {
  ropewalk::PythonRandom random(setting.at("seed").get<int64_t>());
  Json values = Json::array();
  for (const Json& bits : setting.at("bits")) values.push_back(random.getrandbits(bits.get<int>()));
  return values;
}

Json pairs(const std::vector<ropewalk::QueryHead>& heads) {
  Json list = Json::array();
  for (const auto& head : heads) list.push_back({head.layer, head.q_head});
  return list;
}

Json sample_heads(const Json& setting) {
  const auto layers = setting.at("layers").get<std::vector<int32_t>>();
  const auto heads = ropewalk::sample_heads(
      ropewalk::head_candidates(layers, setting.at("n_heads").get<int32_t>()),
      setting.at("count").get<int64_t>(), setting.at("seed").get<int64_t>());
  return {{"drawn", pairs(heads.drawn)}, {"sorted", pairs(heads.sorted)}};
}

Json sample_tokens(const Json& setting) {
  const ropewalk::TokenSampler sampler(
      {.mode = ropewalk::parse_token_sampling(setting.at("mode").get<std::string>()),
       .rate = setting.at("rate").get<double>(),
       .context = setting.at("context").get<int64_t>(),
       .bucket_size = setting.at("bucket_size").get<int64_t>()});
  const auto kind =
      setting.at("kind") == "q" ? ropewalk::StreamKind::query : ropewalk::StreamKind::key;
  const auto tokens =
      sampler.sample(setting.at("example_id").get<int64_t>(), setting.at("layer").get<int32_t>(),
                     kind, setting.at("n_tokens").get<int64_t>());
  return {{"positions", tokens.positions}, {"buckets", tokens.buckets}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const Json setting = ropewalk::parse_json(line, "setting");
    const std::string what = setting.at("what");
    const Json answer = what == "range"   ? sample_range(setting)
                        : what == "bits"  ? random_bits(setting)
                        : what == "heads" ? sample_heads(setting)
                                          : sample_tokens(setting);
    std::cout << answer.dump() << '\n';
  }
}
