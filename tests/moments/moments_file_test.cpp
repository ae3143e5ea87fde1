#include "ropewalk/moments/moments_file.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/moments/empty_moments.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

// One stream of one dimension, each block with that many documents of one token.
CaptureMoments moments(int64_t blocks, int64_t documents) {
  CaptureMoments result = empty_moments(blocks);
  for (int64_t& count : result.counts.documents) count = documents;
  for (int64_t& count : result.counts.tokens) count = documents;
  return result;
}

TEST(MomentsFile, RefusesCountsThatOverflowTogether) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "moments.safetensors";
  write_moments(path, moments(3000, (int64_t{1} << 52) - 1));
  try {
    read_moments(path);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("counts of block 1 make no sense"), std::string::npos)
        << error.what();
  }
  write_moments(path, moments(3, 0));
  EXPECT_EQ(read_moments(path).blocks(), 3);
}

}  // namespace
}  // namespace ropewalk
