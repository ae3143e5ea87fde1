#include "ropewalk/model/stored_tensor.h"

#include <algorithm>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/content_hash.h"

namespace ropewalk {
namespace {

at::ScalarType scalar_type(StoredType type) {
  switch (type) {
    case StoredType::f16:
      return at::kHalf;
    case StoredType::bf16:
      return at::kBFloat16;
    default:
      return at::kFloat;
  }
}

// Reorders rows from [heads, parts, rest] to [parts, heads, rest]; queries and keys need the first
// two of three parts.
at::Tensor split_fused(const at::Tensor& source, int64_t heads, int64_t parts_count,
                       Needed needed) {
  std::vector<int64_t> shape{heads, parts_count, source.size(0) / (parts_count * heads)};
  shape.insert(shape.end(), source.sizes().begin() + 1, source.sizes().end());
  const at::Tensor parts = source.view(shape).transpose(0, 1);
  return needed == Needed::qk ? parts.slice(0, 0, 2) : parts;
}

}  // namespace

at::Tensor view_of(const TensorView& view) {
  const auto options = at::TensorOptions().dtype(scalar_type(view.info->type));
  auto* data = const_cast<std::byte*>(view.data());
  const StoredTensor& info = *view.info;
  const auto size = static_cast<int64_t>(options.dtype().itemsize());
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(size) != 0) {
    // After an odd number of bytes, numbers are misaligned, so they are copied.
    const at::Tensor moved = at::empty({info.bytes / size}, options);
    std::memcpy(moved.mutable_data_ptr(), data, static_cast<size_t>(info.bytes));
    return info.strides.empty() ? moved.view(info.shape)
                                : moved.as_strided(info.shape, info.strides);
  }
  return info.strides.empty() ? at::from_blob(data, info.shape, options)
                              : at::from_blob(data, info.shape, info.strides, options);
}

std::vector<int64_t> stored_shape(const TensorSpec& spec) {
  std::vector<int64_t> shape = spec.shape;
  if (spec.transposed) std::reverse(shape.begin(), shape.end());
  if (spec.stacked > 0) shape.insert(shape.begin(), spec.stacked);
  return shape;
}

void require_shape(const Checkpoint& checkpoint, const std::string& name,
                   const std::vector<int64_t>& shape) {
  const TensorView view = checkpoint.tensor(name);
  if (view.info->shape != shape) {
    throw InputError("{}: tensor '{}' has shape {}, expected {} from config.json",
                     view.shard->path().string(), name, format_shape(view.info->shape),
                     format_shape(shape));
  }
}

at::Tensor wanted_rows(const TensorSpec& spec, at::Tensor stored, Needed needed) {
  if (spec.stacked > 0) stored = stored.select(0, spec.stack_index);
  if (spec.transposed) stored = stored.t();
  return ordered_rows(spec, std::move(stored), needed);
}

at::Tensor ordered_rows(const TensorSpec& spec, at::Tensor rows, Needed needed) {
  if (spec.fused_heads > 0) {
    rows = split_fused(rows, spec.fused_heads, spec.fused_parts, needed);
  }
  if (spec.qk_rows > 0) rows = rows.slice(0, 0, rows_of(spec, needed));
  return rows;
}

void hash_tensor(const Checkpoint& checkpoint, const std::string& name, const TensorView& view) {
  if (checkpoint.known_hash(name)) return;
  // Runs on torch's threads, which are waiting already.
  const auto run = [](size_t count, const std::function<void(size_t)>& work) {
    at::parallel_for(0, static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) work(static_cast<size_t>(i));
    });
  };
  view.shard->require_intact(name, run);
  const Stretch bytes(view.data(), static_cast<size_t>(view.info->bytes));
  checkpoint.add_hash(name, hash_stretch(bytes, run));
}

}  // namespace ropewalk
