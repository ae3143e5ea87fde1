#include "ropewalk/model/mixture.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/kernels/products/linear.h"
#include "ropewalk/model/layer_parts.h"

namespace ropewalk {
namespace {

// The routes of a document's tokens: one entry for each token and chosen expert, ordered by expert.
struct Route {
  at::Tensor tokens;  // [T * n_chosen]
  at::Tensor shares;  // [T * n_chosen, 1] float32
  at::Tensor counts;  // [n_experts]
};

// The chosen experts and their shares, [T, n_chosen] each. Ties are broken by torch.topk, as in
// training.
std::pair<at::Tensor, at::Tensor> choose(const Mixture& mixture, const at::Tensor& logits) {
  if (mixture.share == ExpertShare::softmax_of_chosen) {
    const auto [largest, experts] = at::topk(logits, mixture.n_chosen, -1);
    return {experts, at::softmax(largest, -1).to(at::kFloat)};
  }
  auto [shares, experts] = at::topk(at::softmax(logits, -1, at::kFloat), mixture.n_chosen, -1);
  if (mixture.share == ExpertShare::of_chosen) shares.div_(shares.sum(-1, /*keepdim=*/true));
  return {experts, shares};
}

at::Tensor input_of(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& x) {
  return norm(config, x, weights.mlp_norm, weights.mlp_norm_bias);
}

Route find_route(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& hidden) {
  const Mixture& mixture = *config.mixture;
  const at::Tensor logits = at::empty({hidden.size(0), mixture.n_experts}, hidden.options());
  for_rows(hidden, [&](int64_t begin, int64_t end) {
    const at::Tensor input = input_of(config, weights, hidden.slice(0, begin, end));
    logits.slice(0, begin, end).copy_(linear(input, weights.router, weights.router_bias));
  });
  const auto [experts, shares] = choose(mixture, logits);
  const at::Tensor flat = experts.flatten();
  const at::Tensor order = std::get<1>(at::sort(flat, /*stable=*/true, 0, /*descending=*/false));
  return {at::floor_divide(order, mixture.n_chosen),
          shares.flatten().index_select(0, order).unsqueeze(1),
          at::bincount(flat, {}, mixture.n_experts)};
}

// sum [T, d_model] += the expert's output for these tokens, times their shares.
void add_expert(const ModelConfig& config, const LayerWeights& weights, const LayerWeights& expert,
                const at::Tensor& hidden, const at::Tensor& tokens, const at::Tensor& shares,
                at::Tensor sum) {
  for_rows(tokens, [&](int64_t begin, int64_t end) {
    const at::Tensor token_indexes = tokens.slice(0, begin, end);
    const at::Tensor input = input_of(config, weights, hidden.index_select(0, token_indexes));
    const at::Tensor out = linear(mlp_inner(config, expert, input), expert.down, expert.down_bias);
    sum.index_add_(0, token_indexes, out.to(at::kFloat).mul_(shares.slice(0, begin, end)));
  });
}

}  // namespace

void add_experts(const ModelConfig& config, const LayerWeights& weights, const ExpertSource& source,
                 std::span<at::Tensor> documents) {
  std::vector<Route> routes;
  std::vector<at::Tensor> counts;
  std::vector<at::Tensor> sums;  // float32, because as many terms are added as experts were chosen
  for (const at::Tensor& hidden : documents) {
    routes.push_back(find_route(config, weights, hidden));
    counts.push_back(routes.back().counts);
    sums.push_back(at::zeros(hidden.sizes(), hidden.options().dtype(at::kFloat)));
  }
  // All counts are copied to the host at once, so that the program waits for a GPU once per layer.
  const at::Tensor all = at::stack(counts).to(at::kCPU);
  const auto count = all.accessor<int64_t, 2>();
  std::vector<int64_t> done(documents.size());
  for (int64_t expert = 0; expert < config.mixture->n_experts; ++expert) {
    LayerWeights held;
    bool read = false;
    for (size_t i = 0; i < documents.size(); ++i) {
      const int64_t tokens = count[static_cast<int64_t>(i)][expert];
      if (tokens == 0) continue;
      throw_if_interrupted();
      if (!std::exchange(read, true)) held = source(expert);
      const int64_t begin = std::exchange(done[i], done[i] + tokens);
      add_expert(config, weights, held, documents[i], routes[i].tokens.slice(0, begin, done[i]),
                 routes[i].shares.slice(0, begin, done[i]), sums[i]);
    }
  }
  for (size_t i = 0; i < documents.size(); ++i) documents[i].add_(sums[i], config.residual_scale);
}

int64_t mixture_state(const ModelConfig& config) {
  if (!config.mixture) return 0;
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  constexpr auto kIndexBytes = static_cast<int64_t>(sizeof(int64_t));
  return config.d_model * kSingle + config.mixture->n_chosen * (kIndexBytes + kSingle);
}

int64_t mixture_workspace(const ModelConfig& config, int64_t tokens, int64_t element_size,
                          const at::Device& device) {
  if (!config.mixture) return 0;
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  constexpr auto kIndexBytes = static_cast<int64_t>(sizeof(int64_t));
  const int64_t rows = std::min(tokens, rows_at_a_time(at::kLong, device));
  const Mixture& mixture = *config.mixture;
  // Scores and their softmax; the order of the choices, before and after sorting.
  const int64_t routing = tokens * (mixture.n_experts * (element_size + kSingle) +
                                    mixture.n_chosen * (6 * kIndexBytes + 2 * kSingle));
  // Gate, up and the gate's sigmoid; tokens gathered, normalised, and results in both precisions.
  const int64_t expert = rows * ((2 + (config.cut_gate ? 2 : 0)) * mixture.d_expert * element_size +
                                 config.d_model * (3 * element_size + kSingle));
  return std::max(routing, expert);
}

}  // namespace ropewalk
