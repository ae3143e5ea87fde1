// Links only where ropewalk/base/fmt_library.cpp fits this version of fmt.
#include <fmt/format.h>

int main(int count, char**) {
  return static_cast<int>(
      fmt::format("{} {:.3g} {:L} {:>5}", "a", 1.5 * count, count, 2.5f).size());
}
