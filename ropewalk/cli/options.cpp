#include "ropewalk/cli/options.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/launcher.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/base/units.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk::cli {
namespace {

template <typename Number>
bool parse(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end;
}

CLI::Validator number_check(const std::string& wanted,
                            const std::function<bool(const std::string&)>& fits) {
  return {[=](std::string& text) {
            return fits(text) ? "" : fmt::format("found '{}'; expected {}", text, wanted);
          },
          ""};
}

}  // namespace

CLI::Validator whole_number(int64_t least) {
  return number_check(fmt::format("a whole number of at least {}", least),
                      [=](const std::string& text) {
                        int64_t number = 0;
                        return parse(text, number) && number >= least;
                      });
}

CLI::Validator above_zero() {
  return number_check("a number above 0", [](const std::string& text) {
    double number = 0;
    return parse(text, number) && std::isfinite(number) && number > 0;
  });
}

CLI::Validator up_to_one() {
  return number_check("a number from 0 to 1", [](const std::string& text) {
    double number = 0;
    return parse(text, number) && number >= 0 && number <= 1;
  });
}

void add_former_option(CLI::App& verb, const char* name, const char* instead) {
  const auto refuse = [name, instead](const std::string&) {
    throw UsageError("the option {} was removed; {}", name, instead);
  };
  verb.add_option_function<std::string>(name, refuse)->group("")->trigger_on_parse();
}

std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names;
  for (std::string& name : CLI::detail::split(text, ',')) {
    if (!CLI::detail::trim(name).empty()) names.push_back(name);
  }
  return names;
}

std::pair<std::string, std::string> two_names(const char* option, const std::string& text,
                                              const char* what) {
  const std::vector<std::string> names = names_of(text);
  if (names.size() != 2) {
    throw UsageError("{} '{}': expected two {} with a comma between them", option, text, what);
  }
  return {names[0], names[1]};
}

void add_pass_arguments(CLI::App& verb, ModelArguments& arguments) {
  ModelOptions& options = arguments.options;
  verb.add_option("model", options.model,
                  "Checkpoint folder (config.json and weights), or a Hub model: org/name")
      ->required();
  verb.add_option("--revision", arguments.revision,
                  "Revision of a Hub model: branch, tag or commit [default: main]");
  verb.add_option("--context", options.context,
                  "Tokens per document [default: the model's max_position_embeddings]")
      ->check(CLI::Range(int64_t{1}, int64_t{std::numeric_limits<int32_t>::max()}));
  verb.add_option("--device", options.device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  verb.add_option("--dtype", options.dtype, "auto, float32 or bfloat16")->capture_default_str();
  verb.add_option(
      "--memory", arguments.memory,
      "Budget for weights and hidden states, e.g. 8GiB [default: 80 % of the free memory]");
  add_threads_option(verb, arguments.threads);
}

void add_model_arguments(CLI::App& verb, ModelArguments& arguments) {
  add_pass_arguments(verb, arguments);
  ModelOptions& options = arguments.options;
  verb.add_option("--heads", options.heads,
                  "Number of query heads to choose at random [default: all]")
      ->check(whole_number(1));
  verb.add_option("--seed", options.seed, "Seed for choosing heads")
      ->check(whole_number(0))
      ->capture_default_str();
  verb.add_flag("--sliding", options.sliding, "Also measure layers with a sliding window");
}

ModelOptions ModelArguments::parse(const Communicator& processes) const {
  ModelOptions parsed = options;
  if (memory) parsed.memory = parse_bytes(*memory, "--memory");
  parsed.processes = processes;
  set_threads(threads, processes);
  return parsed;
}

Communicator join_processes() {
  Communicator processes = join_launched_processes();
  if (!processes.first()) log::set_level(std::max(log::level(), log::Level::error));
  return processes;
}

namespace {

// A launcher that gives each process its own cores has already divided them.
int cores_of_this_process(const Communicator& processes) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  const int cores = CPU_COUNT(&allowed);
  return cores < ::sysconf(_SC_NPROCESSORS_ONLN) ? cores
                                                 : std::max(1, cores / processes.local_count());
}

}  // namespace

void add_threads_option(CLI::App& verb, int& threads) {
  // More than any machine has; OpenMP ends the program where it cannot start a thread.
  constexpr int kMostThreads = 1024;
  verb.add_option("--threads", threads, "CPU threads [default: all cores]")
      ->check(CLI::Range(1, kMostThreads));
}

void set_threads(int threads, const Communicator& processes) {
  if (threads == 0 && processes.local_count() > 1 && std::getenv("OMP_NUM_THREADS") == nullptr) {
    threads = cores_of_this_process(processes);
  }
  if (threads == 0) return;
  at::set_num_threads(threads);
  limit_cores(static_cast<size_t>(threads));
}

}  // namespace ropewalk::cli
