#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ropewalk {

// Parses "8GiB", "512MiB", "1.5 GB" or "1000" (bytes). Throws UsageError naming `what` for anything
// else.
int64_t parse_bytes(std::string_view text, std::string_view what);

// "1.50 GiB"
std::string format_bytes(int64_t bytes);
// "1 head", "12 heads"
std::string format_number_of(int64_t count, std::string_view thing);
// "12.3k", "4.56M"
std::string format_count(double count);
// "3 s", "2 min 05 s", "1 h 02 min"
std::string format_duration(double seconds);

// Formats a number with a true minus sign; numbers that round to zero have no sign.
std::string format_decimals(double value, int decimals);
// Formats a standard error to follow a number: " ± 0.004", or " ± <0.001" where the decimals would
// show 0 and so suggest certainty. Empty where the error is unknown (NaN) or 0 because nothing
// varied.
std::string format_error(double se, int decimals);

}  // namespace ropewalk
