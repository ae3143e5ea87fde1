#pragma once

#include <array>
#include <filesystem>

#include "ropewalk/study/show/tables.h"

namespace ropewalk {

inline constexpr const char* kManifest = "manifest.json";
inline constexpr const char* kReport = "report.html";
inline constexpr const char* kFigures = "figures";
inline constexpr const char* kProbesFile = "probes.jsonl";

// The tables of a results folder and their page.
inline constexpr std::array kTableFiles{kTable,      kHeads,      kBands,   kCurves, kChanges,
                                        kEdgesTable, kRolesTable, kSummary, kReport};

// Whether the path exists, be it a broken link.
bool path_exists(const std::filesystem::path& path);

// Whether a file looks like one that we write; used where the manifest, which lists them, is lost.
bool looks_like_a_result(const std::filesystem::path& path);

}  // namespace ropewalk
