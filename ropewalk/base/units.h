#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ropewalk {

// "8GiB", "512MiB", "1.5 GB", "1000" (bytes). Throws UsageError naming `what` otherwise.
int64_t parse_bytes(std::string_view text, std::string_view what);

// "1.50 GiB"
std::string format_bytes(int64_t bytes);
// "1 head", "12 heads"
std::string format_number_of(int64_t count, std::string_view thing);
// "12.3k", "4.56M"
std::string format_count(double count);
// "3 s", "2 min 05 s", "1 h 02 min"
std::string format_duration(double seconds);

// With a true minus sign, and none on what rounds to zero.
std::string format_decimals(double value, int decimals);
// " ± 0.004", to stand after a number; " ± <0.001" where these decimals would say 0, as if it were
// certain. Nothing where it is unknown (NaN), or where nothing varied, which is no certainty.
std::string format_error(double se, int decimals);

}  // namespace ropewalk
