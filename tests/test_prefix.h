#pragma once

// Precompiled for every C++ test.
#include <gtest/gtest.h>

#include "ropewalk/kernels/torch.h"
