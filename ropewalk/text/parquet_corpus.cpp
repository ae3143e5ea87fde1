#include <arrow/record_batch.h>

#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/text/corpus_formats.h"
#include "ropewalk/text/parquet_batches.h"
#include "ropewalk/text/parquet_cells.h"

namespace ropewalk {
namespace {

// Rows decoded at a time: enough to spread the cost of a batch, few enough for long documents.
constexpr int64_t kBatchRows = 64;
// Rows of a remote file decoded at a time: few, so that less is downloaded in vain.
constexpr int64_t kRemoteBatchRows = 8;

class ParquetCorpus : public CorpusReader {
 public:
  template <typename File>
  ParquetCorpus(const File& file, int64_t batch_rows, const CorpusOptions& options)
      : file_(file, batch_rows),
        field_(choose_field(options)),
        id_(choose_id(options)),
        id_named_(!options.id.empty()) {
    require_content_type(*file_.column_type(field_), field_, field_content(options, field_),
                         file_.name());
    std::vector<std::string> columns = {field_};
    if (!id_.empty()) {
      require_id_type(*file_.column_type(id_), id_, file_.name());
      if (id_ != field_) columns.push_back(id_);
    }
    file_.select(columns);
  }

  std::string name() const override { return file_.name(); }

  std::optional<CorpusEntry> next() override {
    while (row_ == (batch_ ? batch_->num_rows() : 0)) {
      batch_ = file_.next();
      row_ = 0;
      if (!batch_) return std::nullopt;
    }
    CorpusEntry entry;
    entry.where = fmt::format("{}: row {}", file_.name(), rows_read_++);
    const int64_t row = row_++;
    entry.content = content_cell(*batch_->GetColumnByName(field_), row, entry.where);
    if (!id_.empty()) {
      entry.id = id_cell(*batch_->GetColumnByName(id_), row, entry.where, id_named_);
    }
    return entry;
  }

 private:
  std::string choose_field(const CorpusOptions& options) const {
    if (!options.field.empty()) return options.field;
    if (file_.has_column("text")) return "text";
    if (file_.has_column("tokens")) return "tokens";
    throw InputError(
        "{}: has no column 'text' or 'tokens'; it has {}; name one as the corpus's field",
        file_.name(), quoted_list(file_.column_names()));
  }

  std::string choose_id(const CorpusOptions& options) const {
    if (!options.id.empty()) return options.id;
    return file_.has_column("id") && is_id_type(*file_.column_type("id")) ? "id" : "";
  }

  ParquetBatches file_;
  std::string field_;
  std::string id_;  // empty where there are no ids
  bool id_named_;   // by the user
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t row_ = 0;  // the next row of batch_
  int64_t rows_read_ = 0;
};

}  // namespace

std::unique_ptr<CorpusReader> open_parquet_corpus(const std::filesystem::path& path,
                                                  const CorpusOptions& options) {
  return std::make_unique<ParquetCorpus>(path, kBatchRows, options);
}

std::unique_ptr<CorpusReader> open_parquet_corpus(const std::shared_ptr<RemoteFile>& file,
                                                  const CorpusOptions& options) {
  return std::make_unique<ParquetCorpus>(file, kRemoteBatchRows, options);
}

}  // namespace ropewalk
