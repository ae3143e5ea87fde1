// Tokenises for test_tokenizers.py: `tokenize_tool [--time] tokenizer.json...` reads strings from
// standard input, each after its length (uint32), and writes each one's ids after their number
// (uint32, then int32 each), all little-endian, for one tokenizer after the other. `--time` writes
// the seconds that each tokenizer took to standard error.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/tokenizer.h"
#include "tests/text/all_ids.h"

namespace {

std::vector<std::string> read_strings() {
  std::vector<std::string> strings;
  uint32_t size = 0;
  while (std::fread(&size, sizeof(size), 1, stdin) == 1) {
    std::string text(size, '\0');
    if (std::fread(text.data(), 1, size, stdin) != size) break;
    strings.push_back(std::move(text));
  }
  return strings;
}

double tokenize(const ropewalk::Tokenizer& tokenizer, const std::vector<std::string>& strings) {
  std::chrono::duration<double> seconds{};
  for (const std::string& text : strings) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<int32_t> ids = ropewalk::all_ids(tokenizer, text);
    seconds += std::chrono::steady_clock::now() - start;
    const auto count = static_cast<uint32_t>(ids.size());
    std::fwrite(&count, sizeof(count), 1, stdout);
    if (!ids.empty()) std::fwrite(ids.data(), sizeof(int32_t), ids.size(), stdout);
  }
  return seconds.count();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> strings = read_strings();
    bool timed = false;
    for (int i = 1; i < argc; ++i) {
      if (std::string_view(argv[i]) == "--time") {
        timed = true;
        continue;
      }
      const double seconds = tokenize(ropewalk::Tokenizer::from_file(argv[i]), strings);
      if (timed) std::fprintf(stderr, "%.6f\n", seconds);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
