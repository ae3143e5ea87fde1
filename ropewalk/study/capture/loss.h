#pragma once

#include <filesystem>

#include "ropewalk/study/capture/capture.h"

namespace ropewalk {

inline constexpr const char* kLossTable = "loss.csv";
inline constexpr const char* kLossDocuments = "loss_documents.csv";

// Runs the corpus through the whole model and writes `out`: loss.csv, loss_documents.csv, and the
// capture that they are made of (capture.json, moments.safetensors), which holds what each document
// cost and no moments. What options say of heads, blocks, moments and vectors does not matter.
// Several processes read a part each. `out` appears only when everything is in it.
void measure_loss(const CaptureOptions& options);

// Writes both tables of a capture that has a loss beside its files.
void write_loss_tables(const std::filesystem::path& folder, const CaptureMoments& capture);

}  // namespace ropewalk
