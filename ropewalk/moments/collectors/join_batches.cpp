#include "ropewalk/moments/collectors/join_batches.h"

#include <algorithm>
#include <map>

#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/moments/collectors/moments_collector.h"

namespace ropewalk {
namespace {

constexpr int64_t kCounts = 4;  // numbers that precede those of the fields
constexpr int64_t kNobody = -1;

// A block of a layer as numbers in a row: its counts, then the fields of all accumulators. A field
// without blocks travels with one batch of a process and is zero in the others.
class BlockNumbers {
 public:
  explicit BlockNumbers(const MomentsCollector::Layer& layer) {
    int64_t size = kCounts;
    for (const MomentsCollector::Fields& fields : layer.fields) {
      for (const at::Tensor& field : fields) size += field.size(0) * field.size(2);
    }
    numbers_ = at::zeros({size}, at::kDouble);
    int64_t offset = kCounts;
    for (const MomentsCollector::Fields& fields : layer.fields) {
      MomentsCollector::Fields& own = fields_.emplace_back();
      for (const at::Tensor& field : fields) {
        const int64_t count = field.size(0) * field.size(2);
        own.push_back(numbers_.narrow(0, offset, count).view({field.size(0), field.size(2)}));
        offset += count;
      }
    }
  }

  std::span<double> all() {
    return {numbers_.mutable_data_ptr<double>(), static_cast<size_t>(numbers_.numel())};
  }

  void take(const MomentsCollector::Layer& layer, int64_t block, bool with_whole) {
    set_counts(layer.counts, block);
    for (size_t a = 0; a < fields_.size(); ++a) {
      for (size_t f = 0; f < fields_[a].size(); ++f) {
        const at::Tensor& field = layer.fields[a][f];
        const bool whole = field.size(1) != layer.counts.blocks();
        if (whole && !with_whole) {
          fields_[a][f].zero_();
        } else {
          fields_[a][f].copy_(field.select(1, whole ? 0 : block));
        }
      }
    }
  }

  void add(BlockNumbers& part) {
    BlockCounts joined = counts();
    const BlockCounts added = part.counts();
    for (size_t a = 0; a < fields_.size(); ++a) {
      if (fields_[a].empty()) continue;
      accumulators()[a]->combine({fields_[a], joined.set(0)}, {part.fields_[a], added.set(0)});
    }
    joined.add_block(0, added, 0);
    set_counts(joined, 0);
  }

  void put(MomentsCollector& joint, int64_t layer, int64_t block) {
    joint.fill(layer, block, fields_, counts());
  }

 private:
  BlockCounts counts() {
    const auto numbers = all();
    BlockCounts counts(1);
    counts.documents[0] = static_cast<int64_t>(numbers[0]);
    counts.tokens[0] = static_cast<int64_t>(numbers[1]);
    counts.position_mean[0] = numbers[2];
    counts.position_scatter[0] = numbers[3];
    return counts;
  }
  void set_counts(const BlockCounts& counts, int64_t block) {
    const auto b = static_cast<size_t>(block);
    const auto numbers = all();
    numbers[0] = static_cast<double>(counts.documents[b]);  // far below 2^53
    numbers[1] = static_cast<double>(counts.tokens[b]);
    numbers[2] = counts.position_mean[b];
    numbers[3] = counts.position_scatter[b];
  }

  at::Tensor numbers_;
  std::vector<MomentsCollector::Fields> fields_;  // by accumulator: views [streams, width]
};

// Numbers of batches before and after each in its block; kNobody at the ends.
struct Neighbours {
  std::map<int64_t, int64_t> before, after;

  explicit Neighbours(const SharedBatches& shared) {
    std::map<int64_t, int64_t> latest;  // latest batch, by block
    for (size_t i = 0; i < shared.documents.size(); ++i) {
      if (shared.documents[i] == 0) continue;
      const auto number = static_cast<int64_t>(i);
      const auto last = latest.try_emplace(number % shared.blocks, kNobody).first;
      before[number] = last->second;
      if (last->second != kNobody) after[last->second] = number;
      last->second = number;
      after[number] = kNobody;
    }
  }
};

}  // namespace

std::vector<int64_t> SharedBatches::of_process(int64_t process) const {
  std::vector<int64_t> numbers;
  for (int64_t number = process * batches; number < (process + 1) * batches; ++number) {
    if (documents.at(static_cast<size_t>(number)) > 0) numbers.push_back(number);
  }
  return numbers;
}

std::vector<int64_t> SharedBatches::document_numbers(int64_t number) const {
  const int64_t rounds = (static_cast<int64_t>(documents.size()) + blocks - 1) / blocks;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < documents.at(static_cast<size_t>(number)); ++i) {
    numbers.push_back((i * rounds + number / blocks) * blocks + number % blocks);
  }
  return numbers;
}

void join_batches(const SharedBatches& shared, int64_t layer, const MomentsCollector& mine,
                  MomentsCollector* joint, const Communicator& processes) {
  const Neighbours neighbours(shared);
  const auto owner = [&](int64_t number) { return static_cast<int>(number / shared.batches); };
  const MomentsCollector::Layer& own = mine.layers().at(layer);
  const std::vector<int64_t> numbers = shared.of_process(processes.rank());
  std::map<int64_t, BlockNumbers> carried;  // blocks that this process passes on, by block
  for (const int64_t number : numbers) {
    BlockNumbers part(own);
    part.take(own, number - processes.rank() * shared.batches, number == numbers.front());
    const int64_t before = neighbours.before.at(number), after = neighbours.after.at(number);
    if (before != kNobody) {
      BlockNumbers whole(own);
      if (owner(before) == processes.rank()) {
        whole = carried.extract(number % shared.blocks).mapped();
      } else {
        processes.receive(owner(before), whole.all());
      }
      whole.add(part);
      part = std::move(whole);
    }
    if (after != kNobody && owner(after) == processes.rank()) {
      carried.emplace(number % shared.blocks, std::move(part));
    } else if (after != kNobody) {
      processes.send(owner(after), part.all());
    } else if (processes.first()) {
      part.put(*joint, layer, number % shared.blocks);
    } else {
      processes.send(0, part.all());
    }
  }
  if (!processes.first()) return;
  for (const auto& [number, after] : neighbours.after) {
    if (after != kNobody || owner(number) == 0) continue;
    BlockNumbers whole(own);
    processes.receive(owner(number), whole.all());
    whole.put(*joint, layer, number % shared.blocks);
  }
}

}  // namespace ropewalk
