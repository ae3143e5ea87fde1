#include <array>

#include "ropewalk/analysis/table/heads_reader.h"
#include "ropewalk/analysis/table/loss_reader.h"
#include "ropewalk/analysis/table/qk_reader.h"
#include "ropewalk/analysis/table/series_reader.h"
#include "tests/fuzz/target.h"

// qk.csv, heads.csv, bands.csv, curves.csv and loss.csv of one study, separated by form feeds.
void ropewalk::fuzz::read(const Input& input) {
  std::array<std::string_view, 5> texts;
  std::string_view rest = input.bytes;
  for (std::string_view& text : texts) {
    const size_t end = rest.find('\f');
    text = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  RunTable table = parse_qk_table(texts[0], "qk.csv");
  require(!table.checkpoints.empty(), "there is a checkpoint");
  if (!texts[1].empty()) parse_heads_table(table, texts[1], "heads.csv");
  if (!texts[2].empty()) parse_series_table(table, SeriesTable::bands, texts[2], "bands.csv");
  if (!texts[3].empty()) parse_series_table(table, SeriesTable::curves, texts[3], "curves.csv");
  if (!texts[4].empty()) parse_loss_table(table, texts[4], "loss.csv");
  for (const CheckpointTable& checkpoint : table.checkpoints) {
    require(checkpoint.layer.size() == checkpoint.q_head.size(), "columns have one length");
    for (const HeadSeries& one : checkpoint.series) {
      for (const size_t grid : one.grid) {
        require(grid == HeadSeries::kNoGrid || grid < checkpoint.grids.size(), "grids exist");
      }
      require(one.value.size() == one.se.size(), "every point has an error");
    }
  }
}
