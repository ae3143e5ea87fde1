#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ropewalk {

// Python's `random.Random(seed)` for an integer seed: the same Mersenne Twister, seeded and read
// the same way, so that samples equal those drawn by Python programs (CPython 3.11 and later).
class PythonRandom {
 public:
  // As in Python, only the magnitude of the seed counts.
  explicit PythonRandom(int64_t seed);

  // `getrandbits(bits)`, 1 to 64 bits.
  uint64_t getrandbits(int bits);
  // A number below n > 0: `_randbelow(n)`.
  uint64_t randbelow(uint64_t n);
  // `sample(range(n), k)`, in the order drawn. Throws UsageError unless 0 <= k <= n.
  std::vector<int64_t> sample(int64_t n, int64_t k);

 private:
  static constexpr int kStateSize = 624;

  void init_by_array(const std::vector<uint32_t>& key);
  void refill();
  uint32_t next_word();

  std::array<uint32_t, kStateSize> state_{};
  int next_ = kStateSize;  // index of the next unread word; kStateSize: all are read
};

}  // namespace ropewalk
