#include "ropewalk/checkpoint/checkpoint.h"

#include <algorithm>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/hash.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

ConfigFile open_config(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw SystemError("{}: is not a folder; expected one with config.json and *.safetensors",
                      folder.string());
  }
  if (!fs::exists(folder / "config.json", ignored)) {
    throw InputError("{}: holds no config.json; is this a Hugging Face checkpoint?",
                     folder.string());
  }
  return ConfigFile(folder / "config.json");
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

Checkpoint::Checkpoint(const fs::path& folder) : folder_(folder), config_(open_config(folder)) {
  const fs::path index = folder / "model.safetensors.index.json";
  const fs::path single = folder / "model.safetensors";
  std::error_code ignored;
  if (fs::exists(index, ignored)) {
    open_index(index);
  } else if (fs::exists(fs::symlink_status(single, ignored))) {
    add_shard(single);
  } else {
    bool pickled = false;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename().string();
      pickled =
          pickled || name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth");
    }
    if (pickled) {
      throw InputError(
          "{}: holds only pickled weights (.bin); convert them to safetensors with transformers' "
          "save_pretrained",
          folder.string());
    }
    throw InputError("{}: holds neither model.safetensors nor model.safetensors.index.json",
                     folder.string());
  }
}

void Checkpoint::add_shard(const fs::path& file) {
  shards_.push_back(std::make_unique<SafetensorsFile>(file));
  for (const auto& [name, info] : shards_.back()->tensors()) {
    const auto [place, added] = tensors_.try_emplace(name, TensorView{shards_.back().get(), &info});
    if (!added) {
      throw InputError("{}: tensor '{}' is also in {}", file.string(), name,
                       place->second.shard->path().filename().string());
    }
  }
}

void Checkpoint::open_index(const fs::path& index) {
  const ConfigFile file(index);
  const ConfigFile weight_map = file.object("weight_map");
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
          "{}: tensor '{}' is said to be in {} but lies in {}; index and shards do not belong "
          "together",
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

std::string Checkpoint::fingerprint() const {
  static constexpr int64_t kBlock = 4096;
  const auto for_samples = [](const TensorView& view, auto use) {
    const int64_t bytes = view.info->bytes;
    for (const int64_t start : {int64_t{0}, bytes / 2, bytes - kBlock}) {
      const int64_t begin = std::clamp<int64_t>(start, 0, bytes);
      use(begin, std::min(kBlock, bytes - begin));
    }
  };
  // A disk answers a thousand small questions faster when it has them all at once.
  for (const auto& [name, view] : tensors_) {
    for_samples(view, [&, &view = view](int64_t begin, int64_t size) {
      view.shard->file().will_need(view.info->offset + begin, size);
    });
  }
  Sha256 hash;
  for (const auto& [name, view] : tensors_) {
    const StoredTensor& info = *view.info;
    hash.update(fmt::format("{} {} {} ", name, info.type_name, format_shape(info.shape)));
    for_samples(view, [&, &view = view](int64_t begin, int64_t size) {
      hash.update(view.data() + begin, static_cast<size_t>(size));
      view.shard->file().release(info.offset + begin, size);
    });
  }
  return hash.hex();
}

int64_t Checkpoint::size() const {
  int64_t bytes = 0;
  for (const auto& shard : shards_) bytes += shard->file().size();
  return bytes;
}

}  // namespace ropewalk
