#pragma once

#include <string>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

class Communicator;

// Checks that all processes measure the same in the same way, whatever machine they are on. Throws
// InputError naming the setting that differs from the first process's. Collective.
void require_agreement(const Json& settings, const Communicator& processes);

// Compares the digests of the weights after every process has read them. Collective.
void require_same_weights(const std::string& digest, const Communicator& processes);

}  // namespace ropewalk
