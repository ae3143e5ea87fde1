#pragma once

#include <span>
#include <string>
#include <vector>

#include "ropewalk/analysis/analyze/capture_facts.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

// A capture that is to be exported to another program's files.
struct ExportSource {
  std::string name;  // name of its moments file, for messages
  const CaptureMoments& moments;
  CaptureFacts facts;

  int64_t layers() const { return facts.origin.layers; }
  int64_t q_heads() const { return facts.origin.n_q_heads; }
  int64_t kv_heads() const { return facts.origin.n_kv_heads; }
  int64_t d() const { return facts.origin.head_dim; }
};

// The files that this program reads.
struct ExportedModel {
  struct Tensor {
    std::string name;
    at::Tensor values;  // float32
  };
  Json config;                  // config.json: exactly these keys
  std::vector<Tensor> tensors;  // tensors of model.safetensors
  Json facts;                   // what the files were made from, for ropewalk.json
  std::vector<std::string> warnings;
};

// Throws InputError unless every query head of every layer was measured, because the files cannot
// mark a head as missing. Queries are then in the order [layer, head].
void require_all_heads(const ExportSource& source, const std::string& program);

// The length of the vector of standard errors, divided by the length of the vector itself: by
// jackknife, from the whole sample's [d] and replicates [blocks, d] without each block of these
// sizes. NaN with fewer than two blocks, or where the vector is zero.
double relative_error(const at::Tensor& whole, const at::Tensor& replicates,
                      std::span<const double> sizes);

// [layers][heads] from numbers in the order [layer, head]; NaN becomes null.
Json by_layer(std::span<const double> values, int64_t layers);

// Formats layers as "0, 2, 3".
std::string list_layers(const std::vector<int64_t>& layers);

}  // namespace ropewalk
