#pragma once

#include <memory>

namespace arrow::io {
class RandomAccessFile;
}

namespace ropewalk {

class RemoteFile;

// A remote file as Arrow reads files. What the remote file throws comes through as it is.
std::shared_ptr<arrow::io::RandomAccessFile> arrow_file(std::shared_ptr<RemoteFile> file);

}  // namespace ropewalk
