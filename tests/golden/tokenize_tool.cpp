// Tokenises for test_tokenizers.py: `tokenize_tool tokenizer.json...` reads strings from
// standard input, each after its length (uint32), and writes for each how many ids are a prefix, a
// body and a suffix, then the ids (int32 each), all little-endian, for one tokenizer after the
// other.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/text/tokenizer.h"

namespace {

using ropewalk::Tokenizer;

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

void write(const Tokenizer::Encoding& encoding) {
  const std::vector<int32_t>* parts[] = {&encoding.prefix, &encoding.body, &encoding.suffix};
  for (const auto* part : parts) {
    const auto count = static_cast<uint32_t>(part->size());
    std::fwrite(&count, sizeof(count), 1, stdout);
  }
  for (const auto* part : parts) std::fwrite(part->data(), sizeof(int32_t), part->size(), stdout);
}

void tokenize(const char* path, const std::vector<std::string>& strings) {
  constexpr size_t kBatch = 2000;
  const Tokenizer tokenizer = Tokenizer::from_file(path);
  for (size_t i = 0; i < strings.size();) {
    std::vector<std::string> texts;
    for (; i < strings.size() && texts.size() < kBatch; ++i) texts.push_back(strings[i]);
    for (const Tokenizer::Outcome& outcome : tokenizer.receive(tokenizer.send(std::move(texts)))) {
      if (!outcome.problem.empty()) throw ropewalk::InputError("{}", outcome.problem);
      write(outcome.encoding);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> strings = read_strings();
    for (int i = 1; i < argc; ++i) tokenize(argv[i], strings);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
