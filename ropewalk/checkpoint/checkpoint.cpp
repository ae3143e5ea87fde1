#include "ropewalk/checkpoint/checkpoint.h"

#include <algorithm>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/content_hash.h"
#include "ropewalk/base/files/direct_reading.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/checkpoint/pytorch_file.h"
#include "ropewalk/checkpoint/safetensors.h"
#include "ropewalk/checkpoint/weight_names.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

std::shared_ptr<const JsonReader> open_config(const fs::path& folder, KnownHeaders& known) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw SystemError("{}: is not a folder; expected one with config.json and weights",
                      folder.string());
  }
  std::error_code error;
  const bool there = fs::exists(folder / "config.json", error);
  if (error) throw SystemError("{}: cannot be read: {}", folder.string(), error.message());
  if (!there) {
    throw InputError("{}: holds no config.json; is this a Hugging Face checkpoint?",
                     folder.string());
  }
  return known.json(folder / "config.json");
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

Checkpoint::Checkpoint(const fs::path& folder, std::shared_ptr<KnownHeaders> known)
    : known_(std::move(known)), folder_(folder), config_(open_config(folder, *known_)) {
  std::error_code ignored;
  for (const WeightNames& kind : kWeightNames) {
    const fs::path index = folder / kind.index();
    const fs::path single = folder / kind.single();
    if (fs::exists(index, ignored)) {
      open_index(index);
      return;
    }
    if (fs::exists(fs::symlink_status(single, ignored))) {
      add_shard(single);
      return;
    }
  }
  throw InputError(
      "{}: holds neither model.safetensors nor pytorch_model.bin, nor an index of either's shards; "
      "other files can be converted with transformers' save_pretrained",
      folder.string());
}

void Checkpoint::add_shard(const fs::path& file) {
  if (file.extension() == ".safetensors") {
    shards_.push_back(std::make_unique<SafetensorsFile>(file, known_.get()));
  } else {
    shards_.push_back(std::make_unique<PytorchFile>(file, known_.get()));
  }
  hashes_.emplace(shards_.back().get(), std::make_unique<TensorHashes>(shards_.back()->file()));
  for (const auto& [name, info] : shards_.back()->tensors()) {
    const auto [found, added] = tensors_.try_emplace(name, TensorView{shards_.back().get(), &info});
    if (!added) {
      throw InputError("{}: tensor '{}' is also in {}", file.string(), name,
                       found->second.shard->path().filename().string());
    }
  }
}

void Checkpoint::open_index(const fs::path& index) {
  const JsonReader weight_map = known_->json(index)->object("weight_map");
  std::set<std::string> names;
  for (const auto& [tensor, shard] : weight_map.json().items()) {
    if (!shard.is_string() || !is_plain_name(shard.get<std::string>())) {
      throw InputError("{}: tensor '{}' names shard {}, expected a file name in the same folder",
                       index.string(), tensor, shard.dump());
    }
    names.insert(shard.get<std::string>());
  }
  for (const std::string& name : names) {
    std::error_code ignored;
    if (!fs::exists(folder_ / name, ignored)) {
      throw InputError("{}: shard {} is missing from the folder; download it again", index.string(),
                       name);
    }
    add_shard(folder_ / name);
  }
  for (const auto& [tensor, shard] : weight_map.json().items()) {
    const auto found = tensors_.find(tensor);
    if (found == tensors_.end()) {
      throw InputError("{}: tensor '{}' is not in {}", index.string(), tensor,
                       shard.get<std::string>());
    }
    const std::string holder = found->second.shard->path().filename().string();
    if (holder != shard.get<std::string>()) {
      throw InputError(
          "{}: tensor '{}' should be in {} but is in {}; index and shards do not belong together",
          index.string(), tensor, shard.get<std::string>(), holder);
    }
  }
}

TensorView Checkpoint::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw InputError("{}: tensor '{}' is missing", folder_.string(), name);
  }
  if (found->second.info->type == StoredType::other) {
    throw InputError("{}: tensor '{}' has dtype {}; ropewalk reads F32, F16 and BF16",
                     found->second.shard->path().string(), name, found->second.info->type_name);
  }
  return found->second;
}

TensorHashes& Checkpoint::hashes_of(const std::string& tensor) const {
  return *hashes_.at(tensors_.at(tensor).shard);
}

std::optional<ContentHash> Checkpoint::known_hash(const std::string& tensor) const {
  return hashes_of(tensor).find(tensor);
}

