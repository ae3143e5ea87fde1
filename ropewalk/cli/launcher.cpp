// The command `ropewalk` on the path: it sets the environment and then becomes the program itself,
// libexec/ropewalk/ropewalk, which debuggers start directly.
// OpenMP's threads wait for each other in a busy loop. Where other programs need the cores too,
// this loop takes the time that the awaited thread needs, and everything runs many times slower.
// The library reads its settings while it is loaded, before main, so they must be set before the
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
  for (const char* folder : {"../libexec/ropewalk", "libexec/ropewalk"}) {  // installed; built
    if (argc > 0) ::execv((here / folder / "ropewalk").c_str(), argv);
  }
  std::perror((here / "../libexec/ropewalk/ropewalk").c_str());
  return 4;  // the program's exit code where the system refuses something
}
