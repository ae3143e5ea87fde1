// What `ropewalk` on the path is: it sets the environment and becomes the program itself,
// libexec/ropewalk/ropewalk, which debuggers start directly.
//
// OpenMP's threads wait for each other in a busy loop. Where other programs want the cores too,
// that loop takes the time its own partner needs, and everything runs many times slower. The
// library reads its settings while it is loaded, before main, so they must be there when the
// program starts.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "ropewalk/base/processes/standard_streams.h"

int main(int argc, char** argv) {
  ropewalk::fill_standard_streams();
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", "1000", /*replace=*/0);
  std::error_code ignored;
  const std::filesystem::path here =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* folder : {"../libexec/ropewalk", "libexec/ropewalk"}) {  // installed, built
    if (argc > 0) ::execv((here / folder / "ropewalk").c_str(), argv);
  }
  std::perror((here / "../libexec/ropewalk/ropewalk").c_str());
  return 4;  // as the program ends where the machine refuses
}
