#include "ropewalk/moments/python_random.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "ropewalk/base/error.h"

namespace ropewalk {

// The generator is MT19937: M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998);
// its seeding by array is that of the authors' 2002 revision. Sums and products are modulo 2^32.

PythonRandom::PythonRandom(int64_t seed) {
  const uint64_t magnitude = seed < 0 ? -static_cast<uint64_t>(seed) : static_cast<uint64_t>(seed);
  std::vector<uint32_t> key = {static_cast<uint32_t>(magnitude)};
  // Python passes as many words as the number needs: a high word of zero would give another stream.
  if (magnitude >> 32 != 0) key.push_back(static_cast<uint32_t>(magnitude >> 32));
  init_by_array(key);
}

void PythonRandom::init_by_array(const std::vector<uint32_t>& key) {
  state_[0] = 19650218;
  for (uint32_t i = 1; i < kStateSize; ++i) {
    state_[i] = 1812433253 * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
  // Words 1 to 623 are walked in a circle; word 0 mirrors the last one when the circle closes.
  uint32_t i = 1;
  const auto step = [&](uint32_t multiplier) {
    const uint32_t previous = state_[i - 1];
    return state_[i] ^ ((previous ^ (previous >> 30)) * multiplier);
  };
  const auto advance = [&] {
    if (++i == kStateSize) {
      state_[0] = state_[kStateSize - 1];
      i = 1;
    }
  };
  for (uint32_t k = 0; k < kStateSize; ++k) {
    const uint32_t j = k % static_cast<uint32_t>(key.size());
    state_[i] = step(1664525) + key[j] + j;
    advance();
  }
  for (uint32_t k = 1; k < kStateSize; ++k) {
    state_[i] = step(1566083941) - i;
    advance();
  }
  state_[0] = 0x80000000;
  next_ = kStateSize;
}

void PythonRandom::refill() {
  constexpr int kShift = 397;
  for (int i = 0; i < kStateSize; ++i) {
    const uint32_t joined = (state_[i] & 0x80000000) | (state_[(i + 1) % kStateSize] & 0x7fffffff);
    state_[i] =
        state_[(i + kShift) % kStateSize] ^ (joined >> 1) ^ ((joined & 1) != 0 ? 0x9908b0df : 0);
  }
  next_ = 0;
}

uint32_t PythonRandom::next_word() {
  if (next_ == kStateSize) refill();
  uint32_t word = state_[next_++];
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680;
  word ^= (word << 15) & 0xefc60000;
  return word ^ (word >> 18);
}

uint64_t PythonRandom::getrandbits(int bits) {
  // The low word comes first; of the last word the high bits are taken.
  if (bits <= 32) return next_word() >> (32 - bits);
  const uint64_t low = next_word();
  return low | static_cast<uint64_t>(next_word() >> (64 - bits)) << 32;
}

uint64_t PythonRandom::randbelow(uint64_t n) {
  const int bits = std::bit_width(n);  // of n, not n - 1: as Python does
  uint64_t value = getrandbits(bits);
  while (value >= n) value = getrandbits(bits);
  return value;
}

std::vector<int64_t> PythonRandom::sample(int64_t n, int64_t k) {
  if (k < 0 || k > n)
    throw UsageError("cannot sample {} of {}: a sample is between 0 and all", k, n);
  std::vector<int64_t> result;
  result.reserve(static_cast<size_t>(k));
  // Python shuffles a copy of the population where that takes less memory than a set of what was
  // drawn; the two branches draw different numbers, so its estimate of the set's size matters.
  double set_size = 21;
  if (k > 5)
    set_size += std::pow(4.0, std::ceil(std::log(3.0 * static_cast<double>(k)) / std::log(4.0)));
  if (static_cast<double>(n) <= set_size) {
    std::vector<int64_t> pool(static_cast<size_t>(n));
    std::iota(pool.begin(), pool.end(), 0);
    for (int64_t left = n; left > n - k; --left) {
      const uint64_t j = randbelow(static_cast<uint64_t>(left));
      result.push_back(pool[j]);
      pool[j] = pool[static_cast<size_t>(left - 1)];
    }
    return result;
  }
  std::unordered_set<uint64_t> drawn;
  while (static_cast<int64_t>(result.size()) < k) {
    const uint64_t j = randbelow(static_cast<uint64_t>(n));
    if (drawn.insert(j).second) result.push_back(static_cast<int64_t>(j));
  }
  return result;
}

}  // namespace ropewalk
