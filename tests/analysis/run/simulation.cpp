#include "tests/analysis/run/simulation.h"

#include <cmath>

#include "ropewalk/analysis/analyze/analyze_head.h"
#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/analysis/run/class_shares.h"
#include "ropewalk/analysis/table/taxonomy.h"

namespace ropewalk::simulation {
namespace {

constexpr int64_t kBlocks = 16;
const LogitUnits kUnits{.scale = 1, .context = 2};  // positions are already scaled

// Positions scaled to mean 0 and variance 1.
std::vector<double> scaled_positions(int64_t tokens) {
  std::vector<double> t(static_cast<size_t>(tokens));
  const double middle = static_cast<double>(tokens - 1) / 2;
  const double sd = std::sqrt((static_cast<double>(tokens) * static_cast<double>(tokens) - 1) / 12);
  for (size_t i = 0; i < t.size(); ++i) t[i] = (static_cast<double>(i) - middle) / sd;
  return t;
}

struct Effects {
  double q_slope, k_slope, q_offset, k_offset, q_mean, k_mean;  // random effects, standard normal
};

std::vector<Effects> draw_effects(size_t heads, double correlation, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const double shared = std::sqrt(correlation);
  const double own = std::sqrt(1 - correlation);
  double common[6];
  for (double& one : common) one = normal(random);
  const auto drawn = [&](int i) { return shared * common[i] + own * normal(random); };
  std::vector<Effects> effects(heads);
  for (Effects& e : effects) e = {drawn(0), drawn(1), drawn(2), drawn(3), drawn(4), drawn(5)};
  return effects;
}

// Plain sums of one stream in one block. d is small here, and one tensor operation per document
// would take longer than the whole study.
struct BlockSums {
  double n = 0;
  std::vector<double> x, xt, xx;  // [d], [d], [d, d]
};

// One stream, document by document.
struct Stream {
  const Population& population;
  std::vector<BlockSums> blocks;

  explicit Stream(const Population& p) : population(p) {
    const auto d = static_cast<size_t>(p.dimensions);
    blocks.assign(kBlocks,
                  {0, std::vector<double>(d), std::vector<double>(d), std::vector<double>(d * d)});
  }

  void add_document(int64_t index, double mean, double slope, double offset,
                    const std::vector<double>& t, std::mt19937_64& random) {
    std::normal_distribution<double> normal(0, population.noise);
    BlockSums& block = blocks[static_cast<size_t>(index % kBlocks)];
    const size_t d = block.x.size();
    std::vector<double> x(d);
    for (const double time : t) {
      for (size_t j = 0; j < d; ++j)
        x[j] = normal(random) + (j == 0 ? mean + slope * time : j == 1 ? offset : 0);
      for (size_t a = 0; a < d; ++a) {
        block.x[a] += x[a];
        block.xt[a] += x[a] * time;
        for (size_t b = 0; b < d; ++b) block.xx[a * d + b] += x[a] * x[b];
      }
    }
    block.n += static_cast<double>(t.size());
  }

