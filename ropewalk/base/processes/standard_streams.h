#pragma once

#include <fcntl.h>

namespace ropewalk {

// Whoever closes standard input, output or error (`2>&-`) leaves its number to the next file that
// is opened, and what is said there would be written into that. Before anything else is opened,
// this puts /dev/null in their places. Results still cannot be written to a closed standard output,
// which then is one for reading.
inline void fill_standard_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == 1 ? O_RDONLY : O_RDWR);
  }
}

}  // namespace ropewalk
