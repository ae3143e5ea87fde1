#pragma once

// Precompiled for the C++ tests that see torch.
#include <gtest/gtest.h>

#include "ropewalk/kernels/torch.h"
