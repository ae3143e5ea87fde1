#pragma once

#include <string>
#include <vector>

namespace ropewalk {

// An edit by its name (docs/cli.md): distance, distance:mean, window:W, still:CUT, zero-band:CUT,
// flatten, flatten:q, flatten:k, axis, head, head:zero.
struct EditName {
  enum class Kind { distance, window, still, zero_band, flatten, axis, head };

  std::string text;
  Kind kind = Kind::distance;
  double number = 0;      // of window: tokens; of still and zero-band: a wavelength, maybe infinite
  bool keep_mass = true;  // of distance
  bool q = true;          // of flatten: which vectors
  bool k = true;
  bool zero = false;  // of head: nothing stands for its output

  // Whether it needs what the capture measured before RoPE, or after it.
  bool needs_sums() const { return kind == Kind::distance; }
  bool needs_moments() const { return kind == Kind::flatten || kind == Kind::axis; }
  // Whether it takes the mean over other documents.
  bool needs_others() const { return kind == Kind::head && !zero; }
};

// What every effect is held against: the outputs of the set's heads, replaced by their means.
inline constexpr const char* kRemoval = "head";

// Throws UsageError about the field `edit` where it is no such name.
EditName parse_edit_name(const std::string& text);

// Each of them once, in this order. Throws UsageError about the field `edit` where there is none.
std::vector<EditName> parse_edit_names(const std::vector<std::string>& texts);

}  // namespace ropewalk
