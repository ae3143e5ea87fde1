#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace parquet::arrow {
class FileReader;
}

namespace arrow {
class CappedMemoryPool;
namespace io {
class RandomAccessFile;
}
}  // namespace arrow

namespace ropewalk {

class RemoteFile;

// Reads chosen columns of a Parquet file, a few rows at a time. It holds one batch, and one page
// per column, however large the row groups are, and at most 1 GiB. Throws SystemError where the
// file cannot be opened, InputError naming it where it is damaged.
class ParquetBatches {
 public:
  ParquetBatches(const std::filesystem::path& path, int64_t batch_rows);
  // Reads a remote file: only the footer and what `next` needs are downloaded.
  ParquetBatches(const std::shared_ptr<RemoteFile>& file, int64_t batch_rows);
  ~ParquetBatches();
  ParquetBatches(const ParquetBatches&) = delete;
  ParquetBatches& operator=(const ParquetBatches&) = delete;

  // The path, or the remote file's name, for messages.
  const std::string& name() const { return name_; }
  std::vector<std::string> column_names() const;
  bool has_column(const std::string& column) const;
  // The type of the column of that name; throws InputError where there are several or none.
  std::shared_ptr<arrow::DataType> column_type(const std::string& column) const;

  // Chooses what `next` reads. Call it once, with columns that exist exactly once.
  void select(const std::vector<std::string>& columns);
  // The next rows; null at the end. Strings may contain any bytes.
  std::shared_ptr<arrow::RecordBatch> next();

 private:
  template <typename Action>
  void guarded(Action&& action) const;
  void open(const std::shared_ptr<arrow::io::RandomAccessFile>& file, int64_t batch_rows);

  std::string name_;
  std::unique_ptr<arrow::CappedMemoryPool> memory_;  // must outlive what was read
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
};

}  // namespace ropewalk
