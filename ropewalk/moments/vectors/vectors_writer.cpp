#include "ropewalk/moments/vectors/vectors_writer.h"

#include <arrow/api.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/base64.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/moments/vectors/append_file.h"

namespace ropewalk {
namespace {

// The memory of a waiting row, in a buffer that doubles whenever it is full.
int64_t row_bytes(int64_t head_dim) {
  constexpr int64_t kGrowth = 2;
  return kGrowth * (head_dim * static_cast<int64_t>(sizeof(float)) +
                    static_cast<int64_t>(3 * sizeof(int32_t) + sizeof(std::optional<int32_t>)));
}

std::shared_ptr<arrow::Schema> vectors_schema(int64_t head_dim) {
  return arrow::schema(
      {arrow::field("bucket", arrow::int32()), arrow::field("example_id", arrow::int32()),
       arrow::field("position", arrow::int32()),
       arrow::field("vector",
                    arrow::fixed_size_list(arrow::float32(), static_cast<int32_t>(head_dim))),
       arrow::field("sliding_window", arrow::int32())});
}

// Vectors captured in bfloat16 leave half the bytes of a float32 zero: split by byte and compressed
// they take half the space, which neither a dictionary nor plain compression achieves.
std::shared_ptr<parquet::WriterProperties> writer_properties() {
  const std::string vectors = "vector.list.element";
  return parquet::WriterProperties::Builder()
      .memory_pool(arrow::system_memory_pool())  // gives memory back, where others keep it
      ->compression(arrow::Compression::ZSTD)
      ->compression_level(1)
      ->disable_dictionary(vectors)
      ->disable_dictionary("sliding_window")
      ->encoding(vectors, parquet::Encoding::BYTE_STREAM_SPLIT)
      ->disable_statistics(vectors)
      ->build();
}

// Uses the file's writer below Arrow's: Arrow's keeps the levels of its last table as long as the
// file is open, which for thousands of files takes more memory than the waiting rows.
std::unique_ptr<parquet::ParquetFileWriter> open_writer(const std::shared_ptr<AppendFile>& file,
                                                        int64_t head_dim) {
  const auto schema = vectors_schema(head_dim);
  const auto properties = writer_properties();
  std::shared_ptr<parquet::SchemaDescriptor> columns;
  PARQUET_THROW_NOT_OK(parquet::arrow::ToParquetSchema(schema.get(), *properties, &columns));
  PARQUET_ASSIGN_OR_THROW(const auto serialized, arrow::ipc::SerializeSchema(*schema));
  const auto root = std::static_pointer_cast<parquet::schema::GroupNode>(columns->schema_root());
  const auto metadata = arrow::key_value_metadata(
      {{"ARROW:schema", arrow::util::base64_encode(std::string_view(*serialized))}});
  return parquet::ParquetFileWriter::Open(file, root, properties, metadata);
}

}  // namespace

// Definition and repetition levels of a batch of rows, which are the same for every stream: every
// value exists, as lists of `head_dim` numbers without nulls.
class VectorsWriter::Levels {
 public:
  explicit Levels(int64_t head_dim) : head_dim_(head_dim) {
    const auto numbers = static_cast<size_t>(kRows * head_dim);
    present_.assign(kRows, 1);
    elements_.assign(numbers, kElement);
    repetition_.assign(numbers, 1);
    for (size_t i = 0; i < numbers; i += static_cast<size_t>(head_dim)) repetition_[i] = 0;
  }

  void write(parquet::ColumnWriter* column, std::span<const int32_t> values) const {
    auto* writer = static_cast<parquet::Int32Writer*>(column);
    for (size_t i = 0; i < values.size(); i += kRows) {
      const size_t n = std::min<size_t>(kRows, values.size() - i);
      writer->WriteBatch(static_cast<int64_t>(n), present_.data(), nullptr, values.data() + i);
    }
  }
  void write(parquet::ColumnWriter* column, std::span<const std::optional<int32_t>> values) const {
    auto* writer = static_cast<parquet::Int32Writer*>(column);
    std::vector<int16_t> levels;
    std::vector<int32_t> there;
    for (const auto& value : values) {
      levels.push_back(value ? 1 : 0);
      if (value) there.push_back(*value);
    }
    writer->WriteBatch(static_cast<int64_t>(levels.size()), levels.data(), nullptr, there.data());
  }
  void write(parquet::ColumnWriter* column, std::span<const float> numbers) const {
    auto* writer = static_cast<parquet::FloatWriter*>(column);
    const auto batch = static_cast<size_t>(kRows * head_dim_);
    for (size_t i = 0; i < numbers.size(); i += batch) {
      const size_t n = std::min(batch, numbers.size() - i);
      writer->WriteBatch(static_cast<int64_t>(n), elements_.data(), repetition_.data(),
                         numbers.data() + i);
    }
  }

 private:
  static constexpr int64_t kRows = 128;
  static constexpr int16_t kElement = 3;  // optional list, its entries, optional element
  int64_t head_dim_;
  std::vector<int16_t> present_, elements_, repetition_;
};

// One stream's file, and the rows that wait to be written to it.
class VectorsWriter::Stream {
 public:
  Stream(std::filesystem::path path, int64_t head_dim)
      : path_(std::move(path)), file_(std::make_shared<AppendFile>(path_)) {
    guard([&] {
      writer_ = open_writer(file_, head_dim);
      PARQUET_THROW_NOT_OK(file_->release());
    });
  }

