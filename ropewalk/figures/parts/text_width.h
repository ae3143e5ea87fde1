#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// How wide a line of text is in pixels, in the figures' font at `size` pixels. `text` is
// well-formed UTF-8. Exact for ASCII, an estimate for the rest.
double text_width(std::string_view text, double size);

// The text, or as much of it as fits in `width` with "…".
std::string fit_text(std::string_view text, double size, double width);

// The same with the middle left out: names that start alike often end differently.
std::string fit_middle(std::string_view text, double size, double width);

// Lines of at most `width`, broken at spaces; the last of `max_lines` is cut with "…".
std::vector<std::string> wrap_text(std::string_view text, double size, double width,
                                   size_t max_lines);

}  // namespace ropewalk
