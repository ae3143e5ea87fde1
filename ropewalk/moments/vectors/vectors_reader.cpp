#include "ropewalk/moments/vectors/vectors_reader.h"

#include <arrow/api.h>
#include <arrow/util/float16.h>

#include <cmath>
#include <limits>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/text/arrow_cells.h"
#include "ropewalk/text/parquet_batches.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kBatchRows = 4096;

void require_types(const ParquetBatches& file) {
  for (const char* column : {"bucket", "example_id", "position"}) {
    const auto type = file.column_type(column);
    if (arrow::is_integer(type->id())) continue;
    throw InputError("{}: column '{}' holds {}; expected integers", file.name(), column,
                     type->ToString());
  }
  const auto type = file.column_type("vector");
  if (!is_list_type(*type) || !arrow::is_floating(type->field(0)->type()->id())) {
    throw InputError("{}: column 'vector' holds {}; expected lists of float16, float32 or float64",
                     file.name(), type->ToString());
  }
}

// Appends the numbers [begin, end) as float32, widened or rounded.
void append_numbers(const ListCell& cell, std::vector<float>& numbers) {
  for (int64_t i = cell.begin; i < cell.end; ++i) {
    switch (cell.values.type_id()) {
      case arrow::Type::HALF_FLOAT:
        numbers.push_back(arrow::util::Float16::FromBits(
                              static_cast<const arrow::HalfFloatArray&>(cell.values).Value(i))
                              .ToFloat());
        break;
      case arrow::Type::FLOAT:
        numbers.push_back(static_cast<const arrow::FloatArray&>(cell.values).Value(i));
        break;
      default:
        numbers.push_back(
            static_cast<float>(static_cast<const arrow::DoubleArray&>(cell.values).Value(i)));
    }
  }
}

// Turns the rows of one file into batches.
class RowConverter {
 public:
  explicit RowConverter(std::string file) : file_(std::move(file)) {}

  VectorBatch convert(const arrow::RecordBatch& rows) {
    VectorBatch batch;
    const auto n = static_cast<size_t>(rows.num_rows());
    batch.buckets.reserve(n);
    batch.example_ids.reserve(n);
    batch.positions.reserve(n);
    const auto bucket = rows.GetColumnByName("bucket");
    const auto example_id = rows.GetColumnByName("example_id");
    const auto position = rows.GetColumnByName("position");
    const auto vector = rows.GetColumnByName("vector");
    for (int64_t row = 0; row < rows.num_rows(); ++row, ++row_) {
      constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
      constexpr int64_t kLeast64 = std::numeric_limits<int64_t>::min();
      constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();
      batch.buckets.push_back(
          static_cast<int32_t>(integer(*bucket, "bucket", row, -1 - kMost, kMost)));
      batch.example_ids.push_back(integer(*example_id, "example_id", row, kLeast64, kMost64));
      batch.positions.push_back(
          static_cast<int32_t>(integer(*position, "position", row, 0, kMost)));
      add_vector(*vector, row, batch.vectors);
    }
    batch.head_dim = head_dim_;
    return batch;
  }

 private:
  int64_t integer(const arrow::Array& column, const char* name, int64_t row, int64_t least,
                  int64_t most) const {
    if (column.IsNull(row)) throw InputError("{}: '{}' is null", where(), name);
    const auto value = integer_cell(column, row);
    if (value && *value >= least && *value <= most) return *value;
    throw InputError("{}: '{}' is {}; expected {} to {}", where(), name,
                     value ? std::to_string(*value) : "beyond 64 signed bits", least, most);
  }

  void add_vector(const arrow::Array& column, int64_t row, std::vector<float>& vectors) {
    if (column.IsNull(row)) throw InputError("{}: 'vector' is null", where());
    const ListCell cell = list_cell(column, row);
    const int64_t length = cell.end - cell.begin;
    if (head_dim_ == 0) head_dim_ = length;
    if (length == 0 || length != head_dim_) {
      throw InputError(
          "{}: the vector has {} numbers; expected {}", where(), length,
          length == 0 ? "at least 1" : std::to_string(head_dim_) + " as in the rows before");
    }
    const size_t first = vectors.size();
    append_numbers(cell, vectors);
    for (int64_t i = 0; i < length; ++i) {
      if (cell.values.IsNull(cell.begin + i)) {
        throw InputError("{}: number {} of the vector is null", where(), i);
      }
      const float number = vectors[first + static_cast<size_t>(i)];
      if (!std::isfinite(number)) {
        throw InputError("{}: number {} of the vector is {}; expected a finite float32", where(), i,
                         number);
      }
    }
  }

  std::string where() const { return fmt::format("{}: row {}", file_, row_); }

  std::string file_;
  int64_t head_dim_ = 0;  // 0: no row was seen yet
  int64_t row_ = 0;       // row in the file
};

template <typename T>
void append_to(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

VectorsReader::VectorsReader(const fs::path& folder) {
  std::error_code error;
  const fs::path inner = folder / kVectorsName;
  const fs::path root = fs::is_directory(inner, error) ? inner : folder;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    const auto key = parse_stream_name(it->path().filename().string());
    if (!key) continue;
    const fs::path file = it->path() / kVectorsFile;
    std::error_code missing;
    if (!fs::exists(file, missing)) throw InputError("{}: is missing", file.string());
    const auto [other, fresh] = files_.emplace(*key, file);
    if (!fresh) {
      throw InputError("{}: names the same stream as {}", file.string(), other->second.string());
    }
  }
  if (error) throw SystemError("{}: cannot list the folder: {}", root.string(), error.message());
  if (files_.empty()) {
    throw InputError("{}: holds no vectors; expected folders such as l03h11q with a data.parquet",
                     root.string());
  }
}

std::vector<StreamKey> VectorsReader::streams() const {
  std::vector<StreamKey> keys;
  for (const auto& [key, file] : files_) keys.push_back(key);
  return keys;
}

const fs::path& VectorsReader::file(const StreamKey& key) const {
  const auto found = files_.find(key);
  if (found == files_.end()) throw UsageError("vectors: there is no stream {}", stream_name(key));
  return found->second;
}

int64_t VectorsReader::file_bytes(const StreamKey& key) const {
  std::error_code error;
  const auto size = fs::file_size(file(key), error);
  if (error) throw SystemError("{}: cannot open: {}", file(key).string(), error.message());
  return static_cast<int64_t>(size);
}

void VectorsReader::read(const StreamKey& key,
                         const std::function<void(const VectorBatch&)>& use) const {
  ParquetBatches file(this->file(key), kBatchRows);
  require_types(file);
  file.select({"bucket", "example_id", "position", "vector"});
  RowConverter converter(file.name());
  while (const auto rows = file.next()) {
    throw_if_interrupted();
    use(converter.convert(*rows));
  }
}

VectorBatch VectorsReader::read_all(const StreamKey& key) const {
  VectorBatch all;
  read(key, [&](const VectorBatch& batch) {
    all.head_dim = batch.head_dim;
    append_to(all.buckets, batch.buckets);
    append_to(all.example_ids, batch.example_ids);
    append_to(all.positions, batch.positions);
    append_to(all.vectors, batch.vectors);
  });
  return all;
}

}  // namespace ropewalk
