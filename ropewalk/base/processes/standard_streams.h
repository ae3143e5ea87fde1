#pragma once

#include <fcntl.h>

namespace ropewalk {

// Where standard input, output or error is closed (`2>&-`), the next file that is opened gets its
// number, and messages would be written into that file. Called before anything else is opened, this
// function opens /dev/null for closed streams. Results still cannot be written to a closed standard
// output, because /dev/null is opened there for reading only.
inline void fill_standard_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == 1 ? O_RDONLY : O_RDWR);
  }
}

}  // namespace ropewalk
