#include "ropewalk/study/show/report.h"

#include <stdexcept>

#include "ropewalk/analysis/ablation/effect_reader.h"
#include "ropewalk/analysis/table/table_columns.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/base/version.h"
#include "ropewalk/study/show/report_series.h"
#include "ropewalk/study/show/report_table.h"
#include "ropewalk/study/show/report_template.h"
#include "ropewalk/study/show/table_figures.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

Json column_names() {
  Json names = Json::array();
  for (const TableColumn& column : table_columns()) names.push_back(column.name);
  return names;
}

std::string page(const Json& data) {
  const std::string_view frame = report_template();
  const size_t at = frame.find(kReportPlaceholder);
  if (at == std::string_view::npos)
    throw std::logic_error("the report's page has no place for data");
  std::string text(frame.substr(0, at));
  text += script_text(data.dump());
  text += frame.substr(at + kReportPlaceholder.size());
  return text;
}

}  // namespace

std::string script_text(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view here = json.substr(i, 3);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (here == "\u2028" || here == "\u2029") {
      text += here == "\u2028" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += json[i];
    }
  }
  return text;
}

bool can_write_report() { return !report_template().empty(); }

std::string report_template_digest() {
  Sha256 hash;
  hash.update(report_template());
  return hash.hex();
}

void write_report(const StudyTables& tables, const std::vector<Figure>& figures, Json manifest,
                  const Json& effects, const std::string& title, const fs::path& out) {
  if (!can_write_report()) {
    throw SystemError(
        "this program was built without the report; install Node 20.19 or later, run "
        "tools/setup.sh, "
        "then build again with -DROPEWALK_REPORT=ON");
  }
  if (!manifest.is_null()) manifest.erase("report");  // record of a former report
  Json drawn = Json::object();
  Json names = Json::array();  // in the order of the page
  for (const Figure& figure : figures) {
    drawn[figure.name] = figure.spec;
    names.push_back(figure.name);
  }
  const std::string text = page({{"format", 1},
                                 {"title", title.empty() ? tables.numbers().model : title},
                                 {"ropewalk", version_details()},
                                 {"manifest", manifest},
                                 {"summary", tables.summary},
                                 {"statistics", report_statistics()},
                                 {"flags", report_flags()},
                                 {"roles", report_roles()},
                                 {"column_names", column_names()},
                                 {"table", report_table(tables.heads)},
                                 {"series", report_series(tables.heads)},
                                 {"edges", report_edges(tables.heads)},
                                 {"effects", effects},
                                 {"figure_names", names},
                                 {"figures", drawn}});
  write_file_atomically(out, text);
  log::info("{}: {}", out.string(), format_bytes(static_cast<int64_t>(text.size())));
}

fs::path write_report(const ReportOptions& options) {
  const fs::path table = find_table(options.given);
  const TableFigures drawn = table_figures(table);
  const std::string stem = table.filename() == kTable ? "" : table.stem().string() + ".";
  const fs::path out = options.out.value_or(table.parent_path() / (stem + "report.html"));
  // The effects belong to the results folder's own table; next to another table they are about
  // other heads.
  const Json effects = table.filename() == kTable ? read_effects(table.parent_path()) : Json();
  write_report(drawn.tables, drawn.figures, drawn.manifest, effects, drawn.title, out);
  return out;
}

}  // namespace ropewalk
