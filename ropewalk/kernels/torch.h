#pragma once

// The one include of torch, so that it is precompiled once. ATen is the whole tensor library;
// torch/torch.h adds autograd and modules, which nothing here uses.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
