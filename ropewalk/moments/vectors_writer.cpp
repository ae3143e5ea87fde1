#include "ropewalk/moments/vectors_writer.h"

#include <arrow/api.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/moments/append_file.h"

namespace ropewalk {
namespace {

// Memory that a waiting row takes.
int64_t row_bytes(int64_t head_dim) {
  return head_dim * static_cast<int64_t>(sizeof(float)) +
         static_cast<int64_t>(3 * sizeof(int32_t) + sizeof(std::optional<int32_t>));
}

std::shared_ptr<arrow::Schema> vectors_schema(int64_t head_dim) {
  return arrow::schema(
      {arrow::field("bucket", arrow::int32()), arrow::field("example_id", arrow::int32()),
       arrow::field("position", arrow::int32()),
       arrow::field("vector",
                    arrow::fixed_size_list(arrow::float32(), static_cast<int32_t>(head_dim))),
       arrow::field("sliding_window", arrow::int32())});
}

// Captures in bfloat16 leave half the bytes of a float32 zero: split by byte and compressed they
// take half the space, which neither a dictionary nor plain compression achieves.
std::shared_ptr<parquet::WriterProperties> writer_properties() {
  const std::string vectors = "vector.list.element";
  return parquet::WriterProperties::Builder()
      .compression(arrow::Compression::ZSTD)
      ->compression_level(1)
      ->disable_dictionary(vectors)
      ->encoding(vectors, parquet::Encoding::BYTE_STREAM_SPLIT)
      ->disable_statistics(vectors)
      ->build();
}

std::shared_ptr<arrow::Array> int32_array(const std::vector<int32_t>& values) {
  return std::make_shared<arrow::Int32Array>(static_cast<int64_t>(values.size()),
                                             arrow::Buffer::Wrap(values));
}

}  // namespace

// One stream's file, and the rows that wait for it.
class VectorsWriter::Stream {
 public:
  Stream(std::filesystem::path path, int64_t head_dim)
      : path_(std::move(path)),
        schema_(vectors_schema(head_dim)),
        file_(std::make_shared<AppendFile>(path_)) {
    auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    auto opened =
        parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(), file_,
                                         writer_properties(), std::move(arrow_properties));
    check(opened.status());
    writer_ = std::move(opened).ValueUnsafe();
    check(file_->release());
  }

  // Parquet's writer completes its file when destroyed; a stream that did not finish must not.
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

  // One row group of all that waits.
  void write() {
    if (waiting_.positions.empty()) return;
    const auto numbers = std::make_shared<arrow::FloatArray>(
        static_cast<int64_t>(waiting_.vectors.size()), arrow::Buffer::Wrap(waiting_.vectors));
    const auto vectors = std::make_shared<arrow::FixedSizeListArray>(schema_->field(3)->type(),
                                                                     waiting_rows(), numbers);
    const auto table = arrow::Table::Make(
        schema_, {int32_array(waiting_.buckets), int32_array(waiting_.example_ids),
                  int32_array(waiting_.positions), vectors, window_array()});
    check(writer_->WriteTable(*table, waiting_rows()));
    check(file_->release());
    waiting_ = {};
  }

  void close() {
    check(writer_->Close());
    check(file_->Close());
  }

 private:
  struct Waiting {
    std::vector<int32_t> positions, buckets, example_ids;
    std::vector<std::optional<int32_t>> windows;
    std::vector<float> vectors;  // [waiting_rows, head_dim]
  };

  template <typename T>
  static void append_to(std::vector<T>& values, std::span<const T> more) {
    values.insert(values.end(), more.begin(), more.end());
  }

  std::shared_ptr<arrow::Array> window_array() {
    arrow::Int32Builder builder;
    check(builder.Reserve(waiting_rows()));
    for (const auto& window : waiting_.windows) {
      if (window) {
        builder.UnsafeAppend(*window);
      } else {
        builder.UnsafeAppendNull();
      }
    }
    std::shared_ptr<arrow::Array> array;
    check(builder.Finish(&array));
    return array;
  }

  void check(const arrow::Status& status) {
    if (status.ok()) return;
    file_->abandon();
    throw SystemError("{}: {}", path_.string(), status.message());
  }

  std::filesystem::path path_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<AppendFile> file_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  Waiting waiting_;
};

VectorsWriter::VectorsWriter(std::filesystem::path folder, int64_t head_dim, int64_t memory)
    : folder_(std::move(folder)), head_dim_(head_dim), memory_(memory) {
  constexpr int64_t kMost = 1 << 16;
  if (head_dim < 1 || head_dim > kMost) {
    throw UsageError("vectors: head dimension is {}; expected 1 to {}", head_dim, kMost);
  }
}

VectorsWriter::~VectorsWriter() = default;

VectorsWriter::Stream& VectorsWriter::stream(const StreamKey& key) {
  std::unique_ptr<Stream>& found = streams_[key];
  if (!found) {
    const std::filesystem::path folder = folder_ / "vectors" / stream_name(key);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw SystemError("{}: cannot create folder: {}", folder.string(), error.message());
    found = std::make_unique<Stream>(folder / "data.parquet", head_dim_);
  }
  return *found;
}

void VectorsWriter::append(const StreamKey& key, const VectorRows& rows) {
  const size_t n = rows.positions.size();
  if (finished_) throw UsageError("vectors: {} gets rows after the end", stream_name(key));
  if (rows.buckets.size() != n || rows.vectors.size() != n * static_cast<size_t>(head_dim_)) {
    throw UsageError(
        "vectors: {} gets {} positions, {} buckets and {} numbers; expected n, n and n * {}",
        stream_name(key), n, rows.buckets.size(), rows.vectors.size(), head_dim_);
  }
  stream(key).add(rows);
  rows_ += static_cast<int64_t>(n);
  waiting_bytes_ += static_cast<int64_t>(n) * row_bytes(head_dim_);
  if (waiting_bytes_ > memory_) make_room();
}

void VectorsWriter::write_out(Stream& stream) {
  waiting_bytes_ -= stream.waiting_rows() * row_bytes(head_dim_);
  stream.write();
}

// Few large row groups read faster than many small ones, so streams with little to write keep
// waiting.
void VectorsWriter::make_room() {
  std::vector<Stream*> fullest;
  for (const auto& [key, stream] : streams_) fullest.push_back(stream.get());
  std::ranges::stable_sort(fullest, std::greater{}, &Stream::waiting_rows);
  for (Stream* stream : fullest) {
    if (waiting_bytes_ <= memory_ / 2) break;
    write_out(*stream);
  }
}

void VectorsWriter::flush() {
  for (const auto& [key, stream] : streams_) write_out(*stream);
}

void VectorsWriter::finish() {
  if (std::exchange(finished_, true)) return;
  flush();
  for (const auto& [key, stream] : streams_) stream->close();
}

}  // namespace ropewalk