  // Positions have mean 0 and variance 1 in every document, and therefore in every block.
  StreamInput input() const {
    const auto d = static_cast<int64_t>(blocks[0].x.size());
    const auto tensor = [](const std::vector<double>& values, at::IntArrayRef shape) {
      return at::tensor(values, at::kDouble).view(shape);
    };
    std::vector<at::Tensor> means, positions, products;
    StreamInput stream;
    BlockSums all = blocks[0];
    all = {0, std::vector<double>(all.x.size()), std::vector<double>(all.x.size()),
           std::vector<double>(all.xx.size())};
    const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    const auto measure = [&](const BlockSums& sums, at::Tensor& mean, at::Tensor& position,
                             at::Tensor& product) {
      mean = tensor(sums.x, {d}) / sums.n;
      position = tensor(sums.xt, {d});
      product = tensor(sums.xx, {d, d}) - sums.n * mean.unsqueeze(1) * mean.unsqueeze(0);
    };
    for (const BlockSums& block : blocks) {
      if (block.n == 0) continue;
      at::Tensor mean, position, product;
      measure(block, mean, position, product);
      means.push_back(mean);
      positions.push_back(position);
      products.push_back(product);
      stream.block_tokens.push_back(block.n);
      stream.block_position_mean.push_back(0);
      stream.block_position_scatter.push_back(block.n);
      all.n += block.n;
      add(all.x, block.x);
      add(all.xt, block.xt);
      add(all.xx, block.xx);
    }
    stream.tokens = all.n;
    stream.position_scatter = all.n;
    measure(all, stream.mean, stream.position, stream.products);
    stream.block_mean = at::stack(means);
    stream.block_position = at::stack(positions);
    stream.block_products = at::stack(products);
    return stream;
  }
};

bool covers(double value, double se, double df, double true_value) {
  return std::abs(value - true_value) <= student_t_95(df) * se;
}

double fraction_dominated(const Truth& t) {
  double count = 0;
  const std::vector<double>&r_q = t.at("r_q"), &r_k = t.at("r_k");
  for (size_t h = 0; h < r_q.size(); ++h) {
    count += classify(r_q[h], r_k[h]) == HeadClass::position_dominated ? 1 : 0;
  }
  return count / static_cast<double>(r_q.size());
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

Population spread_population(int heads, double strength) {
  Population population;
  for (int h = 0; h < heads; ++h) {
    const double position = heads == 1 ? 0.5 : static_cast<double>(h) / (heads - 1);
    population.heads.push_back(
        {strength * (0.8 + 2.0 * position), strength * (0.8 + 1.6 * position)});
  }
  return population;
}

Truth truth(const Population& p) {
  const auto square = [](double x) { return x * x; };
  const double noise = square(p.noise), offset = square(p.offset_sd);
  Truth result;
  for (const HeadLaw& law : p.heads) {
    // The variance along u is larger than along w and the others, so PC0 and the drift axis are u.
    const auto variance = [&](double slope) {
      return square(slope) + square(p.slope_sd) + offset + noise;
    };
    const double q = variance(law.q_slope), k = variance(law.k_slope);
    const double apart = square(law.q_mean - law.k_mean) / 4;
    const double queries = q + square(law.q_mean);  // second moment along u
    result["r_q"].push_back(law.q_slope / std::sqrt(q));
    result["r_k"].push_back(law.k_slope / std::sqrt(k));
    result["r2cv_q"].push_back(square(law.q_slope) / q);
    result["pc0_offset"].push_back(apart / ((q + k) / 2 + apart));
    result["bias_context"].push_back(law.q_mean * law.k_slope);
    result["logit_pos_share"].push_back(square(law.k_slope) * queries /
                                        (k * queries + square(offset + noise) +
                                         static_cast<double>(p.dimensions - 2) * square(noise)));
  }
  return result;
}

std::pair<CheckpointTable, CheckpointTable> simulate(const Population& first,
                                                     const Population& second, int64_t documents,
                                                     std::mt19937_64& random) {
  const c10::InferenceMode no_autograd;
  const Population* populations[2] = {&first, &second};
  const size_t heads = first.heads.size();
  std::vector<std::pair<Stream, Stream>> streams[2];  // q and k of each head
  CheckpointTable analyses[2];
  for (int c = 0; c < 2; ++c) {
    for (size_t h = 0; h < heads; ++h)
      streams[c].emplace_back(Stream(*populations[c]), Stream(*populations[c]));
  }
  const std::vector<double> t = scaled_positions(first.tokens);
  for (int64_t i = 0; i < documents; ++i) {
    const auto effects = draw_effects(heads, first.correlation, random);
    for (int c = 0; c < 2; ++c) {
      const Population& p = *populations[c];
      for (size_t h = 0; h < heads; ++h) {
        const Effects& e = effects[h];
        auto& [q, k] = streams[c][h];
        const HeadLaw& law = p.heads[h];
        q.add_document(i, law.q_mean + p.offset_sd * e.q_mean, law.q_slope + p.slope_sd * e.q_slope,
                       p.offset_sd * e.q_offset, t, random);
        k.add_document(i, law.k_mean + p.offset_sd * e.k_mean, law.k_slope + p.slope_sd * e.k_slope,
                       p.offset_sd * e.k_offset, t, random);
      }
      analyses[c].documents.emplace_back(i, 0);
    }
  }
  for (int c = 0; c < 2; ++c) {
    analyses[c].label = c == 0 ? "first" : "second";
    analyses[c].blocks = kBlocks;
    for (size_t h = 0; h < heads; ++h) {
      const StreamInput q = streams[c][h].first.input(), k = streams[c][h].second.input();
      std::vector<double> sizes;
      for (size_t b = 0; b < q.block_tokens.size(); ++b) {
        sizes.push_back(q.block_tokens[b] + k.block_tokens[b]);
      }
      add_head(analyses[c], {0, static_cast<int64_t>(h), 0, true},
               make_replicates(leave_one_out(q), leave_one_out(k), 1, kUnits), sizes);
    }
  }
  return {std::move(analyses[0]), std::move(analyses[1])};
}

Coverage measure_coverage(const Population& first, const Population& second, int64_t documents,
                          int studies, uint64_t seed) {
  std::vector<Coverage> counts(static_cast<size_t>(studies));
  const Truth true_first = truth(first);
  const Truth true_second = truth(second);
  const double df = static_cast<double>(std::min(documents, kBlocks)) - 1;
  const size_t chosen = first.heads.size() / 2;
  at::parallel_for(0, studies, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      std::mt19937_64 random(seed * 1000003 + static_cast<uint64_t>(s));
      const auto [one, two] = simulate(first, second, documents, random);
      const HeadGroup before = whole_group(one);
      const HeadGroup after = whole_group(two);
      const auto view = [](const std::string& key) {
        const size_t index = statistic_index(key);
        return IndexedView{index, statistics()[index], &statistics()[index]->views[0]};
      };
      const IndexedView r_q = view("r_q");
      const auto contains = [&](const Estimate& e, double true_value) {
        return covers(e.value, e.se, df, true_value) ? 1.0 : 0.0;
      };
      const auto difference = [&](const Estimate& from, const Estimate& to, double true_value) {
        Estimate change{to.value - from.value, 0, {}};
        for (size_t b = 0; b < to.replicates.size(); ++b) {
          change.replicates.push_back(to.replicates[b] - from.replicates[b]);
        }
        change.se = jackknife_se(change.value, change.replicates, before.block_sizes);
        return contains(change, true_value);
      };
      const auto head = [&](const CheckpointTable& checkpoint, const IndexedView& of) {
        return head_estimate(checkpoint, of.index, chosen, chosen);
      };
      Coverage& c = counts[static_cast<size_t>(s)];
      for (const auto& [key, values] : true_first) {
        c["head_" + key] = contains(head(one, view(key)), values[chosen]);
        c["mean_" + key] = contains(estimate(before, view(key), Aggregate::mean), mean(values));
      }
      const ClassShares shares = class_shares(before);
      c["class_fraction"] =
          covers(shares.values[0], shares.se(0), df, fraction_dominated(true_first));
      const std::vector<double>&from = true_first.at("r_q"), &to = true_second.at("r_q");
      c["paired_difference"] =
          difference(estimate(before, r_q, Aggregate::mean), estimate(after, r_q, Aggregate::mean),
                     mean(to) - mean(from));
      c["paired_head"] = difference(head(one, r_q), head(two, r_q), to[chosen] - from[chosen]);
    }
  });
  Coverage total;
  for (const Coverage& study : counts) {
    for (const auto& [name, contained] : study) total[name] += contained / studies;
  }
  return total;
}

}  // namespace ropewalk::simulation
