#pragma once

#include <string>

namespace ropewalk {

// "0.1.0"
std::string version();

// "0.1.0 (torch 2.13.0+cpu, arrow 26.0.1)", with the versions that the program was built against.
std::string version_details();

}  // namespace ropewalk
