#pragma once

#include <string>
#include <vector>

namespace ropewalk {

// A RoPE setting, parsed from its name (docs/cli.md): none, nope, theta:500000, theta:x8, linear:4,
// yarn:4, llama3:8, longrope:FILE, still:4096.
struct RopeSpec {
  enum class Kind { none, nope, theta, theta_times, linear, yarn, llama3, longrope, still };

  std::string text;
  Kind kind = Kind::none;
  // theta: the new one, or the factor of the model's own; linear, yarn and llama3: the factor of
  // the context; still: a wavelength in tokens, possibly infinite
  double number = 0;
  std::string file = {};  // of longrope

  // Whether the model's own scaling gives way to another one; its theta stays.
  bool replaces_scaling() const {
    return kind == Kind::linear || kind == Kind::yarn || kind == Kind::llama3 ||
           kind == Kind::longrope;
  }
};

// Throws UsageError about the field `rope` where the text is not the name of a setting.
RopeSpec parse_rope_spec(const std::string& text);

// The named settings without repetitions, in this order. Throws UsageError about the field `rope`
// where a name is invalid or the list is empty.
std::vector<RopeSpec> parse_rope_specs(const std::vector<std::string>& texts);

}  // namespace ropewalk
