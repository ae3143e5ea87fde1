#pragma once

#include <cstdint>

namespace ropewalk {

// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers everywhere for one seed.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += kStep;
    return mixed(state_);
  }
  // A number below n, as likely as any other but for 2^-64 n.
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }

  // Two numbers as one seed, which differs widely where one of them differs a little.
  static uint64_t joined(uint64_t a, uint64_t b) { return mixed(mixed(a + kStep) + b + kStep); }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  static uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace ropewalk
