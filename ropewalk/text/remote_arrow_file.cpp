#include "ropewalk/text/remote_arrow_file.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <utility>

#include "ropewalk/hub/remote_file.h"

namespace ropewalk {
namespace {

class RemoteArrowFile : public arrow::io::RandomAccessFile {
 public:
  explicit RemoteArrowFile(std::shared_ptr<RemoteFile> file) : file_(std::move(file)) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return index_; }
  arrow::Result<int64_t> GetSize() override { return file_->size(); }
  arrow::Status Seek(int64_t position) override {
    index_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Read(int64_t count, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(index_, count, out));
    index_ += read;
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(index_, count));
    index_ += buffer->size();
    return buffer;
  }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, void* out) override {
    if (position < 0 || count < 0)
      return arrow::Status::Invalid("an offset before the start of the file");
    return file_->read(position, static_cast<char*>(out), count);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t count) override {
    if (position < 0 || count < 0)
      return arrow::Status::Invalid("an offset before the start of the file");
    // A file may claim any length for its contents.
    count = std::min(count, std::max<int64_t>(file_->size() - position, 0));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> buffer,
                          arrow::AllocateResizableBuffer(count));
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position, count, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(read));
    return buffer;
  }

 private:
  std::shared_ptr<RemoteFile> file_;
  int64_t index_ = 0;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<arrow::io::RandomAccessFile> arrow_file(std::shared_ptr<RemoteFile> file) {
  return std::make_shared<RemoteArrowFile>(std::move(file));
}

}  // namespace ropewalk