  // Parquet's writer completes its file in its destructor; an unfinished stream must not be
  // completed.
  ~Stream() { file_->abandon(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int64_t waiting_rows() const { return static_cast<int64_t>(waiting_.positions.size()); }

  void add(const VectorRows& rows) {
    const size_t n = rows.positions.size();
    append_to(waiting_.positions, rows.positions);
    append_to(waiting_.buckets, rows.buckets);
    append_to(waiting_.vectors, rows.vectors);
    waiting_.example_ids.insert(waiting_.example_ids.end(), n,
                                static_cast<int32_t>(rows.example_id));
    waiting_.windows.insert(waiting_.windows.end(), n, rows.sliding_window);
  }

  // Writes all waiting rows as one row group.
  void write(const Levels& levels) {
    if (waiting_.positions.empty()) return;
    guard([&] {
      parquet::RowGroupWriter* group = writer_->AppendRowGroup();
      levels.write(group->NextColumn(), std::span<const int32_t>(waiting_.buckets));
      levels.write(group->NextColumn(), std::span<const int32_t>(waiting_.example_ids));
      levels.write(group->NextColumn(), std::span<const int32_t>(waiting_.positions));
      levels.write(group->NextColumn(), std::span<const float>(waiting_.vectors));
      levels.write(group->NextColumn(), std::span<const std::optional<int32_t>>(waiting_.windows));
      group->Close();
      PARQUET_THROW_NOT_OK(file_->release());
    });
    waiting_ = {};
  }

  void close() {
    guard([&] {
      writer_->Close();
      PARQUET_THROW_NOT_OK(file_->Close());
    });
  }

 private:
  struct UnwrittenRows {
    std::vector<int32_t> positions, buckets, example_ids;
    std::vector<std::optional<int32_t>> windows;
    std::vector<float> vectors;  // [waiting_rows, head_dim]
  };

  template <typename T>
  static void append_to(std::vector<T>& values, std::span<const T> more) {
    values.insert(values.end(), more.begin(), more.end());
  }

  template <typename Action>
  void guard(Action action) {
    try {
      action();
    } catch (const parquet::ParquetStatusException& error) {
      file_->abandon();
      throw SystemError("{}: {}", path_.string(), error.status().message());
    } catch (const parquet::ParquetException& error) {
      file_->abandon();
      throw SystemError("{}: {}", path_.string(), error.what());
    }
  }

  std::filesystem::path path_;
  std::shared_ptr<AppendFile> file_;
  std::unique_ptr<parquet::ParquetFileWriter> writer_;
  UnwrittenRows waiting_;
};

VectorsWriter::VectorsWriter(std::filesystem::path folder, int64_t head_dim, int64_t memory)
    : folder_(std::move(folder)), head_dim_(head_dim), memory_(memory) {
  constexpr int64_t kMost = 1 << 16;
  if (head_dim < 1 || head_dim > kMost) {
    throw UsageError("vectors: head dimension is {}; expected 1 to {}", head_dim, kMost);
  }
  levels_ = std::make_unique<const Levels>(head_dim);
}

VectorsWriter::~VectorsWriter() = default;

VectorsWriter::Stream& VectorsWriter::stream(const StreamKey& key) {
  std::unique_ptr<Stream>& found = streams_[key];
  if (!found) {
    const std::filesystem::path file = stream_file(folder_, key);
    const std::filesystem::path folder = file.parent_path();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw SystemError("{}: cannot create folder: {}", folder.string(), error.message());
    found = std::make_unique<Stream>(file, head_dim_);
  }
  return *found;
}

void VectorsWriter::append(const StreamKey& key, const VectorRows& rows) {
  const size_t n = rows.positions.size();
  if (finished_) throw UsageError("vectors: {} gets rows after finish()", stream_name(key));
  if (rows.buckets.size() != n || rows.vectors.size() != n * static_cast<size_t>(head_dim_)) {
    throw UsageError(
        "vectors: {} gets {} positions, {} buckets and {} numbers; expected n, n and n * {}",
        stream_name(key), n, rows.buckets.size(), rows.vectors.size(), head_dim_);
  }
  stream(key).add(rows);
  waiting_bytes_ += static_cast<int64_t>(n) * row_bytes(head_dim_);
  if (waiting_bytes_ > memory_) make_room();
}

void VectorsWriter::write_out(Stream& stream) {
  waiting_bytes_ -= stream.waiting_rows() * row_bytes(head_dim_);
  stream.write(*levels_);
}

// Few large row groups read faster than many small ones, so streams with few rows keep waiting.
void VectorsWriter::make_room() {
  std::vector<Stream*> fullest;
  for (const auto& [key, stream] : streams_) fullest.push_back(stream.get());
  std::ranges::stable_sort(fullest, std::greater{}, &Stream::waiting_rows);
  for (Stream* stream : fullest) {
    if (waiting_bytes_ <= memory_ / 2) break;
    write_out(*stream);
  }
}

void VectorsWriter::finish() {
  if (std::exchange(finished_, true)) return;
  for (const auto& [key, stream] : streams_) write_out(*stream);
  for (const auto& [key, stream] : streams_) stream->close();
}

}  // namespace ropewalk
