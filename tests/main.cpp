// Runs the C++ tests. Where all requested tests were skipped, as GPU tests without a GPU, the
// program ends with a special exit code, and CTest reports them as skipped.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  const bool none = all.skipped_test_count() > 0 && all.successful_test_count() == 0;
  return result == 0 && none ? kSkipped : result;
}
