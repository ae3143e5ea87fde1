// The rate at which this processor multiplies and adds float32 numbers when nothing else is to be
// done: operations per second of so many threads at once, the best of some tries. A multiplication
// and an addition are two operations. Prints one number.
// Usage: peak THREADS
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace {

constexpr int64_t kSteps = 2'000'000;

// Each returns how many operations it did. Sums are as many as hide the latency of an operation and
// fit the registers; they are opaque to the compiler, which would leave out what nobody reads.
#ifdef __x86_64__
__attribute__((target("avx512f"))) double with_avx512() {
  constexpr int kSums = 24;
  __m512 sums[kSums];
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_setzero_ps();
  const __m512 factor = _mm512_set1_ps(0.9999999F);
  const __m512 addend = _mm512_set1_ps(1e-3F);
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 32
    for (int i = 0; i < kSums; ++i) {
      sums[i] = _mm512_fmadd_ps(sums[i], factor, addend);
      asm volatile("" : "+v"(sums[i]));
    }
  }
  return 2.0 * 16 * kSums * kSteps;
}

__attribute__((target("avx2,fma"))) double with_avx2() {
  constexpr int kSums = 12;
  __m256 sums[kSums];
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sums[i] = _mm256_setzero_ps();
  const __m256 factor = _mm256_set1_ps(0.9999999F);
  const __m256 addend = _mm256_set1_ps(1e-3F);
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 32
    for (int i = 0; i < kSums; ++i) {
      sums[i] = _mm256_fmadd_ps(sums[i], factor, addend);
      asm volatile("" : "+x"(sums[i]));
    }
  }
  return 2.0 * 8 * kSums * kSteps;
}

double multiply_and_add() {
  return __builtin_cpu_supports("avx512f") ? with_avx512() : with_avx2();
}
#else
double multiply_and_add() { return 0; }  // not known of other processors
#endif

// Seconds that this thread ran: other programs do not count.
double seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of all threads together, at the same time.
double rate(int threads) {
  std::vector<double> rates(static_cast<size_t>(threads));
  std::vector<std::thread> all;
  for (double& own : rates) {
    all.emplace_back([&own] {
      const double start = seconds();
      const double operations = multiply_and_add();
      own = operations / (seconds() - start);
    });
  }
  for (std::thread& thread : all) thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  double best = 0;
  for (int i = 0; i < 20; ++i) best = std::max(best, rate(std::max(1, std::atoi(argv[1]))));
  std::printf("%.6g\n", best);
}
