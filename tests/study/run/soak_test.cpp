#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "ropewalk/base/log.h"
#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/show/analyze.h"
#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;

int64_t resident_bytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

int64_t entries(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

// Resources of the process; leaks show as growth.
struct Held {
  int64_t memory = resident_bytes();
  int64_t files = entries("/proc/self/fd");
  int64_t threads = entries("/proc/self/task");
};

TEST(Soak, TwoHundredCapturesHoldWhatTwentyHold) {
  log::set_level(log::Level::warning);
  TinyCheckpoint tiny;
  const auto opened = tiny.open();
  const TemporaryFolder folder;
  std::string corpus;
  for (const Document& document : tiny_documents({40, 41, 42, 43, 44, 45, 46, 47, 48, 49})) {
    corpus += Json{{"tokens", document.tokens}}.dump() + "\n";
  }
  CaptureOptions options;
  options.model.model = opened.checkpoint->folder();
  options.model.device = "cpu";
  options.model.dtype = "float32";
  options.model.context = 40;
  options.corpus.path = folder.write("corpus.jsonl", corpus);
  options.label = "tiny";
  options.vectors = "uniform";
  AnalyzeOptions analysis;
  analysis.components = 3;

  Held early;
  for (int i = 0; i < 200; ++i) {
    if (i == 20) early = Held();
    options.out = folder.path() / "out";
    // Every other time the budget is so small that moments are spooled and weights streamed.
    options.model.memory = i % 2 == 0 ? int64_t{1} << 30 : int64_t{200} << 10;
    capture(options);
    EXPECT_EQ(analyze_folder(options.out, analysis).layer.size(), 12u * 3u);  // heads, components
    fs::remove_all(options.out);
  }
  log::set_level(log::Level::info);
  const Held late;
  EXPECT_EQ(late.files, early.files);
  EXPECT_EQ(late.threads, early.threads);
#ifndef __SANITIZE_ADDRESS__  // the sanitizer keeps freed memory to detect its use
  constexpr int64_t kNoise = int64_t{4} << 20;
  EXPECT_LT(late.memory, early.memory + kNoise) << "was " << early.memory;
#endif
}

}  // namespace
}  // namespace ropewalk
