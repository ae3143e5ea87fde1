#pragma once

#include <filesystem>

#include "ropewalk/study/capture/capture.h"

namespace ropewalk {

inline constexpr const char* kLossTable = "loss.csv";
inline constexpr const char* kLossDocuments = "loss_documents.csv";

// Runs the corpus through the whole model and writes `out`: loss.csv, loss_documents.csv, and the
// capture from which they are made (capture.json, moments.safetensors), which holds the loss of
// each document but no moments. Options about heads, blocks, moments and vectors are ignored. With
// several processes, each reads a part. `out` appears only when it is complete.
void measure_loss(const CaptureOptions& options);

// Writes both tables of a capture that has a loss into its folder.
void write_loss_tables(const std::filesystem::path& folder, const CaptureMoments& capture);

}  // namespace ropewalk
