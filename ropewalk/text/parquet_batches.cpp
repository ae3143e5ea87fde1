#include "ropewalk/text/parquet_batches.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>

#include <new>
#include <numeric>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/hub/remote_file.h"
#include "ropewalk/text/corpus_formats.h"
#include "ropewalk/text/remote_arrow_file.h"

namespace ropewalk {
namespace {

// A few bytes of a file may claim to be, or decompress to, any number of bytes.
constexpr int64_t kMostMemory = int64_t{1} << 30;

// A lack of memory is not the file's fault, unless the file needs more than the limit of the capped
// pool.
void check(const arrow::Status& status) {
  if (status.ok()) return;
  const bool capped = status.message().find("cap exceeded") != std::string::npos;
  if (status.IsOutOfMemory() && !capped) throw std::bad_alloc();
  throw std::runtime_error(status.message());
}

// Adds the leaves of a column; those of a list lie below it.
void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.column_index >= 0) leaves.push_back(field.column_index);
  for (const auto& child : field.children) add_leaves(child, leaves);
}

}  // namespace

// Parquet reports damage both by status and by exception; either becomes an InputError with the
// file.
template <typename Action>
void ParquetBatches::guarded(Action&& action) const {
  try {
    try {
      action();
    } catch (const parquet::ParquetStatusException& error) {
      check(error.status());
    }
  } catch (const InputError&) {
    throw;
  } catch (const SystemError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw SystemError("{}: reading it takes more memory than there is", name_);
  } catch (const std::exception& error) {
    throw InputError("{}: cannot be read as Parquet: {}", name_, error.what());
  }
}

ParquetBatches::ParquetBatches(const std::filesystem::path& path, int64_t batch_rows)
    : name_(path.string()),
      memory_(
          std::make_unique<arrow::CappedMemoryPool>(arrow::default_memory_pool(), kMostMemory)) {
  auto file = arrow::io::ReadableFile::Open(name_, memory_.get());
  if (!file.ok()) {
    const auto& detail = file.status().detail();  // errno's text; the message only repeats the path
    throw SystemError("{}: cannot open: {}", name_,
                      detail ? detail->ToString() : file.status().message());
  }
  open(*file, batch_rows);
}

ParquetBatches::ParquetBatches(const std::shared_ptr<RemoteFile>& file, int64_t batch_rows)
    : name_(file->name()),
      memory_(
          std::make_unique<arrow::CappedMemoryPool>(arrow::default_memory_pool(), kMostMemory)) {
  open(arrow_file(file), batch_rows);
}

void ParquetBatches::open(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                          int64_t batch_rows) {
  guarded([&] {
    parquet::ReaderProperties properties(memory_.get());
    properties.enable_buffered_stream();  // reads pages on demand instead of whole column chunks
    parquet::ArrowReaderProperties arrow_properties;
    arrow_properties.set_batch_size(batch_rows);
    arrow_properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    builder.memory_pool(memory_.get());
    check(builder.Open(file, properties));
    builder.properties(arrow_properties);
    check(builder.Build(&reader_));
    check(reader_->GetSchema(&schema_));
  });
}

ParquetBatches::~ParquetBatches() = default;

std::vector<std::string> ParquetBatches::column_names() const { return schema_->field_names(); }

bool ParquetBatches::has_column(const std::string& column) const {
  return !schema_->GetAllFieldIndices(column).empty();
}

std::shared_ptr<arrow::DataType> ParquetBatches::column_type(const std::string& column) const {
  const std::vector<int> found = schema_->GetAllFieldIndices(column);
  if (found.empty()) {
    throw InputError("{}: has no column '{}'; it has {}", name_, column,
                     quoted_list(column_names()));
  }
  if (found.size() > 1)
    throw InputError("{}: has {} columns named '{}'", name_, found.size(), column);
  return schema_->field(found[0])->type();
}

void ParquetBatches::select(const std::vector<std::string>& columns) {
  guarded([&] {
    std::vector<int> leaves;
    for (const std::string& column : columns) {
      const auto index = static_cast<size_t>(schema_->GetFieldIndex(column));
      add_leaves(reader_->manifest().schema_fields.at(index), leaves);
    }
    std::vector<int> groups(static_cast<size_t>(reader_->num_row_groups()));
    std::iota(groups.begin(), groups.end(), 0);
    auto batches = reader_->GetRecordBatchReader(groups, leaves);
    check(batches.status());
    batches_ = std::move(batches).ValueUnsafe();
  });
}

std::shared_ptr<arrow::RecordBatch> ParquetBatches::next() {
  std::shared_ptr<arrow::RecordBatch> batch;
  guarded([&] {
    check(batches_->ReadNext(&batch));
    if (batch) check(batch->Validate());
  });
  return batch;
}

}  // namespace ropewalk
