#include <fmt/format.h>

#include "ropewalk/base/version.h"

int main() { fmt::print("{}\n", ropewalk::version_details()); }
