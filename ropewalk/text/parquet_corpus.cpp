#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>

#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/text/corpus_formats.h"
#include "ropewalk/text/parquet_cells.h"

namespace ropewalk {
namespace {

// Rows decoded at a time: enough to spread the cost of a batch, few enough for long documents.
constexpr int64_t kBatchRows = 64;

// The leaves of a column, which for a list lie below it.
void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.column_index >= 0) leaves.push_back(field.column_index);
  for (const auto& child : field.children) add_leaves(child, leaves);
}

class ParquetCorpus : public CorpusReader {
 public:
  ParquetCorpus(const std::filesystem::path& path, const CorpusOptions& options)
      : path_(path.string()), options_(options) {
    auto file = arrow::io::ReadableFile::Open(path_);
    if (!file.ok()) throw SystemError("{}: cannot open: {}", path_, file.status().message());
    guarded([&] { open(*file); });
  }

  std::optional<CorpusEntry> next() override {
    while (row_ == (batch_ ? batch_->num_rows() : 0)) {
      guarded([&] {
        check(batches_->ReadNext(&batch_));
        // Arrow trusts the file; offsets that point elsewhere would otherwise be followed.
        if (batch_) check(batch_->ValidateFull());
      });
      if (!batch_) return std::nullopt;
      row_ = 0;
    }
    CorpusEntry entry;
    entry.where = fmt::format("{}: row {}", path_, rows_before_++);
    const int64_t row = row_++;
    entry.content = content_cell(*batch_->GetColumnByName(field_), row, entry.where);
    if (!id_.empty()) entry.id = id_cell(*batch_->GetColumnByName(id_), row, entry.where);
    return entry;
  }

 private:
  void open(std::shared_ptr<arrow::io::RandomAccessFile> file) {
    parquet::ReaderProperties properties;
    properties.enable_buffered_stream();  // pages as they are needed, not whole column chunks
    parquet::ArrowReaderProperties arrow_properties;
    arrow_properties.set_batch_size(kBatchRows);
    arrow_properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(std::move(file), properties));
    builder.properties(arrow_properties);
    check(builder.Build(&reader_));
    choose_columns();
  }

  void choose_columns() {
    std::shared_ptr<arrow::Schema> schema;
    check(reader_->GetSchema(&schema));
    const auto has = [&](const std::string& name) { return schema->GetFieldIndex(name) >= 0; };
    field_ = options_.field;
    if (field_.empty()) field_ = !has("text") && has("tokens") ? "tokens" : "text";
    id_ = options_.id.empty() && !has("id") ? "" : options_.id.empty() ? "id" : options_.id;
    std::vector<int> leaves;
    for (const std::string& name : {field_, id_}) {
      if (name.empty()) continue;
      const int index = require_column(*schema, name);
      if (name == id_ && id_ == field_ && !leaves.empty()) continue;
      add_leaves(reader_->manifest().schema_fields.at(static_cast<size_t>(index)), leaves);
    }
    require_content_type(*schema->GetFieldByName(field_)->type(), field_,
                         field_content(options_, field_), path_);
    if (!id_.empty()) require_id_type(*schema->GetFieldByName(id_)->type(), id_, path_);
    std::vector<int> groups(static_cast<size_t>(reader_->num_row_groups()));
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int>(i);
    auto batches = reader_->GetRecordBatchReader(groups, leaves);
    check(batches.status());
    batches_ = std::move(batches).ValueUnsafe();
  }

  int require_column(const arrow::Schema& schema, const std::string& name) const {
    const std::vector<int> found = schema.GetAllFieldIndices(name);
    if (found.size() == 1) return found[0];
    if (found.size() > 1)
      throw InputError("{}: has {} columns named '{}'", path_, found.size(), name);
    const bool any = name == field_ && options_.field.empty();
    throw InputError("{}: has no column {}; it has {}{}", path_,
                     any ? "'text' or 'tokens'" : fmt::format("'{}'", name),
                     quoted_list(schema.field_names()),
                     any ? "; name one as the corpus's field" : "");
  }

  static void check(const arrow::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.message());
  }

  // Parquet reports damage both by status and by exception; either becomes an InputError with the
  // file.
  template <typename Action>
  void guarded(Action&& action) const {
    try {
      action();
    } catch (const InputError&) {
      throw;
    } catch (const std::exception& error) {
      throw InputError("{}: cannot be read as Parquet: {}", path_, error.what());
    }
  }

  std::string path_;
  CorpusOptions options_;
  std::string field_;
  std::string id_;  // empty: none
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t row_ = 0;          // of batch_, next
  int64_t rows_before_ = 0;  // read so far
};

}  // namespace

std::unique_ptr<CorpusReader> open_parquet_corpus(const std::filesystem::path& path,
                                                  const CorpusOptions& options) {
  return std::make_unique<ParquetCorpus>(path, options);
}

}  // namespace ropewalk
