// Runs a target without libFuzzer, as part of `make test`: every seed and every former finding,
// first unchanged, then with small changes that are the same each time. An input that takes long,
// needs much memory or ends the program is reported with the file and the change, so that it can be
// reproduced.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

constexpr unsigned kSeconds = 60;  // per input; normal ones take milliseconds
// in addition to what the program and its libraries map
constexpr rlim_t kMemory = rlim_t{3} << 30;

struct Seed {
  std::string name;
  std::string bytes;
};

std::array<char, 512> running{};  // the text that the signal handler prints

void say_and_end(int signal) {
  const char* why = signal == SIGALRM ? "takes too long: " : "ended the program: ";
  for (const char* text : {why, static_cast<const char*>(running.data()), "\n"}) {
    [[maybe_unused]] const ssize_t written = ::write(2, text, std::strlen(text));
  }
  ::_exit(1);
}

// Address space in use now.
rlim_t mapped_bytes() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

// A signal handler needs its own stack where the usual one is exhausted.
void watch() {
  static std::array<char, 1 << 16> stack;
  stack_t other{};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  ::sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = say_and_end;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    ::sigaction(signal, &action, nullptr);
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, mapped_bytes() + kMemory);
  ::setrlimit(RLIMIT_AS, &limit);
}

void run(const std::string& bytes, const std::string& name, uint32_t change) {
  std::snprintf(running.data(), running.size(), "%s, change %u", name.c_str(), change);
  ::alarm(kSeconds);
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: threw what the program does not expect: %s\n", running.data(),
                 error.what());
    std::exit(1);
  }
  ::alarm(0);
}

std::vector<Seed> read_seeds(const fs::path& folder) {
  std::vector<Seed> seeds;
  if (!fs::is_directory(folder)) return seeds;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.push_back({entry.path().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::sort(seeds.begin(), seeds.end(),
            [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return seeds;
}

// std::mt19937 gives the same numbers everywhere; the standard distributions do not.
class Changes {
 public:
  explicit Changes(uint32_t seed) : random_(seed) {}

  std::string change(std::string bytes, const std::string& other) {
    for (size_t times = 1 + below(4); times > 0; --times) change_once(bytes, other);
    return bytes;
  }

 private:
  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void change_once(std::string& bytes, const std::string& other) {
    const size_t at = below(bytes.size());
    const size_t length = 1 + below(16);
    switch (below(7)) {
      case 0:  // flip a bit
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:  // cut off
        bytes.resize(at);
        break;
      case 2:  // leave out
        bytes.erase(at, length);
        break;
      case 3:  // repeat
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 4:  // insert bytes that are hard for readers
        bytes.insert(at, kOdd[below(kOdd.size())]);
        break;
      case 5:  // overwrite with such bytes
        bytes.replace(at, length, kOdd[below(kOdd.size())]);
        break;
      default:  // continue with another file
        bytes = bytes.substr(0, at) + other.substr(below(other.size()));
    }
  }

  static constexpr std::array<std::string_view, 16> kOdd = {"0",
                                                            "-1",
                                                            "9223372036854775807",
                                                            "18446744073709551616",
                                                            "1e308",
                                                            "null",
                                                            "[",
                                                            "{",
                                                            "\"",
                                                            "\\ud800",
                                                            "*a",
                                                            "&a ",
                                                            "\xff\xff\xff\xff",
                                                            "\xff\xff\xff\xff\xff\xff\xff\x7f",
                                                            std::string_view("\0\0\0\0", 4),
                                                            "\xc3\x28"};

  std::mt19937 random_;
};

}  // namespace

// driver CHANGES SEEDS [FINDINGS]
int main(int count, char** arguments) {
  const std::vector<std::string> given(arguments + 1, arguments + count);
  const std::vector<Seed> seeds = read_seeds(given.size() < 2 ? "" : given[1]);
  if (seeds.empty()) {
    std::fprintf(stderr, "usage: %s CHANGES SEEDS [FINDINGS]; SEEDS is a folder of files\n",
                 arguments[0]);
    return 2;
  }
  const std::vector<Seed> findings = read_seeds(given.size() < 3 ? "" : given[2]);
  watch();
  for (const Seed& seed : seeds) run(seed.bytes, seed.name, 0);
  for (const Seed& seed : findings) run(seed.bytes, seed.name, 0);
  const auto changes = static_cast<uint32_t>(std::stoul(given[0]));
  for (uint32_t change = 1; change <= changes; ++change) {
    const Seed& seed = seeds[change % seeds.size()];
    const Seed& other = seeds[change / seeds.size() % seeds.size()];
    run(Changes(change).change(seed.bytes, other.bytes), seed.name, change);
  }
  std::printf("%zu seeds, %zu former findings, %u changes\n", seeds.size(), findings.size(),
              changes);
  return 0;
}
