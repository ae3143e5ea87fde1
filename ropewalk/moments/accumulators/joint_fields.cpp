#include "ropewalk/moments/accumulators/joint_fields.h"

#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {
namespace {

// Counts as numbers; they stay far below 2^53, where float64 is exact.
std::vector<double> as_numbers(const BlockCounts& counts) {
  std::vector<double> numbers;
  numbers.insert(numbers.end(), counts.documents.begin(), counts.documents.end());
  numbers.insert(numbers.end(), counts.tokens.begin(), counts.tokens.end());
  numbers.insert(numbers.end(), counts.position_mean.begin(), counts.position_mean.end());
  numbers.insert(numbers.end(), counts.position_scatter.begin(), counts.position_scatter.end());
  return numbers;
}

BlockCounts as_counts(const std::vector<double>& numbers) {
  const auto blocks = static_cast<std::ptrdiff_t>(numbers.size() / 4);
  const auto part = [&](int i) { return numbers.begin() + i * blocks; };
  BlockCounts counts(blocks);
  counts.documents.assign(part(0), part(1));
  counts.tokens.assign(part(1), part(2));
  counts.position_mean.assign(part(2), part(3));
  counts.position_scatter.assign(part(3), numbers.end());
  return counts;
}

std::span<double> span_of(const at::Tensor& numbers) {
  return {numbers.mutable_data_ptr<double>(), static_cast<size_t>(numbers.numel())};
}

}  // namespace

void join_processes(const Communicator& processes, const FlatFields& mine, BlockCounts& counts,
                    const FlatFields& room) {
  for (int step = 1; step < processes.count(); step *= 2) {
    const int in_group = processes.rank() % (2 * step);
    std::vector<double> numbers = as_numbers(counts);
    if (in_group == step) {
      processes.send(processes.rank() - step, numbers);
      processes.send(processes.rank() - step, span_of(mine.numbers));
      return;
    }
    if (in_group != 0 || processes.rank() + step >= processes.count()) continue;
    processes.receive(processes.rank() + step, numbers);
    processes.receive(processes.rank() + step, span_of(room.numbers));
    const BlockCounts other = as_counts(numbers);
    for (size_t a = 0; a < mine.fields.size(); ++a) {
      combine_blocks(*accumulators()[a], mine.fields[a], counts, room.fields[a], other);
    }
    counts.add(other);
  }
}

}  // namespace ropewalk
