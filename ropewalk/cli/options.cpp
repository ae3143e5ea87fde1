#include "ropewalk/cli/options.h"

#include <limits>

#include "ropewalk/base/error.h"
#include "ropewalk/base/units.h"
#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/device.h"

namespace ropewalk::cli {

void add_model_arguments(CLI::App& verb, ModelArguments& arguments) {
  ModelOptions& options = arguments.options;
  verb.add_option("model", options.model,
                  "Checkpoint folder (config.json and *.safetensors), or a Hub model: org/name")
      ->required();
  verb.add_option("--revision", arguments.revision,
                  "Revision of a Hub model: branch, tag or commit [default: main]");
  verb.add_option("--context", options.context,
                  "Tokens a document [default: the model's max_position_embeddings]")
      ->check(CLI::Range(int64_t{1}, int64_t{std::numeric_limits<int32_t>::max()}));
  verb.add_option("--heads", options.heads, "Query heads to sample [default: all]")
      ->check(CLI::PositiveNumber);
  verb.add_option("--seed", options.seed, "Seed of the head sample")->capture_default_str();
  verb.add_flag("--sliding", options.sliding, "Measure sliding layers too");
  verb.add_option("--device", options.device, "auto, cpu or cuda")->capture_default_str();
  verb.add_option("--dtype", options.dtype, "auto, float32 or bfloat16")->capture_default_str();
  verb.add_option(
      "--memory", arguments.memory,
      "Budget for weights and hidden states, e.g. 8GiB [default: 80 % of what is free]");
  verb.add_option("--threads", arguments.threads, "CPU threads [default: all cores]")
      ->check(CLI::Range(1, kMostThreads));
}

ModelOptions ModelArguments::settle() const {
  ModelOptions settled = options;
  if (!memory.empty()) settled.memory = parse_bytes(memory, "--memory");
  set_up_torch(threads);
  return settled;
}

void set_up_torch(int threads) {
  if (threads > 0) at::set_num_threads(threads);
  use_exact_float32();
}

}  // namespace ropewalk::cli
