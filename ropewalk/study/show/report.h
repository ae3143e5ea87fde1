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
      given;  // a table, or a folder with qk.csv; the files next to the table are read too
  // default: report.html in the folder of qk.csv, else NAME.report.html in the folder of NAME.csv
  std::optional<std::filesystem::path> out;
};

// Whether the program contains the report's page; see report_template.h.
bool can_write_report();

// A digest of this page, because reports depend on it.
std::string report_template_digest();

// Writes the interactive report of a table or a results folder as one HTML file. A summary that
// belongs to another table is left out with a warning; a file that is not a summary, or not a
// manifest, is an InputError. Throws SystemError saying what to install where can_write_report() is
// false. Returns the path of the report.
std::filesystem::path write_report(const ReportOptions& options);

// Writes the report of tables and figures in memory. `manifest`: null for none; `effects`:
// read_effects(). An empty title means the model's name.
void write_report(const StudyTables& tables, const std::vector<Figure>& figures, Json manifest,
                  const Json& effects, const std::string& title, const std::filesystem::path& out);

// JSON for a <script> element: nothing in it ends the element or breaks a line of script.
std::string script_text(std::string_view json);

}  // namespace ropewalk
