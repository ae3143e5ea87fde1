#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// The width of a line of text in pixels, in the figures' font at `size` pixels. `text` is
// well-formed UTF-8. The width is exact for ASCII, and an estimate for other characters.
double text_width(std::string_view text, double size);

// The text, cut at its end with "…" where it is wider than `width`.
std::string fit_text(std::string_view text, double size, double width);

// The text, with "…" in its middle where it is wider than `width`: names that begin alike often end
// differently.
std::string fit_middle(std::string_view text, double size, double width);

// Lines of at most `width`, broken at spaces; the last of `max_lines` is cut with "…".
std::vector<std::string> wrap_text(std::string_view text, double size, double width,
                                   size_t max_lines);

}  // namespace ropewalk
