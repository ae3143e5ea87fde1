#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ropewalk {

struct ReportOptions {
  std::filesystem::path folder;  // with qk.csv; summary.json and manifest.json where there
  std::optional<std::filesystem::path> out;  // default: report.html in the folder
};

// Whether the program has the report's page inside; see report_template.h.
bool can_write_report();

// Digest of that page: a report depends on it.
std::string report_template_digest();

// Writes the interactive report of a results folder as one HTML file. A summary.json that belongs
// to another table is left out with a warning; one that is none, or a manifest.json that is none,
// is an InputError. Throws SystemError saying what to install where
// can_write_report() is false. Returns where the report is.
std::filesystem::path write_report(const ReportOptions& options);

// JSON that can stand in a <script>: nothing in it ends the element or breaks a line of script.
std::string script_text(std::string_view json);

}  // namespace ropewalk
