#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/figures/figure.h"

namespace ropewalk {

// What figures can be rendered to.
inline constexpr std::string_view kFigureFormats[] = {"png", "svg", "pdf"};

// Writes NAME.vl.json of every figure into `folder`, which is made where it is missing, then
// NAME.png (2×), NAME.svg and NAME.pdf as `formats` asks. Each file appears whole or not at all.
// Rendering is the companion's, by vl-convert. Throws SystemError where that fails, saying what to
// install; the .vl.json files are then written all the same.
void write_figures(const std::vector<Figure>& figures, const std::filesystem::path& folder,
                   const std::vector<std::string>& formats);

}  // namespace ropewalk
