#pragma once

#include "ropewalk/study/show/exported.h"

namespace ropewalk {

// Means and covariances of queries before RoPE, over tokens after the first four, in the form that
// Expected Attention of kvpress reads (ExpectedAttentionStats). Throws InputError where the capture
// does not keep sums before RoPE, or where kvpress would rotate other pairs than the model does.
ExportedModel export_to_kvpress(const ExportSource& source);

}  // namespace ropewalk