void Checkpoint::add_hash(const std::string& tensor, const ContentHash& hash) const {
  hashes_of(tensor).add(tensor, hash);
}

void Checkpoint::read_directly() {
  for (const auto& shard : shards_) shard->read_directly();
}

bool Checkpoint::is_read_directly() const {
  return !shards_.empty() && shards_.front()->file().direct() != nullptr;
}

void Checkpoint::read(const std::vector<std::string>& tensors, std::stop_token stop) const {
  // Fewer readers leave a fast disk idle, and more do not read faster.
  constexpr size_t kReaders = 8;
  struct Part {
    DirectReading* file;
    int64_t begin;
    int64_t size;
  };
  std::vector<Part> wanted;
  std::vector<Part> unrequested;
  for (const std::string& name : tensors) {
    const TensorView& view = tensors_.at(name);
    DirectReading* file = view.shard->file().direct();
    if (file == nullptr) continue;
    wanted.push_back({file, view.info->offset, view.info->bytes});
    for (int64_t begin = 0; begin < view.info->bytes; begin += kHashChunk) {
      const int64_t size = std::min(kHashChunk, view.info->bytes - begin);
      const Part part{file, view.info->offset + begin, size};
      if (file->has_unrequested_bytes(part.begin, part.size)) unrequested.push_back(part);
    }
  }
  run_parallel(unrequested.size(), kReaders, stop, [&](size_t i, const std::stop_token&) {
    unrequested[i].file->read(unrequested[i].begin, unrequested[i].size);
  });
  if (stop.stop_requested()) return;
  for (const Part& part : wanted) part.file->wait(part.begin, part.size);
}

int64_t Checkpoint::bytes_read() const {
  int64_t bytes = 0;
  for (const auto& shard : shards_) {
    if (const DirectReading* file = shard->file().direct()) bytes += file->own_bytes();
  }
  return bytes;
}

bool Checkpoint::is_current() const {
  const auto current = [](const auto& shard) { return shard->file().is_current(); };
  if (!std::all_of(shards_.begin(), shards_.end(), current)) return false;
  return open_config(folder_, *known_)->json() == config_->json();
}

void Checkpoint::hash_unknown(const std::vector<std::string>& names) const {
  read(names);
  std::vector<std::string> unknown;
  std::vector<TensorView> views;
  std::vector<Stretch> stretches;
  for (const std::string& name : names) {
    if (known_hash(name)) continue;
    const TensorView& view = tensors_.at(name);
    unknown.push_back(name);
    views.push_back(view);
    stretches.emplace_back(view.data(), static_cast<size_t>(view.info->bytes));
  }
  for (size_t i = 0; i < views.size(); ++i) views[i].shard->require_intact(unknown[i]);
  const auto release = [&](size_t tensor, int64_t begin, int64_t bytes) {
    const TensorView& view = views[tensor];
    view.shard->file().release(view.info->offset + begin, bytes);
  };
  const std::vector<ContentHash> hashes = hash_stretches(stretches, run_chunks, release);
  for (size_t i = 0; i < unknown.size(); ++i) add_hash(unknown[i], hashes[i]);
  for (const auto& shard : shards_) shard->file().require_unchanged();
}

std::string Checkpoint::digest(const std::vector<std::string>& names) const {
  hash_unknown(names);
  Sha256 hash;
  for (const std::string& name : names) {
    const StoredTensor& info = *tensors_.at(name).info;
    const std::string layout = info.strides.empty() ? "" : format_shape(info.strides);
    hash.update(fmt::format("{} {} {}{} {}\n", name, info.type_name, format_shape(info.shape),
                            layout, known_hash(name)->hex()));
  }
  return hash.hex();
}

std::string Checkpoint::digest() const {
  std::vector<std::string> names;
  for (const auto& [name, view] : tensors_) names.push_back(name);
  return digest(names);
}

std::string Checkpoint::stored_dtype() const {
  std::map<StoredType, int64_t> bytes;
  for (const auto& [name, view] : tensors_) bytes[view.info->type] += view.info->bytes;
  const auto most = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  switch (most == bytes.end() ? StoredType::other : most->first) {
    case StoredType::f32:
      return "float32";
    case StoredType::f16:
      return "float16";
    case StoredType::bf16:
      return "bfloat16";
    default:
      return "another type";
  }
}

int64_t Checkpoint::size() const {
  int64_t bytes = 0;
  for (const auto& shard : shards_) bytes += shard->file().size();
  return bytes;
}

}  // namespace ropewalk
