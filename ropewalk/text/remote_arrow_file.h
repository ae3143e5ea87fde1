#pragma once

#include <memory>

namespace arrow::io {
class RandomAccessFile;
}

namespace ropewalk {

class RemoteFile;

// Adapts a remote file to Arrow. Exceptions of the remote file pass through unchanged.
std::shared_ptr<arrow::io::RandomAccessFile> arrow_file(std::shared_ptr<RemoteFile> file);

}  // namespace ropewalk
