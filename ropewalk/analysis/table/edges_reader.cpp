#include "ropewalk/analysis/table/edges_reader.h"

#include <optional>

#include "ropewalk/analysis/table/checkpoints_by_label.h"
#include "ropewalk/analysis/table/csv_record.h"
#include "ropewalk/base/files/mapped_file.h"

namespace ropewalk {
namespace {

constexpr const char* kNeeded = "checkpoint, layer, q_head, document, t, key, p";

// Columns of one of an edge's tokens.
struct TokenColumns {
  size_t position = 0;
  std::optional<size_t> id, before, text, after;
};

class EdgesReader {
 public:
  EdgesReader(RunTable& table, const CsvHeader& header) : checkpoints_(table) {
    const auto column = [&](const char* name) { return header.require(name, "", kNeeded); };
    checkpoint_ = column("checkpoint");
    layer_ = column("layer");
    q_head_ = column("q_head");
    document_ = column("document");
    p_ = column("p");
    kv_head_ = header.find("kv_head");
    rope_ = header.find("rope");
    query_ = {column("t"), header.find("query_id"), header.find("query_before"),
              header.find("query_text"), header.find("query_after")};
    key_ = {column("key"), header.find("key_id"), header.find("key_before"),
            header.find("key_text"), header.find("key_after")};
    for (CheckpointTable& checkpoint : table.checkpoints) checkpoint.edges.clear();
  }

  void add(const CsvRecord& record) {
    constexpr int64_t kUnknown = CheckpointTable::kUnknown;
    CheckpointTable& checkpoint = checkpoints_.find(record, checkpoint_);
    EdgeRow edge;
    edge.layer = record.index(layer_);
    edge.q_head = record.index(q_head_);
    edge.kv_head = kv_head_ ? record.count(*kv_head_, kUnknown) : kUnknown;
    edge.rope = rope_ ? record.yes_or_no(*rope_, kUnknown) : kUnknown;
    edge.document = record.count(document_, 0);
    edge.query = token(record, query_);
    edge.key = token(record, key_);
    if (edge.key.position >= edge.query.position) {
      record.fail(key_.position, "a position before t");
    }
    edge.p = record.number(p_, 0, 1);
    checkpoint.edges.push_back(std::move(edge));
  }

 private:
  static EdgeToken token(const CsvRecord& record, const TokenColumns& columns) {
    const auto text = [&](const std::optional<size_t>& column) {
      return column ? record.optional_name(*column) : std::string();
    };
    EdgeToken found;
    found.position = record.count(columns.position, 0);
    found.id = columns.id ? record.count(*columns.id, -1) : -1;
    found.before = text(columns.before);
    found.text = text(columns.text);
    found.after = text(columns.after);
    return found;
  }

  CheckpointsByLabel checkpoints_;
  size_t checkpoint_ = 0, layer_ = 0, q_head_ = 0, document_ = 0, p_ = 0;
  std::optional<size_t> kv_head_, rope_;
  TokenColumns query_, key_;
};

}  // namespace

void parse_edges_table(RunTable& table, std::string_view text, const std::string& source) {
  CsvTable csv(text, source);
  RunTable filled = table;
  EdgesReader reader(filled, csv.header());
  while (const std::optional<CsvRecord> record = csv.next()) reader.add(*record);
  table = std::move(filled);
}

void read_edges_table(RunTable& table, const std::filesystem::path& path) {
  parse_edges_table(table, MappedFile(path).text(), path.string());
}

}  // namespace ropewalk
