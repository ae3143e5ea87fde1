#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/figure.h"
#include "ropewalk/study/show/tables.h"

namespace ropewalk {

struct ReportOptions {
  std::filesystem::path
      given;  // a table, or a folder with qk.csv; what lies beside it is taken too
  std::optional<std::filesystem::path> out;  // default: report.html beside qk.csv, else
                                             // NAME.report.html beside NAME.csv
};

// Whether the program has the report's page inside; see report_template.h.
bool can_write_report();

// Digest of that page: a report depends on it.
std::string report_template_digest();

// Writes the interactive report of a table or a results folder as one HTML file. A summary that
// belongs to another table is left out with a warning; one that is none, or a manifest.json that is
// none, is an InputError. Throws SystemError saying what to install where can_write_report() is
// false. Returns where the report is.
std::filesystem::path write_report(const ReportOptions& options);

// The same of tables and figures at hand. `manifest`: null for none; `effects`: read_effects().
// An empty title: the model's.
void write_report(const StudyTables& tables, const std::vector<Figure>& figures, Json manifest,
                  const Json& effects, const std::string& title, const std::filesystem::path& out);

// JSON that can stand in a <script>: nothing in it ends the element or breaks a line of script.
std::string script_text(std::string_view json);

}  // namespace ropewalk
