#pragma once

#include <string>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

class Communicator;

// Several processes must measure the same in the same way, whatever machine they
// are on: an InputError names the setting that differs from the first process's. Collective.
void require_agreement(const Json& settings, const Communicator& processes);

// Compares the digests of the weights, once every process has read them. Collective.
void require_same_weights(const std::string& digest, const Communicator& processes);

}  // namespace ropewalk
