#pragma once

#include <span>
#include <string>
#include <vector>

#include "ropewalk/analysis/analyze/capture_facts.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

// A capture that is to become another program's files.
struct ExportSource {
  std::string name;  // of its moments file, for messages
  const CaptureMoments& moments;
  CaptureFacts facts;

  int64_t layers() const { return facts.origin.layers; }
  int64_t q_heads() const { return facts.origin.n_q_heads; }
  int64_t kv_heads() const { return facts.origin.n_kv_heads; }
  int64_t d() const { return facts.origin.head_dim; }
};

// What that program reads.
struct ExportedModel {
  struct Tensor {
    std::string name;
    at::Tensor values;  // float32
  };
  Json config;                  // config.json: these keys and no others
  std::vector<Tensor> tensors;  // of model.safetensors
  Json facts;                   // what it rests on, for ropewalk.json
  std::vector<std::string> warnings;
};

// Throws InputError unless every query head of every layer was measured: the files cannot say that
// one was not. Queries then lie in the order [layer, head].
void require_all_heads(const ExportSource& source, const std::string& program);

// The length of the standard errors of a vector's numbers over its own length: by jackknife, of the
// whole [d] and replicates [blocks, d] without each block of these sizes. NaN with fewer than two
// blocks, or where the vector is zero.
double relative_error(const at::Tensor& whole, const at::Tensor& replicates,
                      std::span<const double> sizes);

// [layers][heads] of numbers in the order [layer, head]; NaN is null.
Json by_layer(std::span<const double> values, int64_t layers);

// "0, 2, 3"
std::string list_layers(const std::vector<int64_t>& layers);

}  // namespace ropewalk
