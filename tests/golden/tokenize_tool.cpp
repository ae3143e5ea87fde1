// Tokenises for test_tokenizers.py: `tokenize_tool tokenizer.json` reads strings from standard
// input, each after its length (uint32), and writes each one's ids after their number (uint32,
// int32 each), all little-endian. `--time` writes the seconds that encoding took to standard error.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/tokenizer.h"

int main(int argc, char** argv) {
  try {
    if (argc < 2) return 2;
    const bool timed = argc > 2 && std::string_view(argv[2]) == "--time";
    const auto tokenizer = ropewalk::Tokenizer::from_file(argv[1]);
    std::chrono::duration<double> seconds{};
    uint32_t size = 0;
    std::string text;
    while (std::fread(&size, sizeof(size), 1, stdin) == 1) {
      text.resize(size);
      if (std::fread(text.data(), 1, size, stdin) != size) return 2;
      const auto start = std::chrono::steady_clock::now();
      const std::vector<int32_t> ids = tokenizer.encode_ids(text);
      seconds += std::chrono::steady_clock::now() - start;
      const auto count = static_cast<uint32_t>(ids.size());
      std::fwrite(&count, sizeof(count), 1, stdout);
      std::fwrite(ids.data(), sizeof(int32_t), ids.size(), stdout);
    }
    if (timed) std::fprintf(stderr, "%.6f\n", seconds.count());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
