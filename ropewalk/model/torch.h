#pragma once

#include "ropewalk/kernels/torch.h"
