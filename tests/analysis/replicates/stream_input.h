#pragma once

#include <vector>

#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// The moments of documents of vectors [tokens, d] float64 at positions 0, 1, …; each document is a
// block.
inline StreamInput stream_input(const std::vector<at::Tensor>& documents) {
  struct Part {
    double mean, scatter;
    at::Tensor x_mean, position, products;
  };
  const auto measure = [](const at::Tensor& x, const at::Tensor& t) {
    const at::Tensor centred = x - x.mean(0), times = t - t.mean();
    return Part{t.mean().item<double>(), times.square().sum().item<double>(), x.mean(0),
                at::mv(centred.t(), times), at::mm(centred.t(), centred)};
  };
  StreamInput input;
  std::vector<at::Tensor> times, means, positions, products;
  for (const at::Tensor& x : documents) {
    times.push_back(at::arange(x.size(0), at::kDouble));
    const Part part = measure(x, times.back());
    input.block_tokens.push_back(static_cast<double>(x.size(0)));
    input.block_position_mean.push_back(part.mean);
    input.block_position_scatter.push_back(part.scatter);
    means.push_back(part.x_mean);
    positions.push_back(part.position);
    products.push_back(part.products);
  }
  const Part all = measure(at::cat(documents), at::cat(times));
  input.tokens = static_cast<double>(at::cat(times).numel());
  input.position_mean = all.mean;
  input.position_scatter = all.scatter;
  input.mean = all.x_mean;
  input.position = all.position;
  input.products = all.products;
  input.block_mean = at::stack(means);
  input.block_position = at::stack(positions);
  input.block_products = at::stack(products);
  return input;
}

}  // namespace ropewalk
