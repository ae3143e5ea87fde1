#include "ropewalk/analysis/replicates/turning.h"

#include <cmath>
#include <complex>
#include <limits>

#include "ropewalk/moments/accumulators/pre_rope.h"

namespace ropewalk {
namespace {

using Complex = std::complex<double>;

// Sums over the tokens of documents: s(t) e^(i theta t), the same times t, the number of tokens,
// and their positions.
struct TurnSums {
  Complex plain;
  Complex times;
  double tokens = 0;
  double positions = 0;

  void add(const TurnSums& other, double weight) {
    plain += weight * other.plain;
    times += weight * other.times;
    tokens += weight * other.tokens;
    positions += weight * other.positions;
  }

  // The mean of (t - mean t) s(t) e^(i theta t).
  Complex mean() const { return (times - positions / tokens * plain) / tokens; }
};

// The sums of one document per length.
std::map<int64_t, TurnSums> document_sums(double theta, const LengthCounts& lengths,
                                          const std::vector<double>& scale) {
  // after so many steps the angle is computed anew, so that rounding errors do not add up
  constexpr int64_t kSteps = 256;
  std::map<int64_t, TurnSums> found;
  TurnSums sums;
  const Complex step = std::polar(1.0, theta);
  Complex turned;
  auto next = lengths.begin();
  for (int64_t t = 0; next != lengths.end(); ++t) {
    const auto at = static_cast<double>(t);
    turned =
        t % kSteps == 0 ? std::polar(1.0, std::remainder(theta * at, 2 * M_PI)) : turned * step;
    const Complex here = scale.empty() ? turned : scale[static_cast<size_t>(t)] * turned;
    sums.plain += here;
    sums.times += at * here;
    sums.tokens += 1;
    sums.positions += at;
    if (t + 1 == next->first) {
      found[next->first] = sums;
      ++next;
    }
  }
  return found;
}

std::vector<double> scales_below(int64_t end, const ModelConfig::QueryScaling& scaling) {
  std::vector<double> scale(static_cast<size_t>(end));
  for (int64_t t = 0; t < end; ++t) scale[static_cast<size_t>(t)] = query_scale(scaling, t);
  return scale;
}

}  // namespace

double query_scale(const ModelConfig::QueryScaling& scaling, int64_t t) {
  return 1 + scaling.beta * std::log1p(static_cast<double>(t / scaling.original_context));
}

RopeLayer::TurnCovariance mean_turn(const at::Tensor& theta, const DocumentLengths& lengths,
                                    const std::vector<int64_t>& blocks,
                                    const ModelConfig::QueryScaling* scaling) {
  const std::vector<double> scale = scaling == nullptr
                                        ? std::vector<double>{}
                                        : scales_below(lengths.all.rbegin()->first, *scaling);
  const int64_t pairs = theta.size(0), cases = 1 + static_cast<int64_t>(blocks.size());
  RopeLayer::TurnCovariance turn{at::zeros({cases, pairs + 1}, at::kDouble),
                                 at::zeros({cases, pairs + 1}, at::kDouble)};
  auto real = turn.real.accessor<double, 2>(), imaginary = turn.imaginary.accessor<double, 2>();
  at::parallel_for(0, pairs + 1, 1, [&](int64_t begin, int64_t end) {
    for (int64_t f = begin; f < end; ++f) {
      const double angle = f < pairs ? theta[f].item<double>() : 0;
      if (angle == 0 && scale.empty()) continue;
      const auto documents = document_sums(angle, lengths.all, scale);
      TurnSums all;
      for (const auto& [length, count] : lengths.all) {
        all.add(documents.at(length), static_cast<double>(count));
      }
      for (int64_t row = 0; row < cases; ++row) {
        TurnSums sums = all;
        Complex mean;
        if (row == 0 || !lengths.of_block.empty()) {
          if (row > 0) {
            const auto block = static_cast<size_t>(blocks[static_cast<size_t>(row - 1)]);
            for (const auto& [length, count] : lengths.of_block[block]) {
              sums.add(documents.at(length), -static_cast<double>(count));
            }
          }
          mean = sums.mean();
        } else {
          mean = {std::numeric_limits<double>::quiet_NaN(),
                  std::numeric_limits<double>::quiet_NaN()};
        }
        real[row][f] = mean.real();
        imaginary[row][f] = mean.imag();
      }
    }
  });
  return turn;
}

std::vector<double> scaling_by_distance(const LengthCounts& lengths, int64_t end,
                                        const ModelConfig::QueryScaling& scaling) {
  // The sums of the scale below each position; and over documents, the longest first, how many are
  // longer than a position, and their sums.
  std::vector<double> below{0};
  for (int64_t t = 0; t < lengths.rbegin()->first; ++t) {
    below.push_back(below.back() + query_scale(scaling, t));
  }
  std::vector<double> found(static_cast<size_t>(end), 1);
  auto document = lengths.rbegin();
  double documents = 0, sums = 0, tokens = 0;
  for (int64_t distance = end - 1; distance >= 0; --distance) {
    const int64_t first = kFirstTokens + distance;
    for (; document != lengths.rend() && document->first > first; ++document) {
      const auto count = static_cast<double>(document->second);
      documents += count;
      sums += count * below[static_cast<size_t>(document->first)];
      tokens += count * static_cast<double>(document->first);
    }
    if (documents == 0) continue;
    found[static_cast<size_t>(distance)] = (sums - documents * below[static_cast<size_t>(first)]) /
                                           (tokens - documents * static_cast<double>(first));
  }
  return found;
}

}  // namespace ropewalk
