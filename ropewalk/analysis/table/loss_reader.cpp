#include "ropewalk/analysis/table/loss_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ropewalk/analysis/table/checkpoints_by_label.h"
#include "ropewalk/analysis/table/csv_record.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

constexpr const char* kNeeded = "checkpoint, position, position_end, loss, documents, tokens";
constexpr double kMost = std::numeric_limits<double>::max();
constexpr double kAgreement = 1e-6;  // the table has 9 significant digits
constexpr int64_t kNone = -1;

class LossReader {
 public:
  LossReader(RunTable& table, const CsvHeader& header) : header_(header), checkpoints_(table) {
    const auto column = [&](const char* name) { return header.require(name, "", kNeeded); };
    checkpoint_ = column("checkpoint");
    begin_ = column("position");
    end_ = column("position_end");
    loss_ = column("loss");
    documents_ = column("documents");
    tokens_ = column("tokens");
    se_ = header.find("loss_se");
    for (CheckpointTable& checkpoint : table.checkpoints) checkpoint.loss.clear();
  }

  void add(const CsvRecord& record) {
    CheckpointTable& checkpoint = checkpoints_.find(record, checkpoint_);
    std::vector<LossRow>& rows = checkpoint.loss;
    const int64_t begin = record.count(begin_, kNone), end = record.count(end_, kNone);
    const bool whole = begin == kNone && end == kNone;
    if (whole != rows.empty()) {
      throw InputError(
          "{}, line {}: position of checkpoint '{}' is {}; expected one row over all positions, "
          "whose position is empty, and then its bins",
          header_.source(), record.line(), printable_excerpt(checkpoint.label, 60),
          whole ? "empty a second time" : "not empty");
    }
    LossRow row;
    if (!whole) {
      if (begin == kNone) record.fail(begin_, "a position");
      if (end <= begin) record.fail(end_, "a position after the bin's first one");
      if (rows.size() > 1 && begin < rows.back().end) {
        record.fail(begin_, "a bin after the bin in the line above");
      }
      row.begin = begin;
      row.end = end;
    }
    row.loss = record.number(loss_, 0, kMost);
    row.se = se_ ? record.number(*se_, 0, kMost) : std::nan("");
    row.documents = record.count(documents_, 0);
    row.groups = row.documents;
    row.tokens = record.count(tokens_, 0);
    rows.push_back(row);
  }

 private:
  const CsvHeader& header_;
  CheckpointsByLabel checkpoints_;
  size_t checkpoint_ = 0, begin_ = 0, end_ = 0, loss_ = 0, documents_ = 0, tokens_ = 0;
  std::optional<size_t> se_;
};

}  // namespace

void parse_loss_table(RunTable& table, std::string_view text, const std::string& source) {
  CsvTable records(text, source);
  RunTable filled = table;
  LossReader reader(filled, records.header());
  while (const auto record = records.next()) reader.add(*record);
  table = std::move(filled);
}

void read_loss_table(RunTable& table, const std::filesystem::path& path) {
  parse_loss_table(table, MappedFile(path).text(), path.string());
}

bool has_losses_of(const Json& summary, const RunTable& table) {
  const Json stated = summary.value("loss", Json());
  return std::all_of(
      table.checkpoints.begin(), table.checkpoints.end(), [&](const CheckpointTable& one) {
        if (one.loss.empty() || std::isnan(one.loss.front().loss)) return true;
        if (!stated.is_object() || !stated.contains(one.label)) return false;
        const Json& leaf = stated[one.label];
        const double loss = one.loss.front().loss;
        return leaf.is_object() && leaf.contains("value") && leaf["value"].is_number() &&
               std::abs(leaf["value"].get<double>() - loss) <= kAgreement * std::max(1.0, loss);
      });
}

}  // namespace ropewalk
