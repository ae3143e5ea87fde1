#include "ropewalk/checkpoint/weight_names.h"

#include <fmt/format.h>

#include <charconv>

namespace ropewalk {

std::string WeightNames::single() const { return fmt::format("{}{}", stem, ending); }

std::string WeightNames::index() const { return single() + ".index.json"; }

std::string WeightNames::shard(int number, int count) const {
  return fmt::format("{}-{:05}-of-{:05}{}", stem, number, count, ending);
}

int WeightNames::shard_count(const std::string& name) const {
  if (name.size() != shard(1, 1).size()) return 0;
  int number = 0;
  int count = 0;
  const char* first = name.data() + stem.size() + std::string_view("-").size();
  const char* last = first + std::string_view("00002-of-").size();
  std::from_chars(first, first + 5, number);
  std::from_chars(last, last + 5, count);
  return name == shard(number, count) ? count : 0;
}

}  // namespace ropewalk
