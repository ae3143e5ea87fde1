#pragma once

#include <string>
#include <vector>

namespace ropewalk {

// An edit, parsed from its name (docs/cli.md): distance, distance:mean, window:W, still:CUT,
// zero-band:CUT, flatten, flatten:q, flatten:k, axis, head, head:zero.
struct EditName {
  enum class Kind { distance, window, still, zero_band, flatten, axis, head };

  std::string text;
  Kind kind = Kind::distance;
  double number = 0;      // window: tokens; still and zero-band: a wavelength, possibly infinite
  bool keep_mass = true;  // for distance
  bool q = true;          // for flatten: queries or keys
  bool k = true;
  bool zero = false;  // for head: the output becomes zero instead of its mean

  // Whether the edit needs the sums that a capture keeps before RoPE, or else after it.
  bool needs_sums() const { return kind == Kind::distance; }
  bool needs_moments() const { return kind == Kind::flatten || kind == Kind::axis; }
  // Whether the edit needs a mean over other documents.
  bool needs_others() const { return kind == Kind::head && !zero; }
};

// The edit with which every other effect is compared: it replaces the outputs of the set's heads by
// their means.
inline constexpr const char* kRemoval = "head";

// Throws UsageError about the field `edit` where the text is not the name of an edit.
EditName parse_edit_name(const std::string& text);

// The named edits without repetitions, in this order. Throws UsageError about the field `edit`
// where a name is invalid or the list is empty.
std::vector<EditName> parse_edit_names(const std::vector<std::string>& texts);

}  // namespace ropewalk
