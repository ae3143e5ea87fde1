#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/figures/figure.h"

namespace ropewalk {

// The formats to which figures can be rendered.
inline constexpr std::string_view kFigureFormats[] = {"png", "svg", "pdf"};

// Writes NAME.vl.json of every figure into `folder`, which is created where it is missing, then
// NAME.png (2×), NAME.svg and NAME.pdf as listed in `formats`. Each file appears whole or not at
// all. The companion renders, by vl-convert. Throws SystemError where that fails, saying what to
// install; the .vl.json files are written in any case.
void write_figures(const std::vector<Figure>& figures, const std::filesystem::path& folder,
                   const std::vector<std::string>& formats);

}  // namespace ropewalk
